//! The server: one process that answers for a data folder over the network.
//!
//! **What it is.** A listener for HTTP/1.1 and HTTP/2 (REST under `/v1`, gRPC, the Model Context Protocol at `/mcp`, the console at `/ui/`, `/metrics`, `/healthz`, `/readyz`), keys and their
//! scopes, limits, logs, figures, and an end in good order.
//! **Useful for** `nuthatch serve`, and for Rust programs that want the same listener.
//! **Not for** rules about data: each route reads its request, makes one call of the engine on a thread that may block, and
//! writes the answer.
//!
//! **Invariant:** a write that was answered is in the store as durable as was asked for; memory, threads and connections are
//! bounded whatever clients send; who may ask, and of which database, is decided in one place ([`Caller`]).

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod access;
mod admission;
mod api;
mod audit;
mod caller;
mod checks;
mod clock;
mod cluster_state;
pub mod config;
mod console;
mod extract;
mod faces;
mod grpc;
mod listener;
mod low_priority;
mod mcp;
mod messages;
mod middleware;
mod parameters;
mod problem;
mod proxy;
mod redis;
mod router;
mod server;
mod shared;
mod signals;
mod snapshots;
mod strict;
mod telemetry;
mod undrained_body;

pub use access::{Key, KeyFile, NewKey, PASSWORD_BYTES, Scope, Scopes, TENANT_DEFAULT, Token};
pub use api::document;
pub use audit::{AuditFile, Entry as AuditEntry, Outcome as AuditOutcome, Page as AuditPage, Who as AuditWho};
pub use caller::Caller;
pub use clock::now;
pub use cluster_state::ClusterState;
pub use config::Config;
pub use listener::Tls;
pub use problem::Problem;
pub use server::{Listeners, Server, check, run, run_for_browser, runtime};
pub use shared::{Cluster, Gate, Hold, Node};
pub use signals::listen as listen_to_signals;
pub use telemetry::start_logging;
