//! The log of a group in Cassandra or ScyllaDB: [`Rows`](nuthatch_cluster::Rows) in three tables of a keyspace.
//!
//! **What it is.** [`Address`] says where it is, [`Keyspace`] connects, makes the tables and checks them, and is the rows.
//! **Not for** anything but `nuthatch-cluster`, which alone links this crate and its driver.
//!
//! **Invariant:** rows of entries are written and read at QUORUM; the head changes by lightweight transactions at SERIAL alone.
//! Whatever was not answered is `Unreachable`: unknown, never failed.
//!
//! [RFC 0064](../../../docs/rfcs/0064-log-in-cassandra.md) has the argument and what was weighed.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod address;
mod connection;
mod doctor;
mod keyspace;
mod rows;
mod tunnel;

pub use address::{Address, Credentials, Settings};
pub use doctor::{Checked, check};
pub use keyspace::{Copies, Keyspace, copies, init, open};
pub use tunnel::Tunnels;
