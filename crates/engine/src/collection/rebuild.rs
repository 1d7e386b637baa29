//! Building an index anew from the store, after it was damaged, deleted, or fell behind the change log.

use std::sync::Arc;

use nuthatch_store::Table;
use nuthatch_text::TextIndex;
use roaring::RoaringTreemap;

use crate::collection::Core;
use crate::collection::segment::rows_max;
use crate::collection::state::{Health, SegmentView};
use crate::record::Row;
use crate::{Error, Result};

impl Core {
    /// Rebuilds what is broken. Searches go on exactly meanwhile; what was damaged moves to the quarantine folder.
    pub(crate) fn rebuild_broken(&self) -> Result<()> {
        let (segments, text) = {
            let state = self.state.read();
            (state.segments_health.broken().map(str::to_owned), state.text_health.broken().map(str::to_owned))
        };
        if let Some(why) = segments {
            self.rebuild_segments(&why)?;
        }
        if let Some(why) = text {
            self.rebuild_text(&why)?;
        }
        nuthatch_heap::give_back();
        self.trim()
    }

    fn rebuild_segments(&self, why: &str) -> Result<()> {
        // A merge that is under way ends at its next look round: what it merges is to be thrown away.
        let _merging = self.merging.lock();
        let _work = self.work.lock();
        if self.is_dropped() || self.state.read().segments_health == Health::Sound {
            return Ok(()); // another caller was first
        }
        let folder = self.segments_folder();
        self.shared.quarantine(&folder, why)?;
        std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        let (rows, upto) = {
            // No write between listing the rows and noting the sequence.
            let writer = self.writer.lock();
            let rows = self.all_rows()?;
            let mut state = self.state.write();
            state.segments.clear();
            state.active = Arc::default();
            state.frozen = None;
            state.removed_while_sealing = Some(Arc::default());
            (rows, writer.counters.sequence)
        };
        let mut built = Vec::new();
        let part_rows = rows_max(self.fields().dim_max(), self.shared.options.build_memory_bytes);
        let mut rest = rows.into_iter();
        loop {
            let part: RoaringTreemap = rest.by_ref().take(part_rows as usize).collect();
            if part.is_empty() {
                break;
            }
            self.shared.check_open()?;
            let segment = self.build(self.take_segment_id(), &part, None, false).inspect_err(|_| {
                std::fs::remove_dir_all(&folder).ok();
            })?;
            if !segment.rows().is_empty() {
                built.push(segment);
            }
        }
        // The health stays broken, so that searches go by them when the manifest is written.
        self.swap_segments(|state| {
            let removed = state.removed_while_sealing.take().unwrap_or_default();
            state.segments = built.into_iter().map(|segment| SegmentView::new(segment, &removed)).collect();
            Some(upto)
        })?;
        self.state.write().segments_health = Health::Sound;
        Ok(())
    }

    fn rebuild_text(&self, why: &str) -> Result<()> {
        let _work = self.work.lock();
        if self.is_dropped() || self.state.read().text_health == Health::Sound {
            return Ok(()); // another caller was first
        }
        let folder = self.text_folder();
        self.state.write().text = None;
        self.shared.quarantine(&folder, why)?;
        let text = Arc::new(TextIndex::open_or_create(&folder, &self.cache, &self.language)?);
        let (rows, upto) = {
            let writer = self.writer.lock();
            let rows = self.all_rows()?;
            let mut state = self.state.write();
            for row in std::mem::take(&mut state.tail_rows) {
                Arc::make_mut(&mut state.tail).remove(row);
            }
            state.gone.clear();
            // From here on new texts go to the tail, and removed rows to `gone`; the health stays broken, so searches scan.
            state.committing_upto = u64::MAX;
            (rows, writer.counters.sequence)
        };
        let outcome = {
            let _working = self.shared.working.lock();
            let mut adds = self.text_rows(rows.clone());
            text.commit(&mut adds, &[], upto, self.shared.budget.work_bytes as usize)
        };
        self.state.write().committing_upto = 0;
        if let Err(error) = outcome {
            // Half an index is of no use to the next attempt, nor to anyone who looks into the quarantine folder.
            drop(text);
            std::fs::remove_dir_all(&folder).ok();
            return Err(error.into());
        }
        // Texts written meanwhile are in the store and in the log, but in no tail: there was no index to analyse them for.
        let _writer = self.writer.lock();
        let later = self.rows_added_after(upto)?;
        let mut state = self.state.write();
        state.text = Some(text);
        state.text_health = Health::Sound;
        for (row, stored) in later {
            state.insert_text_of(row, &stored);
        }
        Ok(())
    }

    /// Live rows that were added after a change.
    fn rows_added_after(&self, sequence: u64) -> Result<Vec<(u64, Row)>> {
        let mut added = RoaringTreemap::new();
        self.each_change(sequence, &mut |_, change| added.extend(change.added))?;
        let mut rows = Vec::new();
        for row in added {
            if let Some(stored) = self.shared.store()?.get(Table::Records, &self.shard.number_key(row))? {
                rows.push((row, Row::decode(&stored)?));
            }
        }
        Ok(rows)
    }

    fn all_rows(&self) -> Result<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        self.each_row(&*self.shared.store()?, Table::Records, &mut |row, _| {
            rows.insert(row);
            Ok(())
        })?;
        Ok(rows)
    }
}
