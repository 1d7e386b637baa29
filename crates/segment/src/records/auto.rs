//! Choosing between reads and a mapping while a file is in use ([`Access::Auto`](super::Access::Auto)).
//!
//! A mapping hands records out in place, which makes a hop over a graph about twice as fast. It loses where memory is short:
//! each record that was pushed out of the page cache is a page fault, one after the other, where reads ask for several at once.
//! So a file begins with reads. It is mapped once its records come from the page cache and twice its size is free, together with
//! all other files that were mapped so. It goes back to reads once more than one mapped record in eight is a major page fault.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::RecordFile;
use super::mapping::Mapping;
use crate::usable_memory::available_memory_bytes;

/// Free memory that a mapping requires, as a multiple of what is mapped then.
const AVAILABLE_FACTOR: u64 = 2;
/// Share of records that come from the disk, of late, below which a file counts as cached.
const CACHED_SHARE_MAX: f64 = 1.0 / 64.0;
/// Records to be read before the first try to map, and between tries while records come from the disk. Each time that memory is
/// short doubles them.
const RECORDS_BEFORE_TRY: u64 = 64;
const RECORDS_BEFORE_TRY_MAX: u64 = 1 << 16;
/// Going back to reads multiplies them by this, so that a file does not go to and fro.
const SETBACK_FACTOR: u64 = 4;
/// More than one major fault in this many mapped records is too many.
const RECORDS_A_FAULT: u64 = 8;
/// A thread counts the faults of one search in this many: asking the system takes some 0.2 µs.
const SEARCHES_A_COUNT: u32 = 4;

/// Bytes of all files of this process that are mapped by choice.
static MAPPED_BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static SEARCHES: Cell<u32> = const { Cell::new(0) };
}

/// The wait before the next try to map a file.
pub(super) struct Auto {
    until_try: AtomicU64,
    /// The records to wait for after the next failure. Its lock is held while the access changes.
    patience: Mutex<u64>,
}

impl Default for Auto {
    fn default() -> Self {
        Self { until_try: AtomicU64::new(RECORDS_BEFORE_TRY), patience: Mutex::new(RECORDS_BEFORE_TRY * 2) }
    }
}

/// The beginning of a search in a file: see [`RecordFile::watch`].
#[must_use = "give it to `settle` when the search is over"]
pub struct Watch {
    faults_before: Option<u64>,
}

impl RecordFile {
    /// Call it before a search reads records, and [`settle`](Self::settle) afterwards on the same thread: files of
    /// [`Access::Auto`](super::Access::Auto) then learn whether to be mapped. Costs nothing for other files.
    pub fn watch(&self) -> Watch {
        let is_counted = || SEARCHES.replace(SEARCHES.get().wrapping_add(1)).is_multiple_of(SEARCHES_A_COUNT);
        let counts = self.auto.is_some() && self.is_mapped() && is_counted();
        Watch { faults_before: if counts { major_faults() } else { None } }
    }

    /// Notes that a search has read `records` records since [`watch`](Self::watch).
    pub fn settle(&self, watch: Watch, records: usize) {
        let Some(auto) = &self.auto else { return };
        match (self.is_mapped(), watch.faults_before) {
            (true, Some(before)) => {
                let faults = major_faults().unwrap_or(before).saturating_sub(before);
                if faults * RECORDS_A_FAULT > records as u64 {
                    self.read_again(auto);
                    self.miss_rate.observe(records, faults as usize);
                }
            }
            (true, None) => {}
            (false, _) => {
                if auto.is_due(records as u64) {
                    self.map_if_free(auto, &available_memory_bytes);
                }
            }
        }
    }

    /// Maps the file if its records are cached and memory is free.
    fn map_if_free(&self, auto: &Auto, available: &dyn Fn() -> Option<u64>) {
        let Some(mut patience) = auto.patience.try_lock() else { return };
        if self.is_mapped() || self.is_empty() {
            return;
        }
        if self.cold_share() >= CACHED_SHARE_MAX {
            return auto.until_try.store(RECORDS_BEFORE_TRY, Ordering::Relaxed);
        }
        let mapped = MAPPED_BYTES.fetch_add(self.len(), Ordering::Relaxed) + self.len();
        let has_room = || available().is_some_and(|free| mapped.saturating_mul(AVAILABLE_FACTOR) <= free);
        // Without a mapping, reads go on as before.
        if has_room() && self.make_mapping().is_some() {
            self.is_mapped.store(true, Ordering::Relaxed);
            return;
        }
        MAPPED_BYTES.fetch_sub(self.len(), Ordering::Relaxed);
        auto.wait(&mut patience, 2);
    }

    fn make_mapping(&self) -> Option<&Mapping> {
        if self.mapping.get().is_none() {
            let _ = self.mapping.set(Mapping::new(self.file(), self.records()).ok()?);
        }
        self.mapping.get()
    }

    /// Goes back to reads. Verified records may be read from the disk again before the file is next mapped.
    fn read_again(&self, auto: &Auto) {
        let Some(mut patience) = auto.patience.try_lock() else { return };
        if !self.is_mapped.swap(false, Ordering::Relaxed) {
            return;
        }
        MAPPED_BYTES.fetch_sub(self.len(), Ordering::Relaxed);
        self.mapping.get().into_iter().for_each(Mapping::forget_verified);
        auto.wait(&mut patience, SETBACK_FACTOR);
    }
}

impl Auto {
    /// Whether these records end the wait for the next try.
    fn is_due(&self, records: u64) -> bool {
        let before = self.until_try.load(Ordering::Relaxed);
        self.until_try.store(before.saturating_sub(records), Ordering::Relaxed);
        before <= records
    }

    fn wait(&self, patience: &mut u64, factor: u64) {
        self.until_try.store(*patience, Ordering::Relaxed);
        *patience = (*patience * factor).min(RECORDS_BEFORE_TRY_MAX);
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        if self.auto.is_some() && self.is_mapped() {
            MAPPED_BYTES.fetch_sub(self.len(), Ordering::Relaxed);
        }
    }
}

/// Page faults of this thread that waited for a disk; `None` where the system does not count them for a thread.
#[cfg(target_os = "linux")]
fn major_faults() -> Option<u64> {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_THREAD).ok().and_then(|usage| u64::try_from(usage.major_page_faults()).ok())
}

#[cfg(not(target_os = "linux"))]
fn major_faults() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Access, RecordFileWriter};

    const RECORDS: u32 = 200;
    /// More than these tests map together.
    const ENOUGH: Option<u64> = Some(1 << 40);
    /// The process counts its mapped bytes: one test after the other.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn file(folder: &std::path::Path) -> Arc<RecordFile> {
        let path = folder.join("graph");
        let mut writer = RecordFileWriter::create(&path, 512).unwrap();
        (0..RECORDS).for_each(|number| writer.push(&[number as u8; 508]).unwrap());
        writer.finish(b"").unwrap();
        RecordFile::open(&path, Access::Auto).unwrap()
    }

    fn search(file: &Arc<RecordFile>, records: &[u32]) {
        let watch = file.watch();
        let right = &mut |at: usize, bytes: &[u8]| -> crate::Result<()> {
            assert!(bytes.iter().all(|byte| u32::from(*byte) == records[at]));
            Ok(())
        };
        file.reader().read(records, right).unwrap();
        file.settle(watch, records.len());
    }

    fn map(file: &RecordFile, available: Option<u64>) {
        file.map_if_free(file.auto.as_ref().unwrap(), &|| available);
    }

    #[test]
    fn a_cached_file_is_mapped_when_twice_its_size_is_free_and_read_again_when_it_is_not_cached() {
        let _alone = ONE_AT_A_TIME.lock();
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        let records: Vec<u32> = (0..RECORDS).collect();
        map(&file, Some(file.len() * 2 - 1));
        assert!(!file.is_mapped(), "memory is short");
        map(&file, None);
        assert!(!file.is_mapped(), "nobody knows how much memory is free");
        file.miss_rate.observe(64, 64);
        map(&file, ENOUGH);
        assert!(!file.is_mapped(), "its records come from the disk");
        file.miss_rate.begin_anew();
        map(&file, ENOUGH);
        assert!(file.is_mapped());
        search(&file, &records);
        assert!(file.mapping().unwrap().is_verified(RECORDS - 1));
        file.read_again(file.auto.as_ref().unwrap());
        assert!(!file.is_mapped());
        search(&file, &records);
        map(&file, ENOUGH);
        assert!(!file.mapping().unwrap().is_verified(RECORDS - 1), "it is verified anew when it is mapped again");
        search(&file, &records);
    }

    #[test]
    fn each_setback_makes_the_wait_for_the_next_try_longer() {
        let _alone = ONE_AT_A_TIME.lock();
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        let auto = file.auto.as_ref().unwrap();
        let wait = || auto.until_try.load(Ordering::Relaxed);
        assert!(!auto.is_due(RECORDS_BEFORE_TRY - 1) && auto.is_due(1));
        map(&file, None);
        let after_failure = wait();
        map(&file, ENOUGH);
        file.read_again(auto);
        assert!(after_failure > RECORDS_BEFORE_TRY && wait() > after_failure);
        map(&file, ENOUGH);
        file.read_again(auto);
        map(&file, None);
        assert!(wait() > after_failure * SETBACK_FACTOR);
        (0..64).for_each(|_| map(&file, None));
        assert_eq!(wait(), RECORDS_BEFORE_TRY_MAX);
    }

    #[test]
    fn files_that_were_mapped_count_until_they_are_closed() {
        let _alone = ONE_AT_A_TIME.lock();
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [first, second] = folders.each_ref().map(|folder| file(folder.path()));
        let room_for_one = Some(first.len() * 2);
        map(&first, room_for_one);
        map(&second, room_for_one);
        assert!(first.is_mapped() && !second.is_mapped(), "both together would take more than half");
        drop(first);
        map(&second, room_for_one);
        assert!(second.is_mapped());
    }
}
