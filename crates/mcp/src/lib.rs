//! The Model Context Protocol: what a language model may ask of a memory.
//!
//! **What it is.** One handler with a few tools, resources and prompts over an open [`Database`](nuthatch_link::Database), and the
//! transport over standard input and output. The server gives the same handler another transport, Streamable HTTP.
//! **Useful for** `nuthatch mcp`, and for `/mcp` of `nuthatch serve`.
//! **Not for** deciding who may ask: that is [`Access`], which each transport brings.
//!
//! **Invariant:** no result is larger than its bound in tokens; what did not fit is reached with a cursor. Whatever goes wrong in a tool
//! is told to the model with what to do next.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod access;
mod budget;
mod call_context;
mod handler;
mod hit_view;
mod place;
mod prompts;
mod refusal;
mod resources;
mod schema;
mod sources;
mod stdio;
mod subscriptions;
mod tools;
mod uri;

pub use access::{Access, Settings};
pub use budget::{BYTES_PER_TOKEN, TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN};
pub use handler::Handler;
pub use refusal::Refusal;
pub use stdio::{Local, serve, serve_stdio};
pub use subscriptions::{STREAMS_MAX, Streams, WATCHED_MAX};
