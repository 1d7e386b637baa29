//! Writing the code files of a segment, row by row.

use std::io::Write;
use std::path::{Path, PathBuf};

use nuthatch_distance::{BLOCK_ROWS, pack_block};
use nuthatch_segment::{BLOCK_BYTES, BlockFileWriter, SegmentError};

use crate::layout::{Header, Width};
use crate::quantiser::{Factors, Quantiser};
use crate::{Metric, Result, VectorError};

/// Streams rows into `codes1` and `codes4`. Memory: the codes of 32 rows and the files' write buffers.
pub struct CodesWriter {
    header: Header,
    quantiser: Quantiser,
    one: UnitWriter,
    four: UnitWriter,
    /// The rows of the open 1-bit block.
    signs: Vec<u8>,
    factors: Vec<Factors>,
}

impl CodesWriter {
    /// Creates both files in `dir`. `centroid` is best the mean of the rows to come ([`Centroid`](crate::Centroid)); any
    /// finite point is right.
    pub fn create(dir: &Path, dim: usize, metric: Metric, seed: u64, centroid: &[f32]) -> Result<Self> {
        let quantiser = Quantiser::new(dim, metric, seed, centroid)?;
        let header = Header { dim, metric, seed, rows: 0, centroid: centroid.to_vec() };
        Ok(Self {
            one: UnitWriter::create(dir, Width::One)?,
            four: UnitWriter::create(dir, Width::Four)?,
            signs: Vec::with_capacity(quantiser.signs.len() * BLOCK_ROWS),
            factors: Vec::with_capacity(BLOCK_ROWS),
            header,
            quantiser,
        })
    }

    /// Appends a raw row; its slot is the number of rows before it.
    pub fn push(&mut self, vector: &[f32]) -> Result<()> {
        let rows = self.header.rows.checked_add(1).ok_or(VectorError::SegmentFull)?;
        self.quantiser.code(vector)?;
        self.header.rows = rows;
        self.four.write(|unit| {
            unit.extend_from_slice(&self.quantiser.nibbles);
            unit.extend_from_slice(&self.quantiser.nibbles_factors.add.to_le_bytes());
            unit.extend_from_slice(&self.quantiser.nibbles_factors.scale.to_le_bytes());
            unit.extend_from_slice(&crc32c::crc32c_append(rows - 1, unit).to_le_bytes());
        })?;
        self.signs.extend_from_slice(&self.quantiser.signs);
        self.factors.push(self.quantiser.signs_factors);
        if self.factors.len() == BLOCK_ROWS { self.write_block() } else { Ok(()) }
    }

    /// The rotated residual of the row pushed last.
    pub(crate) fn rotated(&self) -> &[f32] {
        &self.quantiser.rotated
    }

    /// Writes what is open and the headers, and syncs both files. Returns their names and sizes in bytes.
    pub fn finish(mut self) -> Result<Vec<(String, u64)>> {
        if !self.factors.is_empty() {
            self.write_block()?;
        }
        Ok(vec![self.one.finish(&self.header)?, self.four.finish(&self.header)?])
    }

    fn write_block(&mut self) -> Result<()> {
        self.factors.resize(BLOCK_ROWS, Factors::default());
        let padded_dim = self.header.padded_dim();
        self.one.write(|unit| {
            unit.resize(Width::One.code_bytes(padded_dim), 0);
            pack_block(&self.signs, padded_dim, unit);
            unit.extend(self.factors.iter().flat_map(|factors| factors.add.to_le_bytes()));
            unit.extend(self.factors.iter().flat_map(|factors| factors.scale.to_le_bytes()));
        })?;
        self.signs.clear();
        self.factors.clear();
        Ok(())
    }
}

/// One of the files: units into pages.
struct UnitWriter {
    width: Width,
    path: PathBuf,
    file: BlockFileWriter,
    unit: Vec<u8>,
}

impl UnitWriter {
    fn create(dir: &Path, width: Width) -> Result<Self> {
        let path = dir.join(width.file_name());
        let file = BlockFileWriter::create(&path)?;
        Ok(Self { width, path, file, unit: Vec::new() })
    }

    fn write(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.unit.clear();
        fill(&mut self.unit);
        // A page is padded as soon as its last unit is in, so that the file's length follows from the number of rows.
        let used = (self.file.position() as usize % BLOCK_BYTES) + self.unit.len();
        if used + self.unit.len() > BLOCK_BYTES {
            self.unit.resize(self.unit.len() + BLOCK_BYTES - used, 0);
        }
        self.file.write_all(&self.unit).map_err(|source| SegmentError::io(&self.path, source).into())
    }

    fn finish(mut self, header: &Header) -> Result<(String, u64)> {
        self.file.write_all(&header.to_bytes(self.width)).map_err(|source| SegmentError::io(&self.path, source))?;
        Ok((self.width.file_name().to_string(), self.file.finish()?))
    }
}
