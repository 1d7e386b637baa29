//! Writing a block file: bytes in, blocks with checksums out.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{BLOCK_BYTES, BLOCK_FILE_VERSION, MAGIC, Result, SegmentError};

/// Streams bytes into a block file. Nothing is readable before [`finish`](Self::finish).
///
/// Memory: one write buffer and four bytes per 64 KiB written.
pub struct BlockFileWriter {
    path: PathBuf,
    file: BufWriter<File>,
    checksums: Vec<u32>,
    open_checksum: u32,
    open_bytes: usize,
    data_bytes: u64,
}

impl BlockFileWriter {
    /// Creates `path`; an existing file is an error, since block files are immutable.
    #[allow(clippy::disallowed_methods, reason = "this is the door: `finish` syncs it")]
    pub fn create(path: &Path) -> Result<Self> {
        let file =
            File::options().write(true).create_new(true).open(path).map_err(|source| SegmentError::io(path, source))?;
        Ok(Self {
            path: path.to_path_buf(),
            file: BufWriter::with_capacity(BLOCK_BYTES, file),
            checksums: Vec::new(),
            open_checksum: 0,
            open_bytes: 0,
            data_bytes: 0,
        })
    }

    /// Bytes of data written so far.
    pub fn position(&self) -> u64 {
        self.data_bytes
    }

    /// Writes the checksum table and the trailer, then syncs the file. Returns the file's size in bytes.
    /// The folder's entry is the caller's to sync ([`crate::sync_folder`]), once for all its files.
    pub fn finish(mut self) -> Result<u64> {
        if self.open_bytes > 0 {
            self.checksums.push(self.open_checksum);
        }
        let mut tail = Vec::with_capacity(self.checksums.len() * 4 + crate::TRAILER_BYTES);
        for checksum in &self.checksums {
            tail.extend_from_slice(&checksum.to_le_bytes());
        }
        tail.extend_from_slice(MAGIC);
        tail.extend_from_slice(&BLOCK_FILE_VERSION.to_le_bytes());
        tail.extend_from_slice(&(BLOCK_BYTES as u32).to_le_bytes());
        tail.extend_from_slice(&self.data_bytes.to_le_bytes());
        let checksum = crc32c::crc32c(&tail);
        tail.extend_from_slice(&checksum.to_le_bytes());
        let path = self.path;
        let mut file = self.file;
        file.write_all(&tail)
            .and_then(|()| file.into_inner().map_err(|error| error.into_error()))
            .and_then(|file| file.sync_all())
            .map_err(|source| SegmentError::io(&path, source))?;
        Ok(self.data_bytes + tail.len() as u64)
    }
}

impl Write for BlockFileWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = self.file.write(bytes)?;
        let mut rest = &bytes[..taken];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES - self.open_bytes));
            self.open_checksum = crc32c::crc32c_append(self.open_checksum, now);
            self.open_bytes += now.len();
            if self.open_bytes == BLOCK_BYTES {
                self.checksums.push(self.open_checksum);
                (self.open_checksum, self.open_bytes) = (0, 0);
            }
            rest = later;
        }
        self.data_bytes += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
