//! A transaction's dependencies, and whether they still hold.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use nuthatch_store::{Direction, OwnedSnapshot, Reader, Shard, Table};

use crate::runtime::Runtime;
use crate::{Error, ErrorKind, Result, What};

/// Rows that are read at a time when a range is compared.
const COMPARED_AT_ONCE: usize = 1024;

/// Rows of the store that a transaction has read, or is about to write.
#[derive(Default)]
pub struct Reads {
    keys: BTreeSet<(Table, Vec<u8>)>,
    /// From and to, exclusive. Absent keys in a range count as read, too.
    ranges: Vec<(Table, Vec<u8>, Vec<u8>)>,
}

impl Reads {
    /// Notes that the transaction depends on a key.
    pub fn key(&mut self, table: Table, key: Vec<u8>) {
        self.keys.insert((table, key));
    }

    /// Notes that the transaction depends on all keys in `from..to`, also on those that are not there.
    pub fn range(&mut self, table: Table, from: Vec<u8>, to: Vec<u8>) {
        self.ranges.push((table, from, to));
    }

    /// The keys that it depends on.
    pub fn keys(&self) -> impl Iterator<Item = &(Table, Vec<u8>)> {
        self.keys.iter()
    }

    /// The ranges that it depends on, each from and to.
    pub fn ranges(&self) -> impl Iterator<Item = &(Table, Vec<u8>, Vec<u8>)> {
        self.ranges.iter()
    }

    /// Says `Conflict` when a dependency is no longer as the snapshot has it. The caller keeps writers off during the
    /// check.
    pub(crate) fn check(&self, shared: &Runtime, then: &OwnedSnapshot) -> Result<()> {
        let now = shared.store()?;
        if now.latest() == then.latest() {
            return Ok(()); // nobody has written anything
        }
        let keys: Vec<&(Table, Vec<u8>)> = self.keys.iter().collect();
        // The set is in order of tables.
        for same in keys.chunk_by(|one, other| one.0 == other.0) {
            let table = same[0].0;
            let keys: Vec<Vec<u8>> = same.iter().map(|(_, key)| key.clone()).collect();
            let (before, after) = (then.multi_get(table, &keys)?, now.multi_get(table, &keys)?);
            if let Some(at) = before.iter().zip(&after).position(|(before, after)| before != after) {
                return Err(conflict(Some((table, &keys[at]))));
            }
        }
        for (table, from, to) in &self.ranges {
            if !same_rows(*table, from, to, then, &*now)? {
                return Err(conflict(None));
            }
        }
        Ok(())
    }
}

fn same_rows(table: Table, from: &[u8], to: &[u8], then: &dyn Reader, now: &dyn Reader) -> Result<bool> {
    let mut start = from.to_vec();
    loop {
        let before = some_rows(table, &start, to, then)?;
        if before != some_rows(table, &start, to, now)? {
            return Ok(false);
        }
        match before.last() {
            Some((last, _)) if before.len() == COMPARED_AT_ONCE => start = [last.as_slice(), &[0]].concat(),
            _ => return Ok(true),
        }
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn some_rows(table: Table, from: &[u8], to: &[u8], reader: &dyn Reader) -> Result<Rows> {
    let mut rows = Vec::new();
    reader.scan(table, from, to, Direction::Forward, &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        match rows.len() == COMPARED_AT_ONCE {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(rows)
}

fn conflict(at: Option<(Table, &[u8])>) -> Error {
    let named = |what: What, key: &[u8]| Some((what, String::from_utf8_lossy(Shard::suffix(key)).into_owned()));
    let subject = match at {
        Some((Table::Kv, key)) => named(What::Key, key),
        Some((Table::Ids, key)) => named(What::Record, key),
        _ => None,
    };
    let what = match (&subject, at) {
        (Some((what, name)), _) => format!("{what} {name:?}"),
        (None, Some(_)) => "a collection that was searched, counted or listed".to_string(),
        (None, None) => "a range of keys".to_string(),
    };
    let what = crate::record::shortened(&what);
    let error =
        Error::new(ErrorKind::Conflict, format!("{what} has changed since the transaction began; run it again"));
    match subject {
        Some((what, name)) => error.about(what, name),
        None => error,
    }
}
