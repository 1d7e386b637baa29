//! What the server promises, each promise one test, over real connections.

mod access;
mod administration;
mod client;
mod collections;
mod compact;
mod http;
mod ingest;
mod keys;
mod lifecycle;
mod limits;
mod mcp;
mod place;
mod redis;
mod searching;
mod tenants;
mod tls;
