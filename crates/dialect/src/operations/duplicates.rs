//! `duplicates`: pairs of records whose vectors are nearly the same.

use nuthatch_engine::ops::records;
use nuthatch_engine::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Named;

const LIMIT_MAX: usize = 1_000;
const NEIGHBORS_MAX: usize = 100;

/// Which pairs to look for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DuplicatesQuestion)]
pub(super) struct Duplicates {
    /// The cosine from which on two records are a pair; default 0.95.
    #[schema(minimum = 0, maximum = 1)]
    threshold: Option<f64>,
    /// Only records whose payload passes this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// Nearest records that are compared with each; default 10.
    #[schema(minimum = 1, maximum = 100)]
    neighbors: Option<usize>,
    /// Records of a page; default 100.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Of the page before, to go on.
    cursor: Option<String>,
}

/// Two records, the one with the lower id first.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicatePair)]
pub(super) struct Pair {
    first: String,
    second: String,
    /// The cosine of their vectors.
    similarity: f64,
}

/// Pairs. One may come on two pages, once for each of its records.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicatesAnswer)]
pub(super) struct Pairs {
    pairs: Vec<Pair>,
    /// Where to go on; null at the end.
    cursor: Option<String>,
}

impl Named for Duplicates {
    type Op = records::Duplicates;
    type Answer = Pairs;
    const NAME: &'static str = "duplicates";
    const SAYS: &'static str = "Lists pairs of records whose vectors are nearly the same; it merges nothing.";
    const WORDS: &'static str = "threshold";

    fn into_op(self) -> Result<records::Duplicates> {
        let Self { threshold, filter, neighbors, limit, cursor } = self;
        let (threshold, neighbors, limit) = (threshold.unwrap_or(0.95), neighbors.unwrap_or(10), limit.unwrap_or(100));
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Error::invalid(format!("threshold is {threshold}; give 0 to 1")));
        }
        if !(1..=NEIGHBORS_MAX).contains(&neighbors) {
            return Err(Error::invalid(format!("neighbors is {neighbors}; give 1 to {NEIGHBORS_MAX}")));
        }
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(Error::invalid(format!("limit is {limit}; ask for 1 to {LIMIT_MAX} records")));
        }
        Ok(records::Duplicates { threshold, neighbors, limit, filter, cursor })
    }

    fn answer(records::DuplicatePage { pairs, cursor }: records::DuplicatePage) -> Pairs {
        let pair = |records::DuplicatePair { first, second, similarity }| Pair { first, second, similarity };
        Pairs { pairs: pairs.into_iter().map(pair).collect(), cursor }
    }

    fn text(answer: &Value) -> String {
        let pair = |pair: &Value| {
            let word = |name: &str| pair[name].as_str().unwrap_or_default().to_string();
            format!("{:.4}  {}  {}", pair["similarity"].as_f64().unwrap_or_default(), word("first"), word("second"))
        };
        let mut lines: Vec<String> = answer["pairs"].as_array().into_iter().flatten().map(pair).collect();
        if let Some(cursor) = answer["cursor"].as_str() {
            lines.push(format!("more: cursor {cursor}"));
        }
        lines.join("\n")
    }
}
