//! Keeping the number of segments and of removed rows small.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::index::SegmentId;

use crate::error::guarded;
use crate::snapshot::Snapshot;
use crate::{Result, TextError, TextIndex};

/// The number of segments of one size class that are merged into one of the next. A class has at most about as many
/// segments, and each row is rewritten once per class.
const FAN_IN: usize = 8;
/// Segments below this many rows are one class.
const SMALLEST_CLASS_ROWS: u64 = 2_000;
/// Larger segments are rewritten only for their removed rows: a merge must end in minutes.
const MERGED_ROWS_MAX: u64 = 8_000_000;
/// Digits of a segment's id, with which the names of its files begin.
const SEGMENT_ID_DIGITS: usize = 32;
/// A segment is rewritten when one in this many of its rows is removed.
const REMOVED_ONE_IN: u64 = 5;

impl TextIndex {
    /// Does the next merge that is due, if any, and says whether it did: call it again then. Searches go on; commits wait.
    /// Memory: a few bytes per merged row.
    pub fn merge(&self) -> Result<bool> {
        self.merge_chosen(due)
    }

    /// Rewrites the next segment that holds a removed row, if any, and says whether it did: call it again then. Afterwards
    /// no file holds what was removed and committed before, except those that a search has open: see [`sweep`](Self::sweep).
    pub fn merge_removed(&self) -> Result<bool> {
        self.merge_chosen(|snapshot| {
            let readers = snapshot.searcher.segment_readers();
            readers
                .iter()
                .find(|reader| reader.num_deleted_docs() > 0)
                .map(|reader| reader.segment_id())
                .into_iter()
                .collect()
        })
    }

    /// Removes files that no commit names. True when none is left: a search that runs keeps those that it reads.
    pub fn sweep(&self) -> Result<bool> {
        let mut writing = self.writing.lock();
        guarded(&self.folder, || {
            let from = |error| self.named(error);
            *writing = true;
            drop(self.writer(&mut writing)?); // it sweeps when it begins
            *writing = false;
            let metas = self.index.load_metas().map_err(from)?;
            let named: HashSet<String> = metas.segments.iter().map(|segment| segment.id().uuid_string()).collect();
            let files = std::fs::read_dir(&self.folder);
            let files = files.map_err(|error| TextError::from_io(&self.folder, Arc::new(error)))?.flatten();
            // Files of a segment begin with its id; what is not a segment's is replaced whole by each commit.
            Ok(files.map(|file| file.file_name().to_string_lossy().into_owned()).all(|name| {
                let id = name.split('.').next().unwrap_or_default();
                id.len() != SEGMENT_ID_DIGITS || named.contains(id)
            }))
        })
    }

    fn merge_chosen(&self, choose: impl FnOnce(&Snapshot) -> Vec<SegmentId>) -> Result<bool> {
        let mut writing = self.writing.lock();
        let snapshot = self.snapshot();
        let due = choose(&snapshot);
        if due.is_empty() {
            return Ok(false);
        }
        drop(snapshot);
        guarded(&self.folder, || {
            let from = |error| self.named(error);
            let mut writer = self.writer(&mut writing)?;
            writer.merge(&due).wait().map_err(from)?;
            self.publish(Arc::new(self.load_snapshot()?));
            // Now that no reader of ours needs them: the files of the merged segments.
            writer.garbage_collect_files().wait().map_err(from)?;
            *writing = false;
            Ok(true)
        })
    }

    /// Segments now; each costs a query some microseconds.
    pub fn segments(&self) -> usize {
        self.snapshot().segments.len()
    }
}

/// The segments to merge next, in the order of their rows, so that documents stay in row order.
fn due(snapshot: &Snapshot) -> Vec<SegmentId> {
    let readers = snapshot.searcher.segment_readers();
    let mut segments: Vec<(u64, SegmentId, u64, u64)> = readers
        .iter()
        .zip(&snapshot.segments)
        .map(|(reader, segment)| {
            let removed = u64::from(reader.num_deleted_docs());
            let rows = u64::from(reader.num_docs());
            (segment.row_ids.min_value(), reader.segment_id(), rows, removed)
        })
        .collect();
    segments.sort_unstable_by_key(|segment| segment.0);
    let worn = segments.iter().find(|(_, _, rows, removed)| *removed > 0 && removed * REMOVED_ONE_IN >= rows + removed);
    if let Some((_, id, _, _)) = worn {
        return vec![*id];
    }
    let mut class_rows_max = SMALLEST_CLASS_ROWS;
    while class_rows_max <= MERGED_ROWS_MAX {
        let class = segments.iter().filter(|segment| segment.2 <= class_rows_max);
        let ids: Vec<SegmentId> = class.map(|segment| segment.1).take(FAN_IN).collect();
        if ids.len() == FAN_IN {
            return ids;
        }
        class_rows_max *= FAN_IN as u64;
    }
    Vec::new()
}
