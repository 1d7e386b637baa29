//! Reading records: one reader a thread.

use std::sync::Arc;

use super::batch::Batch;
use super::buffer::Buffer;
use super::{RecordFile, Route};
use crate::SegmentError;

/// Reads records of one file for one thread, with a buffer of its own that holds the largest batch so far. Cheap to make.
pub struct RecordReader {
    file: Arc<RecordFile>,
    buffer: Buffer,
    forced: Option<Route>,
    stats: ReadStats,
}

/// The statistics of a reader since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Records handed out.
    pub records: u64,
    /// Calls of [`RecordReader::read`].
    pub rounds: u64,
    /// Of the records, those that were not in the page cache; where the system cannot tell, those that took long; of mapped
    /// records always 0, since nobody knows.
    pub cold: u64,
    /// Bytes of these records, checksums included.
    pub bytes: u64,
}

/// Called with a record's place among those asked for, and its bytes.
pub type Visit<'a, E> = dyn FnMut(usize, &[u8]) -> Result<(), E> + 'a;

impl RecordReader {
    /// The most records that are read at once; a longer list is read in parts.
    pub const BATCH_MAX: usize = 64;

    pub(super) fn new(file: Arc<RecordFile>) -> Self {
        Self { file, buffer: Buffer::default(), forced: None, stats: ReadStats::default() }
    }

    /// Reads all records by `route`, whether cached or not: for tests and measurements. A mapped file is not read at all.
    pub fn force(mut self, route: Route) -> Self {
        self.forced = Some(route);
        self
    }

    /// Reads these records and calls `visit(i, bytes)` for each, in their order, `i` being its place in `indices`. The bytes
    /// are verified and come without the checksum. Ends at the first error, the visitor's own or a damaged record.
    pub fn read<E: From<SegmentError>>(&mut self, indices: &[u32], visit: &mut Visit<'_, E>) -> Result<(), E> {
        self.stats.rounds += 1;
        for (part, indices) in indices.chunks(Self::BATCH_MAX).enumerate() {
            let mut visit = |place, bytes: &[u8]| visit(part * Self::BATCH_MAX + place, bytes);
            match self.file.mapping() {
                Some(_) => self.read_mapped(indices, &mut visit)?,
                None => self.read_copied(indices, &mut visit)?,
            }
        }
        Ok(())
    }

    /// Has the processor fetch the beginning of a mapped record; nothing otherwise.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        self.file.prefetch(index, (0, 1));
    }

    /// Whether more than an eighth of the last records, of all readers of the file, had to come from the disk: then a search
    /// that reads more records at once waits less. Never so for a mapped file.
    pub fn cold(&self) -> bool {
        self.file.miss_rate.is_cold()
    }

    /// The sums since the reader was made.
    pub fn stats(&self) -> ReadStats {
        self.stats
    }

    fn read_mapped<E: From<SegmentError>>(&mut self, indices: &[u32], visit: &mut Visit<'_, E>) -> Result<(), E> {
        let Some(mapping) = self.file.mapping() else { return Ok(()) };
        for (place, &index) in indices.iter().enumerate() {
            if let Some(&next) = indices.get(place + 1) {
                self.prefetch(next);
            }
            let bytes = self.file.mapped(mapping, index)?;
            self.stats.count(self.file.record_bytes());
            visit(place, bytes)?;
        }
        Ok(())
    }

    fn read_copied<E: From<SegmentError>>(&mut self, indices: &[u32], visit: &mut Visit<'_, E>) -> Result<(), E> {
        let record_bytes = self.file.record_bytes();
        let room = self.buffer.room(indices.len(), record_bytes);
        let cold = Batch { file: &self.file, indices, room: &mut *room }.read(self.forced)?;
        self.file.miss_rate.observe(indices.len(), cold);
        self.stats.cold += cold as u64;
        for (place, (record, &index)) in room.chunks_exact(record_bytes).zip(indices).enumerate() {
            let bytes = self.file.verified(index, record)?;
            self.stats.count(record_bytes);
            visit(place, bytes)?;
        }
        Ok(())
    }
}

impl ReadStats {
    fn count(&mut self, record_bytes: usize) {
        self.records += 1;
        self.bytes += record_bytes as u64;
    }
}
