//! A whole answer, as it is stored.

use serde_json::{Value, json};

use crate::json::{Fields, items};

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The body of the response to a request that does not stream.
    pub body: Fields,
    /// The lengths, in characters, of the pieces in which the text came; none: it did not come as a stream.
    pub lengths: Vec<usize>,
}

impl Answer {
    /// An answer that came as a whole; none where it is no object.
    pub fn whole(content: &[u8]) -> Option<Self> {
        match serde_json::from_slice(content) {
            Ok(Value::Object(body)) => Some(Self { body, lengths: Vec::new() }),
            _ => None,
        }
    }

    /// Returns the form in which a cache keeps the answer.
    pub fn stored(&self) -> Value {
        json!({ "answer": self.body, "pieces": self.lengths })
    }

    /// Reads [`stored`](Self::stored); none for what is something else.
    pub fn read(stored: &Value) -> Option<Self> {
        let body = stored["answer"].as_object()?.clone();
        let lengths = items(&stored["pieces"]).iter().map(|length| usize::try_from(length.as_u64()?).ok());
        Some(Self { body, lengths: lengths.collect::<Option<_>>()? })
    }

    /// The tokens of the request and of the answer, and how many of the request's the provider had cached; 0 where it does not say.
    pub fn tokens(&self) -> [u64; 3] {
        let usage = self.body.get("usage").unwrap_or(&Value::Null);
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let either = |one: &str, other: &str| number(&usage[one]).max(number(&usage[other]));
        let cached = ["prompt_tokens_details", "input_tokens_details"]
            .into_iter()
            .map(|name| number(&usage[name]["cached_tokens"]))
            .max()
            .unwrap_or_default();
        // Anthropic counts those that it had cached, and those that it caches, apart from the rest.
        let apart = number(&usage["cache_read_input_tokens"]);
        let written = number(&usage["cache_creation_input_tokens"]);
        let asked = either("prompt_tokens", "input_tokens") + apart + written;
        [asked, either("completion_tokens", "output_tokens"), cached + apart]
    }
}
