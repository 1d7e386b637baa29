//! A batch of writes as Python sees it.

use std::sync::{Mutex, PoisonError};

use nuthatch_link as core;
use nuthatch_link::KvOp;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use crate::adding::{self, AddArguments};
use crate::collection::Collection;
use crate::error::engine;
use crate::facts;
use crate::graph::{self, EdgeIdParts, EdgeParts, NodeParts};
use crate::handle::Handle;
use crate::keyspace::{self, time_to_live};
use crate::records::Columns;

/// Writes to several keyspaces and collections, kept until they are committed together.
#[pyclass(frozen, module = "nuthatch._core")]
pub struct WriteBatch {
    /// Absent once it is over.
    batch: Mutex<Option<core::WriteBatch>>,
    handle: Handle,
}

impl WriteBatch {
    pub fn new(handle: Handle) -> Self {
        Self { batch: Mutex::new(Some(core::WriteBatch::new())), handle }
    }

    fn with(&self, py: Python<'_>, add: impl FnOnce(&mut core::WriteBatch) + Send) -> PyResult<()> {
        self.handle.get(py)?;
        engine(py, || {
            self.staged(|batch| {
                add(batch);
                Ok(())
            })
        })
    }

    fn graph(
        &self,
        py: Python<'_>,
        name: &str,
        add: impl FnOnce(core::GraphWrites<'_>) -> core::Result<()> + Send,
    ) -> PyResult<()> {
        self.handle.get(py)?;
        engine(py, || self.staged(|batch| add(batch.graph(name))))
    }

    fn staged<T>(&self, add: impl FnOnce(&mut core::WriteBatch) -> core::Result<T>) -> core::Result<T> {
        let mut batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        add(batch.as_mut().ok_or_else(over)?)
    }
}

#[pymethods]
impl WriteBatch {
    fn put_many(
        &self,
        py: Python<'_>,
        keyspace: &str,
        entries: Vec<(PyBackedBytes, PyBackedBytes)>,
        ttl_seconds: Option<f64>,
    ) -> PyResult<()> {
        let expires_in = time_to_live(py, ttl_seconds)?;
        self.with(py, |batch| {
            let ops = entries.iter().map(|(key, value)| keyspace::put(key, value, expires_in));
            batch.kv(keyspace, ops.collect());
        })
    }

    fn delete(&self, py: Python<'_>, keyspace: &str, keys: Vec<PyBackedBytes>) -> PyResult<()> {
        self.with(py, |batch| {
            batch.kv(keyspace, keys.iter().map(|key| KvOp::Delete { key: key.to_vec() }).collect());
        })
    }

    fn put_nodes(&self, py: Python<'_>, graph: &str, nodes: Vec<NodeParts<'_>>) -> PyResult<()> {
        let nodes = graph::all_nodes(nodes)?;
        self.graph(py, graph, |mut changes| changes.put_nodes(&nodes).map(drop))
    }

    fn put_edges(&self, py: Python<'_>, graph: &str, edges: Vec<EdgeParts<'_>>) -> PyResult<()> {
        let edges = graph::all_edges(edges)?;
        self.graph(py, graph, |mut changes| changes.put_edges(&edges).map(drop))
    }

    fn delete_nodes(&self, py: Python<'_>, graph: &str, ids: Vec<String>) -> PyResult<()> {
        self.graph(py, graph, |mut changes| changes.delete_nodes(&ids).map(drop))
    }

    fn delete_edges(&self, py: Python<'_>, graph: &str, edges: Vec<EdgeIdParts>) -> PyResult<()> {
        let ids = graph::edge_ids(edges);
        self.graph(py, graph, |mut changes| changes.delete_edges(&ids).map(drop))
    }

    fn record_facts(&self, py: Python<'_>, facts: &str, question: &str) -> PyResult<()> {
        self.handle.get(py)?;
        engine(py, || {
            let record = facts::to_record(question)?;
            self.staged(|batch| batch.facts(facts).record(record).map(drop))
        })
    }

    fn retract_facts(&self, py: Python<'_>, facts: &str, numbers: Vec<u64>) -> PyResult<()> {
        self.with(py, |batch| {
            batch.facts(facts).retract(&numbers);
        })
    }

    fn upsert(&self, py: Python<'_>, collection: &str, columns: Columns<'_>) -> PyResult<()> {
        let records = columns.records(py)?;
        self.with(py, |batch| {
            batch.upsert(collection, records);
        })
    }

    fn delete_records(&self, py: Python<'_>, collection: &str, ids: Vec<String>) -> PyResult<()> {
        self.with(py, |batch| {
            batch.delete_records(collection, ids);
        })
    }

    fn add_files<'py>(
        &self,
        py: Python<'py>,
        collection: &Collection,
        arguments: AddArguments<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let collection = collection.get(py)?;
        adding::add(py, arguments, |paths, options| self.staged(|batch| batch.add_files(collection, paths, options)))
    }

    fn remove_files(&self, py: Python<'_>, collection: &Collection, path: &str) -> PyResult<u64> {
        let collection = collection.get(py)?;
        engine(py, || self.staged(|batch| batch.remove_files(collection, path)))
    }

    /// It is over then, whatever the outcome.
    fn commit(&self, py: Python<'_>, durability: Option<&str>) -> PyResult<()> {
        let database = self.handle.get(py)?;
        let durability = keyspace::durability(py, durability)?.unwrap_or_default();
        engine(py, || {
            let taken = self.batch.lock().unwrap_or_else(PoisonError::into_inner).take();
            database.write(taken.ok_or_else(over)?.with_durability(durability))
        })
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.get(py)?;
        *self.batch.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

fn over() -> core::Error {
    core::Error::new(core::ErrorKind::Closed, "the batch has ended; begin another one")
}
