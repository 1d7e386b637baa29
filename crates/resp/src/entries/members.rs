//! The entries of a hash, a set or a sorted set, one value a name, while a command works on them.

use std::collections::{BTreeMap, HashSet};

use nuthatch_link::KeyScan;

use crate::aggregate::{Body, Entries, Head, Kind, rows};
use crate::context::CommandContext;
use crate::entries::opened::Opened;
use crate::entries::{ROWS_AT_ONCE, score_of};
use crate::failure::{Failure, Outcome};

/// Names that are taken from a random place on: one of them is chosen, so that one after a gap is not chosen more often.
const NEIGHBOURS: usize = 16;

/// The entries at a key, with the changes that a command makes to them. Nothing is written before [`save`](Self::save).
pub(crate) struct Members<'c, 'u> {
    pub(super) opened: Opened<'c, 'u>,
    /// Rows that were read ahead.
    known: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'c, 'u> Members<'c, 'u> {
    /// Of a key that holds this kind, or nothing.
    pub fn open(context: &'c mut CommandContext<'u>, key: &[u8], kind: Kind) -> Outcome<Self> {
        Ok(Self { opened: Opened::of(context, key, kind)?, known: BTreeMap::new() })
    }

    /// Of no key: what is put in is written over whatever `key` holds.
    pub fn replacing(context: &'c mut CommandContext<'u>, key: &[u8], kind: Kind) -> Self {
        Self { opened: Opened::replacing(context, key, kind), known: BTreeMap::new() }
    }

    pub fn len(&self) -> usize {
        self.opened.aggregate.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&mut self, name: &[u8]) -> Outcome<Option<Vec<u8>>> {
        match &self.opened.aggregate.body {
            Body::Inline(entries) => Ok(found(entries, name).map(|at| entries[at].1.clone())),
            Body::Rows(head) => self.row(&rows::name(head.id, name)?),
        }
    }

    /// Those of several names, as of one moment.
    pub fn get_many<'n>(&mut self, names: impl Iterator<Item = &'n [u8]>) -> Outcome<Vec<Option<Vec<u8>>>> {
        match &self.opened.aggregate.body {
            Body::Inline(entries) => {
                Ok(names.map(|name| found(entries, name).map(|at| entries[at].1.clone())).collect())
            }
            Body::Rows(head) => {
                let rows: Vec<_> = names.map(|name| rows::name(head.id, name)).collect::<Outcome<_>>()?;
                self.opened.context.rows(&rows)
            }
        }
    }

    /// Before these names are written: reads all of them at once, and makes rows where there will be many.
    pub fn expect<'n>(&mut self, names: impl ExactSizeIterator<Item = &'n [u8]>) -> Outcome<()> {
        if self.opened.outgrows(names.len() / 2) {
            self.make_rows()?;
        }
        if let Body::Rows(head) = &self.opened.aggregate.body
            && names.len() > 1
        {
            let rows: Vec<_> = names.map(|name| rows::name(head.id, name)).collect::<Outcome<_>>()?;
            let values = self.opened.context.rows(&rows)?;
            self.known.extend(rows.into_iter().zip(values));
        }
        Ok(())
    }

    /// Sets the value of a name, and tells the old one.
    pub fn insert(&mut self, name: &[u8], value: Vec<u8>) -> Outcome<Option<Vec<u8>>> {
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => Ok(match found(entries, name) {
                Some(at) => Some(std::mem::replace(&mut entries[at].1, value)),
                None => {
                    entries.push((name.to_vec(), value));
                    None
                }
            }),
            Body::Rows(head) => {
                let row = rows::name(head.id, name)?;
                let old = self.row(&row)?;
                self.change(name, row, old.as_deref(), Some(value))?;
                Ok(old)
            }
        }
    }

    /// Removes a name, and tells its value.
    pub fn remove(&mut self, name: &[u8]) -> Outcome<Option<Vec<u8>>> {
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => Ok(found(entries, name).map(|at| entries.remove(at).1)),
            Body::Rows(head) => {
                let row = rows::name(head.id, name)?;
                let old = self.row(&row)?;
                if old.is_some() {
                    self.change(name, row, old.as_deref(), None)?;
                }
                Ok(old)
            }
        }
    }

    /// Removes several names and writes that; how many were there.
    pub fn remove_all(mut self, names: &[Vec<u8>]) -> Outcome<usize> {
        self.expect(names.iter().map(Vec::as_slice))?;
        let mut removed = 0;
        for name in names {
            removed += usize::from(self.remove(name)?.is_some());
        }
        if removed > 0 {
            self.save()?;
        }
        Ok(removed)
    }

    /// Every entry, in no order that means anything.
    pub fn all(&mut self) -> Outcome<Entries> {
        let head = match &self.opened.aggregate.body {
            Body::Inline(entries) => return Ok(entries.clone()),
            Body::Rows(head) => head,
        };
        let mut entries = Vec::with_capacity(head.count as usize);
        let mut scan = KeyScan { limit: ROWS_AT_ONCE, ..KeyScan::prefix(rows::names(head.id)) };
        loop {
            let page = self.opened.context.scan_rows(&scan)?;
            entries.extend(page.entries.into_iter().map(|(row, value)| (rows::named(&row).1.to_vec(), value)));
            match page.cursor {
                Some(cursor) => scan.cursor = Some(cursor),
                None => return Ok(entries),
            }
        }
    }

    /// Returns a page of about `count` entries from a place on, and where the next one begins; 0 at the end. A small
    /// aggregate comes whole.
    pub fn page(&mut self, from: u64, count: usize) -> Outcome<(Entries, u64)> {
        let id = match &self.opened.aggregate.body {
            Body::Inline(entries) => return Ok((entries.iter().filter(|_| from == 0).cloned().collect(), 0)),
            Body::Rows(head) => head.id,
        };
        let (mut page, mut next) = (self.rows_from(id, from, count + 1)?, 0);
        if page.len() > count {
            next = page[count].0;
            page.truncate(count);
            // Names of one place are of one page: what is left out has a greater one.
            if page[count - 1].0 == next {
                page = self.rows_from(id, from, 2 * count + ROWS_AT_ONCE / 2)?;
                page.retain(|(place, ..)| *place <= next);
                next += 1;
            }
        }
        Ok((page.into_iter().map(|(_, name, value)| (name, value)).collect(), next))
    }

    /// Returns the given number of random entries: different ones, or with repeats if the number is negative.
    pub fn chosen(&mut self, count: i64) -> Outcome<Entries> {
        match usize::try_from(count) {
            Ok(count) => self.sample(count),
            Err(_) => self.sample_with_repeats(count.unsigned_abs() as usize),
        }
    }

    /// Returns `count` different random entries; all of them when there are no more.
    pub fn sample(&mut self, count: usize) -> Outcome<Entries> {
        let head = match &self.opened.aggregate.body {
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

    /// Returns `count` random entries; the same one may come more than once.
    fn sample_with_repeats(&mut self, count: usize) -> Outcome<Entries> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(head) = self.opened.aggregate.rows().copied()
            && count.saturating_mul(NEIGHBOURS) < head.count as usize
        {
            return (0..count).map(|_| self.anyone(head.id)?.ok_or_else(Failure::conflict)).collect();
        }
        let entries = self.all()?;
        Ok((0..count).map(|_| entries[fastrand::usize(..entries.len())].clone()).collect())
    }

    /// Writes what was changed; without entries there is no key.
    pub fn save(mut self) -> Outcome<()> {
        if self.opened.outgrows(0) {
            self.make_rows()?;
        }
        self.opened.save()
    }

    fn make_rows(&mut self) -> Outcome<()> {
        let Body::Inline(entries) = &mut self.opened.aggregate.body else { return Ok(()) };
        let (entries, head) = (std::mem::take(entries), Head::new());
        self.opened.aggregate.body = Body::Rows(head);
        entries
            .into_iter()
            .try_for_each(|(name, value)| self.change(&name, rows::name(head.id, &name)?, None, Some(value)))
    }

    /// Returns the value of a name's row.
    fn row(&mut self, row: &[u8]) -> Outcome<Option<Vec<u8>>> {
        match self.known.get(row) {
            Some(value) => Ok(value.clone()),
            None => self.opened.context.row(row),
        }
    }

    /// Writes the row of a name, the order of a sorted set and the number of entries.
    fn change(&mut self, name: &[u8], row: Vec<u8>, old: Option<&[u8]>, new: Option<Vec<u8>>) -> Outcome<()> {
        let Opened { context, aggregate, .. } = &mut self.opened;
        let Body::Rows(head) = &mut aggregate.body else { unreachable!("asked for where there are rows") };
        if aggregate.kind == Kind::Sorted {
            if let Some(old) = old {
                context.put_row(rows::ordered(head.id, score_of(old)?, name)?, None)?;
            }
            if let Some(new) = &new {
                context.put_row(rows::ordered(head.id, score_of(new)?, name)?, Some(Vec::new()))?;
            }
        }
        head.count = head.count - u64::from(old.is_some()) + u64::from(new.is_some());
        self.known.remove(&row);
        context.put_row(row, new)
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
        let page = self.opened.context.scan_rows(&scan)?;
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
