//! Questions and advice to the operating system about its page cache. It may ignore advice, so no result is checked.

use std::fs::File;

/// The outcome of a read that does not wait.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems never tell"))]
pub(super) enum Cached {
    Yes,
    No,
    /// This kernel or file system cannot tell.
    Unknown,
}

#[cfg(target_os = "linux")]
mod system {
    use super::*;
    use std::io::IoSliceMut;
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, fadvise};
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    /// Copies what is cached at `offset` into `out` and never waits; says how many bytes that were.
    fn read_cached_bytes(file: &File, offset: u64, out: &mut [u8]) -> Result<usize, Errno> {
        preadv2(file, &mut [IoSliceMut::new(out)], offset, ReadWriteFlags::NOWAIT)
    }

    pub fn read_cached(file: &File, offset: u64, out: &mut [u8]) -> Cached {
        match read_cached_bytes(file, offset, out) {
            Ok(bytes) if bytes == out.len() => Cached::Yes,
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => Cached::Unknown,
            Ok(_) | Err(_) => Cached::No,
        }
    }

    /// Records are asked for in no order: reading ahead (megabytes, on some devices) would throw out what is in use.
    pub fn expect_random(file: &File) {
        let _ = fadvise(file, 0, None, Advice::Random);
    }

    /// Begins to read these bytes.
    pub fn announce(file: &File, offset: u64, bytes: usize) {
        let _ = fadvise(file, offset, NonZeroU64::new(bytes as u64), Advice::WillNeed);
    }

    /// Drops these bytes from the page cache.
    pub fn forget(file: &File, offset: u64, bytes: usize) {
        let _ = fadvise(file, offset, NonZeroU64::new(bytes as u64), Advice::DontNeed);
    }

    /// How many bytes at `offset` are cached (and now in `out`): what a long read need not wait for, and should leave cached.
    pub fn cached_prefix(file: &File, offset: u64, out: &mut [u8]) -> usize {
        read_cached_bytes(file, offset, out).unwrap_or(0)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    pub fn read_cached(_file: &File, _offset: u64, _out: &mut [u8]) -> Cached {
        Cached::Unknown
    }

    pub fn expect_random(_file: &File) {}

    pub fn announce(_file: &File, _offset: u64, _bytes: usize) {}

    pub fn forget(_file: &File, _offset: u64, _bytes: usize) {}

    pub fn cached_prefix(_file: &File, _offset: u64, _out: &mut [u8]) -> usize {
        0
    }
}

pub(super) use system::*;
