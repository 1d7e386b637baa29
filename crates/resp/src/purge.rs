//! Removing the rows that no key names any more: of what was deleted or overwritten, and of what has expired.
//!
//! **Invariant:** rows are removed after the write that left them is in the store, and a row says which ones are to go until they have
//! gone. A crash between the two leaves that row, and the next opening goes on.

use std::sync::atomic::Ordering;

use nuthatch_link::{Durability, KeyScan, Keyspace, KvOp};

use crate::aggregate::rows;
use crate::failure::Outcome;
use crate::tenant::{Space, Tenant};
use crate::value::Value;

/// Rows that name what is to go, read at a time.
const NAMED_AT_ONCE: usize = 1000;
/// A transaction that began before its key expired may still bring the key back.
const GRACE_MS: u64 = 10_000;

/// Removes the rows of a database that no key names any more.
pub(crate) fn purge(space: &Space, tenant: &Tenant, durability: Durability) -> Outcome<()> {
    purge_dead(&space.rows(tenant)?.with_durability(durability))
}

/// The same when it is time to look for expired ones.
pub(crate) fn purge_if_due(space: &Space, tenant: &Tenant, durability: Durability, now_ms: u64) -> Outcome<()> {
    let due = space.purge_at_ms.load(Ordering::Acquire);
    // One of those who see it.
    let taken = || space.purge_at_ms.compare_exchange(due, u64::MAX, Ordering::AcqRel, Ordering::Relaxed);
    if due > now_ms || taken().is_err() {
        return Ok(());
    }
    let rows = space.rows(tenant)?.with_durability(durability);
    if let Some(next) = purge_expired(&space.keyspace, &rows, now_ms)? {
        space.purge_at_ms.fetch_min(next, Ordering::AcqRel);
    }
    purge_dead(&rows)
}

/// Removes what `dead` rows name.
fn purge_dead(rows_of_all: &Keyspace) -> Outcome<()> {
    let scan = KeyScan { keys_only: true, limit: NAMED_AT_ONCE, ..KeyScan::prefix("d") };
    loop {
        let page = rows_of_all.scan(&scan)?;
        for (row, _) in &page.entries {
            if let Some(id) = rows::died(row) {
                rows_of_all.delete_prefix(rows::all(id))?;
            }
            rows_of_all.delete(&[row])?;
        }
        if page.cursor.is_none() {
            return Ok(());
        }
    }
}

/// Has the rows go whose keys have expired, and tells when the next ones do.
fn purge_expired(keys: &Keyspace, rows_of_all: &Keyspace, now_ms: u64) -> Outcome<Option<u64>> {
    let scan = KeyScan { keys_only: true, limit: NAMED_AT_ONCE, ..KeyScan::prefix("e") };
    loop {
        let page = rows_of_all.scan(&scan)?;
        for (row, _) in &page.entries {
            let Some((at_ms, id)) = rows::expires(row) else {
                rows_of_all.delete(&[row])?;
                continue;
            };
            if at_ms + GRACE_MS > now_ms {
                return Ok(Some(at_ms + GRACE_MS));
            }
            if !is_named(keys, rows_of_all, id)? {
                rows_of_all.multi_put(vec![KvOp::Put { key: rows::dead(id), value: Vec::new(), expires_in: None }])?;
            }
            rows_of_all.delete(&[row])?;
        }
        if page.cursor.is_none() {
            return Ok(None);
        }
    }
}

/// Whether a key names these rows.
fn is_named(keys: &Keyspace, rows_of_all: &Keyspace, id: u64) -> Outcome<bool> {
    let Some(key) = rows_of_all.get(rows::owner(id))? else { return Ok(false) };
    let Some(entry) = keys.entries(&[key])?.pop().flatten() else { return Ok(false) };
    let Value::Aggregate(aggregate) = Value::decode(entry.value)? else { return Ok(false) };
    Ok(aggregate.rows().is_some_and(|head| head.id == id))
}
