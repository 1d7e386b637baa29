//! Record files: records of one size, read at random, each with a checksum of its own.
//!
//! **Useful for** a graph's nodes: a search reads a hundred records from anywhere in a file that may be larger than memory, and
//! each must be believed by itself. **Not for** data that is read in runs (a block file), nor for records that change.
//!
//! **Invariant:** no record leaves unverified, from whichever way it was read. Its checksum begins with its number, so a record
//! in another's place is damage as well. (A mapped record is verified when it is first handed out.)
//!
//! # How records are read, and why
//!
//! With [`Access::Read`], a batch goes through the page cache in two passes. First every record is asked for with
//! `preadv2(RWF_NOWAIT)`, which copies what is cached and, on Linux 5.10 and later, begins to read what is not; those that were
//! missing are then announced with `posix_fadvise(WILLNEED)` (earlier kernels begin here) and read. So the device works at the
//! depth of the batch, and what was read stays cached for the next search. Where the system cannot tell what is cached (other
//! systems, network and some stacked file systems), records are read one after the other and timed, and while that is slow by a
//! few threads.
//!
//! Measured on ext4 over a virtual NVMe disk (Linux 6.18, two busy cores, 2 GiB file, 4 KiB records, nothing cached), median µs
//! a batch of 1, 8 and 32 (of three runs) and CPU µs a record at 32:
//!
//! | way | 1 | 8 | 32 | CPU |
//! |---|--:|--:|--:|--:|
//! | one `pread` after the other | 53 | 424 | 1892 | 28 |
//! | `RWF_NOWAIT`, then advice, then `pread` | 56-68 | 162-183 | 454-524 | 7.3 |
//! | `RWF_NOWAIT`, then io_uring through the page cache | 53-78 | 161-183 | 467-534 | 8.1 |
//! | io_uring with `O_DIRECT` | 55-68 | 153-179 | 562-680 | 5.2 |
//! | 8 threads (`Route::Threads`) | 72-78 | 225-292 | 831-959 | 20-28 |
//!
//! io_uring gains nothing over advice, and costs memory shared with the kernel, a second way for systems that forbid
//! it, and care after `fork`. `O_DIRECT` saves a copy but leaves nothing cached, and asking what is cached has already
//! begun a read through the page cache. Inside a memory limit of 32 MiB, for the 2 GiB file, it stays so (µs a batch of
//! 8: advice 178, io_uring 186), and of records in frequent use 99 in 100 are found cached. `examples/records.rs`
//! measures what is here.

mod ahead;
mod auto;
mod batch;
mod buffer;
mod file;
mod mapping;
mod miss_rate;
mod page_cache;
mod reader;
mod scattered;
mod threads;
mod trailer;
mod writer;

pub use ahead::ReadAhead;
pub use auto::Watch;
pub use file::RecordFile;
pub use reader::{ReadStats, RecordReader, Visit};
pub use scattered::ScatteredRecordWriter;
pub(crate) use trailer::Trailer as RecordTrailer;
pub use writer::RecordFileWriter;

/// How the records of a file are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By reads into a buffer of the reader: nothing is mapped, and memory is what the buffers hold.
    Read,
    /// Mapped into memory and handed out in place: the fastest, for those who have the memory to give. If the operating
    /// system cannot read a page from the disk later, the process ends (`SIGBUS`), where a read would report an error.
    Mapped,
    /// By reads until the records come from the page cache and memory is free for twice the file, mapped from then on; by reads
    /// again once mapped records have to come from the disk. [`RecordFile::watch`] says who decides.
    Auto,
}

/// How records that are not in the page cache are read; a reader chooses by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// All are announced to the operating system, then read one after the other.
    Advised,
    /// By a few threads at once.
    Threads,
}

/// Bytes of a record's CRC-32C, the last of the record.
pub(crate) const CHECKSUM_BYTES: usize = 4;
/// Largest record: a reader holds up to [`RecordReader::BATCH_MAX`] of them.
const RECORD_BYTES_MAX: usize = 1 << 16;
const META_BYTES_MAX: usize = 1 << 20;

/// CRC-32C of a record's bytes, begun with its number instead of 0. The register after n bytes is an invertible linear map of
/// the one before them, so the same bytes under two numbers never have the same checksum.
#[inline]
pub(crate) fn checksum(number: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(number, bytes)
}
