//! A search from Python's arguments, and its answer as tuples.

use std::collections::HashMap;
use std::time::Duration;

use nuthatch_dialect::operations::Facet;
use nuthatch_dialect::{self as dialect, Vector};
use nuthatch_link::{Answer, Hit, Leg, NamedVectors, Result, Search};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::adding::CancelFlag;
use crate::error::invalid;
use crate::records::{floats, string};
use crate::value::{json_to_python, payload_to_python};

/// What `Collection.search` of the package hands over: what JSON would make larger or could not hold, and the other fields as the
/// dialect has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Query<'py> {
    pub text: Option<Bound<'py, PyAny>>,
    pub vector: Option<PyBackedBytes>,
    /// Further legs, by vector field.
    pub vectors: Option<HashMap<String, PyBackedBytes>>,
    pub timeout_seconds: Option<f64>,
    pub cancel: Option<Bound<'py, CancelFlag>>,
    /// An object in JSON.
    pub fields: String,
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
        let fields = serde_json::from_str(&self.fields).map_err(|error| invalid(py, format!("the search: {error}")))?;
        let vectors = self.vectors.iter().flatten();
        Ok(dialect::Search::of(fields).map(|asked| dialect::Search {
            text,
            vector: self.vector.as_deref().map(|vector| Vector::Numbers(floats(vector))),
            vectors: vectors.map(|(field, vector)| (field.clone(), Vector::Numbers(floats(vector)))).collect(),
            ..asked
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

/// A hit; a dict in Python.
#[derive(IntoPyObject)]
pub struct HitParts<'py> {
    id: String,
    score: f32,
    text: Option<String>,
    context: Option<String>,
    payload: Bound<'py, PyAny>,
    vector: Option<Vec<f32>>,
    vectors: NamedVectors,
    text_leg: Option<LegParts>,
    vector_leg: Option<LegParts>,
    /// Of vector fields.
    named_legs: HashMap<String, LegParts>,
}

/// hits, degraded, offset of the next page, vectors and records while vectors are to come, explain, facets
pub type AnswerParts<'py> =
    (Vec<HitParts<'py>>, Vec<String>, Option<usize>, Option<(u64, u64)>, Bound<'py, PyAny>, Bound<'py, PyAny>);

pub fn parts<'py>(py: Python<'py>, answer: Answer) -> PyResult<AnswerParts<'py>> {
    let explain = serde_json::to_value(&answer.explain).map_err(|error| invalid(py, error.to_string()))?;
    let hits = answer.hits.into_iter().map(|hit| hit_parts(py, hit)).collect::<PyResult<_>>()?;
    let facets: Vec<Facet> = answer.facets.into_iter().map(Into::into).collect();
    let facets = serde_json::to_value(facets).map_err(|error| invalid(py, error.to_string()))?;
    let pending = answer.pending.map(|pending| (pending.vectors, pending.records));
    let (explain, facets) = (json_to_python(py, explain)?, json_to_python(py, facets)?);
    Ok((hits, answer.degraded, answer.next_offset, pending, explain, facets))
}

fn hit_parts<'py>(py: Python<'py>, hit: Hit) -> PyResult<HitParts<'py>> {
    let leg = |leg: Leg| (leg.rank, leg.score);
    Ok(HitParts {
        id: hit.id,
        score: hit.score,
        text: hit.text,
        context: hit.context,
        payload: payload_to_python(py, hit.payload)?.into_any(),
        vector: hit.vector,
        vectors: hit.vectors,
        text_leg: hit.legs.text.map(leg),
        vector_leg: hit.legs.vector.map(leg),
        named_legs: hit.legs.vectors.into_iter().map(|(field, at)| (field, leg(at))).collect(),
    })
}
