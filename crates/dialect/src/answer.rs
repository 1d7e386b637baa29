//! The answer to a search.

use std::collections::BTreeMap;

use nuthatch_engine::{Explain, datetimes_of, payload_to_json};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::operations::Facet;
use crate::search::Search;
use crate::vector::{FieldVector, Vector, VectorFormat};

/// Hits, best first, and how they were found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchAnswer)]
pub struct Answer {
    hits: Vec<Hit>,
    /// Why an index was not used, one sentence each. The hits are correct either way.
    degraded: Vec<String>,
    /// The requested `facets`, in their order; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facets: Vec<Facet>,
    /// The offset of the next page, if there may be more hits.
    next_offset: Option<usize>,
    /// The progress of pending vectors; absent when none is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
    /// Counts and choices of the search, if the request asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explain: Option<Explain>,
}

/// The progress of a collection's vectors. A record without its vector is found by its words.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = PendingVectors)]
pub struct Pending {
    /// Records that have their vector.
    vectors: u64,
    /// Records that have a vector or wait for one.
    records: u64,
}

impl From<nuthatch_engine::Pending> for Pending {
    fn from(nuthatch_engine::Pending { vectors, records }: nuthatch_engine::Pending) -> Self {
        Self { vectors, records }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Hit {
    id: String,
    /// With one leg, the leg's score; with two, the fused score (higher is better).
    score: f32,
    text: Option<String>,
    context: Option<String>,
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
    /// Dotted paths of the payload strings that are datetimes; absent if none are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<Vector>,
    /// Vectors of named fields, if the request asked for vectors.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<String, FieldVector>,
    legs: Legs,
}

/// A hit's place in each leg that found it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Legs {
    text: Option<Leg>,
    vector: Option<Leg>,
    /// Of `vectors`, by field.
    vectors: BTreeMap<String, Leg>,
    /// Of `rerank`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rerank: Option<Leg>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Leg {
    /// From 1.
    rank: usize,
    score: f32,
}

/// The parts of an answer to show, and their format.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    explain: bool,
    format: VectorFormat,
}

impl Shown {
    /// As the search asks for it.
    pub fn of(search: &Search) -> Self {
        Self { explain: search.explain, format: search.vector_format }
    }
}

impl Answer {
    /// The engine's answer, as the search wants it written.
    pub fn new(answer: nuthatch_engine::Answer, shown: Shown) -> Self {
        Self {
            hits: answer.hits.into_iter().map(|hit| Hit::new(hit, shown.format)).collect(),
            degraded: answer.degraded,
            facets: answer.facets.into_iter().map(Into::into).collect(),
            next_offset: answer.next_offset,
            pending: answer.pending.map(Pending::from),
            explain: shown.explain.then_some(answer.explain),
        }
    }
}

impl Hit {
    fn new(hit: nuthatch_engine::Hit, format: VectorFormat) -> Self {
        let nuthatch_engine::Legs { text, vector, vectors, rerank } = hit.legs;
        Self {
            datetimes: datetimes_of(&hit.payload),
            payload: payload_to_json(&hit.payload),
            legs: Legs {
                text: text.map(Into::into),
                vector: vector.map(Into::into),
                vectors: vectors.into_iter().map(|(field, leg)| (field, leg.into())).collect(),
                rerank: rerank.map(Into::into),
            },
            id: hit.id,
            score: hit.score,
            text: hit.text,
            context: hit.context,
            vector: hit.vector.map(|vector| format.write(vector)),
            vectors: format.write_all(hit.vectors),
        }
    }
}

impl From<nuthatch_engine::Leg> for Leg {
    fn from(leg: nuthatch_engine::Leg) -> Self {
        Self { rank: leg.rank, score: leg.score }
    }
}
