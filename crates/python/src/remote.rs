//! The parts of the engine that the package's client of a server needs: the same checks with the same messages before
//! anything is sent, request bodies in JSON, and the walk over folders.

use std::path::PathBuf;

use nuthatch_dialect as dialect;
use nuthatch_dialect::{Vector, VectorFormat};
use nuthatch_link::{KeyScan, KvOp, Record, StoredRecord, WalkOptions};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::error::engine;
use crate::keyspace::{self, ScanArguments, time_to_live};
use crate::records::{self, Columns, RecordParts, Vectors};
use crate::searching::Query;
use crate::searching_many::each;
use crate::value::json;

/// A quarter of the size of numbers.
const BASE64: VectorFormat = VectorFormat::Base64;

/// A search as the server reads it, refused where the engine would refuse it.
fn body<'py>(py: Python<'py>, asked: dialect::Search, timeout_seconds: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
    engine(py, || asked.clone().into_engine(None, None)?.check())?;
    let base64 = |vector: Vector| BASE64.write(vector.into_engine());
    let body = dialect::Search {
        vector: asked.vector.map(base64),
        vectors: BASE64.write_all(engine(py, || dialect::vectors_into_engine(asked.vectors))?),
        vector_format: BASE64,
        timeout_ms: timeout_seconds.map(|seconds| seconds * 1000.0),
        ..asked
    };
    json(py, &body)
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

/// One search as a JSON object, and its timeout in seconds.
#[pyfunction]
pub fn search_json<'py>(py: Python<'py>, asked: Bound<'py, PyTuple>) -> PyResult<(Bound<'py, PyBytes>, Option<f64>)> {
    let Query { asked, timeout_seconds, .. } = Query::of(&asked)?;
    Ok((body(py, asked, timeout_seconds)?, timeout_seconds))
}

/// `asked` with each of `count` texts, vectors, or both: a JSON object each, and their timeout in seconds.
#[pyfunction]
pub fn searches_json<'py>(
    py: Python<'py>,
    asked: Bound<'py, PyTuple>,
    count: usize,
    texts: Option<Bound<'py, PyList>>,
    vectors: Option<Vectors>,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, Option<f64>)> {
    let Query { asked, timeout_seconds, .. } = Query::of(&asked)?;
    let one = |(text, vector): (_, Option<Vec<f32>>)| {
        body(py, dialect::Search { text, vector: vector.map(Vector::Numbers), ..asked.clone() }, None)
    };
    let bodies = each(py, count, texts, vectors)?.into_iter().map(one).collect::<PyResult<_>>()?;
    Ok((bodies, timeout_seconds))
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
