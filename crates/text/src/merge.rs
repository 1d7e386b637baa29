//! Keeping the number of segments and of removed rows small.

use std::sync::Arc;

use tantivy::index::SegmentId;

use crate::error::guarded;
use crate::snapshot::Snapshot;
use crate::{Result, TextIndex};

/// So many segments of one size class become one of the next: about as many segments per class at most, and each row is
/// rewritten once per class.
const FAN_IN: usize = 8;
/// Segments below this many rows are one class.
const SMALLEST_CLASS_ROWS: u64 = 2_000;
/// Larger segments are rewritten only for their removed rows: a merge must end in minutes.
const MERGED_ROWS_MAX: u64 = 8_000_000;
/// A segment is rewritten when one in this many of its rows is removed.
const REMOVED_ONE_IN: u64 = 5;

impl TextIndex {
    /// Does the next merge that is due, if any, and says whether it did: call it again then. Searches go on; commits wait.
    /// Memory: a few bytes per merged row.
    pub fn merge(&self) -> Result<bool> {
        let mut writing = self.writing.lock();
        let snapshot = self.snapshot();
        let due = due(&snapshot);
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
