//! The question of a request.

use serde_json::Value;

use crate::digest;

/// A longer text is no question: it is found by its hash.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Further requests and answers that a cache serves, where everything is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Answers that call tools.
    pub tool_calls: bool,
    /// Requests with images, sound or files.
    pub media: bool,
}

/// Why no cache answers a request: a word or two for a header and a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bypass(pub &'static str);

/// One request: what is compared, and what must be the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The text to compare.
    pub text: String,
    /// Everything else that the answer depends on.
    pub rest: Value,
    /// False: only the very same text is answered.
    pub by_meaning: bool,
}

impl Question {
    /// The prompt and the hash of the rest under which a cache has the answer. `place` is what else the answer depends on, such as
    /// the address. Where only the same text is answered, the text is in the hash, so nothing else lies in its scope.
    pub fn key(self, place: Value) -> (String, String) {
        let Self { mut text, rest, mut by_meaning } = self;
        let mut rest = Value::Object([("url".to_string(), place), ("request".to_string(), rest)].into_iter().collect());
        if text.trim().is_empty() || text.len() > TEXT_BYTES_MAX {
            by_meaning = false;
            let hash = digest(&Value::String(text.clone()));
            rest = Value::Array(vec![rest, Value::String(text)]);
            text = hash;
        }
        let mut hashed = vec![rest];
        if !by_meaning {
            hashed.push(Value::String(text.clone()));
        }
        (text, digest(&Value::Array(hashed)))
    }
}
