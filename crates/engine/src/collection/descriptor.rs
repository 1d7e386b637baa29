//! The descriptor of a collection: reading it, and replacing it durably.

use std::sync::Arc;

use nuthatch_store::{Batch, Table};
use parking_lot::MutexGuard;

use crate::Result;
use crate::collection::{Core, Writer};
pub(crate) use crate::descriptor::Descriptor;
use crate::descriptor::field::Fields;
use crate::descriptor::meta::{self, meta_key};
use crate::durability::Durability;

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

    /// Replaces the descriptor; the caller holds the writer, so that no one decides by the old one.
    pub(crate) fn learn(&self, _writer: &mut Writer, descriptor: Descriptor) {
        let mut known = self.descriptor.write();
        assert!(descriptor.fields.continues(&known.fields), "a vector field keeps what is settled of it");
        *known = Arc::new(descriptor);
    }
}
