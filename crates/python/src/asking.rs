//! Reads of records that every face answers by their names: JSON in, Python's own types out.

use nuthatch_dialect::operations;
use nuthatch_link::{Error, Records, Result};
use pyo3::prelude::*;
use serde_json::Value;

use crate::value::json_to_python;

pub fn ask(records: &Records<'_>, name: &str, question: &str) -> Result<Value> {
    let question = serde_json::from_str(question).map_err(|error| Error::invalid(format!("{name}: {error}")))?;
    operations::find(name)?.ask(records, question)
}

pub fn answer(py: Python<'_>, answer: Value) -> PyResult<Bound<'_, PyAny>> {
    json_to_python(py, answer)
}
