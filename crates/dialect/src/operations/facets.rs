//! `facets`: how many records hold each value of some fields.

use nuthatch_engine::ops::records;
use nuthatch_engine::{Error, FieldValues, Result, Scalar};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Named;

/// Most values of one field that are shown.
const LIMIT_MAX: usize = 10_000;

/// A request to count the values of fields.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FacetsQuestion)]
pub(super) struct Facets {
    /// Fields of the payload; nested ones as dotted paths.
    fields: Vec<String>,
    /// Only records whose payload passes this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// Values of each field, the most frequent ones; default 10.
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FacetsAnswer)]
pub(super) struct Counted {
    /// In the order of the fields.
    facets: Vec<Facet>,
}

/// The values of one field among the records that match. Counts are exact.
#[derive(Debug, Serialize, ToSchema)]
pub struct Facet {
    field: String,
    /// The most frequent first; equals ascend.
    values: Vec<FacetValue>,
    /// The number of distinct values, shown or not.
    distinct: u64,
    /// Records without a value of the field.
    missing: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FacetValue {
    /// A boolean, a number or a text. 1 and 1.0 are two values.
    #[schema(value_type = Value)]
    value: Value,
    /// Records that hold the value; each counts once, even if it holds it several times.
    count: u64,
    /// The text is a datetime; absent when it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    datetime: bool,
}

impl From<FieldValues> for Facet {
    fn from(counted: FieldValues) -> Self {
        let FieldValues { field, values, distinct, missing } = counted;
        let value = |(value, count)| {
            let datetime = matches!(value, Scalar::Datetime(_));
            FacetValue { value: value.into_value().to_json(), count, datetime }
        };
        Self { field, values: values.into_iter().map(value).collect(), distinct, missing }
    }
}

impl Named for Facets {
    type Op = records::Facets;
    type Answer = Counted;
    const NAME: &'static str = "facets";
    const SAYS: &'static str = "Counts the records that hold each value of some fields.";
    const WORDS: &'static str = "fields";

    fn into_op(self) -> Result<records::Facets> {
        let limit = self.limit.unwrap_or(10);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(Error::invalid(format!("limit is {limit}; ask for 1 to {LIMIT_MAX} values of each field")));
        }
        Ok(records::Facets { fields: self.fields, filter: self.filter, limit })
    }

    fn answer(counted: Vec<FieldValues>) -> Counted {
        Counted { facets: counted.into_iter().map(Into::into).collect() }
    }

    fn text(answer: &Value) -> String {
        text_of(&answer["facets"])
    }
}

/// Facets in lines.
pub fn text_of(facets: &Value) -> String {
    let items = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut lines = Vec::new();
    for facet in items(facets) {
        let values = items(&facet["values"]);
        lines.push(word(&facet["field"]));
        lines.extend(values.iter().map(|value| format!("{:>10}  {}", value["count"], word(&value["value"]))));
        let others = facet["distinct"].as_u64().unwrap_or_default().saturating_sub(values.len() as u64);
        if others > 0 {
            lines.push(format!("            and {others} other values"));
        }
        if facet["missing"] != 0 {
            lines.push(format!("{:>10}  (no value)", facet["missing"]));
        }
    }
    lines.join("\n")
}
