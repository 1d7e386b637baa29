//! Many processes, one folder.
//!
//! **What it is.** [`Database`] and [`Collection`] as callers see them. The first process to open a folder holds its lock and
//! listens on a socket in it; the handles of the others send their calls there. When the holder goes, one of the others takes
//! the lock, opens the folder and serves; the rest connect to it and ask again what was not answered.
//! **Useful for** a notebook beside a service, workers of a pool, the command line beside a program.
//! **Not for** other machines: the socket is for processes of one user on one machine.
//!
//! **Invariant:** a call is answered once and a write is done once, however often the holder changes in between; no call of a
//! handle that holds the folder pays for this.
//!
//! [RFC 0012](../../../../docs/rfcs/0012-many-processes.md) has the protocol and what was weighed.

mod adding;
#[cfg(not(unix))]
mod alone;
mod answer;
mod at_hand;
#[cfg(unix)]
mod client;
mod collection;
#[cfg(unix)]
mod connection;
mod database;
mod frame;
mod given;
mod graph;
#[cfg(unix)]
mod hello;
mod keyspace;
mod limits;
mod link;
mod long;
mod meanwhile;
mod owned;
pub(crate) mod records;
mod request;
mod route;
pub(crate) mod rows;
#[cfg(unix)]
mod server;
mod side;
mod snapshot;
#[cfg(unix)]
mod socket;
mod tenants;
mod whole_files;

#[cfg(not(unix))]
use alone::{self as client, self as server, self as socket};
pub use collection::Collection;
pub use database::{Database, FolderHolder};
pub use graph::{Graph, Nodes};
pub use keyspace::{Keys, Keyspace};
pub use records::Records;
pub use snapshot::Snapshot;

/// A collection of a [`Snapshot`].
pub type SnapshotCollection = Records<'static>;
/// A keyspace of a [`Snapshot`].
pub type SnapshotKeyspace = Keys<'static>;
/// A graph of a [`Snapshot`].
pub type SnapshotGraph = Nodes<'static>;
