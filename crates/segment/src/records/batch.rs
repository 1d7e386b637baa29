//! Getting the records of one batch from the page cache or the disk; the folder's documentation says why so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::page_cache::{self, Cached};
use super::{RecordFile, RecordReader, Route, threads};
use crate::Result;
use crate::pread::pread;

/// Records to be read, and room for as many.
pub(super) struct Batch<'a> {
    pub file: &'a Arc<RecordFile>,
    pub indices: &'a [u32],
    pub room: &'a mut [u8],
}

/// One bit a place in the batch.
type Places = u64;
const _: () = assert!(RecordReader::BATCH_MAX <= Places::BITS as usize);

/// A single read that takes longer came from a disk. From the page cache it is 1 to 3 µs.
const SLOW_READ: Duration = Duration::from_micros(20);

impl Batch<'_> {
    /// Fills the room, nothing verified yet, and says how many records were not cached.
    pub fn read(mut self, forced: Option<Route>) -> Result<usize> {
        self.indices.iter().try_for_each(|&index| self.file.offset(index).map(drop))?;
        let all = Places::MAX >> (RecordReader::BATCH_MAX - self.indices.len());
        match forced {
            Some(Route::Advised) => self.read_advised(all),
            Some(Route::Threads) => self.read_by_threads(all),
            None if self.file.tells_cached() => match self.read_cached() {
                Some(missing) => self.read_advised(missing),
                None => {
                    self.file.set_untold();
                    self.read_timed()
                }
            },
            None if self.indices.len() > 1 && self.file.miss_rate.is_cold() => self.read_by_threads(all),
            None => self.read_timed(),
        }
    }

    /// Takes what is cached and returns the places of the rest; `None` when the system cannot tell.
    fn read_cached(&mut self) -> Option<Places> {
        let (file, mut missing) = (self.file, 0);
        for place in 0..self.indices.len() {
            let (offset, record) = self.at(place);
            match page_cache::read_cached(file.file(), offset, record) {
                Cached::Yes => {}
                Cached::No => missing |= 1 << place,
                Cached::Unknown => return None,
            }
        }
        Some(missing)
    }

    /// Announces these places, then reads them: while the first is waited for, the others are under way.
    fn read_advised(&mut self, places: Places) -> Result<usize> {
        let file = self.file;
        if places.count_ones() > 1 {
            for place in each(places) {
                let (offset, record) = self.at(place);
                page_cache::announce(file.file(), offset, record.len());
            }
        }
        each(places).try_for_each(|place| self.read_one(place))?;
        Ok(places.count_ones() as usize)
    }

    /// Reads one after the other and judges by the time that each took.
    fn read_timed(&mut self) -> Result<usize> {
        let mut slow = 0;
        for place in 0..self.indices.len() {
            let begun = Instant::now();
            self.read_one(place)?;
            slow += usize::from(begun.elapsed() > SLOW_READ);
        }
        Ok(slow)
    }

    fn read_by_threads(&mut self, places: Places) -> Result<usize> {
        let jobs: Vec<_> = each(places).map(|place| (place, self.at(place).0)).collect();
        let (mut left, mut slow) = (places, 0);
        for done in threads::read(self.file, &jobs) {
            let bytes = done.bytes.map_err(|source| self.file.failed(self.indices[done.place].into(), source))?;
            self.at(done.place).1.copy_from_slice(&bytes);
            left &= !(1 << done.place);
            slow += usize::from(done.took > SLOW_READ);
        }
        // A system that gives us no threads still gives us the records.
        each(left).try_for_each(|place| self.read_one(place))?;
        Ok(slow)
    }

    fn read_one(&mut self, place: usize) -> Result<()> {
        let file = self.file;
        let index = self.indices[place].into();
        let (offset, record) = self.at(place);
        pread(file.file(), offset, record).map_err(|source| file.failed(index, source))
    }

    /// Where the record of this place lies in the file, and its room.
    fn at(&mut self, place: usize) -> (u64, &mut [u8]) {
        let record_bytes = self.file.record_bytes();
        let offset = u64::from(self.indices[place]) * record_bytes as u64;
        (offset, &mut self.room[place * record_bytes..][..record_bytes])
    }
}

fn each(places: Places) -> impl Iterator<Item = usize> {
    (0..Places::BITS as usize).filter(move |place| places >> place & 1 == 1)
}

#[cfg(test)]
mod tests {
    use crate::{Access, RecordFile, RecordFileWriter, Result};

    #[test]
    fn a_system_that_cannot_tell_what_is_cached_gives_the_same_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let mut writer = RecordFileWriter::create(&path, 512).unwrap();
        (0..100u8).for_each(|number| writer.push(&[number; 508]).unwrap());
        writer.finish(b"").unwrap();
        let file = RecordFile::open(&path, Access::Read).unwrap();
        file.set_untold();
        // Not cold, then cold: one after the other, then by threads.
        for _ in 0..2 {
            let mut seen = Vec::new();
            let visit = &mut |_, bytes: &[u8]| -> Result<()> {
                assert!(bytes.iter().all(|byte| *byte == bytes[0]) && bytes.len() == 508);
                seen.push(bytes[0]);
                Ok(())
            };
            file.reader().read(&[99, 0, 7, 7, 50], visit).unwrap();
            assert_eq!(seen, [99, 0, 7, 7, 50]);
            file.miss_rate.observe(64, 64);
        }
        assert!(!file.tells_cached());
    }
}
