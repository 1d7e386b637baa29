//! Blobs under keys, in a folder today and in object storage later; objects that are named by their content.
//!
//! **Useful for** keeping large immutable values: a trait that both kinds of storage can serve, and objects that are stored once however
//! often they are added. **Not for** deciding which objects are still needed (the caller has the manifests), and not for small values
//! that change often (`nuthatch-store` keeps those).
//!
//! **Invariant:** a value is stored whole or not at all; an object's name is the BLAKE3 of its bytes, so that reading shows damage and
//! never returns it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod error;
mod folder;
pub mod object;
mod store;

pub use error::{BlobError, Result};
pub use folder::FolderStore;
pub use object::CHUNK_BYTES;
pub use store::{Access, BlobStore};
