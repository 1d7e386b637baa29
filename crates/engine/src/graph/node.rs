//! A node, and the rules for ids, types and properties of nodes and edges.

use nuthatch_filter::Payload;
use serde::{Deserialize, Serialize};

use crate::record::{ID_BYTES_MAX, shortened};
use crate::{Error, Result};

/// Longest type of a node or an edge in bytes.
pub const TYPE_BYTES_MAX: usize = 255;
/// Most bytes of the properties of a node or an edge, as they are stored.
pub const PROPERTIES_BYTES_MAX: usize = 32 << 10;

/// A node, which edges lead to and from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// 1 to 1,024 bytes.
    pub id: String,
    /// The type: `document`, `function`, `person`. 1 to 255 bytes.
    pub kind: String,
    /// Named values, up to 32 KiB.
    #[serde(with = "crate::codec::payload")]
    pub properties: Payload,
}

impl Node {
    /// Without properties.
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { id: id.into(), kind: kind.into(), properties: Payload::new() }
    }

    /// With these properties in place of others.
    pub fn properties(mut self, properties: Payload) -> Self {
        self.properties = properties;
        self
    }

    /// Whether it could be stored.
    ///
    /// # Errors
    /// `Invalid`, with the node's id.
    pub fn check(&self) -> Result<()> {
        check_id(&self.id)?;
        let name = || format!("node {:?}", shortened(&self.id));
        check_kind(&self.kind).and_then(|()| check_properties(&self.properties)).map_err(|error| of(&name(), error))
    }
}

/// # Errors
/// `Invalid` for one that no node can have.
pub(crate) fn check_id(id: &str) -> Result<()> {
    check_word("id of a node", id, ID_BYTES_MAX)
}

/// # Errors
/// `Invalid` for one that nothing can have.
pub(crate) fn check_kind(kind: &str) -> Result<()> {
    check_word("type", kind, TYPE_BYTES_MAX)
}

pub(crate) fn check_properties(properties: &Payload) -> Result<()> {
    nuthatch_filter::validate(properties)?;
    match nuthatch_filter::encode(properties).len() {
        0..=PROPERTIES_BYTES_MAX => Ok(()),
        bytes => Err(Error::invalid(format!(
            "its properties have {bytes} bytes, and the limit is {PROPERTIES_BYTES_MAX}; store long content in a record \
            with the same id"
        ))),
    }
}

/// The error, with the name of its subject.
pub(crate) fn of(name: &str, error: Error) -> Error {
    Error::new(error.kind, format!("{name}: {}", error.message))
}

fn check_word(what: &str, word: &str, bytes_max: usize) -> Result<()> {
    match word.len() {
        0 => Err(Error::invalid(format!("the {what} is empty; give at least one character"))),
        bytes if bytes > bytes_max => {
            Err(Error::invalid(format!("the {what} {:?} has {bytes} bytes; the limit is {bytes_max}", shortened(word))))
        }
        // It ends words in keys.
        _ if word.contains('\0') => {
            Err(Error::invalid(format!("the {what} {:?} contains the character U+0000; remove it", shortened(word))))
        }
        _ => Ok(()),
    }
}
