//! The audit log: who has administered what, when, and how it ended.
//!
//! **What it is.** Lines of JSON in the data folder, written by a running server and by the commands that change what a server
//! answers for; read by `nuthatch audit` and by an administrators' route.
//! **Useful for** the question "who dropped this, and when?". **Not for** reads and writes of data: those are in the server's log,
//! if anywhere.
//!
//! **Invariant:** what was answered as done is in the log, synced; no secret and no text that somebody wrote about others (a
//! condition, a value) is ever in it; its size has a bound.

mod actions;
mod book;
mod budget;
mod entry;
mod file;
mod notes;

pub use actions::{action_of, target_of};
pub use book::Book;
pub use entry::{Entry, Outcome, Who};
pub use file::{AuditFile, Page};
pub use notes::{AuditedRequest, Notes, Peer};
