//! `count`: how many records there are, or how many pass a condition.

use nuthatch_engine::Result;
use nuthatch_engine::ops::records;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Named;

/// Which records to count.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CountQuestion)]
pub(super) struct Count {
    /// Only records whose payload passes this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
}

/// Records that were counted.
#[derive(Serialize, ToSchema)]
#[schema(as = CountAnswer)]
pub(super) struct Counted {
    count: u64,
}

impl Named for Count {
    type Op = records::Count;
    type Answer = Counted;
    const NAME: &'static str = "count";
    const SAYS: &'static str = "Counts the records, or those that pass a condition.";
    const WORDS: &'static str = "where";

    fn into_op(self) -> Result<records::Count> {
        Ok(records::Count(self.filter))
    }

    fn answer(count: u64) -> Counted {
        Counted { count }
    }

    fn text(answer: &Value) -> String {
        answer["count"].to_string()
    }
}
