//! A search from Python's arguments, and its answer, of which Python objects are made when they are looked at.

use std::collections::HashMap;
use std::time::Duration;

use nuthatch_dialect::operations::Facet;
use nuthatch_dialect::{self as dialect, Part, Vector};
use nuthatch_link::{Answer, Hit, Leg, NamedVectors, Result, Search};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::iter::BorrowedTupleIterator;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use serde::Serialize;

use crate::adding::CancelFlag;
use crate::error::invalid;
use crate::records::{floats, string};
use crate::value::{json_to_python, payload_to_python};

/// What `Collection.search` of the package hands over, a tuple in this order: what JSON would make larger or could not hold, what
/// nearly every search says, and the other fields that are given as the dialect has them.
pub struct Query<'py> {
    pub text: Option<Bound<'py, PyAny>>,
    pub vector: Option<PyBackedBytes>,
    /// Further legs, by vector field.
    pub vectors: Option<HashMap<String, PyBackedBytes>>,
    pub timeout_seconds: Option<f64>,
    pub cancel: Option<Bound<'py, CancelFlag>>,
    pub condition: Option<String>,
    pub limit: usize,
    pub offset: usize,
    pub recall: Option<f32>,
    pub ef: Option<usize>,
    pub exact: bool,
    /// text, payload, vector
    pub include: (bool, bool, bool),
    pub explain: bool,
    /// An object in JSON; none when all of them are at their defaults.
    pub fields: Option<Bound<'py, PyString>>,
}

impl<'py> FromPyObject<'_, 'py> for Query<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let given = given.cast::<PyTuple>()?;
        let mut fields = given.iter_borrowed();
        Ok(Self {
            text: next(&mut fields)?,
            vector: next(&mut fields)?,
            vectors: next(&mut fields)?,
            timeout_seconds: next(&mut fields)?,
            cancel: next(&mut fields)?,
            condition: next(&mut fields)?,
            limit: next(&mut fields)?,
            offset: next(&mut fields)?,
            recall: next(&mut fields)?,
            ef: next(&mut fields)?,
            exact: next(&mut fields)?,
            include: next(&mut fields)?,
            explain: next(&mut fields)?,
            fields: next(&mut fields)?,
        })
    }
}

fn next<'py, T>(fields: &mut BorrowedTupleIterator<'_, 'py>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let field = fields.next().ok_or_else(|| PyTypeError::new_err("a query of fewer fields"))?;
    field.extract().map_err(Into::into)
}

impl Query<'_> {
    /// As every face writes it.
    pub fn asked(&self, py: Python<'_>) -> PyResult<Result<dialect::Search>> {
        let text = match &self.text {
            None => None,
            Some(text) => Some(
                string(text).map_err(|what| invalid(py, format!("the text to search for {what}; give a string")))?,
            ),
        };
        let given = match &self.fields {
            None => Ok(dialect::Search::default()),
            Some(fields) => {
                let fields = serde_json::from_str(&fields.to_cow()?);
                dialect::Search::of(fields.map_err(|error| invalid(py, format!("the search: {error}")))?)
            }
        };
        let vectors = self.vectors.iter().flatten();
        let parts = [(self.include.0, Part::Text), (self.include.1, Part::Payload), (self.include.2, Part::Vector)];
        Ok(given.map(|given| dialect::Search {
            text,
            vector: self.vector.as_deref().map(|vector| Vector::Numbers(floats(vector))),
            vectors: vectors.map(|(field, vector)| (field.clone(), Vector::Numbers(floats(vector)))).collect(),
            filter: self.condition.clone(),
            limit: self.limit,
            offset: self.offset,
            recall: self.recall,
            ef: self.ef,
            exact: self.exact,
            include: Some(parts.into_iter().filter_map(|(is_wanted, part)| is_wanted.then_some(part)).collect()),
            explain: self.explain,
            ..given
        }))
    }

    /// As the engine has it.
    pub fn search(&self, py: Python<'_>) -> PyResult<Result<Search>> {
        let time_limit = self.timeout_seconds.map(Duration::from_secs_f64);
        let cancel = self.cancel.as_ref().map(|cancel| cancel.get().shared());
        Ok(self.asked(py)?.and_then(|asked| asked.into_engine(time_limit, cancel)))
    }
}

/// rank, score
type LegParts = (usize, f32);

/// What a hit carries besides id and score: text, context, payload, vector, vectors, and its places in the legs: of the words, of the
/// vector, of each vector field.
type RestParts<'py> = (
    Option<Bound<'py, PyString>>,
    Option<Bound<'py, PyString>>,
    Bound<'py, PyDict>,
    Option<Vec<f32>>,
    NamedVectors,
    Option<LegParts>,
    Option<LegParts>,
    HashMap<String, LegParts>,
);

/// The hits of an answer. What is not looked at never becomes a Python object.
#[pyclass(frozen, module = "nuthatch._core")]
pub struct Hits {
    hits: Vec<Hit>,
}

#[pymethods]
impl Hits {
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.hits.iter().map(|hit| &hit.id))
    }

    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.hits.iter().map(|hit| hit.score))
    }

    /// What the hit at this place carries besides.
    fn rest<'py>(&self, py: Python<'py>, at: usize) -> PyResult<RestParts<'py>> {
        let hit = self.hits.get(at).ok_or_else(|| PyIndexError::new_err("there is no such hit"))?;
        let string = |text: &Option<String>| text.as_ref().map(|text| PyString::new(py, text));
        let leg = |leg: &Leg| (leg.rank, leg.score);
        Ok((
            string(&hit.text),
            string(&hit.context),
            payload_to_python(py, &hit.payload)?,
            hit.vector.clone(),
            hit.vectors.clone(),
            hit.legs.text.as_ref().map(leg),
            hit.legs.vector.as_ref().map(leg),
            hit.legs.vectors.iter().map(|(field, at)| (field.clone(), leg(at))).collect(),
        ))
    }
}

/// hits, degraded, offset of the next page, vectors and records while vectors are to come, explain if it is asked for, facets if any are
pub type AnswerParts<'py> = (
    Bound<'py, Hits>,
    Vec<String>,
    Option<usize>,
    Option<(u64, u64)>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
);

pub fn parts<'py>(py: Python<'py>, answer: Answer, explain: bool) -> PyResult<AnswerParts<'py>> {
    let Answer { hits, degraded, facets, next_offset, pending, explain: explained } = answer;
    let explained = match explain {
        true => Some(report(py, &explained)?),
        false => None,
    };
    let facets = match &facets[..] {
        [] => None,
        _ => Some(report(py, &facets.into_iter().map(Facet::from).collect::<Vec<_>>())?),
    };
    let pending = pending.map(|pending| (pending.vectors, pending.records));
    Ok((Bound::new(py, Hits { hits })?, degraded, next_offset, pending, explained, facets))
}

fn report<'py>(py: Python<'py>, told: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_value(told).map_err(|error| invalid(py, error.to_string()))?;
    json_to_python(py, json)
}
