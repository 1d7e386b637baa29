//! The last 32 bytes of a record file.

use std::fs::File;
use std::path::Path;

use super::{CHECKSUM_BYTES, META_BYTES_MAX, RECORD_BYTES_MAX};
use crate::pread::pread;
use crate::{RECORD_FILE_VERSION, Result, SegmentError};

/// magic 8, version 4, record bytes 4, records 8, meta bytes 4, CRC-32C of the meta and the preceding 28 bytes 4.
pub(super) const TRAILER_BYTES: usize = 32;
const MAGIC: &[u8; 8] = b"NUTRECRD";

/// The contents of the trailer, before the meta has been checked against it.
pub(crate) struct Trailer {
    pub record_bytes: usize,
    pub records: u64,
    pub meta_bytes: usize,
    bytes: [u8; TRAILER_BYTES],
}

pub(super) fn encode(record_bytes: usize, records: u64, meta: &[u8]) -> [u8; TRAILER_BYTES] {
    let mut bytes = [0; TRAILER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&RECORD_FILE_VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(record_bytes as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&records.to_le_bytes());
    bytes[24..28].copy_from_slice(&(meta.len() as u32).to_le_bytes());
    let checksum = checksum(meta, &bytes);
    bytes[28..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

impl Trailer {
    /// Reads and checks it with its meta; `None` when the file does not end like a record file.
    pub fn read(path: &Path, file: &File, file_bytes: u64) -> Result<Option<(Self, Vec<u8>)>> {
        let io = |source| SegmentError::io(path, source);
        let Some(trailer_at) = file_bytes.checked_sub(TRAILER_BYTES as u64) else { return Ok(None) };
        let mut bytes = [0; TRAILER_BYTES];
        pread(file, trailer_at, &mut bytes).map_err(io)?;
        if &bytes[..8] != MAGIC {
            return Ok(None);
        }
        let trailer = Self::decode(path, bytes, file_bytes)?;
        let mut meta = vec![0; trailer.meta_bytes];
        pread(file, trailer_at - meta.len() as u64, &mut meta).map_err(io)?;
        trailer.verify(path, &meta)?;
        Ok(Some((trailer, meta)))
    }

    /// As it is in the file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks the trailer against the file's length; nothing that it says is believed before.
    pub fn decode(path: &Path, bytes: [u8; TRAILER_BYTES], file_bytes: u64) -> Result<Self> {
        let corrupt = |what: &str| SegmentError::corrupt(path, what);
        if &bytes[..8] != MAGIC {
            return Err(corrupt("its trailer does not begin with NUTRECRD"));
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let version = u32_at(8);
        if version != RECORD_FILE_VERSION {
            return Err(corrupt(&format!("record file version {version}, this program reads {RECORD_FILE_VERSION}")));
        }
        let (record_bytes, meta_bytes) = (u32_at(12) as usize, u32_at(24) as usize);
        let records = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
        let expected = records
            .checked_mul(record_bytes as u64)
            .and_then(|records| records.checked_add((meta_bytes + TRAILER_BYTES) as u64));
        let possible = (CHECKSUM_BYTES + 1..=RECORD_BYTES_MAX).contains(&record_bytes)
            && meta_bytes <= META_BYTES_MAX
            && records <= 1 << 32;
        if !possible || expected != Some(file_bytes) {
            return Err(corrupt("its length does not match its trailer"));
        }
        Ok(Self { record_bytes, records, meta_bytes, bytes })
    }

    pub fn verify(&self, path: &Path, meta: &[u8]) -> Result<()> {
        match checksum(meta, &self.bytes).to_le_bytes() == self.bytes[28..] {
            true => Ok(()),
            false => Err(SegmentError::corrupt(path, "the checksum of its meta and trailer is wrong")),
        }
    }
}

fn checksum(meta: &[u8], trailer: &[u8; TRAILER_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(meta), &trailer[..28])
}
