//! Columns of a batch as records, and records as tuples.

use std::collections::HashMap;

use nuthatch_link::{NamedVectors, Page, Record, StoredRecord};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyList, PyString};

use crate::error::invalid;
use crate::value::{article, payload_from_python, payload_to_python};

/// Vectors of a batch, or of several searches, little-endian f32.
#[derive(FromPyObject)]
pub enum Vectors {
    /// All rows in one piece, and the components of a row.
    Matrix(PyBackedBytes, usize),
    /// Each row by itself; `None` for records without.
    Rows(Vec<Option<PyBackedBytes>>),
}

impl Vectors {
    pub fn row(&self, at: usize) -> Option<Vec<f32>> {
        match self {
            Self::Matrix(bytes, dim) => bytes.get(at * dim * 4..(at + 1) * dim * 4).map(floats),
            Self::Rows(rows) => rows.get(at)?.as_deref().map(floats),
        }
    }
}

pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

/// The columns of one batch, all as long as `ids`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Columns<'py> {
    ids: Bound<'py, PyList>,
    texts: Option<Bound<'py, PyList>>,
    vectors: Option<Vectors>,
    /// By vector field.
    named_vectors: Option<HashMap<String, Vectors>>,
    payloads: Option<Bound<'py, PyList>>,
    contexts: Option<Bound<'py, PyList>>,
    codes: Option<Bound<'py, PyList>>,
}

impl Columns<'_> {
    /// What the records will hold, about.
    pub fn bytes(&self) -> u64 {
        let vectors = |vectors: &Vectors| match vectors {
            Vectors::Matrix(bytes, _) => bytes.len(),
            Vectors::Rows(rows) => rows.iter().flatten().map(|row| row.len()).sum(),
        };
        let texts = |texts: &Bound<'_, PyList>| -> usize { texts.iter().map(|text| text.len().unwrap_or(0)).sum() };
        let of_vectors: usize =
            self.vectors.iter().chain(self.named_vectors.iter().flat_map(HashMap::values)).map(vectors).sum();
        let of_texts: usize = self.texts.iter().chain(&self.contexts).map(texts).sum();
        (of_vectors + of_texts + self.ids.len() * size_of::<Record>()) as u64
    }

    pub fn records(&self, py: Python<'_>) -> PyResult<Vec<Record>> {
        (0..self.ids.len()).map(|at| self.record(py, at)).collect()
    }

    fn record(&self, py: Python<'_>, at: usize) -> PyResult<Record> {
        let id = self.ids.get_item(at)?;
        if id.is_none() {
            return Err(invalid(py, format!("record {at} has no id; give each record a string as \"id\"")));
        }
        let id = string(&id)
            .map_err(|what| invalid(py, format!("record {at}: its id {what}; ids are strings (use str(...))")))?;
        let mut record = Record::new(id.clone());
        let name = || format!("record {id:?}");
        let text_of = |column: &Option<Bound<'_, PyList>>, what: &str| -> PyResult<Option<String>> {
            let Some(value) = item(column, at)? else { return Ok(None) };
            string(&value)
                .map(Some)
                .map_err(|wrong| invalid(py, format!("{}: its {what} {wrong}; give a string or None", name())))
        };
        record.text = text_of(&self.texts, "text")?;
        record.context = text_of(&self.contexts, "context")?;
        record.vector = self.vectors.as_ref().and_then(|vectors| vectors.row(at));
        for (field, vectors) in self.named_vectors.iter().flatten() {
            record.vectors.extend(vectors.row(at).map(|vector| (field.clone(), vector)));
        }
        if let Some(payload) = item(&self.payloads, at)? {
            record.payload = payload_from_python(&name, &payload)?;
        }
        if let Some(code) = item(&self.codes, at)? {
            record.code = code
                .extract()
                .map_err(|_| invalid(py, format!("{}: its code is {}; give True or False", name(), article(&code))))?;
        }
        Ok(record)
    }
}

fn item<'py>(column: &Option<Bound<'py, PyList>>, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(column) = column else { return Ok(None) };
    let value = column.get_item(at)?;
    Ok((!value.is_none()).then_some(value))
}

/// A Python string, or what is wrong with it.
pub fn string(value: &Bound<'_, PyAny>) -> Result<String, String> {
    let Ok(text) = value.cast::<PyString>() else {
        return Err(format!("is {}", article(value)));
    };
    text.to_str().map(str::to_owned).map_err(|_| "has lone surrogates, which are not valid Unicode".into())
}

/// id, text, payload, context, vector, vectors
pub type RecordParts<'py> = (String, Option<String>, Bound<'py, PyAny>, Option<String>, Option<Vec<f32>>, NamedVectors);

pub fn parts<'py>(py: Python<'py>, record: StoredRecord) -> PyResult<RecordParts<'py>> {
    let payload = payload_to_python(py, &record.payload)?.into_any();
    Ok((record.id, record.text, payload, record.context, record.vector, record.vectors))
}

/// Records that were asked for by id.
pub fn all_parts<'py>(py: Python<'py>, found: Vec<Option<StoredRecord>>) -> PyResult<Vec<Option<RecordParts<'py>>>> {
    found.into_iter().map(|record| record.map(|record| parts(py, record)).transpose()).collect()
}

/// A page of records, and the cursor of the next.
pub fn page_parts<'py>(py: Python<'py>, page: Page) -> PyResult<(Vec<RecordParts<'py>>, Option<String>)> {
    let found = page.records.into_iter().map(|record| parts(py, record)).collect::<PyResult<_>>()?;
    Ok((found, page.cursor))
}
