//! What the server promises, each promise one test, over real connections.

mod access;
mod administration;
mod audit;
mod client;
mod collections;
mod compact;
mod console;
mod flight;
mod http;
mod ingest;
mod isolation;
mod keys;
mod lifecycle;
mod limits;
mod mangled;
mod mcp;
mod place;
mod redis;
mod scopes;
mod searching;
mod snapshots;
mod tenants;
mod throttling;
mod tls;
mod trees;
