//! The items of a list while a command works on them.

use std::ops::{Bound, Range};

use nuthatch_link::KeyScan;

use crate::aggregate::{Body, Head, Kind, rows};
use crate::context::CommandContext;
use crate::entries::ROWS_AT_ONCE;
use crate::entries::opened::Opened;
use crate::failure::Outcome;

/// The list at a key, with the changes that a command makes to it. Nothing is written before [`save`](Self::save).
///
/// The items of rows lie at consecutive places, so that both ends and every index are found at once; what changes the middle moves the
/// items behind it.
pub(crate) struct List<'c, 'u> {
    opened: Opened<'c, 'u>,
}

impl<'c, 'u> List<'c, 'u> {
    /// Of a key that holds a list, or nothing.
    pub fn open(context: &'c mut CommandContext<'u>, key: &[u8]) -> Outcome<Self> {
        Ok(Self { opened: Opened::of(context, key, Kind::List)? })
    }

    /// Of no key: what is put in is written over whatever `key` holds.
    pub fn replacing(context: &'c mut CommandContext<'u>, key: &[u8]) -> Self {
        Self { opened: Opened::replacing(context, key, Kind::List) }
    }

    pub fn len(&self) -> usize {
        self.opened.aggregate.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push(&mut self, item: Vec<u8>, front: bool) -> Outcome<()> {
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => {
                let at = if front { 0 } else { entries.len() };
                entries.insert(at, (item, Vec::new()));
                match self.opened.outgrows(0) {
                    true => self.make_rows(),
                    false => Ok(()),
                }
            }
            Body::Rows(head) => {
                head.first -= i64::from(front);
                let place = if front { head.first } else { head.first + head.count as i64 };
                head.count += 1;
                self.opened.context.put_row(rows::item(head.id, place), Some(item))
            }
        }
    }

    pub fn pop(&mut self, front: bool) -> Outcome<Option<Vec<u8>>> {
        let Some(last) = self.len().checked_sub(1) else { return Ok(None) };
        let at = if front { 0 } else { last };
        let item = self.get(at)?;
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => drop(entries.remove(at)),
            Body::Rows(head) => {
                let place = head.first + at as i64;
                head.first += i64::from(front);
                head.count -= 1;
                self.opened.context.put_row(rows::item(head.id, place), None)?;
            }
        }
        Ok(item)
    }

    /// `None` past the end.
    pub fn get(&mut self, at: usize) -> Outcome<Option<Vec<u8>>> {
        match &self.opened.aggregate.body {
            _ if at >= self.len() => Ok(None),
            Body::Inline(entries) => Ok(Some(entries[at].0.clone())),
            Body::Rows(head) => self.opened.context.row(&rows::item(head.id, head.first + at as i64)),
        }
    }

    /// Replaces an item that is there.
    pub fn set(&mut self, at: usize, item: Vec<u8>) -> Outcome<()> {
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => entries[at].0 = item,
            Body::Rows(head) => {
                return self.opened.context.put_row(rows::item(head.id, head.first + at as i64), Some(item));
            }
        }
        Ok(())
    }

    pub fn range(&mut self, range: Range<usize>) -> Outcome<Vec<Vec<u8>>> {
        let range = range.start.min(self.len())..range.end.min(self.len());
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let head = match &self.opened.aggregate.body {
            Body::Inline(entries) => return Ok(entries[range].iter().map(|(item, _)| item.clone()).collect()),
            Body::Rows(head) => head,
        };
        let place = |at: usize| rows::item(head.id, head.first + at as i64);
        let (from, to) = (Bound::Included(place(range.start)), Bound::Excluded(place(range.end)));
        let mut scan = KeyScan { from, to, limit: ROWS_AT_ONCE.min(range.len()), ..KeyScan::default() };
        let mut items = Vec::with_capacity(range.len());
        loop {
            let page = self.opened.context.scan_rows(&scan)?;
            items.extend(page.entries.into_iter().map(|(_, item)| item));
            match page.cursor {
                Some(cursor) if items.len() < range.len() => scan.cursor = Some(cursor),
                _ => return Ok(items),
            }
        }
    }

    /// Keeps a part of it.
    pub fn trim(&mut self, kept: Range<usize>) -> Outcome<()> {
        let kept = kept.start.min(self.len())..kept.end.min(self.len());
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => {
                entries.truncate(kept.end.max(kept.start));
                entries.drain(..kept.start);
            }
            Body::Rows(head) if kept.is_empty() => head.count = 0,
            Body::Rows(head) => {
                let Head { id, first, count, .. } = *head;
                (head.first, head.count) = (first + kept.start as i64, kept.len() as u64);
                let gone = (0..kept.start).chain(kept.end..count as usize);
                gone.map(|at| rows::item(id, first + at as i64))
                    .try_for_each(|row| self.opened.context.put_row(row, None))?;
            }
        }
        Ok(())
    }

    /// Everything from `at` on is these items now.
    pub fn rewrite(&mut self, at: usize, items: Vec<Vec<u8>>) -> Outcome<()> {
        match &mut self.opened.aggregate.body {
            Body::Inline(entries) => {
                entries.truncate(at);
                entries.extend(items.into_iter().map(|item| (item, Vec::new())));
            }
            Body::Rows(head) => {
                let Head { id, first, count, .. } = *head;
                let place = |at: usize| rows::item(id, first + at as i64);
                head.count = (at + items.len()) as u64;
                let end = at + items.len();
                for (item, at) in items.into_iter().zip(at..) {
                    self.opened.context.put_row(place(at), Some(item))?;
                }
                (end..count as usize).try_for_each(|at| self.opened.context.put_row(place(at), None))?;
            }
        }
        Ok(())
    }

    /// Writes what was changed; without items there is no key.
    pub fn save(mut self) -> Outcome<()> {
        if self.opened.outgrows(0) {
            self.make_rows()?;
        }
        self.opened.save()
    }

    fn make_rows(&mut self) -> Outcome<()> {
        let Body::Inline(entries) = &mut self.opened.aggregate.body else { return Ok(()) };
        let entries = std::mem::take(entries);
        self.opened.aggregate.body = Body::Rows(Head::new());
        entries.into_iter().try_for_each(|(item, _)| self.push(item, false))
    }
}
