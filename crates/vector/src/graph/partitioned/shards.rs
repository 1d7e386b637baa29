//! The files of the shards.
//!
//! ```text
//! rows-N   a record file, one record a row, in the order of their slots:
//!          slot u32  scale f32  lift f32  codes i8 * padded_dim      the row of `BuildCodes`
//!          add f32  scale f32  own                                   what its record in `graph` says of itself
//! edges-N  a sealed file: the finished graph of the shard, numbered within it
//! met-N    a record file, one record a row of the shard: whom it met, up to 24 numbers u32 among the rows of all shards, the
//!          nearest first, u32::MAX where there is none
//! by-N     a record file of those who met a row of the shard: row within the shard u32, number of the other u32, distance f32
//! ```

use std::path::{Path, PathBuf};

use nuthatch_segment::{Access, RecordFile, RecordFileWriter, RecordReader, SegmentError, read_sealed, write_sealed};

use super::{RecordLayout, remove_if_there};
use crate::graph::build::{BuildCodes, Edges, MET_MAX, Met};
use crate::pages::factors_of;
use crate::quantiser::Factors;
use crate::{Result, VectorError};

const SLOT_BYTES: usize = 4;
/// Scale and lift.
pub(super) const ROW_HEAD_BYTES: usize = 8;
const FACTORS_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
const BY_BYTES: usize = 12;

#[derive(Clone, Copy)]
pub(super) struct Shards<'a> {
    pub(super) folder: &'a Path,
    pub(super) padded_dim: usize,
    pub(super) layout: RecordLayout,
}

impl Shards<'_> {
    fn row_bytes(&self) -> usize {
        ROW_HEAD_BYTES + self.padded_dim
    }

    fn record_bytes(&self) -> usize {
        SLOT_BYTES + self.row_bytes() + FACTORS_BYTES + self.layout.own_bytes + CHECKSUM_BYTES
    }

    fn rows_path(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("rows-{shard}"))
    }

    fn edges_path(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("edges-{shard}"))
    }

    fn met_path(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("met-{shard}"))
    }

    fn by_path(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("by-{shard}"))
    }

    /// Memory: a block of 64 KiB.
    pub(super) fn writer(&self, shard: usize) -> Result<RecordFileWriter> {
        Ok(RecordFileWriter::create(&self.rows_path(shard), self.record_bytes())?)
    }

    /// Appends the rows of a shard to `codes`, and their slots to `slots`.
    pub(super) fn read(&self, shard: usize, codes: &mut BuildCodes, slots: &mut Vec<u32>) -> Result<()> {
        let rows: Vec<u32> = (0..self.open(&self.rows_path(shard))?.records() as u32).collect();
        self.read_some(shard, &rows, codes, slots)
    }

    /// The same for some of the rows, ascending.
    pub(super) fn read_some(
        &self,
        shard: usize,
        rows: &[u32],
        codes: &mut BuildCodes,
        slots: &mut Vec<u32>,
    ) -> Result<()> {
        let path = self.rows_path(shard);
        let mut reader = self.open(&path)?.reader();
        for rows in rows.chunks(RecordReader::BATCH_MAX) {
            reader.read(rows, &mut |_, record| {
                let (slot, rest) = record.split_at(SLOT_BYTES);
                slots.push(u32_of(slot));
                let pushed = codes.push_bytes(&rest[..self.row_bytes()]);
                pushed.ok_or_else(|| VectorError::from(SegmentError::corrupt(&path, "a row has a wrong length")))
            })?;
        }
        Ok(())
    }

    /// Starts the files of meetings over; they are not kept for a later process.
    pub(super) fn begin_meetings(&self, shards: usize) -> Result<Vec<RecordFileWriter>> {
        let begin = |shard: usize| {
            remove_if_there(&self.met_path(shard))?;
            remove_if_there(&self.by_path(shard))?;
            Ok(RecordFileWriter::create(&self.by_path(shard), BY_BYTES + CHECKSUM_BYTES)?)
        };
        (0..shards).map(begin).collect()
    }

    pub(super) fn write_met(&self, shard: usize, met: &[Met]) -> Result<()> {
        let mut writer = RecordFileWriter::create(&self.met_path(shard), MET_MAX * 4 + CHECKSUM_BYTES)?;
        let mut record = Vec::with_capacity(MET_MAX * 4);
        for met in met {
            record.clear();
            met.iter().for_each(|(_, number)| record.extend(number.to_le_bytes()));
            record.resize(MET_MAX * 4, u8::MAX);
            writer.push(&record)?;
        }
        writer.finish(&[])?;
        Ok(())
    }

    /// Calls `visit(row, number)` for everybody whom a row met, the nearest first.
    pub(super) fn read_met(&self, shard: usize, visit: &mut dyn FnMut(u32, u32)) -> Result<()> {
        self.read_records(&self.met_path(shard), MET_MAX * 4, &mut |row, record| {
            let numbers = record.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number));
            numbers.take_while(|number| *number != u32::MAX).for_each(|number| visit(row, number));
        })
    }

    /// Calls `visit(row, distance, number)` for everybody who met a row of the shard.
    pub(super) fn read_by(&self, shard: usize, visit: &mut dyn FnMut(u32, f32, u32)) -> Result<()> {
        self.read_records(&self.by_path(shard), BY_BYTES, &mut |_, record| {
            visit(u32_of(&record[..4]), f32::from_bits(u32_of(&record[8..12])), u32_of(&record[4..8]));
        })
    }

    fn read_records(&self, path: &Path, bytes: usize, visit: &mut dyn FnMut(u32, &[u8])) -> Result<()> {
        let file = RecordFile::open(path, Access::Read)?;
        if file.record_bytes() != bytes + CHECKSUM_BYTES {
            return Err(SegmentError::corrupt(path, "its records have another length").into());
        }
        let records: Vec<u32> = (0..file.records() as u32).collect();
        let mut reader = file.reader();
        for records in records.chunks(RecordReader::BATCH_MAX) {
            reader.read(records, &mut |at, record| {
                visit(records[at], &record[..bytes]);
                Ok::<(), VectorError>(())
            })?;
        }
        Ok(())
    }

    /// Opens what the records of a shard store about their own nodes, to be read from the first on.
    pub(super) fn own_rows(&self, shard: usize) -> Result<OwnRows> {
        let file = self.open(&self.rows_path(shard))?;
        Ok(OwnRows { reader: file.reader(), at: SLOT_BYTES + self.row_bytes(), own_bytes: self.layout.own_bytes })
    }

    pub(super) fn has_edges(&self, shard: usize) -> bool {
        self.edges_path(shard).exists()
    }

    pub(super) fn write_edges(&self, shard: usize, edges: &Edges) -> Result<()> {
        Ok(write_sealed(&self.edges_path(shard), &edges.to_bytes())?)
    }

    pub(super) fn read_edges(&self, shard: usize) -> Result<Edges> {
        let path = self.edges_path(shard);
        let edges = read_sealed(&path)?.and_then(|bytes| Edges::from_bytes(&bytes));
        Ok(edges.ok_or_else(|| SegmentError::corrupt(&path, "it is no graph of a shard"))?)
    }

    fn open(&self, path: &Path) -> Result<std::sync::Arc<RecordFile>> {
        let file = RecordFile::open(path, Access::Read)?;
        match file.record_bytes() == self.record_bytes() {
            true => Ok(file),
            false => Err(SegmentError::corrupt(path, "its records have another length").into()),
        }
    }
}

/// Writes that a row of the writer's shard was met.
pub(super) fn push_by(writer: &mut RecordFileWriter, row: u32, distance: f32, other: u32) -> Result<()> {
    let mut record = [0; BY_BYTES];
    record[..4].copy_from_slice(&row.to_le_bytes());
    record[4..8].copy_from_slice(&other.to_le_bytes());
    record[8..].copy_from_slice(&distance.to_le_bytes());
    Ok(writer.push(&record)?)
}

fn u32_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// Writes a row of a shard.
pub(super) fn push(
    writer: &mut RecordFileWriter,
    record: &mut Vec<u8>,
    (slot, row): (u32, &[u8]),
    (factors, own): (Factors, &[u8]),
) -> Result<()> {
    record.clear();
    record.extend(slot.to_le_bytes());
    record.extend_from_slice(row);
    record.extend(factors.add.to_le_bytes());
    record.extend(factors.scale.to_le_bytes());
    record.extend_from_slice(own);
    Ok(writer.push(record)?)
}

/// A reader of what records store about their own nodes.
pub(super) struct OwnRows {
    reader: RecordReader,
    at: usize,
    own_bytes: usize,
}

impl OwnRows {
    /// Calls `visit(node, factors, own)` for each node of the range, in their order.
    pub(super) fn read(
        &mut self,
        range: std::ops::Range<u32>,
        mut visit: impl FnMut(u32, Factors, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let nodes: Vec<u32> = range.collect();
        for nodes in nodes.chunks(RecordReader::BATCH_MAX) {
            self.reader.read(nodes, &mut |at, record| {
                let (factors, own) = record[self.at..].split_at(FACTORS_BYTES);
                visit(nodes[at], factors_of(factors), &own[..self.own_bytes])
            })?;
        }
        Ok(())
    }
}
