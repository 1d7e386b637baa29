//! One group of data on several machines: one node owns it and writes, the others follow.
//!
//! **What it is.** The group's log lies in a store that several machines reach: objects in a bucket ([`ObjectLog`]), or rows of a
//! database ([`RowLog`]). [`Group`] is the protocol, without I/O; [`follow`] and [`Owner`] do what it says; [`LoggedStore`] puts the log before the store of a data folder;
//! [`checkpoint`] keeps the log short.
//! **Useful for** `nuthatch-cluster`, the node that serves one group from there.
//! **Not for** replication: how many copies there are of what is in the bucket is the matter of the bucket.
//!
//! **Invariant:** a write that was acknowledged is in the log that every later owner reads first; what a reader was shown is, too.
//!
//! [RFC 0050](../../../docs/rfcs/0050-cluster.md) has the protocol, its argument and what was weighed.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod ask;
mod base;
mod bucket;
pub mod checkpoint;
mod clock;
mod doctor;
mod encoding;
mod entry;
mod error;
mod follower;
mod group;
mod log;
mod logged_store;
mod object_log;
mod owner;
mod row_log;

pub use base::{ADDRESS_BYTES_MAX, BUCKET_FORMAT, Base, Identity};
pub use bucket::{Bucket, Created};
pub use checkpoint::{Manifest, Published};
pub use clock::boot_clock;
pub use doctor::{Checked, check_bucket};
pub use entry::{Entry, Epoch, Kind, Mark, Place, Reach, Slot, Watch};
pub use error::{ClusterError, Result};
pub use follower::{Bell, Followed, follow};
pub use group::{Answered, Boot, Bug, Call, End, Event, Group, Known, Leave, Timing};
pub use log::{Appended, Log};
pub use logged_store::{LoggedStore, apply};
pub use object_log::ObjectLog;
pub use owner::{Lost, Owner};
pub use row_log::{Advance, Advanced, Change, Head, PART_BYTES, Part, RowLog, Rows, SLOTS_IN_BUCKET, Size, Tenure};
