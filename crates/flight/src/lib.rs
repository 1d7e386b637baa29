//! gRPC: Arrow Flight over a data folder, and the standard services for health and reflection.
//!
//! **What it is.** Record batches in and out of collections (`DoPut`, `DoGet`, `DoExchange`), their listing, and actions on them.
//! **Useful for** pipelines that speak Arrow already: pandas, Polars, Spark, DuckDB and other Flight clients.
//! **Not for** listening, keys or limits: the server around it identifies the [`Caller`] and runs its calls.
//!
//! **Invariant:** an acknowledged batch is in the store, whole, with the requested durability; a refused one changed
//! nothing. Of a stream, only the current batch and the next one are in memory.

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
