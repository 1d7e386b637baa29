//! An open record file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::auto::Auto;
use super::mapping::Mapping;
use super::miss_rate::MissRate;
use super::page_cache;
use super::trailer::{TRAILER_BYTES, Trailer};
use super::{Access, CHECKSUM_BYTES, RecordReader, checksum};
use crate::pread::pread;
use crate::{Result, SegmentError, usable_memory_bytes};

/// An open record file. Cheap to share; each thread reads through a [`RecordReader`] of its own.
pub struct RecordFile {
    path: PathBuf,
    file: File,
    /// Once made, kept: what reads records by it may still do so after the file went back to reads.
    pub(super) mapping: OnceLock<Mapping>,
    pub(super) is_mapped: AtomicBool,
    /// With [`Access::Auto`] alone.
    pub(super) auto: Option<Auto>,
    record_bytes: usize,
    records: u64,
    meta: Box<[u8]>,
    /// Shared by all readers, so that a new one knows what the others met.
    pub(super) miss_rate: MissRate,
    /// Set once the system has said that it cannot tell what is cached.
    untold: AtomicBool,
}

/// Bytes that [`RecordFile::verify`] reads at once, about.
const VERIFY_BYTES: usize = 1 << 20;

impl RecordFile {
    /// Opens `path` and verifies its trailer, its length and its meta (not yet its records).
    pub fn open(path: &Path, access: Access) -> Result<Arc<Self>> {
        let io = |source| SegmentError::io(path, source);
        let file = File::open(path).map_err(io)?;
        let file_bytes = file.metadata().map_err(io)?.len();
        if file_bytes < TRAILER_BYTES as u64 {
            return Err(SegmentError::corrupt(path, "shorter than its trailer"));
        }
        let (trailer, meta) = Trailer::read(path, &file, file_bytes)?
            .ok_or_else(|| SegmentError::corrupt(path, "its trailer does not begin with NUTRECRD"))?;
        let Trailer { record_bytes, records, .. } = trailer;
        page_cache::expect_random(&file);
        let mapping = match access {
            Access::Read | Access::Auto => OnceLock::new(),
            Access::Mapped => Mapping::new(&file, records).map_err(io)?.into(),
        };
        Ok(Arc::new(Self {
            path: path.to_path_buf(),
            file,
            is_mapped: AtomicBool::new(access == Access::Mapped),
            mapping,
            auto: (access == Access::Auto).then(Auto::default),
            record_bytes,
            records,
            meta: meta.into_boxed_slice(),
            miss_rate: MissRate::default(),
            untold: AtomicBool::new(false),
        }))
    }

    /// How many records it holds.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of a record on disk; a reader hands out four fewer.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// Returns the metadata that the writer's owner gave to [`crate::RecordFileWriter::finish`].
    pub fn meta(&self) -> &[u8] {
        &self.meta
    }

    /// Where it was opened, for messages; the file may have been moved or removed since.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the whole file.
    pub fn len(&self) -> u64 {
        self.records * self.record_bytes as u64 + (self.meta.len() + TRAILER_BYTES) as u64
    }

    /// True when there is no record.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The share of the last records that had to come from the disk, 0 to 1.
    pub fn cold_share(&self) -> f64 {
        self.miss_rate.share()
    }

    /// Whether the machine, or this process's container, could hold the whole file: if not, some of its records always come from the
    /// disk. True where the system does not say what there is.
    pub fn could_be_cached(&self) -> bool {
        usable_memory_bytes().is_none_or(|usable| self.len() <= usable)
    }

    /// Whether its records are handed out in place now, and not read.
    pub fn is_mapped(&self) -> bool {
        self.is_mapped.load(Ordering::Relaxed)
    }

    /// A reader for one thread.
    pub fn reader(self: &Arc<Self>) -> RecordReader {
        RecordReader::new(self.clone())
    }

    /// Reads and checks every record in order, by reads even when the file is mapped. Pages that had to come from the
    /// disk are dropped from the page cache again, a megabyte at a time, where the system takes advice: a large file
    /// must not push everything else out of it. (Single pages of the file that were cached go too; searches bring them
    /// back.)
    pub fn verify(&self) -> Result<()> {
        let records_at_once = (VERIFY_BYTES / self.record_bytes).max(1);
        let mut buffer = vec![0; records_at_once * self.record_bytes];
        let mut first = 0;
        while first < self.records {
            let records = (self.records - first).min(records_at_once as u64);
            let bytes = &mut buffer[..records as usize * self.record_bytes];
            let offset = first * self.record_bytes as u64;
            let cached = page_cache::cached_prefix(&self.file, offset, bytes).min(bytes.len());
            if cached < bytes.len() {
                pread(&self.file, offset + cached as u64, &mut bytes[cached..]).map_err(|e| self.failed(first, e))?;
                page_cache::forget(&self.file, offset + cached as u64, bytes.len() - cached);
            }
            for (index, record) in (first..).zip(bytes.chunks_exact(self.record_bytes)) {
                self.verified(index as u32, record)?;
            }
            first += records;
        }
        Ok(())
    }

    /// Has the processor fetch one of several parts of a mapped record's beginning; does nothing without a mapping. A
    /// processor waits when some twenty cache lines are in flight, so a caller with work to do in between asks for a
    /// record in parts.
    #[inline]
    pub fn prefetch(&self, index: u32, part: (usize, usize)) {
        if let Some(mapping) = self.mapping() {
            mapping.prefetch(u64::from(index) * self.record_bytes as u64, self.record_bytes, part);
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether it is worth asking what is cached.
    pub(super) fn tells_cached(&self) -> bool {
        !self.untold.load(Ordering::Relaxed)
    }

    pub(super) fn set_untold(&self) {
        self.untold.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn mapping(&self) -> Option<&Mapping> {
        match self.is_mapped() {
            true => self.mapping.get(),
            false => None,
        }
    }

    /// A read of record `index` failed: an end of file where the trailer promised records is damage.
    pub(super) fn failed(&self, index: u64, source: std::io::Error) -> SegmentError {
        match source.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                let offset = index * self.record_bytes as u64;
                SegmentError::corrupt(
                    &self.path,
                    format!("it ends within record {index} at byte {offset} or behind it"),
                )
            }
            _ => SegmentError::io(&self.path, source),
        }
    }

    /// Where record `index` begins; outside is damage, because the number came from another record.
    pub(super) fn offset(&self, index: u32) -> Result<u64> {
        let offset = u64::from(index) * self.record_bytes as u64;
        match u64::from(index) < self.records {
            true => Ok(offset),
            false => Err(SegmentError::corrupt(
                &self.path,
                format!("record {index} at byte {offset} was asked for, but it holds {}", self.records),
            )),
        }
    }

    /// The bytes of a record without its checksum, if they are right.
    #[inline]
    pub(super) fn verified<'a>(&self, index: u32, record: &'a [u8]) -> Result<&'a [u8]> {
        let (bytes, stored) = record.split_at(record.len() - CHECKSUM_BYTES);
        match checksum(index, bytes).to_le_bytes() == *stored {
            true => Ok(bytes),
            false => {
                let offset = u64::from(index) * self.record_bytes as u64;
                let what = format!("the checksum of record {index} at byte {offset} is wrong");
                Err(SegmentError::corrupt(&self.path, what))
            }
        }
    }

    /// A record in place, verified the first time.
    #[inline]
    pub(super) fn mapped<'a>(&'a self, mapping: &'a Mapping, index: u32) -> Result<&'a [u8]> {
        let offset = self.offset(index)?;
        let Some(record) = mapping.record(offset, self.record_bytes) else {
            return Err(SegmentError::corrupt(&self.path, format!("record {index} at byte {offset} is not mapped")));
        };
        if mapping.is_verified(index) {
            return Ok(&record[..record.len() - CHECKSUM_BYTES]);
        }
        let bytes = self.verified(index, record)?;
        mapping.set_verified(index);
        Ok(bytes)
    }
}

impl std::fmt::Debug for RecordFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RecordFile({})", self.path.display())
    }
}
