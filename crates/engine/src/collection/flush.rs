//! Sealing fresh rows into a segment and the text index, and merging segments. Never on the write path.

use std::sync::Arc;

use nuthatch_text::{Tail, TextRow};
use nuthatch_truth::{Batch, Reader, Table, Truth, trim_changes};
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::collection::Core;
use crate::collection::manifest::{Manifest, SegmentEntry};
use crate::collection::open::is_damage;
use crate::collection::segment::{Build, SEGMENT_ROWS_MAX, Segment};
use crate::collection::state::{Frozen, Health, SegmentView, State};
use crate::record::Row;
use crate::{Error, Result};

/// Adjacent segments that are merged when together they still make one.
const MERGE_FAN_IN: usize = 4;
/// Share of dead rows from which a segment is rewritten, in percent.
const DEAD_PERCENT_MAX: u64 = 25;
/// Rows read from the truth at a time for the text index.
const READ_ROWS: usize = 256;

impl Core {
    /// Brings everything fresh into the indexes. Writes and searches go on meanwhile.
    pub(crate) fn flush(&self) -> Result<()> {
        let _work = self.work.lock();
        if self.is_dropped() {
            return Ok(());
        }
        self.shared.crash_point("flush");
        let frozen = {
            let mut state = self.state.write();
            if state.segments_health != Health::Sound && state.text_health != Health::Sound {
                return Ok(()); // nothing to flush into: a rebuild takes the fresh rows along
            }
            if state.frozen.is_none() {
                let rows = std::mem::take(&mut state.active);
                state.frozen = Some(Arc::new(Frozen { rows, upto: state.sequence }));
                state.removed_while_building = Some(RoaringTreemap::new());
            }
            // Otherwise one was left by a flush that failed: that one goes first.
            state.frozen.clone().expect("frozen just now")
        };
        // No index may be durable before what it shows is: after a power cut it would know rows that the truth does not.
        self.shared.truth()?.sync_all()?;
        self.seal(&frozen)?;
        self.commit_text()?;
        nuthatch_heap::give_back();
        self.trim()
    }

    fn seal(&self, frozen: &Frozen) -> Result<()> {
        let sound = self.state.read().segments_health == Health::Sound;
        let segment = match frozen.rows.is_empty() || !sound {
            true => None,
            false => {
                let id = self.take_segment_id();
                Some(self.build(id, &frozen.rows.rows())?)
            }
        };
        self.shared.crash_point("seal");
        let mut state = self.state.write();
        let removed = state.removed_while_building.take().unwrap_or_default();
        if let Some(segment) = segment
            && !segment.rows().is_empty()
        {
            let dead = dead_in(&segment, &removed);
            state.segments.push(SegmentView { segment, dead });
        }
        state.frozen = None;
        if sound {
            self.write_manifest(&mut state, frozen.upto)?;
        }
        Ok(())
    }

    /// Writes what the segments are now. Everything up to `applied` must be in them or in the dead rows.
    pub(crate) fn write_manifest(&self, state: &mut State, applied: u64) -> Result<()> {
        let manifest = Manifest {
            version: 0,
            applied,
            next_segment: state.next_segment,
            segments: state
                .segments
                .iter()
                .map(|view| SegmentEntry::new(view.segment.id, view.segment.rows().len(), &view.dead))
                .collect(),
        };
        manifest.write(&self.segments_folder())?;
        state.segments_applied = applied;
        Ok(())
    }

    pub(crate) fn take_segment_id(&self) -> u64 {
        let mut state = self.state.write();
        state.next_segment += 1;
        state.next_segment
    }

    pub(crate) fn build(&self, id: u64, rows: &RoaringTreemap) -> Result<Arc<Segment>> {
        let dim = self.writer.lock().meta.dim;
        let truth = self.shared.truth()?;
        let build = Build { truth: &*truth, shard: self.shard, metric: self.metric, dim, cache: &self.shared.cache };
        let folder = self.segments_folder().join(id.to_string());
        Segment::build(&folder, id, rows, &build).inspect_err(|_| {
            // The space is wanted back, above all when it was a full disk that stopped it; the next open removes the rest.
            std::fs::remove_dir_all(&folder).ok();
        })
    }

    /// Commits the tail to the text index, and takes removed rows out of it.
    fn commit_text(&self) -> Result<()> {
        let (text, rows, gone, upto) = {
            let mut state = self.state.write();
            let Some(text) = state.text.clone() else { return Ok(()) };
            state.committing_upto = state.tail_rows.max().unwrap_or(state.committing_upto);
            (text, state.tail_rows.clone(), state.gone.clone(), state.sequence)
        };
        if rows.is_empty() && gone.is_empty() && text.applied() == upto {
            return Ok(());
        }
        let gone_rows: Vec<u64> = gone.iter().collect();
        let committed = {
            let mut adds = self.text_rows(rows.clone());
            text.commit_unpublished(&mut adds, &gone_rows, upto, self.shared.budget.work_bytes as usize)
        };
        let mut state = self.state.write();
        state.committing_upto = 0;
        let unpublished = match committed {
            Ok(unpublished) => unpublished,
            Err(error) => {
                let error = Error::from(error);
                drop(state);
                if is_damage(&error) {
                    self.note_damage(&error, false);
                    return Ok(());
                }
                return Err(error);
            }
        };
        self.shared.crash_point("text");
        unpublished.publish();
        for row in &rows {
            state.tail.remove(row);
        }
        state.tail_rows -= rows;
        if state.tail.is_empty() {
            state.tail = Tail::new(); // its holes would count as fresh bytes
        }
        state.gone -= gone;
        drop(state);
        text.merge().map(drop).or_else(|error| {
            let error = Error::from(error);
            match error.is_corrupt() {
                true => {
                    self.note_damage(&error, false);
                    Ok(())
                }
                false => Err(error),
            }
        })
    }

    /// The texts of rows, a page at a time. Rows that the truth no longer has are passed over: they are in `gone`.
    pub(crate) fn text_rows(
        &self,
        rows: RoaringTreemap,
    ) -> impl Iterator<Item = std::result::Result<TextRow, nuthatch_text::RowsError>> + '_ {
        let mut rows = rows.into_iter();
        let mut page: std::vec::IntoIter<TextRow> = Vec::new().into_iter();
        std::iter::from_fn(move || {
            loop {
                if let Some(row) = page.next() {
                    return Some(Ok(row));
                }
                let chunk: Vec<u64> = rows.by_ref().take(READ_ROWS).collect();
                if chunk.is_empty() {
                    return None;
                }
                match self.text_page(&chunk) {
                    Ok(texts) => page = texts.into_iter(),
                    Err(error) => return Some(Err(error.into())),
                }
            }
        })
    }

    fn text_page(&self, rows: &[u64]) -> Result<Vec<TextRow>> {
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| self.shard.number_key(*row)).collect();
        let mut texts = Vec::with_capacity(rows.len());
        for (row_id, stored) in rows.iter().zip(self.shared.truth()?.multi_get(Table::Records, &keys)?) {
            if let Some(stored) = stored {
                let stored = Row::decode(&stored)?;
                texts.extend(stored.searchable().map(|text| TextRow { row_id: *row_id, text, code: stored.code }));
            }
        }
        Ok(texts)
    }

    /// Forgets changes that both indexes have applied.
    pub(crate) fn trim(&self) -> Result<()> {
        let applied = {
            let state = self.state.read();
            match (&state.segments_health, &state.text) {
                (Health::Sound, Some(text)) => state.segments_applied.min(text.applied()),
                _ => return Ok(()), // a rebuild decides
            }
        };
        if applied > 0 {
            let mut batch = Batch::new();
            trim_changes(&mut batch, self.shard, applied);
            self.shared.truth()?.write(batch)?;
        }
        Ok(())
    }

    /// Merges once, if there is something worth merging. True when it did.
    pub(crate) fn merge(&self) -> Result<bool> {
        let _work = self.work.lock();
        if self.is_dropped() {
            return Ok(false);
        }
        let (chosen, rows) = {
            let mut state = self.state.write();
            if state.segments_health != Health::Sound || state.frozen.is_some() {
                return Ok(false);
            }
            let Some(range) = choose_merge(&state.segments) else { return Ok(false) };
            state.removed_while_building = Some(RoaringTreemap::new());
            let views = &state.segments[range.clone()];
            let rows = views.iter().fold(RoaringTreemap::new(), |all, view| {
                let dead = view.segment.rows_of(&view.dead);
                all | (view.segment.rows() - dead)
            });
            (range, rows)
        };
        let id = self.take_segment_id();
        let merged = match rows.is_empty() {
            true => None,
            false => Some(self.build(id, &rows).inspect_err(|_| self.state.write().removed_while_building = None)?),
        };
        self.shared.crash_point("merge");
        let old: Vec<SegmentView> = {
            let mut state = self.state.write();
            let removed = state.removed_while_building.take().unwrap_or_default();
            let merged = merged.filter(|segment| !segment.rows().is_empty()).map(|segment| {
                let dead = dead_in(&segment, &removed);
                SegmentView { segment, dead }
            });
            let old = state.segments.splice(chosen, merged).collect();
            let applied = state.segments_applied;
            self.write_manifest(&mut state, applied)?;
            old
        };
        for view in old {
            let folder = self.segments_folder().join(view.segment.id.to_string());
            // Open handles keep reading; the names go now.
            std::fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        }
        nuthatch_heap::give_back();
        Ok(true)
    }
}

/// Ordinals of the segment's rows that are among `removed`.
pub(crate) fn dead_in(segment: &Segment, removed: &RoaringTreemap) -> RoaringBitmap {
    (segment.rows() & removed).iter().filter_map(|row| segment.ordinal(row)).collect()
}

/// A segment with too many dead rows, or the longest run of neighbours that fit into one.
fn choose_merge(segments: &[SegmentView]) -> Option<std::ops::Range<usize>> {
    let live = |view: &SegmentView| view.segment.rows().len() - view.dead.len();
    let decayed = segments.iter().position(|view| view.dead.len() * 100 > view.segment.rows().len() * DEAD_PERCENT_MAX);
    if let Some(at) = decayed {
        return Some(at..at + 1);
    }
    let mut best: Option<std::ops::Range<usize>> = None;
    for start in 0..segments.len() {
        let (mut rows, mut largest) = (0, 0);
        for (end, view) in segments.iter().enumerate().skip(start) {
            rows += live(view);
            largest = largest.max(live(view));
            if rows > SEGMENT_ROWS_MAX {
                break;
            }
            let count = end + 1 - start;
            // Rewriting a large segment to add a small one costs more than it saves: the largest may be at most half of the whole.
            if count >= MERGE_FAN_IN && largest * 2 <= rows && best.as_ref().is_none_or(|best| count > best.len()) {
                best = Some(start..end + 1);
            }
        }
    }
    best
}
