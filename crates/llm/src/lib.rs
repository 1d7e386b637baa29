//! The questions in requests to language models, and the parts of their answers that may be kept: one module for each
//! API.
//!
//! **What it is.** [`Api`] says which text of a request is the question, what must be the same, what no cache answers, and which
//! answers are never stored. It reads a stream of events as the answer that it is, and writes an answer as a stream.
//! **Useful for** whatever stands between a client and a provider, such as the caching proxy.
//! **Not for** talking: it opens no connection, and knows neither caches nor keys. The Python package has the same rules in
//! `integrations/dialects`; `tests/llm/vectors.json` holds both to the same results.
//!
//! **Invariant:** a field that is not known here makes a request one that is answered only where everything is the same; a stream is
//! an answer only once its last event is whole.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod answer;
mod api;
mod chat;
mod digest;
mod embeddings;
mod events;
mod json;
mod messages;
mod parts;
mod question;
mod recorder;
mod responses;

pub use answer::Answer;
pub use api::Api;
pub use digest::digest;
pub use embeddings::Inputs;
pub use events::{Event, Reader};
pub use question::{Allowed, Bypass, Question};
pub use recorder::Recorder;
