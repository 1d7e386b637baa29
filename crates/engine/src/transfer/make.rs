//! Making a collection as an export has it.

use nuthatch_store::{Batch, Table};

use crate::Result;
use crate::collection::field_options::{Wanted, format_of, new_fields};
use crate::database::Database;
use crate::descriptor::meta::{self, Meta, meta_key};
use crate::durability::Durability;
use crate::name::check_name;
use crate::transfer::CollectionEntry;

impl CollectionEntry {
    /// Its named vector fields.
    pub fn fields(&self) -> Result<Wanted> {
        self.vector_fields.iter().map(|field| Ok((field.name.clone(), field.options()?))).collect()
    }
}

impl Database {
    /// Creates a collection with exactly the options of an entry, if no collection has that name.
    pub fn make_collection(&self, entry: &CollectionEntry) -> Result<()> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        shared.check_open()?;
        check_name("collection", &entry.name)?;
        let tenant = &self.tenant;
        let _catalog = registry.catalog.lock();
        tenant.check()?;
        let store = shared.store()?;
        if meta::read::<Meta>(&*store, &meta_key(tenant.number, &entry.name))?.is_some() {
            return Ok(());
        }
        let meta = Meta {
            id: meta::last_id(&*store, tenant.number)? + 1,
            name: entry.name.clone(),
            dim: entry.dim,
            metric: entry.metric.clone(),
            element: entry.elements.clone(),
            language: entry.language.clone(),
            embeds: entry.embeds,
            embedder: entry.embedder.clone(),
            created: shared.options.clock.stamp(),
            fields: new_fields(&entry.name, &[], &entry.fields()?)?,
            more: Default::default(),
        };
        // Words that no collection can have are refused before they are stored.
        meta.metric()?;
        meta.element()?;
        nuthatch_text::Analyzer::new(&meta.language)?;
        if let Some(format) = format_of(&meta.fields) {
            shared.folder.raise_format(format)?;
        }
        let mut batch = Batch::new();
        batch.put(Table::Catalog, meta_key(tenant.number, &meta.name), meta::encode(&meta));
        meta::put_last_id(&mut batch, tenant.number, meta.id);
        let position = shared.write(batch)?;
        shared.make_durable(position, Durability::Commit)
    }
}
