//! Which of the open files are in use, and how large these are together.
//!
//! **Useful for** the question whether the blocks of all that is asked for fit into the cache. **Not for** which blocks stay:
//! that is the cache's order of use, and [`super::shares`].
//!
//! **Invariant:** `bytes` is the size of the files that are not cold. A file that is open and never read is cold, so opening
//! thousands of them, for a listing or a check, changes nothing for those that are searched.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

const COLD: u8 = 0;
/// Read between the last but one time that use was aged and the last.
const WARM: u8 = 1;
/// Read since.
const HOT: u8 = 2;

/// The open files of a cache.
#[derive(Default)]
pub(super) struct InUse {
    files: Mutex<Vec<Weak<Usage>>>,
    /// Signed: what one thread takes off may come before what another adds.
    bytes: Arc<AtomicI64>,
}

/// One open file: belongs to it, and goes with it.
pub(crate) struct Usage {
    size: i64,
    heat: AtomicU8,
    bytes: Arc<AtomicI64>,
}

impl InUse {
    pub fn add(&self, size: u64) -> Arc<Usage> {
        let usage = Arc::new(Usage { size: size as i64, heat: AtomicU8::new(COLD), bytes: self.bytes.clone() });
        let mut files = self.files.lock();
        if files.len() == files.capacity() {
            // Before the list would grow: opening and closing files for ever must not.
            files.retain(|file| file.strong_count() > 0);
        }
        files.push(Arc::downgrade(&usage));
        usage
    }

    /// Size of the files in use.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    pub fn age(&self) {
        let mut files = self.files.lock();
        files.retain(|file| file.upgrade().inspect(|file| file.age()).is_some());
    }
}

impl Usage {
    /// To be called at every read.
    pub fn note(&self) {
        // Read first: a line of memory that many threads write would slow them all.
        if self.heat.load(Ordering::Relaxed) != HOT && self.heat.swap(HOT, Ordering::Relaxed) == COLD {
            self.bytes.fetch_add(self.size, Ordering::Relaxed);
        }
    }

    fn age(&self) {
        let becomes = |from: u8, to: u8| self.heat.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        if becomes(HOT, WARM).is_err() && becomes(WARM, COLD).is_ok() {
            self.bytes.fetch_sub(self.size, Ordering::Relaxed);
        }
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        if *self.heat.get_mut() != COLD {
            self.bytes.fetch_sub(self.size, Ordering::Relaxed);
        }
    }
}
