//! A snapshot as Python sees it.

use nuthatch_link as core;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::asking;
use crate::collection::{self, FileParts, scan_request};
use crate::error::engine;
use crate::facts::Facts;
use crate::forked::Forked;
use crate::graph::Graph;
use crate::handle::Handle;
use crate::keyspace::{self, PageParts, ScanArguments};
use crate::records::{self, RecordParts, Vectors};
use crate::results::Results;
use crate::searching::Query;
use crate::searching_many::search_many;
use crate::tree::Tree;

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Snapshot {
    snapshot: Forked<core::Snapshot>,
    handle: Handle,
}

#[pyclass(frozen, module = "nuthatch._core")]
pub struct SnapshotKeyspace {
    keyspace: Forked<core::SnapshotKeyspace>,
    name: String,
    handle: Handle,
}

#[pyclass(frozen, module = "nuthatch._core")]
pub struct SnapshotCollection {
    collection: Forked<core::SnapshotCollection>,
    handle: Handle,
}

impl Snapshot {
    pub fn new(snapshot: core::Snapshot, handle: Handle) -> Self {
        Self { snapshot: Forked::new(snapshot), handle }
    }

    fn get(&self, py: Python<'_>) -> PyResult<&core::Snapshot> {
        self.handle.get(py)?;
        Ok(self.snapshot.get())
    }
}

#[pymethods]
impl Snapshot {
    fn age_seconds(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.get(py)?.age().as_secs_f64())
    }

    fn kv(&self, py: Python<'_>, name: String) -> PyResult<SnapshotKeyspace> {
        let snapshot = self.get(py)?;
        let keyspace = Forked::new(engine(py, || snapshot.kv(&name))?);
        Ok(SnapshotKeyspace { keyspace, name, handle: self.handle.clone() })
    }

    fn graph(&self, py: Python<'_>, name: String) -> PyResult<Graph> {
        let snapshot = self.get(py)?;
        let graph = engine(py, || snapshot.graph(&name))?;
        Ok(Graph::kept(graph, name, self.handle.clone()))
    }

    fn facts(&self, py: Python<'_>, name: String) -> PyResult<Facts> {
        let snapshot = self.get(py)?;
        let facts = engine(py, || snapshot.facts(&name))?;
        Ok(Facts::kept(facts, name, self.handle.clone()))
    }

    fn tree(&self, py: Python<'_>, name: String) -> PyResult<Tree> {
        let snapshot = self.get(py)?;
        let files = engine(py, || {
            core::check_tree(&name)?;
            snapshot.tree(&name)
        })?;
        Ok(Tree::kept(files, self.handle.clone()))
    }

    fn collection(&self, py: Python<'_>, name: String) -> PyResult<SnapshotCollection> {
        let snapshot = self.get(py)?;
        let collection = Forked::new(engine(py, || snapshot.collection(&name))?);
        Ok(SnapshotCollection { collection, handle: self.handle.clone() })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let snapshot = self.get(py)?;
        engine(py, || {
            snapshot.close();
            Ok(())
        })
    }
}

impl SnapshotKeyspace {
    fn get(&self, py: Python<'_>) -> PyResult<&core::SnapshotKeyspace> {
        self.handle.get(py)?;
        Ok(self.keyspace.get())
    }
}

#[pymethods]
impl SnapshotKeyspace {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn get_value<'py>(&self, py: Python<'py>, key: PyBackedBytes) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let keyspace = self.get(py)?;
        let found = engine(py, || keyspace.get(&key))?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    fn get_many<'py>(&self, py: Python<'py>, keys: Vec<PyBackedBytes>) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let keyspace = self.get(py)?;
        Ok(keyspace::values(py, engine(py, || keyspace.multi_get(&keys))?))
    }

    fn contains(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<bool> {
        let keyspace = self.get(py)?;
        Ok(engine(py, || keyspace.get(&key))?.is_some())
    }

    fn scan<'py>(&self, py: Python<'py>, arguments: ScanArguments) -> PyResult<PageParts<'py>> {
        let keyspace = self.get(py)?;
        let scan = arguments.scan();
        Ok(keyspace::page_parts(py, engine(py, || keyspace.scan(&scan))?))
    }

    /// Whether it is there, and the seconds that it had to live.
    fn ttl(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<(bool, Option<f64>)> {
        let keyspace = self.get(py)?;
        Ok(keyspace::time_left(engine(py, || keyspace.expires_in(&key))?))
    }

    fn count_estimate(&self, py: Python<'_>, prefix: PyBackedBytes) -> PyResult<u64> {
        let keyspace = self.get(py)?;
        engine(py, || keyspace.count_estimate(&prefix))
    }
}

impl SnapshotCollection {
    fn get(&self, py: Python<'_>) -> PyResult<&core::SnapshotCollection> {
        self.handle.get(py)?;
        Ok(self.collection.get())
    }
}

#[pymethods]
impl SnapshotCollection {
    #[getter]
    fn name(&self) -> &str {
        self.collection.get().name()
    }

    fn get_records<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<String>,
        vectors: bool,
    ) -> PyResult<Vec<Option<RecordParts<'py>>>> {
        let collection = self.get(py)?;
        records::all_parts(py, engine(py, || collection.get(&ids, vectors))?)
    }

    /// A read that every face answers by its name.
    fn ask<'py>(&self, py: Python<'py>, name: &str, question: &str) -> PyResult<Bound<'py, PyAny>> {
        let collection = self.get(py)?;
        asking::answer(py, engine(py, || asking::ask(collection, name, question))?)
    }

    fn count(&self, py: Python<'_>, condition: Option<String>) -> PyResult<u64> {
        let collection = self.get(py)?;
        engine(py, || collection.count(condition.as_deref()))
    }

    fn search<'py>(&self, py: Python<'py>, asked: Bound<'py, PyTuple>) -> PyResult<Bound<'py, Results>> {
        let collection = self.get(py)?;
        let query = Query::of(&asked)?;
        let explain = query.asked.explain;
        let answer = engine(py, || collection.ask(query.search()?))?;
        Results::of(py, answer, explain)
    }

    fn search_many<'py>(
        &self,
        py: Python<'py>,
        asked: Bound<'py, PyTuple>,
        count: usize,
        texts: Option<Bound<'py, PyList>>,
        vectors: Option<Vectors>,
    ) -> PyResult<Vec<Bound<'py, Results>>> {
        let collection = self.get(py)?;
        search_many(py, |searches| collection.search_many(searches), &asked, count, texts, vectors)
    }

    fn scan<'py>(
        &self,
        py: Python<'py>,
        condition: Option<String>,
        limit: usize,
        cursor: Option<String>,
        vectors: bool,
    ) -> PyResult<(Vec<RecordParts<'py>>, Option<String>)> {
        let collection = self.get(py)?;
        let page = engine(py, || collection.scan(&scan_request(condition, limit, cursor, vectors)?))?;
        records::page_parts(py, page)
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let collection = self.get(py)?;
        collection::info_to_python(py, engine(py, || collection.info())?)
    }

    fn files(&self, py: Python<'_>, prefix: String) -> PyResult<Vec<FileParts>> {
        let collection = self.get(py)?;
        Ok(engine(py, || collection.files(&prefix))?.into_iter().map(collection::file_parts).collect())
    }
}
