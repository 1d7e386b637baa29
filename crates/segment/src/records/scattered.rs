//! Writing a record file in any order: for records that are made where they are known, not where they belong.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::trailer;
use super::writer::{check_meta, check_record_bytes, create, refused, seal};
use crate::pread::pwrite;
use crate::{Result, SegmentError};

/// Writes an immutable record file of a known number of records, each at its place when it comes.
pub struct ScatteredRecordWriter {
    path: PathBuf,
    file: File,
    record_bytes: usize,
    record: Vec<u8>,
    records: u32,
    missing: u32,
}

impl ScatteredRecordWriter {
    /// Creates `path` for `records` records; an existing file is an error. `record_bytes`: bytes of a record on disk,
    /// its CRC-32C (the last 4) included.
    pub fn create(path: &Path, record_bytes: usize, records: u32) -> Result<Self> {
        check_record_bytes(path, record_bytes)?;
        let (file, record) = (create(path)?, Vec::with_capacity(record_bytes));
        Ok(Self { path: path.to_path_buf(), file, record_bytes, record, records, missing: records })
    }

    /// Writes the record of this number. A shorter one is padded with zeros.
    pub fn put(&mut self, number: u32, record: &[u8]) -> Result<()> {
        if number >= self.records || self.missing == 0 {
            return Err(refused(&self.path, format!("record {number} is none of the {} missing", self.missing)));
        }
        seal(&self.path, number, record, self.record_bytes, &mut self.record)?;
        let offset = u64::from(number) * self.record_bytes as u64;
        pwrite(&self.file, offset, &self.record).map_err(|source| SegmentError::io(&self.path, source))?;
        self.missing -= 1;
        Ok(())
    }

    /// Writes `meta` (at most 1 MiB) and the trailer, syncs the file, and returns its size in bytes. An error when a record is
    /// missing. The caller syncs the folder.
    pub fn finish(self, meta: &[u8]) -> Result<u64> {
        if self.missing > 0 {
            return Err(refused(&self.path, format!("{} of its records are missing", self.missing)));
        }
        check_meta(&self.path, meta)?;
        let mut tail = meta.to_vec();
        tail.extend(trailer::encode(self.record_bytes, self.records.into(), meta));
        let records_bytes = u64::from(self.records) * self.record_bytes as u64;
        pwrite(&self.file, records_bytes, &tail)
            .and_then(|()| self.file.sync_all())
            .map_err(|source| SegmentError::io(&self.path, source))?;
        Ok(records_bytes + tail.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordFileWriter;

    #[test]
    fn records_in_any_order_make_the_file_that_records_in_order_make() {
        let folder = tempfile::tempdir().unwrap();
        let record = |number: u32| vec![number as u8; 1 + number as usize % 12];
        let mut in_order = RecordFileWriter::create(&folder.path().join("in order"), 16).unwrap();
        (0..100).for_each(|number| in_order.push(&record(number)).unwrap());
        let bytes = in_order.finish(b"meta").unwrap();
        let mut scattered = ScatteredRecordWriter::create(&folder.path().join("scattered"), 16, 100).unwrap();
        (0..100).map(|number| number * 37 % 100).for_each(|number| scattered.put(number, &record(number)).unwrap());
        assert_eq!(scattered.finish(b"meta").unwrap(), bytes);
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert!(read("in order") == read("scattered"));
    }

    #[test]
    fn a_record_that_is_missing_too_long_or_beyond_the_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scattered");
        let mut scattered = ScatteredRecordWriter::create(&path, 16, 2).unwrap();
        assert!(scattered.put(2, b"beyond").is_err());
        assert!(scattered.put(0, &[0; 13]).is_err());
        scattered.put(1, b"one").unwrap();
        let error = scattered.finish(b"").unwrap_err().to_string();
        assert!(error.contains("1 of its records are missing"), "{error}");
        assert!(ScatteredRecordWriter::create(&path, 16, 2).is_err(), "it overwrites a file");
    }
}
