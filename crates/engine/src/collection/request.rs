//! The request of a search, and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nuthatch_filter::{Filter, Payload};
use nuthatch_vector::Accuracy;
use serde::{Deserialize, Serialize};

use crate::collection::{Explain, FieldValues, Fusion, Pending, Refine};
use crate::record::NamedVectors;
use crate::{Error, Result};

/// Most hits of one search, offset included.
pub const LIMIT_MAX: usize = 10_000;

/// Which legs a search walks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Words and vectors.
    Hybrid,
    /// Words alone.
    Text,
    /// Vectors alone.
    Vector,
}

impl std::str::FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "hybrid" => Ok(Self::Hybrid),
            "text" => Ok(Self::Text),
            "vector" => Ok(Self::Vector),
            _ => Err(Error::invalid(format!("unknown mode {name:?}; use \"hybrid\", \"text\" or \"vector\""))),
        }
    }
}

impl Mode {
    /// `hybrid`, `text` or `vector`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Text => "text",
            Self::Vector => "vector",
        }
    }
}

/// The parts of a record that hits carry besides id and score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Include {
    /// The record's text and context.
    pub text: bool,
    /// The record's payload.
    pub payload: bool,
    /// The record's vectors.
    pub vector: bool,
}

impl Default for Include {
    fn default() -> Self {
        Self { text: true, payload: true, vector: false }
    }
}

/// A search. At least one of text, vector and `like`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    /// Words to find, and what is embedded for the vector leg when no vector is given.
    pub text: Option<String>,
    /// `dim` f32 components.
    pub vector: Option<Vec<f32>>,
    /// Id of a record whose vector is searched with; it is not among the hits itself.
    pub like: Option<String>,
    /// The named field that `vector` or `like` is of.
    pub using: Option<String>,
    /// Further legs: vectors by the named field that they are of.
    pub vectors: NamedVectors,
    /// Default: every leg that the query and the collection allow. While fewer than half of the vectors are there, a
    /// text is searched by its words only.
    pub mode: Option<Mode>,
    /// Only records that pass it; they fill the limit.
    #[serde(with = "crate::codec::condition")]
    pub filter: Option<Filter>,
    /// Hits wanted, at least one.
    pub limit: usize,
    /// Best hits to leave out: those of earlier pages.
    pub offset: usize,
    /// The data that hits carry.
    pub include: Include,
    /// The data reported with the hits, and the choice of hits among the best rows.
    pub refine: Refine,
    /// How several legs become one score.
    pub fusion: Fusion,
    /// The accuracy of the vector leg. Fresh rows and small segments are searched exactly, or nearly so, in any case.
    #[serde(with = "Accurate")]
    pub accuracy: Accuracy,
    /// After this time the search ends with `Unavailable`.
    pub time_limit: Option<Duration>,
    /// Set it to end the search with `Unavailable`. A served process sends a cancel message instead.
    #[serde(skip)]
    pub cancel: Option<Arc<AtomicBool>>,
}

/// How an accuracy is spelt.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Accuracy")]
enum Accurate {
    Recall(f32),
    Ef(usize),
    Exact,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            text: None,
            vector: None,
            like: None,
            using: None,
            vectors: NamedVectors::new(),
            mode: None,
            filter: None,
            limit: 10,
            offset: 0,
            include: Include::default(),
            refine: Refine::default(),
            fusion: Fusion::default(),
            accuracy: Accuracy::default(),
            time_limit: None,
            cancel: None,
        }
    }
}

impl Search {
    /// For these words, and for the vector that the collection's embedder makes of them.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// For what is nearest to this vector.
    pub fn vector(vector: Vec<f32>) -> Self {
        Self { vector: Some(vector), ..Self::default() }
    }

    /// Records near the vector of a stored one, which is not among the hits.
    pub fn like(id: impl Into<String>) -> Self {
        Self { like: Some(id.into()), ..Self::default() }
    }

    /// Searches the vectors of a named field.
    pub fn using(mut self, field: impl Into<String>) -> Self {
        self.using = Some(field.into());
        self
    }

    /// How good the vector leg has to be.
    pub fn accuracy(mut self, accuracy: Accuracy) -> Self {
        self.accuracy = accuracy;
        self
    }

    /// How long it may take.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Hits wanted, at least one.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Best hits to leave out.
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Which legs to search.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Parses `condition`, for example `year >= 2024 and team in ('core', 'ops')`.
    pub fn filter(mut self, condition: &str) -> Result<Self> {
        self.filter = Some(nuthatch_filter::parse(condition)?);
        Ok(self)
    }

    /// Checks the search as far as that needs no collection.
    ///
    /// # Errors
    /// `Invalid`, with what is wrong.
    pub fn check(&self) -> Result<()> {
        if self.text.is_none() && self.vector.is_none() && self.like.is_none() && self.vectors.is_empty() {
            return Err(Error::invalid("a search needs a text, a vector, or the id of a similar record (`like`)"));
        }
        if self.vector.is_some() && self.like.is_some() {
            return Err(Error::invalid("a search takes `vector` or `like`, not both"));
        }
        if let Some(field) = &self.using
            && self.vector.is_none()
            && self.like.is_none()
        {
            return Err(Error::invalid(format!(
                "`using` names vector field {field:?}, but the search has no vector; give `vector` or `like` (a text is \
                embedded for unnamed vectors only)"
            )));
        }
        if let Some(field) = self.using.as_ref().filter(|field| self.vectors.contains_key(*field)) {
            return Err(Error::invalid(format!("vector field {field:?} is searched twice; remove one of the two")));
        }
        self.accuracy.check()?;
        if self.limit == 0 {
            return Err(Error::invalid("limit is 0; ask for at least one hit"));
        }
        if self.limit.saturating_add(self.offset) > LIMIT_MAX {
            return Err(Error::invalid(format!(
                "limit {} and offset {} exceed {LIMIT_MAX} together; narrow the search with a filter",
                self.limit, self.offset
            )));
        }
        self.fusion.check()
    }

    /// Hits wanted from the best on.
    pub(crate) fn depth(&self) -> usize {
        self.limit + self.offset
    }
}

/// Where a hit stood in one leg.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// From 1.
    pub rank: usize,
    /// BM25 (higher is better) in the text leg; cosine or dot product (higher is better), Euclidean or Hamming distance
    /// (lower is better) in the vector leg.
    pub score: f32,
}

/// A hit's place in each leg that found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Legs {
    /// Of the words.
    pub text: Option<Leg>,
    /// Of `vector`, `like`, or the embedded text.
    pub vector: Option<Leg>,
    /// Of `vectors`, by field.
    pub vectors: BTreeMap<String, Leg>,
    /// Of [`Refine::rerank`].
    pub rerank: Option<Leg>,
}

/// One answer of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The record's id.
    pub id: String,
    /// With one leg, the leg's score; with several, the fused score (higher is better).
    pub score: f32,
    /// If it was asked for and the record has one.
    pub text: Option<String>,
    /// Headings or symbols that the text stands under; comes with the text.
    pub context: Option<String>,
    /// Empty when it was not asked for.
    #[serde(with = "crate::codec::payload")]
    pub payload: Payload,
    /// The unnamed vector, if it was asked for and the record has one.
    pub vector: Option<Vec<f32>>,
    /// The vectors of named fields, if they were asked for.
    pub vectors: NamedVectors,
    /// Why it was found.
    pub legs: Legs,
}

/// Hits, best first, and how they were found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Why an index was not used, one sentence each; empty when all is well. The hits are correct either way.
    pub degraded: Vec<String>,
    /// The values that [`Refine::facets`] asked for, in its order.
    pub facets: Vec<FieldValues>,
    /// The offset of the next page, if there may be one.
    pub next_offset: Option<usize>,
    /// How many vectors are done while others are still to come; absent when none is pending.
    pub pending: Option<Pending>,
    /// How the search went.
    pub explain: Explain,
}
