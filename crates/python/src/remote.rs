//! What the package's client of a server needs of the engine: the same checks with the same words before anything is sent, bodies of
//! requests in JSON, and the walk over folders.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nuthatch_engine::{
    KeyScan, KvOp, NamedVectors, Payload, Record, Search, StoredRecord, WalkOptions, datetimes_of, payload_to_json,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{engine, invalid, to_python};
use crate::keyspace::{self, ScanArguments, time_to_live};
use crate::records::{self, Columns, RecordParts, Vectors};
use crate::searching::Query;
use crate::searching_many::each;

/// A record as the server reads it. Vectors are base64: a quarter of the size of numbers.
#[derive(Serialize)]
struct RecordBody<'r> {
    id: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<&'r str, String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    payload: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'r str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    code: bool,
}

impl<'r> RecordBody<'r> {
    fn of(record: &'r Record) -> Self {
        let payload: &Payload = &record.payload;
        Self {
            id: &record.id,
            text: record.text.as_deref(),
            vector: record.vector.as_deref().map(base64),
            vectors: all_base64(&record.vectors),
            payload: payload_to_json(payload),
            datetimes: datetimes_of(payload),
            context: record.context.as_deref(),
            code: record.code,
        }
    }
}

/// A search as the server reads it; what is at its default is left out.
#[derive(Serialize)]
struct SearchBody<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    like: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    using: Option<&'s str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<&'s str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'s str>,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    condition: Option<&'s str>,
    limit: usize,
    offset: usize,
    include: Vec<&'static str>,
    vector_format: &'static str,
    fusion: &'s str,
    text_weight: f32,
    vector_weight: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    recall: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<usize>,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<f64>,
    explain: bool,
}

impl<'s> SearchBody<'s> {
    fn of(query: &'s Query<'_>, search: &'s Search) -> Self {
        let parts =
            [("text", query.include_text), ("payload", query.include_payload), ("vector", query.include_vector)];
        Self {
            text: search.text.as_deref(),
            vector: search.vector.as_deref().map(base64),
            like: search.like.as_deref(),
            using: search.using.as_deref(),
            vectors: all_base64(&search.vectors),
            mode: query.mode.as_deref(),
            condition: query.condition.as_deref(),
            limit: query.limit,
            offset: query.offset,
            include: parts.into_iter().filter_map(|(part, wanted)| wanted.then_some(part)).collect(),
            vector_format: "base64",
            fusion: &query.fusion,
            text_weight: query.text_weight,
            vector_weight: query.vector_weight,
            recall: query.recall,
            effort: query.effort,
            exact: query.exact,
            timeout_ms: query.timeout_seconds.map(|seconds| seconds * 1000.0),
            explain: query.explain,
        }
    }
}

fn base64(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().copied().flat_map(f32::to_le_bytes).collect();
    STANDARD.encode(bytes)
}

fn all_base64(vectors: &NamedVectors) -> BTreeMap<&str, String> {
    vectors.iter().map(|(field, vector)| (field.as_str(), base64(vector))).collect()
}

fn json<'py>(py: Python<'py>, body: &(impl Serialize + Sync)) -> PyResult<Bound<'py, PyBytes>> {
    let written = py.detach(|| serde_json::to_vec(body));
    Ok(PyBytes::new(py, &written.map_err(|error| invalid(py, error.to_string()))?))
}

/// Records as a JSON array.
#[pyfunction]
pub fn records_json<'py>(py: Python<'py>, columns: Columns<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let records = columns.records(py)?;
    let written = engine(py, || Ok(serde_json::to_vec(&records.iter().map(RecordBody::of).collect::<Vec<_>>())))?;
    Ok(PyBytes::new(py, &written.map_err(|error| invalid(py, error.to_string()))?))
}

/// The record, as JSON, as it would be read.
type Written<'py> = (Bound<'py, PyBytes>, RecordParts<'py>);

/// Records that a transaction writes, one by one, refused where the engine would refuse them.
#[pyfunction]
pub fn records_apart<'py>(py: Python<'py>, columns: Columns<'py>) -> PyResult<Vec<Written<'py>>> {
    let records = columns.records(py)?;
    engine(py, || records.iter().try_for_each(Record::check))?;
    let one = |record: Record| {
        let written = json(py, &RecordBody::of(&record))?;
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
    json(py, &SearchBody::of(&query, &search))
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
    let one = |search: &Search| {
        search.check().map_err(|error| to_python(py, error, None))?;
        json(py, &SearchBody { timeout_ms: None, ..SearchBody::of(&query, search) })
    };
    searches.iter().map(one).collect()
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
        for entry in nuthatch_engine::walk(&root, &options) {
            match entry {
                Ok(file) => files.push((file.path, file.bytes)),
                Err(error) => skipped.push((error.path().to_path_buf(), error.to_string())),
            }
        }
        Ok(())
    })?;
    Ok((files, skipped))
}
