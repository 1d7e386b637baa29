//! Listing the keys of a keyspace: a range, a direction, pages with cursors.

use std::ops::{Bound, ControlFlow};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nuthatch_store::{Direction, Reader, Shard, Table, after_prefix};

use crate::kv::Space;
use crate::kv::value::{Body, Layout};
use crate::runtime::{Reservation, in_memory, in_the_end};
use crate::scan::until_error;
use crate::{Error, Result};

/// Which keys to list. The default: all, ascending, with their values.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct KeyScan {
    /// Keys that begin with this.
    pub prefix: Vec<u8>,
    /// The lower bound, whatever the order.
    pub from: Bound<Vec<u8>>,
    /// The upper bound, whatever the order.
    pub to: Bound<Vec<u8>>,
    /// Descending.
    pub reverse: bool,
    /// Keys of one page, 1 to 10,000.
    pub limit: usize,
    /// Continue after the page that gave this cursor: it names a place among the keys, so it outlives processes, and keys that
    /// were added or deleted since do no harm.
    pub cursor: Option<String>,
    /// Leave the values out: they come back empty.
    pub keys_only: bool,
}

impl Default for KeyScan {
    fn default() -> Self {
        Self {
            prefix: Vec::new(),
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            reverse: false,
            limit: 1000,
            cursor: None,
            keys_only: false,
        }
    }
}

impl KeyScan {
    /// Keys that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        Self { prefix: prefix.into(), ..Self::default() }
    }

    /// Those of the keys that it lists, on any page, in its order.
    ///
    /// # Errors
    /// `Invalid` for a cursor that is none.
    pub fn select(&self, keys: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let shard = Shard { tenant: 0, collection: 0 };
        let Some((from, to)) = self.bounds(shard)? else { return Ok(Vec::new()) };
        let is_between = |key: &Vec<u8>| (from.as_slice()..to.as_slice()).contains(&shard.key(key).as_slice());
        let mut keys: Vec<Vec<u8>> = keys.into_iter().filter(is_between).collect();
        keys.sort_unstable();
        if self.reverse {
            keys.reverse();
        }
        Ok(keys)
    }

    /// The cursor of a page that ends with this key.
    pub fn cursor_after(key: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(key)
    }

    /// The stored keys from and to (exclusive) which a scan goes; `None` when nothing lies between.
    pub fn bounds(&self, shard: Shard) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut from = shard.key(&self.prefix);
        let mut to = after_prefix(&from);
        let after = |key: &[u8]| [key, &[0]].concat();
        match &self.from {
            Bound::Unbounded => {}
            Bound::Included(key) => from = from.max(shard.key(key)),
            Bound::Excluded(key) => from = from.max(after(&shard.key(key))),
        }
        match &self.to {
            Bound::Unbounded => {}
            Bound::Included(key) => to = to.min(after(&shard.key(key))),
            Bound::Excluded(key) => to = to.min(shard.key(key)),
        }
        if let Some(cursor) = &self.cursor {
            let last = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| {
                Error::invalid(format!("{cursor:?} is not a cursor; use the cursor that the previous page returned"))
            })?;
            match self.reverse {
                false => from = from.max(after(&shard.key(&last))),
                true => to = to.min(shard.key(&last)),
            }
        }
        Ok((from < to).then_some((from, to)))
    }
}

/// Keys with their values, in the requested order.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeyPage {
    /// Keys and values; the values are empty with `keys_only`.
    pub entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// Bytes of values after which a page ends early, so that one of large values stays in memory.
const PAGE_BYTES_MAX: u64 = 64 << 20;
/// Entries that room is made for before any is found.
const ENTRIES_EXPECTED_MAX: usize = 256;

impl Space {
    pub(crate) fn page(
        &self,
        reader: &dyn Reader,
        scan: &KeyScan,
        now_ms: u64,
        reservation: &mut Reservation<'_>,
    ) -> Result<KeyPage> {
        if scan.limit == 0 || scan.limit > 10_000 {
            return Err(Error::invalid(format!("a page cannot have {} keys; ask for 1 to 10,000", scan.limit)));
        }
        let Some((from, to)) = scan.bounds(self.shard)? else { return Ok(KeyPage::default()) };
        let direction = if scan.reverse { Direction::Reverse } else { Direction::Forward };
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(scan.limit.min(ENTRIES_EXPECTED_MAX));
        let (mut large, mut more, mut bytes) = (Vec::new(), false, 0);
        let mut key_bytes = 0;
        let take = |key: &[u8], value: &[u8]| {
            let layout = Layout::of(value)?;
            if layout.is_expired(now_ms) {
                return Ok(ControlFlow::Continue(()));
            }
            if entries.len() == scan.limit || bytes > PAGE_BYTES_MAX {
                more = true;
                return Ok(ControlFlow::Break(()));
            }
            let shown = if scan.keys_only { 0 } else { layout.inline };
            bytes += shown as u64;
            if let Some((number, length)) = layout.large.filter(|_| !scan.keys_only) {
                bytes += length;
                large.push((entries.len(), Body::Large { number, bytes: length }));
            }
            entries.push((Shard::suffix(key).to_vec(), value[..shown].to_vec()));
            key_bytes += key.len() as u64;
            let held = in_memory(entries.len(), key_bytes) + bytes;
            let most = in_memory(scan.limit, 0) + PAGE_BYTES_MAX;
            reservation.holds(held, in_the_end(scan.limit, entries.len(), held).min(most))?;
            Ok(ControlFlow::Continue(()))
        };
        until_error(|visit| reader.scan(Table::Kv, &from, &to, direction, visit), take)?;
        for (at, body) in large {
            entries[at].1 = self.whole(reader, body)?;
        }
        let cursor = entries.last().filter(|_| more).map(|(key, _)| KeyScan::cursor_after(key));
        Ok(KeyPage { entries, cursor })
    }
}
