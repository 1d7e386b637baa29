//! The database as Python sees it.

use std::path::PathBuf;
use std::time::Duration;

use nuthatch_link as core;
use nuthatch_link::{CollectionOptions, EmbedderChoice, Erase, Options, VectorFieldOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::backup;
use crate::cache::Cache;
use crate::collection::{Collection, info_to_python};
use crate::embedder::Choice;
use crate::error::{engine, invalid};
use crate::facts::Facts;
use crate::graph::Graph;
use crate::handle::Handle;
use crate::keyspace::{self, Keyspace};
use crate::snapshot::Snapshot;
use crate::tenants::{self, LimitArguments};
use crate::transaction::Transaction;
use crate::tree::Tree;
use crate::value::json_to_python;
use crate::write_batch::WriteBatch;

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Database {
    handle: Handle,
}

/// The arguments of the package's `connect`; absent ones keep the engine's defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct OpenArguments {
    memory_budget_bytes: Option<u64>,
    mapped: Option<bool>,
    build_memory_bytes: Option<u64>,
    build_threads: Option<usize>,
    sync_interval_ms: Option<u64>,
    snapshot_age_seconds: Option<f64>,
    erasure_grace_seconds: Option<f64>,
    must_exist: bool,
    exclusive: bool,
    program: String,
    model_dirs: Vec<PathBuf>,
}

/// kind, dim, metric, elements
type FieldArguments = (Option<String>, Option<usize>, Option<String>, Option<String>);

/// The arguments of the package's `Database.collection`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CollectionArguments<'py> {
    dim: Option<usize>,
    metric: Option<String>,
    elements: Option<String>,
    /// dim, metric, elements of named vector fields
    vectors: Vec<(String, FieldArguments)>,
    embedder: Option<Choice<'py>>,
    language: Option<String>,
}

#[pymethods]
impl Database {
    /// Opens `path`, or a database in memory when it is `None`.
    #[new]
    fn open(py: Python<'_>, path: Option<PathBuf>, arguments: OpenArguments) -> PyResult<Self> {
        let default = Options::default();
        let options = Options {
            memory_budget_bytes: arguments.memory_budget_bytes.unwrap_or(default.memory_budget_bytes),
            mapped: arguments.mapped,
            build_memory_bytes: arguments.build_memory_bytes.unwrap_or(default.build_memory_bytes),
            build_threads: arguments.build_threads.unwrap_or(default.build_threads),
            sync_interval_ms: arguments.sync_interval_ms.unwrap_or(default.sync_interval_ms),
            erasure_grace: arguments.erasure_grace_seconds.map_or(default.erasure_grace, Duration::from_secs_f64),
            snapshot_age_max: arguments.snapshot_age_seconds.map_or(default.snapshot_age_max, Duration::from_secs_f64),
            must_exist: arguments.must_exist,
            exclusive: arguments.exclusive,
            program: arguments.program,
            model_dirs: arguments.model_dirs,
            ..default
        };
        let database = engine(py, || match path {
            Some(path) => core::Database::open(path, options),
            None => core::Database::in_memory(options),
        })?;
        Ok(Self { handle: Handle::new(database) })
    }

    /// pid, program, since when, and whether it is this very handle.
    fn holder(&self, py: Python<'_>) -> PyResult<(u32, String, String, bool)> {
        let database = self.handle.get(py)?;
        let holder = engine(py, || database.holder())?;
        Ok((holder.pid, holder.program, holder.since, holder.is_this))
    }

    fn folder(&self, py: Python<'_>) -> PyResult<PathBuf> {
        Ok(self.handle.get(py)?.folder().to_path_buf())
    }

    fn collection(&self, py: Python<'_>, name: String, arguments: CollectionArguments<'_>) -> PyResult<Collection> {
        let CollectionArguments { dim, metric, elements, vectors, embedder, language } = arguments;
        let database = self.handle.get(py)?;
        let chosen = embedder.as_ref().map_or(Ok(EmbedderChoice::Auto), Choice::choose);
        let collection = engine(py, || {
            let embedder = chosen?;
            let metric = metric.map(|metric| metric.parse()).transpose()?;
            let element = elements.map(|elements| elements.parse()).transpose()?;
            let vectors = vectors.into_iter().map(|(field, arguments)| Ok((field, field_options(arguments)?)));
            let vectors = vectors.collect::<core::Result<_>>()?;
            database.collection(&name, CollectionOptions { dim, metric, element, vectors, embedder, language })
        })?;
        Ok(Collection::new(collection, self.handle.clone()))
    }

    fn existing_collection(&self, py: Python<'_>, name: String) -> PyResult<Collection> {
        let database = self.handle.get(py)?;
        let collection = engine(py, || database.existing_collection(&name))?;
        Ok(Collection::new(collection, self.handle.clone()))
    }

    /// Describes every collection and its contents.
    fn collections<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let database = self.handle.get(py)?;
        let infos = engine(py, || database.collections())?;
        infos.into_iter().map(|info| info_to_python(py, info)).collect()
    }

    fn collection_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.collection_names())
    }

    fn drop_collection(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        let database = self.handle.get(py)?;
        engine(py, || database.drop_collection(&name))
    }

    fn reclaim<'py>(&self, py: Python<'py>, collection: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        let database = self.handle.get(py)?;
        let receipt = engine(py, || database.reclaim(collection.as_deref()))?;
        to_python(py, serde_json::to_value(&receipt))
    }

    /// `way`: `ids`, `where`, `prefix` or `files`; the others take one text.
    fn erase<'py>(
        &self,
        py: Python<'py>,
        collection: String,
        way: &str,
        mut what: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let database = self.handle.get(py)?;
        let erase = match (way, what.len()) {
            ("ids", _) => Erase::Ids(what),
            ("where", 1) => Erase::Where(what.remove(0)),
            ("prefix", 1) => Erase::Prefix(what.remove(0)),
            ("files", 1) => Erase::Files(what.remove(0)),
            _ => return Err(invalid(py, format!("{way:?} is no way of erasing"))),
        };
        let receipt = engine(py, || database.erase(&collection, &erase))?;
        to_python(py, serde_json::to_value(&receipt))
    }

    fn receipts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let database = self.handle.get(py)?;
        let receipts = engine(py, || database.receipts())?;
        to_python(py, serde_json::to_value(&receipts))
    }

    /// Made when it is missing, if `create`.
    fn keyspace(&self, py: Python<'_>, name: String, create: bool, durability: Option<&str>) -> PyResult<Keyspace> {
        let database = self.handle.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        let keyspace = engine(py, || match create {
            true => database.kv(&name),
            false => database.existing_keyspace(&name),
        })?;
        Ok(Keyspace::new(keyspace.with_durability(durability), self.handle.clone()))
    }

    fn keyspace_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.keyspace_names())
    }

    fn drop_keyspace(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        let database = self.handle.get(py)?;
        engine(py, || database.drop_keyspace(&name))
    }

    /// Made when it is missing, if `create`.
    fn graph(&self, py: Python<'_>, name: String, create: bool, durability: Option<&str>) -> PyResult<Graph> {
        let database = self.handle.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        let graph = engine(py, || match create {
            true => database.graph(&name),
            false => database.existing_graph(&name),
        })?;
        Ok(Graph::live(graph.with_durability(durability), self.handle.clone()))
    }

    fn graph_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.graph_names())
    }

    fn drop_graph(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        let database = self.handle.get(py)?;
        engine(py, || database.drop_graph(&name))
    }

    /// Made by its first file; it must be there, unless `create`.
    fn tree(
        &self,
        py: Python<'_>,
        name: String,
        create: bool,
        durability: Option<&str>,
        embedder: Option<Choice<'_>>,
    ) -> PyResult<Tree> {
        let database = self.handle.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        let chosen = embedder.as_ref().map_or(Ok(EmbedderChoice::Auto), Choice::choose);
        let tree = engine(py, || {
            let embedder = chosen?;
            let tree = if create { database.tree(&name) } else { database.existing_tree(&name) };
            Ok(tree?.with_durability(durability).with_embedder(embedder))
        })?;
        Ok(Tree::live(tree, self.handle.clone()))
    }

    fn tree_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.tree_names())
    }

    fn drop_tree(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        let database = self.handle.get(py)?;
        engine(py, || database.drop_tree(&name))
    }

    /// Made when it is missing, if `create`.
    fn cache(&self, py: Python<'_>, name: String, create: bool, durability: Option<&str>) -> PyResult<Cache> {
        let database = self.handle.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        let cache = engine(py, || match create {
            true => database.cache(&name),
            false => database.existing_cache(&name),
        })?;
        Ok(Cache::new(cache.with_durability(durability), self.handle.clone()))
    }

    fn cache_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.cache_names())
    }

    fn drop_cache(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        let database = self.handle.get(py)?;
        engine(py, || database.drop_cache(&name))
    }

    /// Made when they are missing, if `create`.
    fn facts(&self, py: Python<'_>, name: String, create: bool, durability: Option<&str>) -> PyResult<Facts> {
        let database = self.handle.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        let facts = engine(py, || match create {
            true => database.facts(&name),
            false => database.existing_facts(&name),
        })?;
        Ok(Facts::live(facts.with_durability(durability), self.handle.clone()))
    }

    fn facts_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.facts_names())
    }

    fn drop_facts(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        let database = self.handle.get(py)?;
        engine(py, || database.drop_facts(&name))
    }

    fn tenant(&self, py: Python<'_>, name: String) -> PyResult<Self> {
        let database = self.handle.get(py)?;
        Ok(Self { handle: Handle::new(engine(py, || database.tenant(&name))?) })
    }

    fn tenant_name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.handle.get(py)?.tenant_name().map(Into::into))
    }

    fn create_tenant(&self, py: Python<'_>, name: String) -> PyResult<Self> {
        let database = self.handle.get(py)?;
        Ok(Self { handle: Handle::new(engine(py, || database.create_tenant(&name))?) })
    }

    fn tenant_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.handle.get(py)?;
        engine(py, || database.tenant_names())
    }

    fn tenants<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let database = self.handle.get(py)?;
        let infos = engine(py, || database.tenants())?;
        infos.into_iter().map(|info| tenants::info_to_python(py, info)).collect()
    }

    fn tenant_info<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, PyDict>> {
        let database = self.handle.get(py)?;
        tenants::info_to_python(py, engine(py, || database.tenant_info(&name))?)
    }

    fn set_tenant_limits(&self, py: Python<'_>, name: String, limits: LimitArguments) -> PyResult<()> {
        let database = self.handle.get(py)?;
        engine(py, || database.set_tenant_limits(&name, limits.into()))
    }

    fn drop_tenant<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, PyAny>> {
        let database = self.handle.get(py)?;
        let receipt = engine(py, || database.drop_tenant(&name))?;
        to_python(py, serde_json::to_value(&receipt))
    }

    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let database = self.handle.get(py)?;
        tenants::limits_to_python(py, engine(py, || database.limits())?)
    }

    fn usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let database = self.handle.get(py)?;
        tenants::usage_to_python(py, engine(py, || database.usage())?)
    }

    fn batch(&self) -> WriteBatch {
        WriteBatch::new(self.handle.clone())
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let database = self.handle.get(py)?;
        Ok(Snapshot::new(engine(py, || database.snapshot())?, self.handle.clone()))
    }

    fn transaction(&self, py: Python<'_>) -> PyResult<Transaction> {
        let database = self.handle.get(py)?;
        Ok(Transaction::new(engine(py, || database.transaction())?, self.handle.clone()))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let database = self.handle.get(py)?;
        let stats = engine(py, || database.stats())?;
        let dict = PyDict::new(py);
        let collections =
            stats.collections.into_iter().map(|info| info_to_python(py, info)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("collections", collections)?;
        dict.set_item("disk", to_python(py, serde_json::to_value(stats.disk))?)?;
        dict.set_item("memory", to_python(py, serde_json::to_value(stats.memory))?)?;
        dict.set_item("snapshots", stats.snapshots)?;
        dict.set_item("snapshot_age_seconds", stats.snapshot_age.as_secs_f64())?;
        Ok(dict)
    }

    fn doctor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let database = self.handle.get(py)?;
        let doctor = engine(py, || database.doctor())?;
        let findings: Vec<_> =
            doctor.findings.into_iter().map(|finding| (finding.path, finding.what, finding.remedy)).collect();
        let dict = PyDict::new(py);
        dict.set_item("findings", findings)?;
        dict.set_item("notes", doctor.notes)?;
        dict.set_item("degraded", doctor.degraded)?;
        dict.set_item("collections", doctor.collections)?;
        dict.set_item("records", doctor.records)?;
        Ok(dict)
    }

    fn backup<'py>(
        &self,
        py: Python<'py>,
        place: PathBuf,
        indexes: bool,
        rate_bytes_per_second: Option<u64>,
        on_progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        backup::backup(py, self.handle.get(py)?, place, indexes, rate_bytes_per_second, on_progress)
    }

    fn export<'py>(
        &self,
        py: Python<'py>,
        folder: PathBuf,
        collection: Option<String>,
        on_progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        backup::export(py, self.handle.get(py)?, folder, collection, on_progress)
    }

    fn import_<'py>(
        &self,
        py: Python<'py>,
        folder: PathBuf,
        collection: Option<String>,
        merge: bool,
        on_progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        backup::import(py, self.handle.get(py)?, folder, collection, merge, on_progress)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let database = self.handle.get(py)?;
        engine(py, || database.close())
    }
}

fn to_python<'py>(py: Python<'py>, value: serde_json::Result<serde_json::Value>) -> PyResult<Bound<'py, PyAny>> {
    json_to_python(py, value.map_err(|error| invalid(py, error.to_string()))?)
}

fn field_options((kind, dim, metric, elements): FieldArguments) -> core::Result<VectorFieldOptions> {
    let kind = kind.map(|kind| kind.parse()).transpose()?;
    let metric = metric.map(|metric| metric.parse()).transpose()?;
    let element = elements.map(|elements| elements.parse()).transpose()?;
    Ok(VectorFieldOptions { kind, dim, metric, element })
}
