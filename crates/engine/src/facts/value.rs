//! Stored rows of facts, besides the facts themselves.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::facts::extract::Extracted;
use crate::facts::key::Hash;
use crate::kv::row;

/// The layout of the rows.
const LAYOUT: u8 = 1;

/// The state of facts as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The number of the next fact.
    pub next: u64,
    /// Facts that are kept.
    pub facts: u64,
    /// Of these, facts that were invalidated.
    pub invalidated: u64,
}

/// The declaration of a predicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub functional: bool,
    pub facts: u64,
}

/// An extractor's result for a passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memo {
    /// `Err`: why it failed.
    pub outcome: std::result::Result<Vec<Extracted>, String>,
    pub at_ms: u64,
    /// Calls so far.
    pub calls: u32,
    /// A record that had the passage.
    pub id: String,
    pub collection: u32,
}

/// The last state of a record that an extractor saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub id: String,
    pub row: u64,
    pub hash: Hash,
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    row::encode(value, LAYOUT, "facts")
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    row::decode(bytes, LAYOUT, "facts")
}
