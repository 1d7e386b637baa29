//! Cursors of SCAN. Clients take them for numbers, and the place that one names is a key: the numbers are looked up here.
//!
//! **Invariant:** the keys kept here take a bounded number of bytes; a cursor that was forgotten is refused, never misread.

use std::collections::{HashMap, VecDeque};

/// Bytes of keys that are kept, over all scans under way.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// The cost of a cursor on top of its key.
const CURSOR_COST_BYTES: usize = 64;

/// Numbers for places among the keys.
#[derive(Debug)]
pub(crate) struct Cursors {
    places: HashMap<u64, CursorPosition>,
    /// Oldest first.
    order: VecDeque<u64>,
    bytes: usize,
    /// Not from 1 on: the numbers of another run must not be taken for ours.
    next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CursorPosition {
    database: usize,
    cursor: String,
}

impl Default for Cursors {
    fn default() -> Self {
        // Clients read them into 64 bits, some of them signed, some of them doubles.
        let next = fastrand::u64(1 << 20..1 << 52);
        Self { places: HashMap::new(), order: VecDeque::new(), bytes: 0, next }
    }
}

impl Cursors {
    /// The number of a place.
    pub fn keep(&mut self, database: usize, cursor: String) -> u64 {
        let number = self.next;
        self.next += 1;
        self.bytes += cursor.len() + CURSOR_COST_BYTES;
        self.places.insert(number, CursorPosition { database, cursor });
        self.order.push_back(number);
        while self.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(place) = self.places.remove(&oldest) {
                self.bytes -= place.cursor.len() + CURSOR_COST_BYTES;
            }
        }
        debug_assert!(self.bytes <= KEPT_BYTES_MAX && self.order.len() == self.places.len(), "kept keys are bounded");
        number
    }

    /// The place of a number, unless it was forgotten or is of another database. It may be asked for again.
    pub fn place(&self, database: usize, number: u64) -> Option<String> {
        let place = self.places.get(&number)?;
        (place.database == database).then(|| place.cursor.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_memory_stays_bounded() {
        let mut cursors = Cursors::default();
        let first = cursors.keep(0, "first".into());
        assert_eq!(cursors.place(0, first).as_deref(), Some("first"));
        assert_eq!(cursors.place(1, first), None);
        let last = (0..100).map(|_| cursors.keep(0, "k".repeat(60_000))).last().unwrap();
        assert_eq!(cursors.place(0, first), None);
        assert!(cursors.place(0, last).is_some() && cursors.bytes <= KEPT_BYTES_MAX);
    }
}
