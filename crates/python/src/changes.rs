//! Changes of fields, from what Python hands over.

use nuthatch_dialect as dialect;
use nuthatch_link::{FieldChange, RecordChange};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::value::{json, payload_from_python};

/// Values to set, to add and to remove, each a dict by path, and paths to unset.
#[derive(FromPyObject)]
pub struct ChangeParts<'py>(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<String>);

impl ChangeParts<'_> {
    pub fn change(&self) -> PyResult<FieldChange> {
        let values = |part: &'static str, values| payload_from_python(&|| format!("update, {part}"), values);
        Ok(FieldChange {
            set: values("set", &self.0)?,
            add: values("add", &self.1)?,
            remove: values("remove", &self.2)?,
            unset: self.3.clone(),
        })
    }
}

/// Changes of records by id.
pub fn record_changes(changes: Vec<(Vec<String>, ChangeParts<'_>)>) -> PyResult<Vec<RecordChange>> {
    changes.into_iter().map(|(ids, parts)| Ok(RecordChange { ids, change: parts.change()? })).collect()
}

/// A change as JSON.
#[pyfunction]
pub fn change_json<'py>(py: Python<'py>, change: ChangeParts<'py>) -> PyResult<Bound<'py, PyBytes>> {
    json(py, &dialect::FieldChange::new(&change.change()?))
}

/// Changes of records by id as a JSON array.
#[pyfunction]
pub fn changes_json<'py>(
    py: Python<'py>,
    changes: Vec<(Vec<String>, ChangeParts<'py>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let of_record =
        |RecordChange { ids, change }| dialect::RecordChange { ids, change: dialect::FieldChange::new(&change) };
    let changes: Vec<_> = record_changes(changes)?.into_iter().map(of_record).collect();
    json(py, &changes)
}
