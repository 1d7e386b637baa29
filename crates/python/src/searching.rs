//! A search from Python's arguments, and its answer as tuples.

use std::collections::HashMap;
use std::time::Duration;

use nuthatch_dialect::accuracy;
use nuthatch_link::{Answer, Fusion, Hit, Include, Leg, Mode, NamedVectors, Result, Search};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::adding::CancelFlag;
use crate::error::invalid;
use crate::records::{floats, string};
use crate::value::{json_to_python, payload_to_python};

/// What `Collection.search` of the package hands over; it has filled in the defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Query<'py> {
    pub text: Option<Bound<'py, PyAny>>,
    pub vector: Option<PyBackedBytes>,
    pub like: Option<String>,
    pub using: Option<String>,
    /// Further legs, by vector field.
    pub vectors: Option<HashMap<String, PyBackedBytes>>,
    pub mode: Option<String>,
    pub condition: Option<String>,
    pub limit: usize,
    pub offset: usize,
    pub include_text: bool,
    pub include_payload: bool,
    pub include_vector: bool,
    pub fusion: String,
    pub text_weight: f32,
    pub vector_weight: f32,
    /// One of these three at most.
    pub recall: Option<f32>,
    pub effort: Option<usize>,
    pub exact: bool,
    pub timeout_seconds: Option<f64>,
    /// Whether a server is to say how the answer was found; the engine in this process always does.
    pub explain: bool,
    pub cancel: Option<Bound<'py, CancelFlag>>,
}

impl Query<'_> {
    pub fn search(&self, py: Python<'_>) -> PyResult<Result<Search>> {
        let text = match &self.text {
            None => None,
            Some(text) => Some(
                string(text).map_err(|what| invalid(py, format!("the text to search for {what}; give a string")))?,
            ),
        };
        Ok(self.build(text))
    }

    fn build(&self, text: Option<String>) -> Result<Search> {
        let search = Search {
            text,
            vector: self.vector.as_deref().map(floats),
            like: self.like.clone(),
            using: self.using.clone(),
            vectors: self.vectors.iter().flatten().map(|(field, vector)| (field.clone(), floats(vector))).collect(),
            mode: self.mode.as_deref().map(str::parse::<Mode>).transpose()?,
            filter: None,
            limit: self.limit,
            offset: self.offset,
            include: Include { text: self.include_text, payload: self.include_payload, vector: self.include_vector },
            fusion: Fusion::named(&self.fusion, self.text_weight, self.vector_weight)?,
            accuracy: accuracy(self.exact, self.effort, self.recall)?,
            time_limit: self.timeout_seconds.map(Duration::from_secs_f64),
            cancel: self.cancel.as_ref().map(|cancel| cancel.get().shared()),
        };
        match &self.condition {
            Some(condition) => search.filter(condition),
            None => Ok(search),
        }
    }
}

/// rank, score
type LegParts = (usize, f32);

/// id, score, text, context, payload, vector, vectors, text leg, vector leg, legs of vector fields
type HitParts<'py> = (
    String,
    f32,
    Option<String>,
    Option<String>,
    Bound<'py, PyAny>,
    Option<Vec<f32>>,
    NamedVectors,
    Option<LegParts>,
    Option<LegParts>,
    HashMap<String, LegParts>,
);

/// hits, degraded, offset of the next page, explain
pub type AnswerParts<'py> = (Vec<HitParts<'py>>, Vec<String>, Option<usize>, Bound<'py, PyAny>);

pub fn parts<'py>(py: Python<'py>, answer: Answer) -> PyResult<AnswerParts<'py>> {
    let explain = serde_json::to_value(&answer.explain).map_err(|error| invalid(py, error.to_string()))?;
    let hits = answer.hits.into_iter().map(|hit| hit_parts(py, hit)).collect::<PyResult<_>>()?;
    Ok((hits, answer.degraded, answer.next_offset, json_to_python(py, explain)?))
}

fn hit_parts<'py>(py: Python<'py>, hit: Hit) -> PyResult<HitParts<'py>> {
    let leg = |leg: Leg| (leg.rank, leg.score);
    let payload = payload_to_python(py, hit.payload)?.into_any();
    Ok((
        hit.id,
        hit.score,
        hit.text,
        hit.context,
        payload,
        hit.vector,
        hit.vectors,
        hit.legs.text.map(leg),
        hit.legs.vector.map(leg),
        hit.legs.vectors.into_iter().map(|(field, at)| (field, leg(at))).collect(),
    ))
}
