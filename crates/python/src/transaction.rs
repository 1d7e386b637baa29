//! A transaction as Python sees it.

use std::sync::Arc;

use nuthatch_link as core;
use nuthatch_link::KvOp;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::asking;
use crate::collection::{self, FileParts, scan_request};
use crate::error::engine;
use crate::facts;
use crate::forked::Forked;
use crate::graph::Graph;
use crate::handle::Handle;
use crate::keyspace::{self, PageParts, ScanArguments, time_to_live};
use crate::records::{self, Columns, RecordParts, Vectors};
use crate::results::Results;
use crate::searching::Query;
use crate::searching_many::search_many;

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Transaction {
    transaction: Arc<Forked<core::Transaction>>,
    handle: Handle,
}

#[pyclass(frozen, module = "nuthatch._core")]
pub struct TransactionKeyspace {
    transaction: Arc<Forked<core::Transaction>>,
    name: String,
    handle: Handle,
}

#[pyclass(frozen, module = "nuthatch._core")]
pub struct TransactionCollection {
    transaction: Arc<Forked<core::Transaction>>,
    name: String,
    handle: Handle,
}

impl Transaction {
    pub fn new(transaction: core::Transaction, handle: Handle) -> Self {
        Self { transaction: Arc::new(Forked::new(transaction)), handle }
    }

    fn get(&self, py: Python<'_>) -> PyResult<&core::Transaction> {
        self.handle.get(py)?;
        Ok(self.transaction.get())
    }
}

#[pymethods]
impl Transaction {
    fn kv(&self, py: Python<'_>, name: String) -> PyResult<TransactionKeyspace> {
        let transaction = self.get(py)?;
        engine(py, || transaction.kv(&name).map(drop))?;
        Ok(TransactionKeyspace { transaction: self.transaction.clone(), name, handle: self.handle.clone() })
    }

    fn graph(&self, py: Python<'_>, name: String) -> PyResult<Graph> {
        let transaction = self.get(py)?;
        engine(py, || transaction.graph(&name).map(drop))?;
        Ok(Graph::inside(self.transaction.clone(), name, self.handle.clone()))
    }

    fn collection(&self, py: Python<'_>, name: String) -> PyResult<TransactionCollection> {
        let transaction = self.get(py)?;
        engine(py, || transaction.collection(&name).map(drop))?;
        Ok(TransactionCollection { transaction: self.transaction.clone(), name, handle: self.handle.clone() })
    }

    fn record_facts(&self, py: Python<'_>, facts: &str, question: &str) -> PyResult<()> {
        let transaction = self.get(py)?;
        engine(py, || transaction.facts(facts).record(facts::to_record(question)?))
    }

    fn retract_facts(&self, py: Python<'_>, facts: &str, numbers: Vec<u64>) -> PyResult<()> {
        let transaction = self.get(py)?;
        engine(py, || transaction.facts(facts).retract(&numbers))
    }

    fn commit(&self, py: Python<'_>, durability: Option<&str>) -> PyResult<()> {
        let transaction = self.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        engine(py, || transaction.commit(durability))
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        let transaction = self.get(py)?;
        engine(py, || {
            transaction.rollback();
            Ok(())
        })
    }
}

impl TransactionKeyspace {
    /// Asks or writes the keyspace.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(core::TransactionKeyspace<'_>) -> core::Result<T> + Send,
    ) -> PyResult<T> {
        self.handle.get(py)?;
        let transaction = self.transaction.get();
        engine(py, || call(transaction.kv(&self.name)?))
    }
}

#[pymethods]
impl TransactionKeyspace {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn get_value<'py>(&self, py: Python<'py>, key: PyBackedBytes) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = self.with(py, |keyspace| keyspace.get(&key))?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    fn get_many<'py>(&self, py: Python<'py>, keys: Vec<PyBackedBytes>) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let found = self.with(py, |keyspace| keys.iter().map(|key| keyspace.get(key)).collect())?;
        Ok(keyspace::values(py, found))
    }

    fn contains(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<bool> {
        Ok(self.with(py, |keyspace| keyspace.get(&key))?.is_some())
    }

    fn scan<'py>(&self, py: Python<'py>, arguments: ScanArguments) -> PyResult<PageParts<'py>> {
        let scan = arguments.scan();
        Ok(keyspace::page_parts(py, self.with(py, |keyspace| keyspace.scan(&scan))?))
    }

    /// Whether it is there, and the seconds that it has to live.
    fn ttl(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<(bool, Option<f64>)> {
        Ok(keyspace::time_left(self.with(py, |keyspace| keyspace.expires_in(&key))?))
    }

    fn count_estimate(&self, py: Python<'_>, prefix: PyBackedBytes) -> PyResult<u64> {
        self.with(py, |keyspace| keyspace.count_estimate(&prefix))
    }

    fn put_many(
        &self,
        py: Python<'_>,
        entries: Vec<(PyBackedBytes, PyBackedBytes)>,
        ttl_seconds: Option<f64>,
    ) -> PyResult<()> {
        let expires_in = time_to_live(py, ttl_seconds)?;
        let ops = entries.iter().map(|(key, value)| keyspace::put(key, value, expires_in)).collect();
        self.with(py, |keyspace| keyspace.multi_put(ops))
    }

    fn delete(&self, py: Python<'_>, keys: Vec<PyBackedBytes>) -> PyResult<()> {
        let ops = keys.iter().map(|key| KvOp::Delete { key: key.to_vec() }).collect();
        self.with(py, |keyspace| keyspace.multi_put(ops))
    }
}

impl TransactionCollection {
    /// Asks or writes the collection.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(core::TransactionCollection<'_>) -> core::Result<T> + Send,
    ) -> PyResult<T> {
        self.handle.get(py)?;
        let transaction = self.transaction.get();
        engine(py, || call(transaction.collection(&self.name)?))
    }
}

#[pymethods]
impl TransactionCollection {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn get_records<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<String>,
        vectors: bool,
    ) -> PyResult<Vec<Option<RecordParts<'py>>>> {
        records::all_parts(py, self.with(py, |collection| collection.get(&ids, vectors))?)
    }

    /// A read that every face answers by its name.
    fn ask<'py>(&self, py: Python<'py>, name: &str, question: &str) -> PyResult<Bound<'py, PyAny>> {
        asking::answer(py, self.with(py, |collection| asking::ask(&collection, name, question))?)
    }

    fn count(&self, py: Python<'_>, condition: Option<String>) -> PyResult<u64> {
        self.with(py, |collection| collection.count(condition.as_deref()))
    }

    fn search<'py>(&self, py: Python<'py>, asked: Bound<'py, PyTuple>) -> PyResult<Bound<'py, Results>> {
        let query = Query::of(&asked)?;
        let explain = query.asked.explain;
        let answer = self.with(py, |collection| collection.ask(query.search()?))?;
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
        self.handle.get(py)?;
        let transaction = self.transaction.get();
        let run = |searches: &[core::Search]| {
            let collection = transaction.collection(&self.name)?;
            searches.iter().map(|search| collection.search(search)).collect()
        };
        search_many(py, run, &asked, count, texts, vectors)
    }

    fn scan<'py>(
        &self,
        py: Python<'py>,
        condition: Option<String>,
        limit: usize,
        cursor: Option<String>,
        vectors: bool,
    ) -> PyResult<(Vec<RecordParts<'py>>, Option<String>)> {
        let scan = || scan_request(condition, limit, cursor, vectors);
        records::page_parts(py, self.with(py, |collection| collection.scan(&scan()?))?)
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        collection::info_to_python(py, self.with(py, |collection| collection.info())?)
    }

    fn files(&self, py: Python<'_>, prefix: String) -> PyResult<Vec<FileParts>> {
        let files = self.with(py, |collection| collection.files(&prefix))?;
        Ok(files.into_iter().map(collection::file_parts).collect())
    }

    fn upsert(&self, py: Python<'_>, columns: Columns<'_>) -> PyResult<()> {
        let records = columns.records(py)?;
        self.with(py, |collection| collection.upsert(records))
    }

    fn delete(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<()> {
        self.with(py, |collection| collection.delete(&ids))
    }
}
