//! The JSON that clients write into tickets, descriptors and actions.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use nuthatch_link::{Durability, wording};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tonic::Status;

/// The data to read: all records of a collection, those that pass a condition, or those that a search finds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    pub collection: String,
    /// Columns, in this order; left out, all that the collection has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Only records whose payload passes this condition.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Most records of a scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Most rows of one batch of a scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_rows: Option<usize>,
    /// A question, as the HTTP interface takes it: its hits are the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Value>,
    /// A snapshot that the action `snapshot` has taken; left out, everything as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

/// Where a stream of batches goes, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub collection: String,
    /// The durability that a batch has when it is acknowledged.
    #[serde(default)]
    pub durability: Durability,
    /// Create the collection for the stream's schema if there is none.
    #[serde(default)]
    pub create: bool,
}

/// Searches to come: what they have in common.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searches {
    pub collection: String,
    /// Columns of the answer besides `query`; left out, `id` and `score`.
    pub columns: Option<Vec<String>>,
    /// A question without text and vector, as the HTTP interface takes it.
    #[serde(default)]
    pub search: Option<Value>,
}

/// A descriptor is a path of one part, the collection's name, or JSON.
///
/// # Errors
/// `INVALID_ARGUMENT` for anything else.
pub fn of_descriptor<T: DeserializeOwned>(
    descriptor: &FlightDescriptor,
    of_path: impl FnOnce(String) -> T,
) -> Result<T, Status> {
    match (descriptor.r#type(), &descriptor.path[..]) {
        (DescriptorType::Path, [collection]) => Ok(of_path(collection.clone())),
        (DescriptorType::Path, parts) => Err(Status::invalid_argument(format!(
            "the descriptor's path has {} parts; give one, the name of a collection",
            parts.len()
        ))),
        (DescriptorType::Cmd, _) => parse(&descriptor.cmd, "the descriptor's command"),
        (DescriptorType::Unknown, _) => Err(Status::invalid_argument(
            "the descriptor has no type; give a path of one part, the name of a collection",
        )),
    }
}

/// # Errors
/// `INVALID_ARGUMENT` with what it is and the place.
pub fn parse<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Status> {
    wording::from_json(bytes).map_err(|why| Status::invalid_argument(format!("{what} is JSON: {why}")))
}

impl Ticket {
    pub fn of(collection: impl Into<String>) -> Self {
        Self { collection: collection.into(), ..Self::default() }
    }
}
