//! A collection as Python sees it.

use std::time::{Duration, Instant};

use nuthatch_link as core;
use nuthatch_link::{CollectionInfo, FileInfo, Scan, Search};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::adding::{self, AddArguments, SIGNALS_EVERY};
use crate::asking;
use crate::changes::{ChangeParts, record_changes};
use crate::error::{engine, invalid};
use crate::handle::Handle;
use crate::keyspace;
use crate::records::{self, Columns, RecordParts, Vectors};
use crate::results::Results;
use crate::searching::Query;
use crate::searching_many::search_many;

/// path, bytes, mtime_ns, kind, passages
pub type FileParts = (String, u64, i64, String, usize);

pub fn file_parts(file: FileInfo) -> FileParts {
    (file.path, file.bytes, file.mtime_ns, file.kind, file.passages)
}

/// A page of a listing, from its arguments.
pub fn scan_request(
    condition: Option<String>,
    limit: usize,
    cursor: Option<String>,
    vectors: bool,
) -> core::Result<Scan> {
    // The engine's requests carry a parsed filter; a search is what parses one.
    let filter = match condition {
        Some(condition) => Search::default().filter(&condition)?.filter,
        None => None,
    };
    Ok(Scan { cursor, limit, filter, vectors })
}

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Collection {
    collection: core::Collection,
    handle: Handle,
}

impl Collection {
    pub fn new(collection: core::Collection, handle: Handle) -> Self {
        Self { collection, handle }
    }

    pub fn get(&self, py: Python<'_>) -> PyResult<&core::Collection> {
        self.handle.get(py)?;
        Ok(&self.collection)
    }

    /// To write with this durability, or with the handle's own.
    fn write(&self, py: Python<'_>, durability: Option<&str>) -> PyResult<core::Collection> {
        let collection = self.get(py)?;
        Ok(match keyspace::durability(py, durability)? {
            Some(durability) => collection.with_durability(durability),
            None => collection.clone(),
        })
    }
}

#[pymethods]
impl Collection {
    #[getter]
    fn name(&self) -> &str {
        self.collection.name()
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let collection = self.get(py)?;
        let info = engine(py, || collection.info())?;
        info_to_python(py, info)
    }

    /// Inserted, replaced.
    fn upsert(&self, py: Python<'_>, columns: Columns<'_>, durability: Option<&str>) -> PyResult<(u64, u64)> {
        let collection = self.write(py, durability)?;
        // Many threads that made their records at once would hold as many copies of their batches.
        let bytes = columns.bytes();
        let room = engine(py, || collection.reserve_to_write(bytes))?;
        let records = columns.records(py)?;
        drop(columns);
        let upserted = engine(py, || collection.upsert_within(room, records))?;
        Ok((upserted.inserted, upserted.replaced))
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

    fn update(
        &self,
        py: Python<'_>,
        changes: Vec<(Vec<String>, ChangeParts<'_>)>,
        durability: Option<&str>,
    ) -> PyResult<u64> {
        let (collection, changes) = (self.write(py, durability)?, record_changes(changes)?);
        engine(py, || collection.update(changes))
    }

    fn update_where(
        &self,
        py: Python<'_>,
        condition: String,
        change: ChangeParts<'_>,
        durability: Option<&str>,
    ) -> PyResult<u64> {
        let (collection, change) = (self.write(py, durability)?, change.change()?);
        engine(py, || collection.update_where(&condition, change))
    }

    fn update_files(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        change: ChangeParts<'_>,
        durability: Option<&str>,
    ) -> PyResult<u64> {
        let (collection, change) = (self.write(py, durability)?, change.change()?);
        engine(py, || collection.update_files(paths, change))
    }

    fn delete(&self, py: Python<'_>, ids: Vec<String>, durability: Option<&str>) -> PyResult<u64> {
        let collection = self.write(py, durability)?;
        Ok(engine(py, || collection.delete(&ids))?.deleted)
    }

    fn delete_where(&self, py: Python<'_>, condition: String, durability: Option<&str>) -> PyResult<u64> {
        let collection = self.write(py, durability)?;
        Ok(engine(py, || collection.delete_where(&condition))?.deleted)
    }

    fn delete_prefix(&self, py: Python<'_>, prefix: String, durability: Option<&str>) -> PyResult<u64> {
        let collection = self.write(py, durability)?;
        Ok(engine(py, || collection.delete_prefix(&prefix))?.deleted)
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

    /// `asked` for each of `count` texts, vectors, or both.
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

    fn add<'py>(&self, py: Python<'py>, arguments: AddArguments<'py>) -> PyResult<Bound<'py, PyDict>> {
        let collection = self.write(py, arguments.durability.as_deref())?;
        adding::add(py, arguments, |paths, options| collection.add(paths, options))
    }

    fn files(&self, py: Python<'_>, prefix: String) -> PyResult<Vec<FileParts>> {
        let collection = self.get(py)?;
        Ok(engine(py, || collection.files(&prefix))?.into_iter().map(file_parts).collect())
    }

    fn remove_files(&self, py: Python<'_>, path: String) -> PyResult<u64> {
        let collection = self.get(py)?;
        engine(py, || collection.remove_files(&path))
    }

    fn wait_until_indexed(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<bool> {
        let collection = self.get(py)?;
        in_slices(py, timeout_seconds, |slice| collection.wait_until_indexed(Some(slice)))
    }

    fn wait_until_embedded(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<bool> {
        let collection = self.get(py)?;
        in_slices(py, timeout_seconds, |slice| collection.wait_until_embedded(Some(slice)))
    }

    fn optimize(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<bool> {
        let collection = self.get(py)?;
        in_slices(py, timeout_seconds, |slice| collection.optimize(Some(slice)))
    }
}

/// Waits a little at a time until `done` says so, so that Ctrl-C is heard. False when the time ran out first.
fn in_slices(
    py: Python<'_>,
    timeout_seconds: Option<f64>,
    done: impl Fn(Duration) -> core::Result<bool> + Sync,
) -> PyResult<bool> {
    let timeout = timeout_seconds
        .map(|seconds| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| invalid(py, format!("a timeout of {seconds} seconds; give a number from 0 up, or None")))
        })
        .transpose()?;
    let started = Instant::now();
    loop {
        let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        let slice = left.map_or(SIGNALS_EVERY, |left| left.min(SIGNALS_EVERY));
        if engine(py, || done(slice))? {
            return Ok(true);
        }
        py.check_signals()?;
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
    }
}

pub fn info_to_python(py: Python<'_>, info: CollectionInfo) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", info.name)?;
    dict.set_item("dim", info.dim)?;
    dict.set_item("metric", info.metric.as_str())?;
    dict.set_item("elements", info.element.as_str())?;
    dict.set_item("language", info.language)?;
    dict.set_item("embedder", info.embedder)?;
    dict.set_item("rows", info.rows)?;
    dict.set_item("vectors", info.vectors)?;
    dict.set_item("pending", info.pending)?;
    // dim, metric, elements, vectors, kind
    let vector_fields = PyDict::new(py);
    for field in info.vector_fields {
        let parts = (field.dim, field.metric.as_str(), field.element.as_str(), field.vectors, field.kind);
        vector_fields.set_item(field.name, parts)?;
    }
    dict.set_item("vector_fields", vector_fields)?;
    dict.set_item("fresh_rows", info.fresh_rows)?;
    dict.set_item("segments", info.segments)?;
    dict.set_item("vector_graphs", info.vector_graphs)?;
    // done, total, rows per second, seconds left
    let building = info.building.map(|build| (build.done, build.total, build.rows_per_second, build.seconds_left));
    dict.set_item("building", building)?;
    dict.set_item("degraded", info.degraded)?;
    let fields = PyDict::new(py);
    for (name, kinds) in info.fields {
        fields.set_item(name, kinds)?;
    }
    dict.set_item("fields", fields)?;
    Ok(dict)
}
