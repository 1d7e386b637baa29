//! A mapped record file: records in place, each verified once.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;

/// The mapped bytes and one bit a record: set once it was found right.
pub(super) struct Mapping {
    bytes: Mmap,
    verified: Box<[AtomicU64]>,
}

const LINE_BYTES: usize = 64;
/// Cache lines that [`Mapping::prefetch`] asks for: a record of 4 KiB whole, since the processor follows by itself within a page only.
const PREFETCHED_LINES: usize = 64;

impl Mapping {
    pub fn new(file: &File, records: u64) -> std::io::Result<Self> {
        // SAFETY: the bytes must not change while they are mapped. A record file is created under a name that did not exist,
        // never written again once it is finished, and lies in a folder that the holder of its lock owns; who else cuts or
        // writes it while it is open breaks that lock (and is noticed at the first look at a record, or ends the process).
        let bytes = unsafe { Mmap::map(file) }?;
        #[cfg(unix)]
        let _ = bytes.advise(memmap2::Advice::Random);
        Ok(Self { bytes, verified: (0..records.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() })
    }

    /// The bytes of a record, checksum included; `None` outside of the mapping.
    #[inline]
    pub fn record(&self, offset: u64, record_bytes: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.bytes.get(start..start.checked_add(record_bytes)?)
    }

    #[inline]
    pub fn is_verified(&self, index: u32) -> bool {
        self.verified[index as usize / 64].load(Ordering::Relaxed) >> (index % 64) & 1 == 1
    }

    /// Relaxed order is enough: the bit vouches for bytes that nobody writes.
    pub fn set_verified(&self, index: u32) {
        self.verified[index as usize / 64].fetch_or(1 << (index % 64), Ordering::Relaxed);
    }

    /// Forgets what was verified: the pages may come from the disk again.
    pub fn forget_verified(&self) {
        self.verified.iter().for_each(|bits| bits.store(0, Ordering::Relaxed));
    }

    #[inline]
    pub fn prefetch(&self, offset: u64, record_bytes: usize, (part, parts): (usize, usize)) {
        let Some(record) = self.record(offset, record_bytes) else { return };
        let lines = record_bytes.div_ceil(LINE_BYTES).min(PREFETCHED_LINES);
        let (first, end) = (part * lines / parts, (part + 1) * lines / parts);
        for line in record[first * LINE_BYTES..record_bytes.min(end * LINE_BYTES)].chunks(LINE_BYTES) {
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: a prefetch reads nothing that the program sees and faults nowhere; the address is mapped anyway.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = line;
        }
    }
}
