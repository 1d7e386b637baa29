//! tantivy's and tantivy-columnar's view of a block file.

use std::ops::Range;

use tantivy_common::file_slice::FileHandle;
use tantivy_common::{HasLen, OwnedBytes};

use crate::{BLOCK_BYTES, BlockFile};

impl HasLen for BlockFile {
    fn len(&self) -> usize {
        BlockFile::len(self) as usize
    }
}

#[async_trait::async_trait]
impl FileHandle for BlockFile {
    fn read_bytes(&self, range: Range<usize>) -> std::io::Result<OwnedBytes> {
        let (first, last) = (range.start / BLOCK_BYTES, range.end.saturating_sub(1) / BLOCK_BYTES);
        // A large part of one block is shared with the cache; a small one is copied, or it would pin 64 KiB for a few bytes.
        if first == last && range.len() >= BLOCK_BYTES / 4 {
            let block = self.block(first as u64)?;
            let start = range.start - first * BLOCK_BYTES;
            if start + range.len() <= block.len() {
                return Ok(OwnedBytes::new(block).slice(start..start + range.len()));
            }
        }
        let mut bytes = vec![0; range.len()];
        self.read_at(range.start as u64, &mut bytes)?;
        Ok(OwnedBytes::new(bytes))
    }
}
