//! Removing the rows that no key names any more: of what was deleted or overwritten, and of what has expired.
//!
//! **Invariant:** rows are removed only once the write that orphaned them is in the store, and another row names them
//! until they are gone. A crash between the two leaves that row, and the next opening continues. Rows that other faces
//! orphan by deleting a key are found at the opening, too.

use std::sync::atomic::Ordering;

use nuthatch_link::{Durability, KeyScan, Keys, Snapshot};

use crate::aggregate::rows;
use crate::failure::Outcome;
use crate::tenant::{Space, Tenant};
use crate::value::rows_of;

/// Rows that name what is to go, read at a time.
const NAMED_AT_ONCE: usize = 1000;
/// A transaction that began before its key expired may still bring the key back.
const GRACE_MS: u64 = 10_000;

/// Removes the rows that were said to go.
pub(crate) fn purge(space: &Space, tenant: &Tenant, durability: Durability) -> Outcome<()> {
    let all = space.rows(tenant)?.with_durability(durability);
    let scan = KeyScan { keys_only: true, limit: NAMED_AT_ONCE, ..KeyScan::prefix("d") };
    loop {
        let page = all.scan(&scan)?;
        for (row, _) in &page.entries {
            if let Some(id) = rows::died(row) {
                all.delete_prefix(rows::all(id))?;
            }
            all.delete(&[row])?;
        }
        if page.cursor.is_none() {
            return Ok(());
        }
    }
}

/// The same, and those of expired keys, when it is time to look; at the opening also those that no key names for another reason.
pub(crate) fn purge_if_due(space: &Space, tenant: &Tenant, durability: Durability, now_ms: u64) -> Outcome<()> {
    let due = space.purge_at_ms.load(Ordering::Acquire);
    // One of those who see it.
    let taken = || space.purge_at_ms.compare_exchange(due, u64::MAX, Ordering::AcqRel, Ordering::Relaxed);
    if due > now_ms || taken().is_err() {
        return Ok(());
    }
    if due == 0 {
        sweep(space, tenant, durability)?;
    }
    if let Some(next) = purge_expired(space, tenant, durability, now_ms)? {
        space.purge_at_ms.fetch_min(next, Ordering::AcqRel);
    }
    purge(space, tenant, durability)
}

/// Deletes every key of a database and what belongs to them.
pub(crate) fn flush(space: &Space, tenant: &Tenant, durability: Durability) -> Outcome<()> {
    space.flush(tenant, durability)?;
    match space.has_rows.load(Ordering::Acquire) {
        // Not all rows: others may have made an aggregate meanwhile.
        true => sweep(space, tenant, durability),
        false => Ok(()),
    }
}

/// Removes all rows that no key names, whatever the reason.
fn sweep(space: &Space, tenant: &Tenant, durability: Durability) -> Outcome<()> {
    let all = space.rows(tenant)?.with_durability(durability);
    // Later rows are either named by a key, or marked for removal.
    let then = Then::of(space, tenant)?;
    let mut scan = KeyScan { keys_only: true, limit: 1, ..KeyScan::prefix("r") };
    while let Some(id) = then.rows.scan(&scan)?.entries.first().and_then(|(row, _)| rows::owned(row)) {
        if !then.is_named(id)? {
            all.delete_prefix(rows::all(id))?;
        }
        let Some(next) = id.checked_add(1) else { break };
        scan.from = std::ops::Bound::Included(rows::all(next));
    }
    Ok(())
}

/// Removes the rows whose keys have expired, and tells when the next ones do.
fn purge_expired(space: &Space, tenant: &Tenant, durability: Durability, now_ms: u64) -> Outcome<Option<u64>> {
    let all = space.rows(tenant)?.with_durability(durability);
    let then = Then::of(space, tenant)?;
    let scan = KeyScan { keys_only: true, limit: NAMED_AT_ONCE, ..KeyScan::prefix("e") };
    loop {
        let page = all.scan(&scan)?;
        for (row, _) in &page.entries {
            if let Some((at_ms, id)) = rows::expires(row) {
                if at_ms.saturating_add(GRACE_MS) > now_ms {
                    return Ok(Some(at_ms.saturating_add(GRACE_MS)));
                }
                if !then.is_named(id)? {
                    all.delete_prefix(rows::all(id))?;
                }
            }
            all.delete(&[row])?;
        }
        if page.cursor.is_none() {
            return Ok(None);
        }
    }
}

/// Keys and rows as of one moment: a key may be renamed while others look.
struct Then {
    keys: Keys<'static>,
    rows: Keys<'static>,
    _snapshot: Snapshot,
}

impl Then {
    fn of(space: &Space, tenant: &Tenant) -> Outcome<Self> {
        let snapshot = tenant.database.snapshot()?;
        let (keys, rows) = (snapshot.kv(space.keyspace.name())?, snapshot.kv(&space.rows_name)?);
        Ok(Self { keys, rows, _snapshot: snapshot })
    }

    /// Whether a key names these rows.
    fn is_named(&self, id: u64) -> Outcome<bool> {
        let Some(key) = self.rows.get(rows::owner(id))? else { return Ok(false) };
        let entry = self.keys.entries(&[key])?.pop().flatten();
        Ok(rows_of(entry.as_ref())? == Some(id))
    }
}
