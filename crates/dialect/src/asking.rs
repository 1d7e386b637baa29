//! Questions and answers of calls that are asked by their names.

use nuthatch_engine::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The question of a call.
///
/// # Errors
/// `Invalid` with the place of what is wrong.
pub fn asked<T: DeserializeOwned>(call: &str, question: Value) -> Result<T> {
    serde_path_to_error::deserialize(question).map_err(|error| {
        let place = if error.path().iter().len() == 0 { String::new() } else { format!("{}: ", error.path()) };
        Error::invalid(format!("{call}: {place}{}", error.inner()))
    })
}

pub(crate) fn answered<T: Serialize>(answer: T) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::internal(format!("an answer is no JSON: {error}")))
}
