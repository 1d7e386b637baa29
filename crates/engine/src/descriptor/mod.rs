//! The settled facts about a collection: its options, vector fields, and the payload fields seen.
//!
//! **Useful for** checking a request or deciding how to answer it: a reader waits for no writer, which may be reading
//! the disk while it decides what to write. **Not for** counters, which change with every batch.
//!
//! **Invariant:** only the holder of the writer replaces it, as a whole.

pub(crate) mod field;
pub mod meta;

use std::sync::Arc;

use nuthatch_filter::Schema;

use crate::Result;
use crate::descriptor::field::Fields;
use crate::descriptor::meta::Meta;

#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    pub meta: Meta,
    /// The vector fields that `meta` describes.
    pub fields: Arc<Fields>,
    pub schema: Schema,
}

impl Descriptor {
    pub fn of(meta: Meta, schema: Schema) -> Result<Self> {
        Ok(Self { fields: Arc::new(Fields::of(&meta)?), meta, schema })
    }

    /// The same with other options.
    pub fn with_meta(&self, meta: Meta) -> Result<Self> {
        Self::of(meta, self.schema.clone())
    }
}
