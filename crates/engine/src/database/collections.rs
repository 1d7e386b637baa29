//! Getting, creating, listing and dropping collections.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_store::{Batch, Direction, Table};
use nuthatch_text::Analyzer;
use nuthatch_vector::{DIM_MAX, DIM_MIN};

use crate::call::{Call, Outcome};
use crate::catalog::catalog_of;
use crate::collection::field_options::{format_of, metric_and_element, new_fields};
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, meta_key};

use crate::collection::{Collection, CollectionInfo, CollectionOptions, Core};
use crate::database::{Database, Registry};
use crate::durability::Durability;
use crate::embedder::{EmbedderChoice, EmbedderMeta};
use crate::name::check_name;
use crate::runtime::Runtime;
use crate::tenant::{Delta, Tenant};
use crate::tree::TREES;
use crate::{Error, Result, What};

/// Dimension of the built-in default model; known without loading it.
const DEFAULT_MODEL_DIM: usize = 384;

impl Database {
    /// The collection of that name, created with these options when there is none.
    ///
    /// # Errors
    /// `Invalid` when an option contradicts what is stored (both are named), or a name or dimension is unusable.
    pub fn collection(&self, name: &str, options: CollectionOptions) -> Result<Collection> {
        self.inner.shared.check_open()?;
        check_name("collection", name)?;
        self.any_collection(name, options)
    }

    /// The same under a name that no caller can have.
    pub(crate) fn any_collection(&self, name: &str, options: CollectionOptions) -> Result<Collection> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        shared.check_open()?;
        let _catalog = registry.catalog.lock();
        let options = match options.embedder {
            EmbedderChoice::BuiltIn(model) => {
                CollectionOptions { embedder: EmbedderChoice::Given(shared.embedders.installed(model)?), ..options }
            }
            _ => options,
        };
        if let EmbedderChoice::Given(embedder) = &options.embedder
            && !self.call.is_served()
        {
            shared.embedders.remember(embedder);
        }
        self.tenant.check()?;
        let core = match registry.core(&self.tenant, name)? {
            Some(core) => core,
            None => registry.open_core(&self.tenant, create(shared, self.tenant.number, name, &options)?)?,
        };
        agree(&core, &options, &self.call)?;
        Ok(Collection { core, durability: Durability::default(), call: self.call.clone() })
    }

    /// The collection of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_collection(&self, name: &str) -> Result<Collection> {
        if name == TREES {
            return Err(Error::not_among(What::Collection, name, &self.listed_collections()?));
        }
        let core = self.inner.registry.existing_core(&self.tenant, name)?;
        Ok(Collection { core, durability: Durability::default(), call: self.call.clone() })
    }

    /// Names of the collections that callers have made, sorted.
    pub fn listed_collections(&self) -> Result<Vec<String>> {
        let mut names = self.collection_names()?;
        names.retain(|name| name != TREES);
        Ok(names)
    }

    /// Names of all collections, sorted, with that of the passages of trees.
    pub fn collection_names(&self) -> Result<Vec<String>> {
        self.check_open()?;
        self.inner.registry.collection_names(self.tenant.number)
    }

    /// Describes every collection and its contents. Closed ones stay closed: clients that poll figures every few
    /// seconds must not take memory from searches.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        let mut infos = Vec::new();
        for name in self.listed_collections()? {
            // No one opens or drops it while this is held.
            let _catalog = registry.catalog.lock();
            let open = registry.collections.lock().get(self.tenant.number, &name).cloned();
            if let Some(core) = open {
                infos.push(core.info());
                continue;
            }
            // Dropped since the names were listed.
            let Some(meta) = meta::read::<Meta>(&shared.store, &meta_key(self.tenant.number, &name))? else { continue };
            infos.push(CollectionInfo::of_closed(&shared.store, &shared.folder, self.tenant.shard(meta.id), meta)?);
        }
        Ok(infos)
    }

    /// Deletes a collection with everything in it. False when there is none.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        self.check_open()?;
        let tenant = &self.tenant;
        let _catalog = registry.catalog.lock();
        let Some(meta) = meta::read::<Meta>(&*shared.store()?, &meta_key(tenant.number, name))? else {
            return Ok(false);
        };
        let open = registry.collections.lock().remove(tenant.number, name);
        let shard = tenant.shard(meta.id);
        if let Some(core) = &open {
            // A merge that is under way ends at its next look round.
            core.dropped.store(true, Ordering::SeqCst);
        }
        let _merging = open.as_ref().map(|core| core.index_work.merging.lock());
        let _work = open.as_ref().map(|core| core.index_work.work.lock());
        let commit = shared.store.commit.write();
        let _writer = open.as_ref().map(|core| core.writer.lock());
        let mut batch = Batch::new();
        batch.delete(Table::Catalog, meta_key(tenant.number, name));
        for table in Table::ALL {
            batch.delete_range(table, shard.prefix().to_vec(), shard.end());
        }
        self.call.sign(&mut batch, Outcome { dropped: 1, ..Outcome::default() });
        let counters: Counters = meta::read(&shared.store, &shard.key(COUNTERS))?.unwrap_or_default();
        let freed = tenant.reserve(&shared.store, Delta::freeing(counters.all_vectors(), counters.bytes))?;
        let position = shared.write(batch)?;
        freed.keep();
        drop(commit);
        shared.make_durable(position, Durability::Commit)?;
        shared.background.shrunk.store(true, Ordering::SeqCst);
        let folder = shared.folder.index(shard.tenant, meta.id);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        }
        Ok(true)
    }
}

impl Registry {
    /// Returns the state that all handles of a collection share; `None` when there is no such collection. The caller
    /// holds the catalog.
    fn core(&self, tenant: &Arc<Tenant>, name: &str) -> Result<Option<Arc<Core>>> {
        if let Some(core) = self.collections.lock().get(tenant.number, name) {
            return Ok(Some(core.clone()));
        }
        let stored: Option<Meta> = meta::read(&*self.shared.store()?, &meta_key(tenant.number, name))?;
        stored.map(|meta| self.open_core(tenant, meta)).transpose()
    }

    fn open_core(&self, tenant: &Arc<Tenant>, meta: Meta) -> Result<Arc<Core>> {
        let name = meta.name.clone();
        self.make_room();
        let indexes = self.indexes.read().iter().map(|make| make()).collect();
        let core = Core::open(self.shared.clone(), tenant.clone(), meta, EmbedderChoice::Auto, indexes)?;
        self.collections.lock().insert(tenant.number, name, core.clone());
        self.shared.fit();
        if !core.state.read().degraded().is_empty() {
            self.shared.background.wake();
        }
        Ok(core)
    }

    /// Returns the state that all handles of a collection share; `NotFound`, with the existing names, when there is
    /// none.
    pub(crate) fn existing_core(&self, tenant: &Arc<Tenant>, name: &str) -> Result<Arc<Core>> {
        self.shared.check_open()?;
        let found = {
            let _catalog = self.catalog.lock();
            tenant.check()?;
            self.core(tenant, name)?
        };
        match found {
            Some(core) => Ok(core),
            None => Err(Error::not_among(What::Collection, name, &self.collection_names(tenant.number)?)),
        }
    }

    pub(crate) fn collection_names(&self, tenant: u32) -> Result<Vec<String>> {
        let from = meta_key(tenant, "");
        let to = catalog_of(tenant).key(b"collection0"); // '0' follows '/'
        let mut names = Vec::new();
        self.shared.store()?.scan(Table::Catalog, &from, &to, Direction::Forward, &mut |key, _| {
            names.push(String::from_utf8_lossy(&key[from.len()..]).into_owned());
            ControlFlow::Continue(())
        })?;
        Ok(names)
    }
}

fn create(shared: &Runtime, tenant: u32, name: &str, options: &CollectionOptions) -> Result<Meta> {
    let language = options.language.clone().unwrap_or_else(|| "english".into());
    Analyzer::new(&language)?;
    let embedder = match &options.embedder {
        EmbedderChoice::Given(embedder) => Some(EmbedderMeta {
            name: embedder.name().to_string(),
            dim: embedder.dim(),
            fingerprint: embedder.fingerprint().to_string(),
        }),
        EmbedderChoice::Auto | EmbedderChoice::BuiltIn(_) | EmbedderChoice::None => None,
    };
    let dim = options.dim.or(embedder.as_ref().map(|embedder| embedder.dim));
    if let Some(dim) = dim
        && !(DIM_MIN..=DIM_MAX).contains(&dim)
    {
        return Err(Error::invalid(format!("{dim} dimensions are not supported; choose {DIM_MIN} to {DIM_MAX}")));
    }
    let (metric, element) = metric_and_element(options.metric, options.element)?;
    let fields = new_fields(name, &[], &options.vectors)?;
    let store = shared.store()?;
    let meta = Meta {
        id: meta::last_id(&*store, tenant)? + 1,
        name: name.to_string(),
        dim,
        metric: metric.to_string(),
        element: element.to_string(),
        language,
        // A caller who names another dimension than the default model's brings the vectors.
        embeds: match &options.embedder {
            EmbedderChoice::None => false,
            EmbedderChoice::Given(_) => true,
            EmbedderChoice::Auto | EmbedderChoice::BuiltIn(_) => dim.is_none_or(|dim| dim == DEFAULT_MODEL_DIM),
        },
        embedder,
        created: shared.options.clock.stamp(),
        fields,
        more: Default::default(),
    };
    if let Some(format) = format_of(&meta.fields) {
        shared.folder.raise_format(format)?;
    }
    let mut batch = Batch::new();
    batch.put(Table::Catalog, meta_key(tenant, name), meta::encode(&meta));
    meta::put_last_id(&mut batch, tenant, meta.id);
    let position = shared.write(batch)?;
    shared.make_durable(position, Durability::Commit)?;
    Ok(meta)
}

/// Refuses options that contradict what is stored, naming both.
fn agree(core: &Core, options: &CollectionOptions, call: &Call) -> Result<()> {
    let descriptor = core.descriptor();
    let (stored, embeds) = (descriptor.fields.unnamed(), descriptor.meta.embeds);
    let differs = |what: &str, stored: String, given: String| {
        Error::invalid(format!(
            "collection {:?} has {what} {stored}, but {given} was given; omit it, or create a new collection",
            core.name
        ))
    };
    if let (Some(stored), Some(given)) = (stored.dim, options.dim)
        && stored != given
    {
        return Err(differs("dim", stored.to_string(), given.to_string()));
    }
    if let Some(given) = options.metric
        && given != stored.metric
    {
        return Err(differs("metric", stored.metric.to_string(), given.to_string()));
    }
    if let Some(given) = options.element
        && given != stored.element
    {
        return Err(differs("elements", stored.element.to_string(), given.to_string()));
    }
    if let Some(given) = &options.language
        && *given != core.language
    {
        return Err(differs("language", core.language.clone(), given.clone()));
    }
    core.check_fields(&options.vectors)?;
    if let Some(given) = options.dim
        && stored.dim.is_none()
    {
        core.settle_dim(given)?;
    }
    core.add_fields(&options.vectors)?;
    match &options.embedder {
        EmbedderChoice::Auto | EmbedderChoice::BuiltIn(_) => {}
        EmbedderChoice::None if call.is_served() => {}
        EmbedderChoice::None => *core.embedder.write() = EmbedderChoice::None,
        EmbedderChoice::Given(embedder) => {
            if !embeds {
                return Err(differs(
                    "embedder",
                    "\"none\" (the caller supplies vectors)".into(),
                    format!("{:?}", embedder.name()),
                ));
            }
            core.settle_embedder(&**embedder)?;
            if !call.is_served() {
                *core.embedder.write() = options.embedder.clone();
            }
        }
    }
    Ok(())
}
