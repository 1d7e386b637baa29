//! Changes of a cache on their way to one batch: reads see what was changed before.

use std::collections::BTreeMap;

use nuthatch_store::{Batch, Position, Reader};
use serde::Serialize;

use crate::Result;
use crate::cache::key::Hash;
use crate::cache::recent::Since;
use crate::cache::signs::ChangedVector;
use crate::cache::value::{Private, Row, Share, State, Stored, decode, encode};
use crate::cache::{Cache, CacheSettings, key};
use crate::call::{Call, Outcome};
use crate::durability::Durability;
use crate::kv::{KeyScan, KvOp, Live, Rows, Space};

/// Answers that one that is stored may push out, of its user and of all.
const EVICTED_AT_ONCE: usize = 1_000;
/// Rows that one question for the keys of an entry gets: it has far fewer.
const KEYS_AT_ONCE: usize = 10_000;

/// The pending changes of a batch. Its maker keeps other writers off the cache until the batch is written.
pub(crate) struct Draft<'s> {
    pub space: &'s Space,
    pub reader: &'s dyn Reader,
    pub state: State,
    before: State,
    /// `None`: the row goes.
    rows: BTreeMap<Vec<u8>, Option<Coming>>,
}

/// A row's value, and when it expires.
type Coming = (Vec<u8>, Option<u64>);

impl<'s> Draft<'s> {
    fn new(space: &'s Space, reader: &'s dyn Reader, since: &Since) -> Result<Self> {
        let mut draft =
            Self { space, reader, state: State::default(), before: State::default(), rows: BTreeMap::new() };
        draft.before = draft.get(key::STATE)?.unwrap_or_default();
        draft.state = draft.before.clone();
        draft.state.counts = draft.state.counts.and(since.counts);
        for entry in since.used() {
            draft.use_now(entry)?;
        }
        Ok(draft)
    }

    pub fn now_ms(&self) -> u64 {
        self.space.now_ms()
    }

    /// Everything as it is in the store.
    pub fn stored(&self) -> Live<'_> {
        Live { space: self.space, reader: self.reader }
    }

    /// A row as it will be, whether it has expired or not.
    pub fn get<T: Row>(&self, row: &[u8]) -> Result<Option<T>> {
        if let Some(changed) = self.rows.get(row) {
            return changed.as_ref().map(|(value, _)| decode(value)).transpose();
        }
        let Some(stored) = self.space.stored(self.reader, row, 0)? else { return Ok(None) };
        decode(&self.space.whole(self.reader, stored.body)?).map(Some)
    }

    /// Whether a row will be there. Its value is not decoded.
    pub fn has(&self, row: &[u8]) -> Result<bool> {
        match self.rows.get(row) {
            Some(changed) => Ok(changed.is_some()),
            None => Ok(self.space.stored(self.reader, row, 0)?.is_some()),
        }
    }

    /// When a row expires; `None`: never, or it is not there.
    pub fn expires_at(&self, row: &[u8]) -> Result<Option<u64>> {
        match self.rows.get(row) {
            Some(changed) => Ok(changed.as_ref().and_then(|(_, expires_at_ms)| *expires_at_ms)),
            None => Ok(self.space.stored(self.reader, row, 0)?.and_then(|stored| stored.expires_at_ms)),
        }
    }

    pub fn put<T: Serialize>(&mut self, row: Vec<u8>, value: &T, expires_at_ms: Option<u64>) -> Result<()> {
        self.rows.insert(row, Some((encode(value)?, expires_at_ms)));
        Ok(())
    }

    /// A row that is no encoded value.
    pub fn put_bytes(&mut self, row: Vec<u8>, bytes: Vec<u8>) {
        self.rows.insert(row, Some((bytes, None)));
    }

    pub fn delete(&mut self, row: Vec<u8>) {
        self.rows.insert(row, None);
    }

    /// The keys that begin so and will be there: those of the store, then those that are new.
    pub fn keys(&self, prefix: &[u8], limit: usize) -> Result<Vec<Vec<u8>>> {
        let changed = self.rows.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        // Those that go come first where the oldest go, and must not hide the others.
        let gone = changed.filter(|(_, value)| value.is_none()).count();
        let scan = KeyScan { keys_only: true, limit: (limit + gone).clamp(1, KEYS_AT_ONCE), ..KeyScan::prefix(prefix) };
        let mut keys: Vec<Vec<u8>> = self.stored().page(&scan)?.entries.into_iter().map(|(key, _)| key).collect();
        keys.retain(|key| !matches!(self.rows.get(key), Some(None)));
        let new = self.rows.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        let new = new.filter(|(key, value)| value.is_some() && !keys.contains(key)).map(|(key, _)| key.clone());
        let new: Vec<Vec<u8>> = new.collect();
        keys.extend(new);
        Ok(keys)
    }

    /// An entry is used, later than all others. Nothing happens to one that is gone.
    pub fn use_now(&mut self, entry: u64) -> Result<()> {
        if let Some(tick) = self.get::<u64>(&key::tick(entry))? {
            let member = self.get(&key::share_of(entry))?;
            self.untick(entry, tick, member.as_ref());
            self.tick(entry, member.as_ref())?;
        }
        Ok(())
    }

    /// Gives an entry its place in the order of use, of all and of the user in whose share it lies.
    fn tick(&mut self, entry: u64, member: Option<&Hash>) -> Result<()> {
        let tick = self.state.next_tick;
        self.state.next_tick += 1;
        self.put(key::used(tick), &entry, None)?;
        if let Some(member) = member {
            self.put(key::used_of(member, tick), &entry, None)?;
        }
        self.put(key::tick(entry), &tick, None)
    }

    fn untick(&mut self, entry: u64, tick: u64, member: Option<&Hash>) {
        self.delete(key::used(tick));
        if let Some(member) = member {
            self.delete(key::used_of(member, tick));
        }
        self.delete(key::tick(entry));
    }

    /// Counts a new entry, in the share of a user if it has one, and makes room for it. Says how many had to go.
    pub fn admit(&mut self, entry: u64, bytes: u64, member: Option<&Hash>) -> Result<u64> {
        self.state.entries += 1;
        self.state.bytes += bytes;
        let mut evicted = 0;
        self.tick(entry, member)?;
        if let Some(member) = member {
            self.put(key::share_of(entry), member, None)?;
            let before = self.share(member)?;
            let with = Share { entries: before.entries + 1, bytes: before.bytes + bytes };
            self.set_share(member, before, with)?;
            // A user's own answers first, before anything goes for want of room in the whole cache.
            evicted = self.evict_share(member, Some(entry), EVICTED_AT_ONCE)?;
        }
        Ok(evicted + self.evict(Some(entry), EVICTED_AT_ONCE)?)
    }

    fn share(&self, member: &Hash) -> Result<Share> {
        Ok(self.get(&key::share(member))?.unwrap_or_default())
    }

    /// Says what lies in a user's share now, and gives the user their place among those with the most.
    fn set_share(&mut self, member: &Hash, before: Share, now: Share) -> Result<()> {
        if before.entries > 0 {
            self.delete(key::by_entries(before.entries, member));
            self.delete(key::by_bytes(before.bytes, member));
        }
        if now.entries == 0 {
            self.delete(key::share(member));
            return Ok(());
        }
        self.put(key::by_entries(now.entries, member), &(), None)?;
        self.put(key::by_bytes(now.bytes, member), &(), None)?;
        self.put(key::share(member), &now, None)
    }

    /// Removes an entry with all its rows. Returns false if there is no entry with that number.
    pub fn remove(&mut self, number: u64) -> Result<bool> {
        let Some(stored) = self.get::<Stored>(&key::entry(number))? else { return Ok(false) };
        self.delete(key::entry(number));
        for row in [key::exact(&stored.exact), key::form(&stored.form)] {
            // A later answer may have taken the place.
            if self.get::<u64>(&row)? == Some(number) {
                self.delete(row);
            }
        }
        for row in self.keys(&key::aliases_of(number), KEYS_AT_ONCE)? {
            if let Some(hash) = key::hash_of(&row)
                && self.get::<u64>(&key::alias(&hash))? == Some(number)
            {
                self.delete(key::alias(&hash));
                self.delete(key::owed(&hash));
            }
            self.delete(row);
        }
        for row in self.keys(&key::nevers_of(number), KEYS_AT_ONCE)? {
            self.delete(row);
        }
        self.delete(key::vector(&stored.scope, number));
        let member: Option<Hash> = self.get(&key::share_of(number))?;
        if let Some(tick) = self.get::<u64>(&key::tick(number))? {
            self.untick(number, tick, member.as_ref());
        }
        if let Some(member) = member {
            self.delete(key::share_of(number));
            let before = self.share(&member)?;
            let entries = before.entries.saturating_sub(1);
            self.set_share(&member, before, Share { entries, bytes: before.bytes.saturating_sub(stored.bytes) })?;
        }
        for tag in &stored.tags {
            self.delete(key::tag(tag, number));
        }
        for source in &stored.sources {
            self.delete(key::source(source.collection, &source.of.id, number));
        }
        if let Some(Private { scope, user }) = &stored.private {
            let form = key::hashes(scope, &stored.prompt).1;
            self.delete(key::held_by(scope, &form, user, number));
        }
        self.state.entries = self.state.entries.saturating_sub(1);
        self.state.bytes = self.state.bytes.saturating_sub(stored.bytes);
        Ok(true)
    }

    /// Removes answers until the cache is within its limits, those used longest ago first, at most `most` of them, and never `kept`.
    /// Where users have shares, those of whoever has the most. Says how many.
    pub fn evict(&mut self, kept: Option<u64>, most: usize) -> Result<u64> {
        let CacheSettings { max_entries, max_bytes, .. } = self.state.settings;
        if !self.state.settings.has_shares() {
            let over = |draft: &Self| Ok(is_over((draft.state.entries, max_entries), (draft.state.bytes, max_bytes)));
            return self.evict_while(over, &key::all_used(), kept, most);
        }
        let mut evicted = 0;
        while evicted < most as u64 {
            let largest = match (self.state.entries, self.state.bytes) {
                (entries, _) if is_over((entries, max_entries), (0, 0)) => key::all_by_entries(),
                (_, bytes) if is_over((0, 0), (bytes, max_bytes)) => key::all_by_bytes(),
                _ => break,
            };
            let Some((row, entry)) = self.victim(&largest, kept)? else { break };
            evicted += u64::from(self.remove(entry)?);
            self.delete(row);
        }
        self.state.counts.evicted += evicted;
        Ok(evicted)
    }

    /// Picks the entry to evict when users have shares: the least recently used one, if it is in nobody's share;
    /// otherwise one of the user with the most. So no user displaces the entries of a user who has less. Returned with
    /// its row in the order of use.
    fn victim(&self, largest: &[u8], kept: Option<u64>) -> Result<Option<(Vec<u8>, u64)>> {
        let oldest = self.oldest(&key::all_used(), kept)?;
        let Some((_, entry)) = &oldest else { return Ok(None) };
        if !self.has(&key::share_of(*entry))? {
            return Ok(oldest);
        }
        // The first may have nothing but the one that is kept.
        let mut users = self.keys(largest, 2)?;
        users.sort_unstable();
        for member in users.iter().filter_map(|row| key::hash_of(row)) {
            if let Some(found) = self.oldest(&key::all_used_of(&member), kept)? {
                return Ok(Some(found));
            }
        }
        Ok(oldest)
    }

    /// The first row of an order of use, but for that of `kept`, with its entry.
    fn oldest(&self, order: &[u8], kept: Option<u64>) -> Result<Option<(Vec<u8>, u64)>> {
        let mut rows = self.keys(order, 2)?;
        rows.sort_unstable();
        for row in rows {
            if let Some(entry) = self.get::<u64>(&row)?.filter(|entry| Some(*entry) != kept) {
                return Ok(Some((row, entry)));
            }
        }
        Ok(None)
    }

    /// The same of the answers of one user, until they are within the share of a user.
    pub fn evict_share(&mut self, member: &Hash, kept: Option<u64>, most: usize) -> Result<u64> {
        let CacheSettings { user_max_entries, user_max_bytes, .. } = self.state.settings;
        let is_over = |draft: &Self| {
            let Share { entries, bytes } = draft.share(member)?;
            Ok(is_over((entries, user_max_entries), (bytes, user_max_bytes)))
        };
        self.evict_while(is_over, &key::all_used_of(member), kept, most)
    }

    fn evict_while(
        &mut self,
        is_over: impl Fn(&Self) -> Result<bool>,
        order: &[u8],
        kept: Option<u64>,
        most: usize,
    ) -> Result<u64> {
        let mut evicted = 0;
        while evicted < most as u64 && is_over(self)? {
            let rows = self.keys(order, 64)?;
            let mut any = false;
            for row in rows {
                if evicted == most as u64 || !is_over(self)? {
                    break;
                }
                let Some(entry) = self.get::<u64>(&row)?.filter(|entry| Some(*entry) != kept) else { continue };
                any = true;
                evicted += u64::from(self.remove(entry)?);
                self.delete(row);
            }
            if !any {
                break;
            }
        }
        self.state.counts.evicted += evicted;
        Ok(evicted)
    }

    /// The vectors that it changes.
    fn vectors(&self) -> Vec<ChangedVector> {
        let changed = self.rows.range(key::all_vectors()..key::all_used());
        let of = |(row, coming): (&Vec<u8>, &Option<Coming>)| {
            let (scope, entry) = key::vector_of(row)?;
            Some((scope, entry, coming.as_ref().map(|(value, _)| value.clone())))
        };
        changed.filter_map(of).collect()
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.state == self.before
    }

    fn write(mut self, call: &Call, outcome: Outcome) -> Result<Position> {
        if self.state != self.before {
            let state = self.state.clone();
            self.put(key::STATE.to_vec(), &state, None)?;
        }
        let mut batch = Batch::new();
        let ops = std::mem::take(&mut self.rows).into_iter().map(|(key, value)| match value {
            Some((value, Some(expires_at_ms))) => KvOp::PutUntil { key, value, expires_at_ms },
            Some((value, None)) => KvOp::Put { key, value, expires_in: None },
            None => KvOp::Delete { key },
        });
        let staged = self.space.stage(&mut batch, ops.collect())?;
        call.sign(&mut batch, outcome);
        self.space.write_staged(batch, staged)
    }
}

/// Whether there is more than a limit allows; one of 0 allows any.
fn is_over(entries: (u64, u64), bytes: (u64, u64)) -> bool {
    [entries, bytes].iter().any(|(there, most)| *most > 0 && there > most)
}

impl Cache {
    /// Reads and writes as one batch, with no other writer between.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Draft<'_>) -> Result<(T, Outcome)>) -> Result<T> {
        self.change_with(self.keyspace.durability, change)
    }

    /// The same with another durability.
    pub(crate) fn change_with<T>(
        &self,
        durability: Durability,
        change: impl FnOnce(&mut Draft<'_>) -> Result<(T, Outcome)>,
    ) -> Result<T> {
        let space = &*self.keyspace.space;
        let (position, answer) = {
            let _commit = space.shared.store.commit.read();
            space.check_open()?;
            let _writer = space.lock(std::iter::once(key::STATE));
            let store = space.shared.store()?;
            // A write by somebody else between two reads must not tear what an answer is made from.
            let snapshot = store.snapshot();
            let since = self.attached.recent.take();
            let mut draft = Draft::new(space, &*snapshot, &since)?;
            let written = change(&mut draft).and_then(|(answer, outcome)| match draft.is_empty() {
                true => Ok((None, answer)),
                false => {
                    let vectors = draft.vectors();
                    let position = draft.write(&self.keyspace.call, outcome)?;
                    self.step(vectors);
                    Ok((Some(position), answer))
                }
            });
            if written.is_err() {
                self.attached.recent.give_back(since);
            }
            match written? {
                (None, answer) => return Ok(answer),
                (Some(position), answer) => (position, answer),
            }
        };
        space.shared.make_durable(position, durability)?;
        Ok(answer)
    }
}
