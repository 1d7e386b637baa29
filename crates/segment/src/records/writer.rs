//! Writing a record file: records one after the other, then the owner's meta, then the trailer.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{CHECKSUM_BYTES, META_BYTES_MAX, RECORD_BYTES_MAX, checksum, trailer};
use crate::{Result, SegmentError};

/// Writes an immutable record file. The first record pushed is record 0.
pub struct RecordFileWriter {
    path: PathBuf,
    file: BufWriter<File>,
    record_bytes: usize,
    /// One record as it goes to disk, used again and again.
    record: Vec<u8>,
    records: u64,
}

impl RecordFileWriter {
    /// Creates `path`; an existing file is an error, since record files are immutable. `record_bytes`: bytes of a record on
    /// disk, its CRC-32C (the last 4) included.
    pub fn create(path: &Path, record_bytes: usize) -> Result<Self> {
        check_record_bytes(path, record_bytes)?;
        let file = create(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            file: BufWriter::with_capacity(crate::BLOCK_BYTES, file),
            record_bytes,
            record: Vec::with_capacity(record_bytes),
            records: 0,
        })
    }

    /// Adds a record of at most `record_bytes - 4` bytes; what is missing is filled with zeros.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        let Ok(number) = u32::try_from(self.records) else {
            return Err(refused(&self.path, "more than 2^32 records".to_string()));
        };
        seal(&self.path, number, record, self.record_bytes, &mut self.record)?;
        self.file.write_all(&self.record).map_err(|source| SegmentError::io(&self.path, source))?;
        self.records += 1;
        Ok(())
    }

    /// Records pushed so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes `meta` (the owner's own header, at most 1 MiB) and the trailer, then syncs the file. Returns the file's size in
    /// bytes. The folder's entry is the caller's to sync ([`crate::sync_folder`]), once for all its files.
    pub fn finish(mut self, meta: &[u8]) -> Result<u64> {
        check_meta(&self.path, meta)?;
        let trailer = trailer::encode(self.record_bytes, self.records, meta);
        let path = self.path;
        self.file
            .write_all(meta)
            .and_then(|()| self.file.write_all(&trailer))
            .and_then(|()| self.file.into_inner().map_err(|error| error.into_error()))
            .and_then(|file| file.sync_all())
            .map_err(|source| SegmentError::io(&path, source))?;
        Ok(self.records * self.record_bytes as u64 + (meta.len() + trailer.len()) as u64)
    }
}

/// The caller asked for something that the format cannot hold; no file is accused.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the door: what writes a record file syncs it when it is finished"
)]
pub(super) fn create(path: &Path) -> Result<File> {
    File::options().write(true).create_new(true).open(path).map_err(|source| SegmentError::io(path, source))
}

pub(super) fn check_record_bytes(path: &Path, record_bytes: usize) -> Result<()> {
    match (CHECKSUM_BYTES + 1..=RECORD_BYTES_MAX).contains(&record_bytes) {
        true => Ok(()),
        false => Err(refused(path, format!("records of {record_bytes} bytes: 5 to {RECORD_BYTES_MAX} are possible"))),
    }
}

pub(super) fn check_meta(path: &Path, meta: &[u8]) -> Result<()> {
    match meta.len() <= META_BYTES_MAX {
        true => Ok(()),
        false => Err(refused(path, format!("{} bytes of meta: {META_BYTES_MAX} are possible", meta.len()))),
    }
}

/// Makes of a record what goes to disk: padded with zeros, its checksum behind it.
pub(super) fn seal(path: &Path, number: u32, record: &[u8], record_bytes: usize, sealed: &mut Vec<u8>) -> Result<()> {
    let room = record_bytes - CHECKSUM_BYTES;
    if record.len() > room {
        return Err(refused(path, format!("a record of {} bytes, but there is room for {room}", record.len())));
    }
    sealed.clear();
    sealed.extend_from_slice(record);
    sealed.resize(room, 0);
    sealed.extend_from_slice(&checksum(number, sealed).to_le_bytes());
    Ok(())
}

pub(super) fn refused(path: &Path, what: String) -> SegmentError {
    SegmentError::io(path, std::io::Error::new(std::io::ErrorKind::InvalidInput, what))
}
