//! The entries of a hash, a set or a sorted set, one value a name, while a command works on them.

use std::collections::{BTreeMap, HashSet};

use nuthatch_link::KeyScan;

use crate::aggregate::{Aggregate, Body, Entries, Head, Kind, are_many, bytes_of, rows};
use crate::context::CommandContext;
use crate::entries::{ROWS_AT_ONCE, score_of};
use crate::failure::{Failure, Outcome};
use crate::value::Value;

/// Names that are taken from a random place on: one of them is chosen, so that one after a gap is not chosen more often.
const NEIGHBOURS: usize = 16;

/// What a key holds, and what a command makes of it. Nothing is written before [`save`](Self::save).
pub(crate) struct Members<'c, 'u> {
    pub(super) context: &'c mut CommandContext<'u>,
    key: Vec<u8>,
    pub(super) aggregate: Aggregate,
    expires_at_ms: Option<u64>,
    /// Rows that were read ahead.
    known: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'c, 'u> Members<'c, 'u> {
    /// Of a key that holds this kind, or nothing.
    pub fn open(context: &'c mut CommandContext<'u>, key: &[u8], kind: Kind) -> Outcome<Self> {
        let (aggregate, expires_at_ms) = context.aggregate(key, kind)?;
        Ok(Self { context, key: key.to_vec(), aggregate, expires_at_ms, known: BTreeMap::new() })
    }

    /// Of no key: what is put in is written over whatever `key` holds.
    pub fn replacing(context: &'c mut CommandContext<'u>, key: &[u8], kind: Kind) -> Self {
        let aggregate = Aggregate::new(kind);
        Self { context, key: key.to_vec(), aggregate, expires_at_ms: None, known: BTreeMap::new() }
    }

    pub fn len(&self) -> usize {
        self.aggregate.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&mut self, name: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let head = match &self.aggregate.body {
            Body::Inline(entries) => return Ok(found(entries, name).map(|at| entries[at].1.clone())),
            Body::Rows(head) => head,
        };
        let row = rows::name(head.id, name)?;
        match self.known.get(&row) {
            Some(value) => Ok(value.clone()),
            None => self.context.row(&row),
        }
    }

    /// Those of several names, as of one moment.
    pub fn get_many<'n>(&mut self, names: impl Iterator<Item = &'n [u8]>) -> Outcome<Vec<Option<Vec<u8>>>> {
        match &self.aggregate.body {
            Body::Inline(entries) => {
                Ok(names.map(|name| found(entries, name).map(|at| entries[at].1.clone())).collect())
            }
            Body::Rows(head) => {
                let rows: Vec<_> = names.map(|name| rows::name(head.id, name)).collect::<Outcome<_>>()?;
                self.context.rows(&rows)
            }
        }
    }

    /// Before these names are written: reads all of them at once, and makes rows where there will be many.
    pub fn expect<'n>(&mut self, names: impl ExactSizeIterator<Item = &'n [u8]>) -> Outcome<()> {
        if let Body::Inline(entries) = &self.aggregate.body
            && are_many(entries.len() + names.len() / 2, bytes_of(entries))
        {
            self.make_rows()?;
        }
        if let Body::Rows(head) = &self.aggregate.body
            && names.len() > 1
        {
            let rows: Vec<_> = names.map(|name| rows::name(head.id, name)).collect::<Outcome<_>>()?;
            let values = self.context.rows(&rows)?;
            self.known.extend(rows.into_iter().zip(values));
        }
        Ok(())
    }

    /// Sets the value of a name, and tells the old one.
    pub fn insert(&mut self, name: &[u8], value: Vec<u8>) -> Outcome<Option<Vec<u8>>> {
        let old = self.get(name)?;
        match &mut self.aggregate.body {
            Body::Inline(entries) => match found(entries, name) {
                Some(at) => entries[at].1 = value,
                None => entries.push((name.to_vec(), value)),
            },
            Body::Rows(head) => {
                head.count += u64::from(old.is_none());
                let id = head.id;
                if self.aggregate.kind == Kind::Sorted {
                    self.reorder(id, name, old.as_deref(), Some(&value))?;
                }
                self.put_row(rows::name(id, name)?, Some(value))?;
            }
        }
        Ok(old)
    }

    /// Removes a name, and tells its value.
    pub fn remove(&mut self, name: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let Some(old) = self.get(name)? else { return Ok(None) };
        match &mut self.aggregate.body {
            Body::Inline(entries) => entries.retain(|(other, _)| other != name),
            Body::Rows(head) => {
                head.count -= 1;
                let id = head.id;
                if self.aggregate.kind == Kind::Sorted {
                    self.reorder(id, name, Some(&old), None)?;
                }
                self.put_row(rows::name(id, name)?, None)?;
            }
        }
        Ok(Some(old))
    }

    /// Every entry, in no order that means anything.
    pub fn all(&mut self) -> Outcome<Entries> {
        let head = match &self.aggregate.body {
            Body::Inline(entries) => return Ok(entries.clone()),
            Body::Rows(head) => head,
        };
        let mut entries = Vec::with_capacity(head.count as usize);
        let mut scan = KeyScan { limit: ROWS_AT_ONCE, ..KeyScan::prefix(rows::names(head.id)) };
        loop {
            let page = self.context.scan_rows(&scan)?;
            entries.extend(page.entries.into_iter().map(|(row, value)| (rows::named(&row).1.to_vec(), value)));
            match page.cursor {
                Some(cursor) => scan.cursor = Some(cursor),
                None => return Ok(entries),
            }
        }
    }

    /// A page of about so many entries from a place on, and where the next one begins; 0 at the end. A small aggregate comes whole.
    pub fn page(&mut self, from: u64, count: usize) -> Outcome<(Entries, u64)> {
        match &self.aggregate.body {
            Body::Inline(entries) => Ok((entries.iter().filter(|_| from == 0).cloned().collect(), 0)),
            Body::Rows(head) => {
                let id = head.id;
                let mut page = self.rows_from(id, from, count + 1)?;
                if page.len() <= count {
                    return Ok((page.into_iter().map(|(_, name, value)| (name, value)).collect(), 0));
                }
                // Names of one place are of one page: what is left out has a greater one.
                let next = page[count].0;
                page.truncate(count);
                if page[count - 1].0 == next {
                    page = self.rows_from(id, from, 2 * count + ROWS_AT_ONCE / 2)?;
                    page.retain(|(place, ..)| *place <= next);
                    return Ok((page.into_iter().map(|(_, name, value)| (name, value)).collect(), next + 1));
                }
                Ok((page.into_iter().map(|(_, name, value)| (name, value)).collect(), next))
            }
        }
    }

    /// So many different entries, by chance; all when there are no more.
    pub fn sample(&mut self, count: usize) -> Outcome<Entries> {
        let head = match &self.aggregate.body {
            Body::Rows(head) if count.saturating_mul(4) < head.count as usize => *head,
            _ => return Ok(fastrand::choose_multiple(self.all()?, count)),
        };
        let (mut chosen, mut seen) = (Vec::with_capacity(count), HashSet::new());
        // Where rows are missing there may be fewer names than the head says.
        for _ in 0..100 + 20 * count {
            if chosen.len() == count {
                return Ok(chosen);
            }
            let (name, value) = self.anyone(head.id)?.ok_or_else(Failure::conflict)?;
            if seen.insert(name.clone()) {
                chosen.push((name, value));
            }
        }
        Ok(fastrand::choose_multiple(self.all()?, count))
    }

    /// So many entries by chance, the same one more than once.
    pub fn sample_with_repeats(&mut self, count: usize) -> Outcome<Entries> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(head) = self.aggregate.rows().copied()
            && count.saturating_mul(NEIGHBOURS) < head.count as usize
        {
            return (0..count).map(|_| self.anyone(head.id)?.ok_or_else(Failure::conflict)).collect();
        }
        let entries = self.all()?;
        Ok((0..count).map(|_| entries[fastrand::usize(..entries.len())].clone()).collect())
    }

    /// Writes what was changed; without entries there is no key.
    pub fn save(mut self) -> Outcome<()> {
        if self.is_empty() {
            return self.context.delete(&self.key);
        }
        if let Body::Inline(entries) = &self.aggregate.body
            && are_many(entries.len(), bytes_of(entries))
        {
            self.make_rows()?;
        }
        if let Body::Rows(head) = &mut self.aggregate.body {
            head.version += 1;
        }
        self.context.put(&self.key, Value::Aggregate(self.aggregate), self.expires_at_ms)
    }

    fn make_rows(&mut self) -> Outcome<()> {
        let Body::Inline(entries) = &mut self.aggregate.body else { return Ok(()) };
        let entries = std::mem::take(entries);
        self.aggregate.body = Body::Rows(Head::new());
        for (name, value) in entries {
            self.known.insert(rows::name(self.head().id, &name)?, None);
            self.insert(&name, value)?;
        }
        Ok(())
    }

    fn head(&self) -> &Head {
        self.aggregate.rows().expect("asked for where there are rows")
    }

    fn reorder(&mut self, id: u64, member: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) -> Outcome<()> {
        if let Some(old) = old {
            self.context.put_row(rows::ordered(id, score_of(old)?, member)?, None)?;
        }
        if let Some(new) = new {
            self.context.put_row(rows::ordered(id, score_of(new)?, member)?, Some(Vec::new()))?;
        }
        Ok(())
    }

    fn put_row(&mut self, row: Vec<u8>, value: Option<Vec<u8>>) -> Outcome<()> {
        self.known.remove(&row);
        self.context.put_row(row, value)
    }

    /// One of the entries behind a random place.
    fn anyone(&mut self, id: u64) -> Outcome<Option<(Vec<u8>, Vec<u8>)>> {
        let from = fastrand::u64(..=u64::MAX >> 12);
        let mut near = self.rows_from(id, from, NEIGHBOURS)?;
        if near.len() < NEIGHBOURS {
            near.extend(self.rows_from(id, 0, NEIGHBOURS - near.len())?);
        }
        Ok(fastrand::choice(near).map(|(_, name, value)| (name, value)))
    }

    fn rows_from(&mut self, id: u64, place: u64, count: usize) -> Outcome<Vec<Placed>> {
        let from = std::ops::Bound::Included(rows::names_from(id, place));
        let scan = KeyScan { from, limit: count.min(ROWS_AT_ONCE), ..KeyScan::prefix(rows::names(id)) };
        let page = self.context.scan_rows(&scan)?;
        Ok(page
            .entries
            .into_iter()
            .map(|(row, value)| {
                let (place, name) = rows::named(&row);
                (place, name.to_vec(), value)
            })
            .collect())
    }
}

/// A place, the name there and its value.
type Placed = (u64, Vec<u8>, Vec<u8>);

fn found(entries: &Entries, name: &[u8]) -> Option<usize> {
    entries.iter().position(|(other, _)| other == name)
}
