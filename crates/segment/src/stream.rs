//! Checking a whole file while its bytes stream by, for those who copy it: one reading, and what was checked is what was copied.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::block_file::Trailer as BlockTrailer;
use crate::pread::pread;
use crate::records::{CHECKSUM_BYTES, RecordTrailer, checksum};
use crate::sealed::HEAD_BYTES;
use crate::{BLOCK_BYTES, Result, SegmentError, sealed};

/// Takes the bytes of one file from its beginning to its end, and says whether they are what was written.
pub struct StreamVerifier {
    path: PathBuf,
    kind: Kind,
    position: u64,
}

enum Kind {
    /// CRC-32C of the block at hand, those of all blocks, and what follows the data.
    Blocks { open: u32, expected: Vec<u32>, data_bytes: u64, tail: Vec<u8> },
    /// The record at hand, and what follows the records.
    Records { open: Vec<u8>, record_bytes: usize, data_bytes: u64, tail: Vec<u8> },
    /// The head, and the CRC-32C of the body.
    Sealed { head: Vec<u8>, body: u32 },
}

impl StreamVerifier {
    /// Reads what a file of this crate says of itself; `None` for any other file.
    pub fn open(path: &Path, file: &File) -> Result<Option<Self>> {
        let io = |source| SegmentError::io(path, source);
        let bytes = file.metadata().map_err(io)?.len();
        let verifier = |kind| Some(Self { path: path.to_path_buf(), kind, position: 0 });
        if let Some(trailer) = BlockTrailer::read(path, file, bytes)? {
            let tail = trailer.tail();
            let BlockTrailer { checksums: expected, data_bytes, .. } = trailer;
            return Ok(verifier(Kind::Blocks { open: 0, expected, data_bytes, tail }));
        }
        if let Some((trailer, meta)) = RecordTrailer::read(path, file, bytes)? {
            let data_bytes = trailer.records * trailer.record_bytes as u64;
            let tail = [&meta[..], trailer.as_bytes()].concat();
            let open = Vec::with_capacity(trailer.record_bytes);
            return Ok(verifier(Kind::Records { open, record_bytes: trailer.record_bytes, data_bytes, tail }));
        }
        let mut head = vec![0; HEAD_BYTES.min(bytes as usize)];
        pread(file, 0, &mut head).map_err(io)?;
        Ok(match sealed::is_head(&head) {
            true => verifier(Kind::Sealed { head: Vec::new(), body: 0 }),
            false => None,
        })
    }

    /// The next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.take(rest)?;
            self.position += taken as u64;
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// There are no more bytes.
    pub fn finish(self) -> Result<()> {
        match &self.kind {
            Kind::Blocks { data_bytes, tail, .. } | Kind::Records { data_bytes, tail, .. } => {
                match self.position == data_bytes + tail.len() as u64 {
                    true => Ok(()),
                    false => Err(self.corrupt(format!("it ends after {} bytes", self.position))),
                }
            }
            Kind::Sealed { head, body } => match *head == sealed::head(*body) {
                true => Ok(()),
                false => Err(self.corrupt("its checksum is wrong")),
            },
        }
    }

    /// Looks at some of the bytes, up to the next border; how many.
    fn take(&mut self, rest: &[u8]) -> Result<usize> {
        let position = self.position;
        match &mut self.kind {
            Kind::Blocks { data_bytes, tail, .. } | Kind::Records { data_bytes, tail, .. }
                if position >= *data_bytes =>
            {
                let at = (position - *data_bytes) as usize;
                match tail.get(at..at + rest.len()) == Some(rest) {
                    true => Ok(rest.len()),
                    false => Err(self.corrupt("its end changed after it was opened")),
                }
            }
            Kind::Blocks { open, expected, data_bytes, .. } => {
                let block_end = (position / BLOCK_BYTES as u64 + 1) * BLOCK_BYTES as u64;
                let end = block_end.min(*data_bytes);
                let taken = rest.len().min((end - position) as usize);
                *open = crc32c::crc32c_append(*open, &rest[..taken]);
                if position + taken as u64 == end {
                    let found = std::mem::take(open);
                    let block = position / BLOCK_BYTES as u64;
                    if expected.get(block as usize) != Some(&found) {
                        let byte = block * BLOCK_BYTES as u64;
                        return Err(self.corrupt(format!("the checksum of the block at byte {byte} is wrong")));
                    }
                }
                Ok(taken)
            }
            Kind::Records { open, record_bytes, data_bytes, .. } => {
                let taken = rest.len().min(*record_bytes - open.len()).min((*data_bytes - position) as usize);
                open.extend_from_slice(&rest[..taken]);
                if open.len() == *record_bytes {
                    let number = (position / *record_bytes as u64) as u32;
                    let (data, stored) = open.split_at(*record_bytes - CHECKSUM_BYTES);
                    if checksum(number, data).to_le_bytes() != stored {
                        return Err(self.corrupt(format!("the checksum of record {number} is wrong")));
                    }
                    open.clear();
                }
                Ok(taken)
            }
            Kind::Sealed { head, body } => {
                if head.len() < HEAD_BYTES {
                    let taken = rest.len().min(HEAD_BYTES - head.len());
                    head.extend_from_slice(&rest[..taken]);
                    return Ok(taken);
                }
                *body = crc32c::crc32c_append(*body, rest);
                Ok(rest.len())
            }
        }
    }

    fn corrupt(&self, what: impl Into<String>) -> SegmentError {
        SegmentError::corrupt(&self.path, what)
    }
}
