//! The promises of the command, one test each, all through the built program.

mod adding;
mod auditing;
mod backing_up;
mod browsing;
mod caches;
mod doctor;
mod embedders;
mod facts;
#[allow(dead_code, reason = "the server's own suite asks more with it")]
#[path = "../../../server/tests/server/flight.rs"]
mod flight;
mod folders;
mod graphs;
mod hostile;
#[path = "../../../code/tests/support/index.rs"]
mod index;
mod interrupted;
mod key_values;
mod mcp;
mod mcp_streams;
mod optimizing;
mod output;
mod removing;
mod searching;
mod serving;
mod support;
mod tenants;
mod trees;
mod watching;
