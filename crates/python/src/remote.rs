//! What the package's client of a server needs of the engine: the same checks with the same words before anything is sent, bodies of
//! requests in JSON, and the walk over folders.

use std::path::PathBuf;

use nuthatch_dialect as dialect;
use nuthatch_dialect::{FusionName, Part, VectorFormat};
use nuthatch_link::{KeyScan, KvOp, Record, Search, StoredRecord, WalkOptions};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use serde::Serialize;

use crate::error::{engine, invalid, to_python};
use crate::keyspace::{self, ScanArguments, time_to_live};
use crate::records::{self, Columns, RecordParts, Vectors};
use crate::searching::Query;
use crate::searching_many::each;

/// A quarter of the size of numbers.
const BASE64: VectorFormat = VectorFormat::Base64;

/// A search as the server reads it: the checked one, and of its arguments what the engine keeps in another form.
fn body(query: &Query<'_>, search: Search) -> dialect::Search {
    let parts = [
        (Part::Text, query.include_text),
        (Part::Payload, query.include_payload),
        (Part::Vector, query.include_vector),
    ];
    dialect::Search {
        text: search.text,
        vector: search.vector.map(|vector| BASE64.write(vector)),
        like: search.like,
        using: search.using,
        vectors: BASE64.write_all(search.vectors),
        mode: search.mode.map(Into::into),
        filter: query.condition.clone(),
        limit: query.limit,
        offset: query.offset,
        include: Some(parts.into_iter().filter_map(|(part, wanted)| wanted.then_some(part)).collect()),
        vector_format: BASE64,
        fusion: FusionName::from(&search.fusion),
        text_weight: query.text_weight,
        vector_weight: query.vector_weight,
        recall: query.recall,
        effort: query.effort,
        exact: query.exact,
        timeout_ms: query.timeout_seconds.map(|seconds| seconds * 1000.0),
        explain: query.explain,
    }
}

fn json<'py>(py: Python<'py>, body: &(impl Serialize + Sync)) -> PyResult<Bound<'py, PyBytes>> {
    let written = py.detach(|| serde_json::to_vec(body));
    Ok(PyBytes::new(py, &written.map_err(|error| invalid(py, error.to_string()))?))
}

/// Records as a JSON array.
#[pyfunction]
pub fn records_json<'py>(py: Python<'py>, columns: Columns<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let records = columns.records(py)?;
    let bodies: Vec<_> = py.detach(|| records.into_iter().map(|record| dialect::Record::new(record, BASE64)).collect());
    json(py, &bodies)
}

/// The record, as JSON, as it would be read.
type Written<'py> = (Bound<'py, PyBytes>, RecordParts<'py>);

/// Records that a transaction writes, one by one, refused where the engine would refuse them.
#[pyfunction]
pub fn records_apart<'py>(py: Python<'py>, columns: Columns<'py>) -> PyResult<Vec<Written<'py>>> {
    let records = columns.records(py)?;
    engine(py, || records.iter().try_for_each(Record::check))?;
    let one = |record: Record| {
        let written = json(py, &dialect::Record::new(record.clone(), BASE64))?;
        let Record { id, text, vector, vectors, payload, context, .. } = record;
        Ok((written, records::parts(py, StoredRecord { id, text, payload, context, vector, vectors })?))
    };
    records.into_iter().map(one).collect()
}

/// Refuses what cannot be put.
#[pyfunction]
pub fn check_puts(
    py: Python<'_>,
    entries: Vec<(PyBackedBytes, PyBackedBytes)>,
    ttl_seconds: Option<f64>,
) -> PyResult<()> {
    let expires_in = time_to_live(py, ttl_seconds)?;
    engine(py, || entries.iter().try_for_each(|(key, value)| keyspace::put(key, value, expires_in).check()))
}

/// Refuses what cannot be a key.
#[pyfunction]
pub fn check_keys(py: Python<'_>, keys: Vec<PyBackedBytes>) -> PyResult<()> {
    engine(py, || keys.iter().try_for_each(|key| KvOp::Delete { key: key.to_vec() }.check()))
}

/// Those of the keys that a scan lists, on whatever page, in its order.
#[pyfunction]
pub fn select_keys<'py>(
    py: Python<'py>,
    arguments: ScanArguments,
    keys: Vec<PyBackedBytes>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let keys = keys.iter().map(|key| key.to_vec()).collect();
    let selected = engine(py, || arguments.scan().select(keys))?;
    Ok(selected.iter().map(|key| PyBytes::new(py, key)).collect())
}

/// The cursor of a page that ends with this key.
#[pyfunction]
pub fn cursor_after(key: &[u8]) -> String {
    KeyScan::cursor_after(key)
}

/// One search as a JSON object.
#[pyfunction]
pub fn search_json<'py>(py: Python<'py>, query: Query<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let search = query.search(py)?.and_then(|search| search.check().map(|()| search));
    let search = search.map_err(|error| to_python(py, error, None))?;
    json(py, &body(&query, search))
}

/// `query` with each of `count` texts, vectors, or both: a JSON object each.
#[pyfunction]
pub fn searches_json<'py>(
    py: Python<'py>,
    query: Query<'py>,
    count: usize,
    texts: Option<Bound<'py, PyList>>,
    vectors: Option<Vectors>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let searches = each(py, &query, count, texts, vectors)?;
    let one = |search: Search| {
        search.check().map_err(|error| to_python(py, error, None))?;
        json(py, &dialect::Search { timeout_ms: None, ..body(&query, search) })
    };
    searches.into_iter().map(one).collect()
}

/// Refuses a durability that is none.
#[pyfunction]
pub fn check_durability(py: Python<'_>, name: &str) -> PyResult<()> {
    keyspace::durability(py, Some(name)).map(drop)
}

/// path, bytes
type Walked = (PathBuf, u64);
/// path, why
type Unreadable = (PathBuf, String);

/// The files at or below `root`, and what of it cannot be read.
#[pyfunction]
pub fn walk(
    py: Python<'_>,
    root: PathBuf,
    hidden: bool,
    follow_links: bool,
    respect_ignore: bool,
    max_file_bytes: Option<u64>,
) -> PyResult<(Vec<Walked>, Vec<Unreadable>)> {
    let default = WalkOptions::default();
    let max_file_bytes = max_file_bytes.unwrap_or(default.max_file_bytes);
    let options = WalkOptions { hidden, follow_links, respect_ignore, max_file_bytes };
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    engine(py, || {
        for entry in nuthatch_link::walk(&root, &options) {
            match entry {
                Ok(file) => files.push((file.path, file.bytes)),
                Err(error) => skipped.push((error.path().to_path_buf(), error.to_string())),
            }
        }
        Ok(())
    })?;
    Ok((files, skipped))
}
