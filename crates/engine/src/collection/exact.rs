//! Answers straight from the store, while an index is damaged, missing or being rebuilt. Slower, never different in kind.

use std::ops::ControlFlow;

use nuthatch_filter::Filter;
use nuthatch_store::{Reader, Table};
use nuthatch_text::{Analyzer, RowFilter, TextHit, TextQuery, scan};
use roaring::RoaringTreemap;

use crate::Result;
use crate::collection::Core;
use crate::collection::fusion::ScoredRow;
use crate::collection::ranking::BestRows;
use crate::descriptor::field::Field;
use crate::record::{Row, row_of};
use crate::scan::until_error;
use crate::state::each_row_in;

/// Compares a row's stored vector with a query; `None` for one that is no hit.
type Compare<'c> = dyn Fn(u64, &[u8]) -> Result<Option<ScoredRow>> + 'c;

impl Core {
    /// Rows whose payload passes the filter, by reading every payload.
    pub(crate) fn rows_matching_exactly(&self, reader: &dyn Reader, filter: &Filter) -> Result<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        self.each_row(reader, Table::Records, &mut |row, bytes| {
            if filter.matches(&Row::decode(bytes)?.payload()?) {
                rows.insert(row);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// A leg by comparing every stored vector of a field that passes.
    pub(crate) fn scan_vectors(
        &self,
        reader: &dyn Reader,
        field: &Field,
        allowed: Option<&RoaringTreemap>,
        depth: usize,
        compare: &Compare<'_>,
    ) -> Result<Vec<ScoredRow>> {
        let mut best = BestRows::new(depth);
        each_row_in(reader, Table::Vectors, field.range(self.shard), &mut |row, bytes| {
            if allowed.is_none_or(|allowed| allowed.contains(row)) {
                compare(row, bytes)?.into_iter().for_each(|found| best.push(found));
            }
            Ok(())
        })?;
        Ok(best.finish())
    }

    /// The text leg by analysing every stored text.
    pub(crate) fn scan_texts(
        &self,
        reader: &dyn Reader,
        query: TextQuery<'_>,
        depth: usize,
        allowed: Option<&RoaringTreemap>,
    ) -> Result<Vec<TextHit>> {
        let analyzer = Analyzer::new(&self.language)?;
        let filter = allowed.map_or(RowFilter::All, |allowed| RowFilter::Only { allowed });
        let mut next = 0;
        let mut page = Vec::new().into_iter();
        // The scan pulls rows; the store pushes them: a page at a time between the two.
        let mut rows = std::iter::from_fn(|| {
            loop {
                if let Some(row) = page.next() {
                    return Some(Ok(row));
                }
                match self.texts_from(reader, next) {
                    Ok((texts, None)) if texts.is_empty() => return None,
                    Ok((texts, after)) => {
                        next = after.unwrap_or(u64::MAX);
                        page = texts.into_iter();
                    }
                    Err(error) => return Some(Err(error.into())),
                }
            }
        });
        Ok(scan(&analyzer, query, &mut rows, depth, filter)?)
    }

    /// Up to 512 texts, or a MiB of them, from row `from` on, and the row after them; `None` at the end.
    #[allow(clippy::type_complexity)]
    fn texts_from(&self, reader: &dyn Reader, from: u64) -> Result<(Vec<(u64, String, bool)>, Option<u64>)> {
        let (mut texts, mut held) = (Vec::new(), 0);
        let mut after = None;
        let start = self.shard.number_key(from);
        until_error(
            |visit| reader.scan_once(Table::Records, &start, &self.shard.end(), visit),
            |key, bytes| {
                let row = row_of(key);
                held += bytes.len();
                let stored = Row::decode(bytes)?;
                texts.extend(stored.searchable().map(|text| (row, text, stored.code)));
                if texts.len() < 512 && held < 1 << 20 {
                    return Ok(ControlFlow::Continue(()));
                }
                // Only a full page has something after it.
                after = row.checked_add(1);
                Ok(ControlFlow::Break(()))
            },
        )?;
        Ok((texts, after))
    }

    /// Visits every row of a table of this collection, in one consistent view.
    pub(crate) fn each_row(
        &self,
        reader: &dyn Reader,
        table: Table,
        visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        each_row_in(reader, table, (self.shard.prefix().to_vec(), self.shard.end()), visit)
    }
}
