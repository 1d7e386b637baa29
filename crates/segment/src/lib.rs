//! Immutable, checksummed index files and the small sealed files that point at them.
//!
//! **Useful for** everything derived that lives under `indexes/`: code files, graphs, attribute columns, tantivy's files,
//! manifests. Bytes that are read in runs go into a *block file*, records read at random into a *record file*.
//! **Not for** the store (RocksDB checksums its own pages) and not for files that change in place.
//!
//! **Invariant:** no byte leaves this crate unverified. A block file is read by `pread` in blocks of 64 KiB, each checked
//! against its CRC-32C before anyone sees it, a record file record by record; a sealed file is checked whole. A mismatch is
//! [`SegmentError::Corrupt`] with the path, never wrong data and never a panic. Memory is bounded by one [`BlockCache`] and the
//! buffers of the readers; nothing is mapped but record files opened so ([`Access::Mapped`]).

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod block_file;
mod bytes;
mod cache;
mod durable;
mod error;
mod handle;
mod pread;
mod records;
mod rows;
mod sealed;
mod stream;
mod usable_memory;
mod writer;

pub use block_file::BlockFile;
pub use bytes::u32_at;
pub use cache::BlockCache;
pub use durable::{copy_durably, rename_durably, replace_durably, sync_folder};
pub use error::{Result, SegmentError};
pub use records::{
    Access, ReadAhead, ReadStats, RecordFile, RecordFileWriter, RecordReader, Route, ScatteredRecordWriter, Visit,
    Watch,
};
pub use rows::Rows;
pub use sealed::{read_sealed, seal, unseal, verify_sealed, write_sealed};
pub use stream::StreamVerifier;
pub use usable_memory::usable_memory_bytes;
pub use writer::BlockFileWriter;

/// Version of the block file layout drawn in `docs/internals/data-folder.md`.
pub const BLOCK_FILE_VERSION: u32 = 1;
/// Version of the record file layout drawn in `docs/internals/data-folder.md`.
pub const RECORD_FILE_VERSION: u32 = 1;
/// Bytes of one checksummed block; the last block of a file may be shorter.
pub const BLOCK_BYTES: usize = 64 * 1024;

pub(crate) const MAGIC: &[u8; 8] = b"NUTBLOCK";
/// magic 8, version 4, block bytes 4, data bytes 8, CRC-32C of the table and the preceding 24 bytes 4.
pub(crate) const TRAILER_BYTES: usize = 28;
