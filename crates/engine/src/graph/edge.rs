//! An edge, and what identifies it.

use nuthatch_filter::Payload;
use serde::{Deserialize, Serialize};

use crate::graph::node::{check_id, check_kind, check_properties, of};
use crate::record::shortened;
use crate::{Error, Result};

/// From one node to another. There is one of each type between two nodes; neither end need have been put.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Id of the node that it leads from.
    pub source: String,
    /// The type: `links`, `calls`, `knows`. 1 to 255 bytes.
    pub kind: String,
    /// Id of the node that it leads to.
    pub target: String,
    /// Finite; 1 unless it is given.
    pub weight: f64,
    /// Named values, up to 32 KiB.
    #[serde(with = "crate::codec::payload")]
    pub properties: Payload,
}

/// Which edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EdgeId {
    /// Id of the node that it leads from.
    pub source: String,
    /// Its type.
    pub kind: String,
    /// Id of the node that it leads to.
    pub target: String,
}

impl Edge {
    /// With weight 1 and without properties.
    pub fn new(source: impl Into<String>, kind: impl Into<String>, target: impl Into<String>) -> Self {
        EdgeId::new(source, kind, target).edge(1.0, Payload::new())
    }

    /// With this weight, which must be finite.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// With these properties in place of others.
    pub fn properties(mut self, properties: Payload) -> Self {
        self.properties = properties;
        self
    }

    /// Returns its identifier.
    pub fn id(&self) -> EdgeId {
        EdgeId::new(&self.source, &self.kind, &self.target)
    }

    /// Whether it could be stored.
    ///
    /// # Errors
    /// `Invalid`, with the edge's ends.
    pub fn check(&self) -> Result<()> {
        let wrong = |error| of(&shown(&self.source, &self.kind, &self.target), error);
        check_parts(&self.source, &self.kind, &self.target)?;
        match self.weight.is_finite() {
            true => check_properties(&self.properties).map_err(wrong),
            false => Err(wrong(Error::invalid(format!("its weight is {}; give a finite number", self.weight)))),
        }
    }
}

impl EdgeId {
    /// The edge of this type between these nodes.
    pub fn new(source: impl Into<String>, kind: impl Into<String>, target: impl Into<String>) -> Self {
        Self { source: source.into(), kind: kind.into(), target: target.into() }
    }

    /// Whether there could be one.
    ///
    /// # Errors
    /// `Invalid`, with the edge's ends.
    pub fn check(&self) -> Result<()> {
        check_parts(&self.source, &self.kind, &self.target)
    }

    pub(crate) fn edge(self, weight: f64, properties: Payload) -> Edge {
        let Self { source, kind, target } = self;
        Edge { source, kind, target, weight, properties }
    }
}

fn check_parts(source: &str, kind: &str, target: &str) -> Result<()> {
    let checked = check_id(source).and_then(|()| check_kind(kind)).and_then(|()| check_id(target));
    checked.map_err(|error| of(&shown(source, kind, target), error))
}

/// An edge for an error message.
fn shown(source: &str, kind: &str, target: &str) -> String {
    format!("edge {:?} -{}-> {:?}", shortened(source), shortened(kind), shortened(target))
}
