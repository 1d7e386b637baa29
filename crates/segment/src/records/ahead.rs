//! Reading a record file ahead: from end to end into the page cache, in order, before its records are asked for in none.
//!
//! A disk gives megabytes in a row in the time of a few hundred single records, so that a file which fits into free memory is warm
//! after seconds instead of after as many searches as it takes to come by everywhere.

use super::RecordFile;
use super::page_cache;
use crate::Result;
use crate::pread::pread;
use crate::usable_memory::free_memory_bytes;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// Pieces between two looks at the memory.
const PIECES_BETWEEN: u64 = 32;
/// Of the memory that is free, what remains free for others: as much as the file takes.
const FREE_FACTOR: u64 = 2;

/// The outcome of reading ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAhead {
    /// All of it was read.
    Done,
    /// There is not enough free memory, or the system does not say how much there is.
    NoRoom,
    /// The caller wanted no more.
    Stopped,
}

impl RecordFile {
    /// Reads all of it into the page cache, unless that would take more than half of the free memory of the machine or of this process's
    /// container. `go_on` is asked after each megabyte. Nothing is verified: records are when they are asked for.
    pub fn read_ahead(&self, go_on: &mut dyn FnMut() -> bool) -> Result<ReadAhead> {
        self.read_ahead_into(&free_memory_bytes, go_on)
    }

    fn read_ahead_into(&self, free: &dyn Fn() -> Option<u64>, go_on: &mut dyn FnMut() -> bool) -> Result<ReadAhead> {
        let has_room = |left: u64| free().is_some_and(|free| left.saturating_mul(FREE_FACTOR) <= free);
        let end = self.records() * self.record_bytes() as u64;
        let mut piece = vec![0; PIECE_BYTES.min(end as usize)];
        let announce = |offset: u64| {
            if offset < end {
                page_cache::announce(self.file(), offset, (end - offset).min(PIECE_BYTES as u64) as usize);
            }
        };
        announce(0);
        for (number, offset) in (0..end).step_by(PIECE_BYTES).enumerate() {
            if (number as u64).is_multiple_of(PIECES_BETWEEN) && !has_room(end - offset) {
                return Ok(ReadAhead::NoRoom);
            }
            if !go_on() {
                return Ok(ReadAhead::Stopped);
            }
            announce(offset + PIECE_BYTES as u64); // the disk works while this one is copied
            let bytes = (end - offset).min(PIECE_BYTES as u64) as usize;
            pread(self.file(), offset, &mut piece[..bytes])
                .map_err(|source| self.failed(offset / self.record_bytes() as u64, source))?;
        }
        self.miss_rate.begin_anew();
        Ok(ReadAhead::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, RecordFileWriter};

    #[test]
    fn a_file_is_read_as_far_as_there_is_room_and_the_caller_wants() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let mut writer = RecordFileWriter::create(&path, 4096).unwrap();
        (0..1000u32).for_each(|record| writer.push(&record.to_le_bytes()).unwrap());
        writer.finish(b"meta").unwrap();
        let file = RecordFile::open(&path, Access::Read).unwrap();
        let read = |free: u64, pieces: usize| {
            let mut asked = 0;
            let ended = file.read_ahead_into(&|| Some(free), &mut || {
                asked += 1;
                asked <= pieces
            });
            (ended.unwrap(), asked)
        };
        let bytes = 1000 * 4096;
        assert_eq!(read(2 * bytes - 1, 100), (ReadAhead::NoRoom, 0));
        assert_eq!(read(2 * bytes, 2), (ReadAhead::Stopped, 3));
        assert_eq!(file.read_ahead_into(&|| None, &mut || true).unwrap(), ReadAhead::NoRoom, "nobody knows");
        file.miss_rate.observe(64, 64);
        assert!(file.cold_share() > 0.5);
        assert_eq!(read(2 * bytes, 100), (ReadAhead::Done, bytes.div_ceil(PIECE_BYTES as u64) as usize));
        assert_eq!(file.cold_share(), 0.0);
    }
}
