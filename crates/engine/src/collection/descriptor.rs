//! What is settled about a collection: its options, vector fields, and the payload fields seen.
//!
//! **Useful for** whoever checks a request or decides how to answer it: reading it waits for no writer, who may be reading the disk
//! while it decides what it is going to write. **Not for** counters, which change with every batch.
//!
//! **Invariant:** it is replaced as a whole, by whoever holds the writer.

use std::sync::Arc;

use nuthatch_filter::Schema;
use nuthatch_store::{Batch, Table};
use parking_lot::MutexGuard;

use crate::Result;
use crate::collection::field::Fields;
use crate::collection::meta::{self, Meta, meta_key};
use crate::collection::{Core, Writer};
use crate::durability::Durability;

#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    pub meta: Meta,
    /// What `meta` says of the vectors.
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

impl Core {
    pub(crate) fn descriptor(&self) -> Arc<Descriptor> {
        self.descriptor.read().clone()
    }

    /// The vector fields as they are now.
    pub(crate) fn fields(&self) -> Arc<Fields> {
        self.descriptor.read().fields.clone()
    }

    /// Stores other options and knows them from then on, durably.
    pub(crate) fn settle(&self, mut writer: MutexGuard<'_, Writer>, descriptor: Descriptor) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(Table::Catalog, meta_key(self.shard.tenant, &self.name), meta::encode(&descriptor.meta));
        let position = self.shared.write(batch)?;
        self.learn(&mut writer, descriptor);
        drop(writer);
        self.shared.make_durable(position, Durability::Commit)
    }

    /// Replaces what is known; the writer is held so that nobody decides by what was known before.
    pub(crate) fn learn(&self, _writer: &mut Writer, descriptor: Descriptor) {
        *self.descriptor.write() = Arc::new(descriptor);
    }
}
