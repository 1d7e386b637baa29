//! Columns of a batch as records, and records as tuples.

use std::collections::HashMap;

use nuthatch_link::{NamedVectors, Page, Record, SparseVector, StoredRecord, TokenVectors, VectorValue};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList, PyString};

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

/// A value of a named vector field, as `nuthatch.vectors.ValueParts` describes it.
#[derive(FromPyObject)]
pub enum ValueParts {
    /// Components.
    Dense(PyBackedBytes),
    /// Components of all tokens, and how many each has.
    Tokens(PyBackedBytes, usize),
    /// Indices (little-endian u32), and values.
    Sparse(PyBackedBytes, PyBackedBytes),
}

impl ValueParts {
    fn bytes(&self) -> usize {
        match self {
            Self::Dense(bytes) | Self::Tokens(bytes, _) => bytes.len(),
            Self::Sparse(indices, values) => indices.len() + values.len(),
        }
    }

    pub fn value(&self) -> nuthatch_link::Result<VectorValue> {
        Ok(match self {
            Self::Dense(bytes) => VectorValue::Dense(floats(bytes)),
            Self::Tokens(bytes, dim) => VectorValue::Tokens(TokenVectors::new(*dim, floats(bytes))?),
            Self::Sparse(indices, values) => {
                let index = |x: &[u8]| u32::from_le_bytes([x[0], x[1], x[2], x[3]]);
                let indices = indices.chunks_exact(4).map(index).collect();
                VectorValue::Sparse(SparseVector::new(indices, floats(values))?)
            }
        })
    }
}

/// The values of a named vector field in a batch.
#[derive(FromPyObject)]
pub enum Values {
    /// All dense vectors in one piece, and the components of each.
    Matrix(PyBackedBytes, usize),
    /// Each by itself; `None` for records without.
    Rows(Vec<Option<ValueParts>>),
}

impl Values {
    fn row(&self, at: usize) -> nuthatch_link::Result<Option<VectorValue>> {
        match self {
            Self::Matrix(bytes, dim) => {
                Ok(bytes.get(at * dim * 4..(at + 1) * dim * 4).map(|row| VectorValue::Dense(floats(row))))
            }
            Self::Rows(rows) => rows.get(at).and_then(Option::as_ref).map(ValueParts::value).transpose(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Matrix(bytes, _) => bytes.len(),
            Self::Rows(rows) => rows.iter().flatten().map(ValueParts::bytes).sum(),
        }
    }
}

/// As a caller sees it: a list of numbers, a dict from indices to values, or a list for each token.
pub fn value_to_python<'py>(py: Python<'py>, value: &VectorValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        VectorValue::Dense(vector) => PyList::new(py, vector)?.into_any(),
        VectorValue::Sparse(vector) => {
            let terms = PyDict::new(py);
            vector.terms().try_for_each(|(index, value)| terms.set_item(index, value))?;
            terms.into_any()
        }
        VectorValue::Tokens(tokens) => {
            let rows = tokens.rows().map(|row| PyList::new(py, row)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, rows)?.into_any()
        }
    })
}

/// The same of several fields.
pub fn values_to_python<'py>(py: Python<'py>, values: &NamedVectors) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    values.iter().try_for_each(|(field, value)| found.set_item(field, value_to_python(py, value)?))?;
    Ok(found)
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
    named_vectors: Option<HashMap<String, Values>>,
    payloads: Option<Bound<'py, PyList>>,
    contexts: Option<Bound<'py, PyList>>,
    codes: Option<Bound<'py, PyList>>,
}

impl Columns<'_> {
    /// Estimates the size of the records.
    pub fn bytes(&self) -> u64 {
        let vectors = |vectors: &Vectors| match vectors {
            Vectors::Matrix(bytes, _) => bytes.len(),
            Vectors::Rows(rows) => rows.iter().flatten().map(|row| row.len()).sum(),
        };
        let texts = |texts: &Bound<'_, PyList>| -> usize { texts.iter().map(|text| text.len().unwrap_or(0)).sum() };
        let of_named: usize = self.named_vectors.iter().flat_map(HashMap::values).map(Values::bytes).sum();
        let of_vectors: usize = self.vectors.iter().map(vectors).sum::<usize>() + of_named;
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
            let value = vectors.row(at);
            let value =
                value.map_err(|error| invalid(py, format!("{}: field {field:?}: {}", name(), error.message)))?;
            record.vectors.extend(value.map(|value| (field.clone(), value)));
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
pub type RecordParts<'py> =
    (String, Option<String>, Bound<'py, PyAny>, Option<String>, Option<Vec<f32>>, Bound<'py, PyDict>);

pub fn parts<'py>(py: Python<'py>, record: StoredRecord) -> PyResult<RecordParts<'py>> {
    let payload = payload_to_python(py, &record.payload)?.into_any();
    let vectors = values_to_python(py, &record.vectors)?;
    Ok((record.id, record.text, payload, record.context, record.vector, vectors))
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
