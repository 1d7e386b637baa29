//! The open code files of one segment.

use std::path::Path;
use std::sync::Arc;

use nuthatch_distance::BLOCK_ROWS;
use nuthatch_segment::{BLOCK_BYTES, BlockCache, BlockFile};

use crate::layout::{Header, Width};
use crate::{Metric, Result, Rotation};

/// The codes of an immutable segment; rows are slots `0..rows()`. Cheap to share; holds the centroid and the rotation's signs
/// (20 bytes a dimension) and reads everything else through the block cache.
pub struct Codes {
    pub(crate) header: Header,
    pub(crate) rotation: Rotation,
    pub(crate) one: Arc<BlockFile>,
    pub(crate) four: Arc<BlockFile>,
}

impl Codes {
    /// Opens `codes1` and `codes4` in `dir` and checks their headers (not yet their blocks: [`verify`](Self::verify), or the
    /// first read of each).
    pub fn open(dir: &Path, cache: &Arc<BlockCache>) -> Result<Self> {
        let one = BlockFile::open(&dir.join(Width::One.file_name()), cache)?;
        let four = BlockFile::open(&dir.join(Width::Four.file_name()), cache)?;
        let header = Header::read(&one, Width::One)?;
        header.same_as(&Header::read(&four, Width::Four)?, four.path())?;
        let rotation = Rotation::new(header.dim, header.seed)?;
        Ok(Self { header, rotation, one, four })
    }

    /// Rows of the file.
    pub fn rows(&self) -> u32 {
        self.header.rows
    }

    /// Dimension of a row, without padding.
    pub fn dim(&self) -> usize {
        self.header.dim
    }

    /// Returns the metric that the codes were made for.
    pub fn metric(&self) -> Metric {
        self.header.metric
    }

    /// Rows whose 1-bit codes lie in one block of their file.
    pub(crate) fn rows_of_block(&self) -> u32 {
        (BLOCK_BYTES / Width::One.unit_bytes(self.header.padded_dim()) * BLOCK_ROWS) as u32
    }

    /// Reads both files from end to end and checks every checksum.
    pub fn verify(&self) -> Result<()> {
        self.one.verify()?;
        Ok(self.four.verify()?)
    }
}
