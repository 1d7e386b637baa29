//! gRPC: Arrow Flight over a data folder, and the standard services for health and reflection.
//!
//! **What it is.** Record batches in and out of collections (`DoPut`, `DoGet`, `DoExchange`), their listing, and actions on them.
//! **Useful for** pipelines that speak Arrow already: pandas, Polars, Spark, DuckDB, whatever has a Flight client.
//! **Not for** listening, keys or limits: whoever serves it says who the [`Caller`] is, and runs what is asked.
//!
//! **Invariant:** a batch that was acknowledged is in the store, whole, as durable as was asked for; one that is refused changed
//! nothing. Of a stream no more is in memory than the batch at hand and the next one.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod action;
mod caller;
mod columns;
mod exchange;
mod get;
mod graph;
mod health;
mod incoming;
mod info;
mod message;
mod outgoing;
mod put;
mod question;
mod reflection;
mod service;
mod snapshots;
mod ticket;

pub use caller::{Begun, Caller, Scope};
pub use health::Health;
pub use service::{open_routes, routes};
