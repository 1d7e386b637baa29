//! Settings, removals, and sweeping.

use nuthatch_store::{Batch, Table};

use crate::cache::ask::check_tag;
use crate::cache::candidates::are_unchanged;
use crate::cache::store::collection_of;
use crate::cache::value::Stored;
use crate::cache::{Cache, CacheChange, CacheEntries, CacheSettings, key};
use crate::call::Outcome;
use crate::durability::Durability;
use crate::kv::KeyScan;
use crate::{Error, Result};

/// Answers that one batch removes.
const REMOVED_AT_ONCE: usize = 500;

impl Cache {
    /// Changes settings; answers that the new limits leave no room for go. Says how the settings are now.
    ///
    /// # Errors
    /// `Invalid` for settings that no cache can have, or another scope for a cache with answers.
    pub fn configure(&self, change: &CacheChange) -> Result<CacheSettings> {
        change.check()?;
        loop {
            let (settings, more) = self.change(|draft| {
                let (before, later) = (draft.state.settings.scope.clone(), draft.state.settings.is_shared_later());
                draft.state.settings.change(change);
                if draft.state.settings.is_shared_later() != later && draft.state.entries > 0 {
                    return Err(Error::invalid(format!(
                        "whether answers are shared at once can change in an empty cache only, and this one has {} answers; clear it first, or use another cache",
                        draft.state.entries
                    )));
                }
                if draft.state.settings.scope != before && draft.state.entries > 0 {
                    return Err(Error::invalid(format!(
                        "the scope of this cache is {before:?}, and it has {} answers of that scope; clear it first, or use another cache",
                        draft.state.entries
                    )));
                }
                let evicted = draft.evict(None, REMOVED_AT_ONCE)?;
                Ok(((draft.state.settings.clone(), evicted == REMOVED_AT_ONCE as u64), Outcome::default()))
            })?;
            if !more {
                if settings.has_shares() {
                    self.fit_shares()?;
                }
                return Ok(settings);
            }
        }
    }

    /// Removes what the users' shares leave no room for.
    fn fit_shares(&self) -> Result<()> {
        let mut scan = KeyScan { keys_only: true, limit: REMOVED_AT_ONCE, ..KeyScan::prefix(key::all_shares()) };
        loop {
            let page = self.keyspace.scan(&scan)?;
            for member in page.entries.iter().filter_map(|(row, _)| key::hash_of(row)) {
                while self
                    .change(|draft| Ok((draft.evict_share(&member, None, REMOVED_AT_ONCE)?, Outcome::default())))?
                    == REMOVED_AT_ONCE as u64
                {}
            }
            scan.cursor = page.cursor;
            if scan.cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Removes answers in as many batches as needed, and returns how many it removed. The ledger keeps what it knows.
    pub fn invalidate(&self, which: &CacheEntries) -> Result<u64> {
        if let CacheEntries::Tag(tag) = which {
            check_tag(tag)?;
        }
        let mut removed = 0;
        loop {
            let some = self.change(|draft| {
                let numbers = |prefix: Vec<u8>| -> Result<Vec<u64>> {
                    let rows = draft.keys(&prefix, REMOVED_AT_ONCE)?;
                    Ok(rows.iter().filter_map(|row| key::number_of(row)).collect())
                };
                let entries = match which {
                    CacheEntries::Entry(entry) => vec![*entry],
                    CacheEntries::Scope(scope) => {
                        let scope = key::scope(scope);
                        let mut shared = numbers(key::vectors_of(&scope))?;
                        shared.extend(numbers(key::held_in(&scope))?);
                        shared
                    }
                    which => {
                        let prefix = match which {
                            CacheEntries::Tag(tag) => key::tagged(tag),
                            CacheEntries::Source(source) => {
                                let tenant = draft.space.shard.tenant;
                                key::made_from(collection_of(draft.reader, tenant, &source.collection)?, &source.id)
                            }
                            CacheEntries::Entry(_) | CacheEntries::Scope(_) | CacheEntries::All => key::all_entries(),
                        };
                        numbers(prefix)?
                    }
                };
                let mut some = 0;
                for entry in entries {
                    some += u64::from(draft.remove(entry)?);
                }
                draft.state.counts.invalidated += some;
                Ok((some, Outcome { deleted: some, ..Outcome::default() }))
            })?;
            removed += some;
            if some == 0 || matches!(which, CacheEntries::Entry(_)) {
                return Ok(removed);
            }
        }
    }

    /// Removes answers that have expired. Says how many.
    pub(crate) fn sweep(&self) -> Result<u64> {
        let space = &*self.keyspace.space;
        let mut swept = 0;
        while space.is_due() {
            let due = space.due()?;
            swept += self.change_with(Durability::Os, |draft| {
                let now = draft.now_ms();
                let mut some = 0;
                for (_, row) in &due.keys {
                    let is_over =
                        draft.space.stored(draft.reader, row, 0)?.is_some_and(|stored| stored.is_expired(now));
                    if let Some(entry) = key::number_of(row).filter(|_| is_over) {
                        some += u64::from(draft.remove(entry)?);
                    }
                }
                draft.state.counts.expired += some;
                Ok((some, Outcome::default()))
            })?;
            // Marks of times at which nothing expires any more.
            let mut batch = Batch::new();
            for (at, row) in &due.keys {
                batch.delete(Table::Expiry, space.expiry_key(*at, row));
            }
            if !batch.is_empty() {
                let _commit = space.shared.store.commit.read();
                space.check_open()?;
                space.shared.write(batch)?;
            }
            space.next_due(due.next_ms);
        }
        Ok(swept)
    }

    /// Removes answers of which a source has changed or is gone. Says how many.
    pub(crate) fn remove_outdated(&self) -> Result<u64> {
        let mut removed = 0;
        let mut scan = KeyScan { keys_only: true, limit: REMOVED_AT_ONCE, ..KeyScan::prefix(key::all_sources()) };
        loop {
            let page = self.keyspace.scan(&scan)?;
            let entries: Vec<u64> = page.entries.iter().filter_map(|(row, _)| key::number_of(row)).collect();
            removed += self.change_with(Durability::Os, |draft| {
                let mut some = 0;
                for entry in &entries {
                    let Some(stored) = draft.get::<Stored>(&key::entry(*entry))? else { continue };
                    if !are_unchanged(&draft.stored(), &stored)? {
                        some += u64::from(draft.remove(*entry)?);
                    }
                }
                draft.state.counts.stale += some;
                Ok((some, Outcome::default()))
            })?;
            scan.cursor = page.cursor;
            if scan.cursor.is_none() {
                return Ok(removed);
            }
        }
    }
}
