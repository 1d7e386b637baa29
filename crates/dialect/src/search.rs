//! A search, as it is asked.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use nuthatch_engine::{Error, Fusion, Include, Refine, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{PartialSchema, ToSchema};

use crate::accuracy::accuracy;
use crate::fields::{Field, fields};
use crate::names::{FusionName, ModeName, Part};
use crate::vector::{self, FieldVector, Vector, VectorFormat, tokens_into_engine};

/// A search, with at least one of text, vector and like.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Words to find; also embedded for the vector leg if no vector is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vector>,
    /// Id of a record whose vector to search with; the record itself is not a hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// The named vector field to search with `vector` or `like`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub using: Option<String>,
    /// Further legs: query vectors by named field; for a sparse field its indices and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vectors: BTreeMap<String, FieldVector>,
    /// Default: every leg that the search and the collection allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeName>,
    /// Only records whose payload matches this condition, for example `year >= 2024 and team in ('core', 'ops')`.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Maximum number of hits; limit and offset together are at most 10,000.
    #[serde(default = "limit_default")]
    #[schema(minimum = 1, maximum = 10000)]
    pub limit: usize,
    #[serde(default)]
    #[schema(maximum = 9999)]
    pub offset: usize,
    /// The parts that hits contain in addition to id, score and legs; default `text` and `payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<Part>>,
    /// The encoding of the vectors of hits.
    #[serde(default)]
    pub vector_format: VectorFormat,
    /// How to fuse two legs into one ranking.
    #[serde(default)]
    pub fusion: FusionName,
    #[serde(default = "one")]
    #[schema(minimum = 0)]
    pub text_weight: f32,
    #[serde(default = "one")]
    #[schema(minimum = 0)]
    pub vector_weight: f32,
    /// Target recall of the vector leg: the average share of the true nearest neighbors that it finds, 0.5 to 0.999;
    /// default 0.99.
    #[schema(minimum = 0.5, maximum = 0.999)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f32>,
    /// Size of the search list in a walk of the graph; replaces recall. `effort` is its deprecated name.
    #[schema(minimum = 1, maximum = 100000)]
    #[serde(alias = "effort", skip_serializing_if = "Option::is_none")]
    pub ef: Option<usize>,
    /// Compare with every vector (exact search).
    #[serde(default)]
    pub exact: bool,
    /// Return the ten most frequent values of each of these fields among all records that pass `where`, hits or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<String>,
    /// Of records that share a value of this field, return only the best; records without a value are one group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_by: Option<String>,
    /// Return only records whose text has the words of each of these phrases one after another, in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phrases: Vec<String>,
    /// Also find words that differ by a letter or two from those of `text`, or whose letters changed places; they count less.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fuzzy: bool,
    /// Take the last word of `text` for the beginning of a word, unless something stands behind it: search as somebody types.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prefix: bool,
    /// Leave out records with a worse score: a lower one, or a greater distance where the score is a distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<f32>,
    /// Rerank the best hits by a field of token vectors (MaxSim); their scores are those of that comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Rerank>,
    /// Timeout in milliseconds; the server's own limit applies as well.
    #[schema(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<f64>,
    /// Return how the search ran.
    #[serde(default)]
    pub explain: bool,
}

/// How to rerank the best hits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rerank {
    /// The field of token vectors.
    pub using: String,
    /// The query's: one vector for each of its tokens.
    pub tokens: Vec<Vector>,
    /// How many of the best hits to compare; default 100, at least limit and offset together.
    #[serde(default = "candidates_default")]
    #[schema(minimum = 1, maximum = 10000)]
    pub candidates: usize,
}

impl Rerank {
    fn into_engine(self) -> Result<nuthatch_engine::Rerank> {
        let tokens =
            tokens_into_engine(self.tokens).map_err(|error| Error::invalid(format!("rerank: {}", error.message)))?;
        Ok(nuthatch_engine::Rerank { field: self.using, tokens, candidates: self.candidates })
    }
}

fn candidates_default() -> usize {
    nuthatch_engine::Rerank::CANDIDATES
}

fn limit_default() -> usize {
    10
}

fn one() -> f32 {
    1.0
}

impl Default for Search {
    /// When nothing is given.
    fn default() -> Self {
        static NOTHING: LazyLock<Search> =
            LazyLock::new(|| Search::of(Map::new()).expect("every field may be left out"));
        NOTHING.clone()
    }
}

/// Fields that faces take by their names and descriptions, without spelling them out.
const FURTHER: [&str; 7] = ["facets", "group_by", "phrases", "fuzzy", "prefix", "score_threshold", "rerank"];

/// The fields of a search that a face takes besides those that it spells out.
pub fn further() -> Vec<Field> {
    let mut fields = fields(&Search::schema());
    fields.retain(|field| FURTHER.contains(&field.name.as_str()));
    fields
}

/// Parses such fields.
///
/// # Errors
/// `Invalid` for a wrong value or an unknown field.
pub fn refine(given: Map<String, Value>) -> Result<Refine> {
    match given.keys().find(|name| !FURTHER.contains(&name.as_str())) {
        Some(unknown) => Err(Error::invalid(format!("unknown field `{unknown}`"))),
        None => Search::of(given)?.refine(),
    }
}

impl Search {
    fn refine(&self) -> Result<Refine> {
        Ok(Refine {
            facets: self.facets.clone(),
            group_by: self.group_by.clone(),
            phrases: self.phrases.clone(),
            fuzzy: self.fuzzy,
            prefix: self.prefix,
            score_threshold: self.score_threshold,
            rerank: self.rerank.clone().map(Rerank::into_engine).transpose()?,
        })
    }

    /// Of the fields that were given; the others are at their defaults.
    ///
    /// # Errors
    /// `Invalid` with the name of the wrong field.
    pub fn of(fields: Map<String, Value>) -> Result<Self> {
        serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
            let place = if error.path().iter().len() == 0 { String::new() } else { format!("{}: ", error.path()) };
            Error::invalid(format!("the search: {place}{}", error.inner()))
        })
    }

    /// As the engine has it. The time is the caller's to bound: `timeout_ms` is not read here.
    ///
    /// # Errors
    /// `Invalid` with the wrong part.
    pub fn into_engine(
        self,
        time_limit: Option<Duration>,
        cancel: Option<Arc<AtomicBool>>,
    ) -> Result<nuthatch_engine::Search> {
        let has = |part| self.include.as_ref().is_none_or(|parts| parts.contains(&part));
        let include = Include {
            text: has(Part::Text),
            payload: has(Part::Payload),
            vector: self.include.is_some() && has(Part::Vector),
        };
        let refine = self.refine()?;
        let search = nuthatch_engine::Search {
            refine,
            mode: self.mode.map(Into::into),
            filter: None,
            limit: self.limit,
            offset: self.offset,
            include,
            fusion: Fusion::named(self.fusion.name(), self.text_weight, self.vector_weight)?,
            accuracy: accuracy(self.exact, self.ef, self.recall)?,
            time_limit,
            cancel,
            text: self.text,
            vector: self.vector.map(Vector::into_engine),
            like: self.like,
            using: self.using,
            vectors: vector::into_engine(self.vectors)?,
        };
        match &self.filter {
            Some(condition) => search.filter(condition),
            None => Ok(search),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte for byte what clients of the first version send.
    const WRITTEN: &str = r#"{"text":"osprey","vector":"AACAPw==","using":"body","vectors":{"title":"AACAPw=="},"mode":"hybrid","where":"year > 2024","limit":3,"offset":1,"include":["text","vector"],"vector_format":"base64","fusion":"weighted","text_weight":0.5,"vector_weight":2.0,"recall":0.9,"exact":false,"timeout_ms":250.0,"explain":true}"#;

    #[test]
    fn a_search_is_written_as_it_is_read() {
        let mut search: Search = serde_json::from_str(WRITTEN).unwrap();
        let base64 = || Vector::Base64("AACAPw==".into());
        (search.vector, search.vectors) =
            (Some(base64()), [("title".to_string(), FieldVector::Dense(base64()))].into());
        assert_eq!(serde_json::to_string(&search).unwrap(), WRITTEN);
        let engine = search.into_engine(None, None).unwrap();
        assert_eq!(engine.include, Include { text: true, payload: false, vector: true });
        assert_eq!(engine.fusion, Fusion::Weighted { text_weight: 0.5, vector_weight: 2.0 });
        assert!(engine.filter.is_some() && engine.vector == Some(vec![1.0]));
    }

    #[test]
    fn what_is_left_out_of_a_search_is_at_its_default() {
        let search: Search = serde_json::from_str(r#"{"text":"a"}"#).unwrap();
        let engine = search.into_engine(None, None).unwrap();
        let default = nuthatch_engine::Search::text("a");
        assert_eq!((engine.limit, engine.offset, engine.include), (default.limit, default.offset, default.include));
        assert_eq!((engine.fusion, engine.accuracy, engine.mode), (default.fusion, default.accuracy, default.mode));
        for wrong in
            [r#"{"text":"a","limits":3}"#, r#"{"text":"a","mode":"words"}"#, r#"{"text":"a","include":["id"]}"#]
        {
            assert!(serde_json::from_str::<Search>(wrong).is_err(), "{wrong}");
        }
    }
}
