//! The calls that a place for blobs answers: few enough for a folder and for object storage.

use std::path::PathBuf;

use crate::Result;

/// Keys with bytes. A key is a path with slashes; a value is in memory while it is read or stored: [`CHUNK_BYTES`](crate::CHUNK_BYTES) suit both storages.
pub trait BlobStore: Send + Sync {
    /// Bytes of a value; `None` when there is none.
    fn size(&self, key: &str) -> Result<Option<u64>>;

    /// A value; `None` when there is none.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;

    /// Stores a value, whole or not at all. Durable once [`sync`](Self::sync) has returned.
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()>;

    /// Makes everything put so far durable.
    fn sync(&self) -> Result<()>;

    /// Returns the keys that begin with `prefix/`, sorted, without the leftovers of an interrupted `put`.
    fn list(&self, prefix: &str) -> Result<Vec<String>>;

    /// Forgets a value; a missing one is fine.
    fn remove(&self, key: &str) -> Result<()>;

    /// Removes what interrupted calls of `put` left under `prefix/`. Only while [`Access::Change`] is held.
    fn tidy(&self, prefix: &str) -> Result<()>;

    /// Keeps others from changing what is there, until the answer is dropped. `None`: somebody holds it.
    fn hold(&self, access: Access) -> Result<Option<Box<dyn Send + Sync>>>;

    /// How a key is named to people.
    fn place(&self, key: &str) -> PathBuf;
}

/// The kind of access that a holder wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Many at a time.
    Read,
    /// One, and no reader.
    Change,
}
