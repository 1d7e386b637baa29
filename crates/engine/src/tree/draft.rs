//! Changes of trees on their way to one batch: reads see what was changed before.

use std::collections::BTreeMap;

use nuthatch_store::{Batch, Position, Reader, Table};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, Outcome};
use crate::kv::{KvOp, Space};
use crate::tree::grams::Noted;
use crate::tree::key;
use crate::tree::value::{Totals, decode, encode};
use crate::{Error, Result};

/// The changes that a batch will make. Its creator keeps other writers off the trees until it is written.
pub(crate) struct Draft<'s> {
    pub space: &'s Space,
    pub reader: &'s dyn Reader,
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Number -> bytes of a chunk, `None` where it goes.
    blobs: BTreeMap<u64, Option<Vec<u8>>>,
    /// How the bytes of chunks change.
    blob_bytes: i64,
    pub totals: Totals,
    totals_before: Totals,
    /// The sequence of the last write, as the signature row has it.
    pub sequence: u64,
    /// No tree was ever written before.
    pub is_first: bool,
    /// How far the index of grams is.
    pub noted: Noted,
}

impl<'s> Draft<'s> {
    pub fn new(space: &'s Space, reader: &'s dyn Reader) -> Result<Self> {
        let mut draft = Self {
            space,
            reader,
            rows: BTreeMap::new(),
            blobs: BTreeMap::new(),
            blob_bytes: 0,
            totals: Totals::default(),
            totals_before: Totals::default(),
            sequence: 0,
            is_first: false,
            noted: Noted::default(),
        };
        draft.totals = draft.get(&key::totals())?.unwrap_or_default();
        draft.totals_before = draft.totals;
        draft.sequence = draft.get(key::SIGNATURE)?.unwrap_or_default();
        draft.is_first = draft.sequence == 0;
        Ok(draft)
    }

    /// A row, as it will be.
    pub fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>> {
        if let Some(changed) = self.rows.get(key) {
            return changed.as_deref().map(decode).transpose();
        }
        let Some(stored) = self.space.stored(self.reader, key, self.space.now_ms())? else { return Ok(None) };
        decode(&self.space.whole(self.reader, stored.body)?).map(Some)
    }

    pub fn put<T: Serialize>(&mut self, key: Vec<u8>, value: &T) -> Result<()> {
        self.rows.insert(key, Some(encode(value)?));
        Ok(())
    }

    /// A row that is spelt already.
    pub fn put_spelt(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.rows.insert(key, Some(value));
    }

    /// A row whose key says everything.
    pub fn put_mark(&mut self, key: Vec<u8>) {
        self.rows.insert(key, Some(Vec::new()));
    }

    pub fn delete(&mut self, key: Vec<u8>) {
        self.rows.insert(key, None);
    }

    /// Takes a number for a chunk's bytes.
    pub fn put_blob(&mut self, bytes: &[u8]) -> Result<u64> {
        let number = self.space.next_blob()?;
        self.blob_bytes += bytes.len() as i64;
        (self.totals.chunks, self.totals.chunk_bytes) =
            (self.totals.chunks + 1, self.totals.chunk_bytes + bytes.len() as u64);
        self.blobs.insert(number, Some(bytes.to_vec()));
        Ok(number)
    }

    pub fn delete_blob(&mut self, number: u64, bytes: u64) {
        self.blob_bytes -= bytes as i64;
        (self.totals.chunks, self.totals.chunk_bytes) =
            (self.totals.chunks.saturating_sub(1), self.totals.chunk_bytes.saturating_sub(bytes));
        match self.blobs.remove(&number) {
            Some(Some(_)) => {} // it was never written
            _ => drop(self.blobs.insert(number, None)),
        }
    }

    /// Changes that wait to be written.
    pub fn len(&self) -> usize {
        self.rows.len() + self.blobs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next sequence for what this batch writes.
    pub fn next_sequence(&mut self) -> Result<u64> {
        self.sequence += 1;
        let sequence = self.sequence;
        self.put(key::SIGNATURE.to_vec(), &sequence)?;
        Ok(sequence)
    }

    /// Writes everything as one batch.
    pub fn write(mut self, call: &Call, outcome: Outcome) -> Result<Position> {
        if self.totals != self.totals_before {
            let totals = self.totals;
            self.put(key::totals(), &totals)?;
        }
        let mut batch = Batch::new();
        for (number, bytes) in std::mem::take(&mut self.blobs) {
            let key = self.space.shard.number_key(number);
            match bytes {
                Some(bytes) => batch.put(Table::Blobs, key, bytes),
                None => batch.delete(Table::Blobs, key),
            }
        }
        let ops = std::mem::take(&mut self.rows).into_iter().map(|(key, value)| match value {
            Some(value) => KvOp::Put { key, value, expires_in: None },
            None => KvOp::Delete { key },
        });
        let mut staged = self.space.stage(&mut batch, ops.collect())?;
        staged.bytes += self.blob_bytes;
        call.sign(&mut batch, outcome);
        self.space.write_staged(batch, staged)
    }

    /// A row that other rows name.
    pub fn must<T: DeserializeOwned>(&self, key: &[u8]) -> Result<T> {
        self.get(key)?.ok_or_else(lacking)
    }
}

/// Reads and writes as one batch, with no other writer between. Says where the batch is in the store's order; nothing is written
/// when nothing has changed.
pub(crate) fn change<T>(
    space: &Space,
    call: &Call,
    change: impl FnOnce(&mut Draft<'_>) -> Result<(T, Outcome)>,
) -> Result<(T, Option<Position>)> {
    let _commit = space.shared.store.commit.read();
    space.check_open()?;
    let _writer = space.lock(std::iter::once(key::SIGNATURE));
    let store = space.shared.store()?;
    let mut draft = Draft::new(space, &*store)?;
    let (answer, outcome) = change(&mut draft)?;
    draft.put_gram_state()?;
    let position = if draft.is_empty() { None } else { Some(draft.write(call, outcome)?) };
    Ok((answer, position))
}

/// The error for a reader when rows contradict each other.
pub(crate) fn lacking() -> Error {
    Error::internal("a tree lacks a row that another one names; run `nuthatch doctor --repair`")
}
