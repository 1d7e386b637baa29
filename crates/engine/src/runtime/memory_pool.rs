//! Memory for answers while they are built, and for batches while they are written: what searches, listings and reads
//! hold until they return it, and what writers hold until searches see it.
//!
//! **Useful for** many large answers at once, or many writers: each waits until there is room for it, so that together
//! they hold no more than a share of the budget. **Not for** memory that callers hold: their answers, and the data of
//! their batches.
//!
//! Answers and batches have a share each, so that neither waits for the other. A share is a quarter of the cache of index blocks, which
//! lends it while it is used ([`Runtime::fit`]). Up to [`SMALL_BYTES_MAX`], answers and batches are counted, and never wait.
//!
//! **Invariant:** the large ones of one share are together estimated to no more than it, or there is one alone. A call
//! that waits holds nothing of the share and no lock, so no call waits for a waiting one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::Result;
use crate::call::{FOREVER, Waits};
use crate::runtime::Runtime;

/// An answer of up to this many bytes is not worth waiting for.
pub(crate) const SMALL_BYTES_MAX: u64 = 64 << 10;
/// How often a waiting call checks whether its caller gave up.
const LOOK: Duration = Duration::from_millis(50);
/// Unused lent memory goes back in halves; less than this goes back at once.
const LENT_BYTES_MIN: u64 = 1 << 20;
/// After answers of this many times the share, freed memory goes back to the system: building them took longer than
/// giving it back.
const GIVE_BACK_AFTER_SHARES: u64 = 4;
/// A record, hit or entry in memory, on top of its bytes.
const ROW_OVERHEAD_BYTES: u64 = 320;
/// A row as it is estimated when none was read yet.
const ROW_BYTES_FIRST: u32 = 512;

/// The memory of the answers being made, or of the batches being written.
pub(crate) struct MemoryPool {
    share_bytes: u64,
    /// Of all, small ones included.
    held_bytes: AtomicU64,
    /// The bytes that the cache gives up.
    lent_bytes: AtomicU64,
    /// Of large ones, since freed memory was last given back.
    made_bytes: AtomicU64,
    large: Mutex<Large>,
    freed: Condvar,
}

#[derive(Default)]
struct Large {
    bytes: u64,
    next_ticket: u64,
    /// In their order: the first is served first.
    waiting: BTreeSet<u64>,
}

impl MemoryPool {
    pub fn new(share_bytes: u64) -> Self {
        Self {
            share_bytes,
            held_bytes: AtomicU64::new(0),
            lent_bytes: AtomicU64::new(0),
            made_bytes: AtomicU64::new(0),
            large: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    pub fn lent_bytes(&self) -> u64 {
        self.lent_bytes.load(Ordering::Relaxed)
    }

    /// The allocator keeps freed memory for the thread that had it, so one answer per thread would stay resident.
    fn give_back_before(&self, bytes: u64) {
        let made = self.made_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if made >= GIVE_BACK_AFTER_SHARES * self.share_bytes {
            self.made_bytes.store(0, Ordering::Relaxed);
            nuthatch_heap::give_back();
        }
    }
}

/// Room for one answer or batch, until it is dropped.
pub struct Reservation<'s> {
    shared: &'s Runtime,
    share: &'s MemoryPool,
    /// The conditions that cancel it.
    wanted: &'s Waits,
    bytes: u64,
    is_large: bool,
    /// False: it is counted, and taken at once.
    waits: bool,
}

impl Runtime {
    /// Reserves room for an answer that is estimated at `bytes` bytes; a large one waits until there is room.
    ///
    /// # Errors
    /// `Unavailable` when nobody waits for the answer any more, `Closed` when the database was closed meanwhile.
    pub fn reserve_for<'s>(&'s self, bytes: u64, wanted: &'s Waits) -> Result<Reservation<'s>> {
        let mut reservation = self.reservation(wanted);
        reservation.holds(bytes, bytes)?;
        Ok(reservation)
    }

    /// Reserves room for a batch that is estimated at `bytes` bytes. Call it before taking any lock. A write is never
    /// cancelled.
    ///
    /// # Errors
    /// `Closed` when the database was closed meanwhile.
    pub fn reserve_to_write(&self, bytes: u64) -> Result<Reservation<'_>> {
        let mut reservation = self.reservation_in(&self.memory.writes);
        reservation.holds(bytes, bytes)?;
        Ok(reservation)
    }

    /// Room for an answer of which nothing is known yet, for as long as somebody waits for it.
    pub fn reservation<'s>(&'s self, wanted: &'s Waits) -> Reservation<'s> {
        Reservation { wanted, ..self.reservation_in(&self.memory.answers) }
    }

    fn reservation_in<'s>(&'s self, share: &'s MemoryPool) -> Reservation<'s> {
        Reservation { shared: self, share, wanted: &FOREVER, bytes: 0, is_large: false, waits: true }
    }

    /// The same for a caller that must not wait: it may hold locks that others wait for.
    pub fn reservation_at_once(&self) -> Reservation<'_> {
        Reservation { waits: false, ..self.reservation(&FOREVER) }
    }

    fn wait_for_memory(&self, share: &MemoryPool, bytes: u64, wanted: &Waits) -> Result<()> {
        let mut large = share.large.lock();
        let ticket = large.next_ticket;
        large.next_ticket += 1;
        large.waiting.insert(ticket);
        let outcome = loop {
            let fits = large.bytes == 0 || large.bytes.saturating_add(bytes) <= share.share_bytes;
            if fits && large.waiting.first() == Some(&ticket) {
                large.bytes += bytes;
                break Ok(());
            }
            if let Err(closed) = self.check_open() {
                break Err(closed);
            }
            if let Err(over) = wanted.check() {
                break Err(over);
            }
            share.freed.wait_for(&mut large, LOOK);
        };
        large.waiting.remove(&ticket);
        drop(large);
        share.freed.notify_all(); // there may be room for the next one, too
        outcome
    }

    /// Takes the memory of large answers and batches from the cache.
    fn lend_to_pool(&self, share: &MemoryPool) {
        let held = share.large.lock().bytes;
        if held > share.lent_bytes.fetch_max(held, Ordering::Relaxed) {
            self.memory.fit_cache();
        }
    }

    /// Returns everything to the cache that no answer or batch holds now.
    fn return_at_once(&self, share: &MemoryPool) {
        let large = share.large.lock();
        share.lent_bytes.store(large.bytes, Ordering::Relaxed);
        drop(large);
        self.memory.fit_cache();
    }

    /// Returns to the cache what answers and batches have not used lately.
    pub fn return_what_was_lent(&self) {
        for share in [&self.memory.answers, &self.memory.writes] {
            let lent = share.lent_bytes();
            if lent > 0 {
                let halved = if lent < LENT_BYTES_MIN { 0 } else { lent / 2 };
                let kept = halved.max(share.large.lock().bytes);
                share.lent_bytes.store(kept, Ordering::Relaxed);
                self.memory.fit_cache();
            }
        }
    }
}

impl Reservation<'_> {
    /// Reports what the answer holds now, and what it is estimated to hold in the end. One that turns out to be large
    /// waits, once; more than that estimate is then taken without waiting.
    ///
    /// # Errors
    /// As those of [`Runtime::reserve_for`].
    pub fn holds(&mut self, bytes: u64, estimated: u64) -> Result<()> {
        let held = match self.is_large || bytes <= SMALL_BYTES_MAX {
            true => bytes,
            false => bytes.max(estimated),
        };
        let more = held.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        if self.is_large {
            self.share.large.lock().bytes += more;
            self.shared.lend_to_pool(self.share);
        } else if held > SMALL_BYTES_MAX {
            match self.waits {
                true => self.shared.wait_for_memory(self.share, held, self.wanted)?,
                false => self.share.large.lock().bytes += held,
            }
            self.is_large = true;
            self.shared.lend_to_pool(self.share);
            self.share.give_back_before(held);
        }
        self.bytes = held;
        self.share.held_bytes.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let share = self.share;
        share.held_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.is_large {
            let mut large = share.large.lock();
            debug_assert!(large.bytes >= self.bytes, "what is given back was held");
            large.bytes -= self.bytes;
            drop(large);
            share.freed.notify_all();
            // Without background work nobody else would.
            if !self.shared.options.background {
                self.shared.return_at_once(share);
            }
        }
    }
}

/// Room for a batch. The caller takes it before building the records, and keeps it until they are written.
pub struct WriteReservation {
    shared: Arc<Runtime>,
    /// Of the room, which is made again of them.
    bytes: u64,
    is_large: bool,
}

impl WriteReservation {
    pub(crate) fn take(shared: &Arc<Runtime>, bytes: u64) -> Result<Self> {
        let reservation = shared.reserve_to_write(bytes)?;
        let kept = Self { shared: shared.clone(), bytes: reservation.bytes, is_large: reservation.is_large };
        std::mem::forget(reservation); // it is this one's to give back
        Ok(kept)
    }

    /// Returns room for a batch that turned out larger, at `bytes` bytes. It does not wait, because the batch already
    /// has room that others wait for.
    pub(crate) fn for_batch(&self, bytes: u64) -> Result<Reservation<'_>> {
        let missing = bytes.saturating_sub(self.bytes);
        let mut reservation = Reservation { waits: false, ..self.shared.reservation_in(&self.shared.memory.writes) };
        reservation.holds(missing, missing)?;
        Ok(reservation)
    }

    pub(crate) fn is_of(&self, shared: &Runtime) -> bool {
        std::ptr::eq(&*self.shared, shared)
    }
}

impl Drop for WriteReservation {
    fn drop(&mut self) {
        drop(Reservation {
            bytes: self.bytes,
            is_large: self.is_large,
            ..self.shared.reservation_in(&self.shared.memory.writes)
        });
    }
}

/// The length of rows in one collection or keyspace, learned from the rows read.
pub(crate) struct RowLength(AtomicU32);

impl Default for RowLength {
    fn default() -> Self {
        Self(AtomicU32::new(ROW_BYTES_FIRST))
    }
}

impl RowLength {
    /// Estimates the bytes that this many rows hold.
    pub fn estimate(&self, rows: usize) -> u64 {
        in_memory(rows, u64::from(self.0.load(Ordering::Relaxed)) * rows as u64)
    }

    /// Records that `rows` rows had `bytes` stored bytes.
    pub fn learn(&self, rows: usize, bytes: u64) {
        if rows > 0 {
            let now = u32::try_from(bytes / rows as u64).unwrap_or(u32::MAX);
            let before = self.0.load(Ordering::Relaxed);
            // Another thread may have learned at the same time: either is as good.
            self.0.store(before - before / 4 + now / 4, Ordering::Relaxed);
        }
    }
}

/// Returns the memory of `rows` rows of `stored_bytes` stored bytes: the rows themselves, and the answer built from
/// them.
pub(crate) fn in_memory(rows: usize, stored_bytes: u64) -> u64 {
    rows as u64 * ROW_OVERHEAD_BYTES + stored_bytes * 2
}

/// Estimates the bytes of an answer of `wanted` rows, when `rows` of them hold `held`.
pub(crate) fn in_the_end(wanted: usize, rows: usize, held: u64) -> u64 {
    held / rows.max(1) as u64 * wanted as u64
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::Options;
    use crate::database::Database;

    fn memory() -> Database {
        Database::in_memory(Options { background: false, ..Options::default() }).unwrap()
    }

    #[test]
    fn large_answers_wait_for_each_other_and_small_ones_for_nobody() {
        let db = memory();
        let shared = &*db.inner.shared;
        let (share, cache) = (shared.memory.answers.share_bytes, shared.memory.budget.block_cache_bytes);
        let first = shared.reserve_for(share * 3, &FOREVER).unwrap();
        assert_eq!(
            shared.memory.cache.capacity_bytes(),
            cache - cache / 4 * 3,
            "one alone may be larger than the share"
        );
        let small = shared.reserve_for(SMALL_BYTES_MAX, &FOREVER).unwrap();
        assert_eq!(shared.memory.answers.held_bytes(), share * 3 + SMALL_BYTES_MAX);
        let begun = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let reservation = shared.reserve_for(share / 2, &FOREVER).unwrap();
                    begun.fetch_add(1, Ordering::SeqCst);
                    assert!(shared.memory.answers.held_bytes() <= share + SMALL_BYTES_MAX, "two at a time");
                    drop(reservation);
                });
            }
            while shared.memory.answers.large.lock().waiting.len() < 8 {
                std::thread::yield_now();
            }
            assert_eq!(begun.load(Ordering::SeqCst), 0);
            drop(first);
        });
        assert_eq!(begun.load(Ordering::SeqCst), 8);
        drop(small);
        assert_eq!((shared.memory.answers.held_bytes(), shared.memory.answers.large.lock().bytes), (0, 0));
        while shared.memory.answers.lent_bytes() > 0 {
            shared.return_what_was_lent();
        }
        assert_eq!(shared.memory.cache.capacity_bytes(), cache);
    }

    #[test]
    fn large_batches_wait_for_each_other_and_not_for_answers() {
        let db = memory();
        let shared = &db.inner.shared;
        let share = shared.memory.writes.share_bytes;
        let first = WriteReservation::take(shared, share).unwrap();
        drop(shared.reserve_for(share, &FOREVER).unwrap());
        // A holder of a reservation does not wait for more.
        let more = first.for_batch(share * 2).unwrap();
        assert_eq!(shared.memory.writes.held_bytes(), share * 2);
        drop(more);
        let begun = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let second = shared.reserve_to_write(share).unwrap();
                begun.fetch_add(1, Ordering::SeqCst);
                drop(second);
            });
            while shared.memory.writes.large.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(begun.load(Ordering::SeqCst), 0);
            drop(first);
        });
        assert_eq!((begun.load(Ordering::SeqCst), shared.memory.writes.held_bytes()), (1, 0));
    }

    #[test]
    fn who_waits_can_be_called_off_and_who_grows_does_not_wait() {
        let db = memory();
        let shared = &*db.inner.shared;
        let share = shared.memory.answers.share_bytes;
        let mut first = shared.reserve_for(10, &FOREVER).unwrap();
        first.holds(share / 2, share).unwrap(); // it turns out longer
        first.holds(20, share).unwrap();
        assert_eq!(shared.memory.answers.large.lock().bytes, share);
        let soon = Waits::of(Some(LOOK), None);
        let error = shared.reserve_for(share, &soon).err().unwrap();
        assert_eq!(error.kind, crate::ErrorKind::Unavailable);
        assert!(shared.memory.answers.large.lock().waiting.is_empty());
        drop(first);
        drop(shared.reserve_for(share, &soon).unwrap());
    }

    #[test]
    fn rows_are_estimated_as_long_as_they_were() {
        let length = RowLength::default();
        (0..40).for_each(|_| length.learn(10, 40_000));
        let estimated = length.estimate(100);
        assert!((700_000..=in_memory(100, 400_000)).contains(&estimated), "{estimated}");
        length.learn(0, 0);
        assert_eq!(length.estimate(100), estimated);
    }
}
