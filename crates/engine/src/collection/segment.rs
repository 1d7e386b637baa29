//! A segment: an immutable set of rows with their vectors' codes and their attribute columns.
//!
//! Rows are stored in ascending row id; a row's place among them is its ordinal, its place among the rows that have a
//! vector is its slot in the code files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_filter::{Columns, ColumnsWriter, Filter};
use nuthatch_segment::{BlockCache, BlockFile, BlockFileWriter, SegmentError, read_sealed, sync_folder, write_sealed};
use nuthatch_truth::{Reader, Shard, Table};
use nuthatch_vector::{Centroid, Codes, CodesWriter, Metric};
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::record::{Row, vector_from};
use crate::{Error, Result};

/// Rows of one flat segment at most; larger ones want a graph.
pub(crate) const SEGMENT_ROWS_MAX: u64 = 65_536;
/// Rows read from the truth at a time while building.
const READ_ROWS: usize = 256;
/// Rows that the centroid is the mean of.
const CENTROID_ROWS: u64 = 2048;
/// Codes are rotated by a seed; one for all, so that equal rows give equal files.
const ROTATION_SEED: u64 = 0x6e75_7468;

const ROWS_FILE: &str = "rows";
const COLUMNS_FILE: &str = "columns";

pub(crate) struct Segment {
    pub id: u64,
    folder: PathBuf,
    rows: RoaringTreemap,
    /// `None`: every row has a vector, so that slots are ordinals.
    vector_rows: Option<RoaringTreemap>,
    codes: Option<Codes>,
    columns: Columns,
    columns_file: Arc<BlockFile>,
}

/// What building a segment needs to know.
pub(crate) struct Build<'a> {
    pub truth: &'a dyn Reader,
    pub shard: Shard,
    pub metric: Metric,
    pub dim: Option<usize>,
    pub cache: &'a Arc<BlockCache>,
}

impl Segment {
    /// Writes the segment of those of `rows` that the truth still has. Memory: the columns of its rows, and one block per file.
    pub fn build(folder: &Path, id: u64, rows: &RoaringTreemap, build: &Build<'_>) -> Result<Arc<Self>> {
        if folder.exists() {
            // Left by a build that was killed before the manifest named it.
            std::fs::remove_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        }
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        let mut codes = match build.dim {
            Some(dim) => {
                let centroid = centroid(rows, dim, build)?;
                Some(CodesWriter::create(folder, dim, build.metric, ROTATION_SEED, &centroid)?)
            }
            None => None,
        };
        let mut columns = ColumnsWriter::new();
        let (mut kept, mut with_vector) = (RoaringTreemap::new(), RoaringTreemap::new());
        for_rows(rows, build, &mut |row, stored, vector| {
            columns.push(&stored.payload()?);
            kept.insert(row);
            if let (Some(vector), Some(codes)) = (vector, &mut codes) {
                codes.push(&vector)?;
                with_vector.insert(row);
            }
            Ok(())
        })?;
        if let Some(codes) = codes {
            codes.finish()?;
        }
        let mut file = BlockFileWriter::create(&folder.join(COLUMNS_FILE))?;
        columns.finish(&mut file)?;
        file.finish()?;
        write_sealed(&folder.join(ROWS_FILE), &rows_bytes(&kept, &with_vector))?;
        sync_folder(folder)?;
        sync_folder(folder.parent().unwrap_or(folder))?;
        Self::open(folder, id, build.cache)
    }

    pub fn open(folder: &Path, id: u64, cache: &Arc<BlockCache>) -> Result<Arc<Self>> {
        let rows_path = folder.join(ROWS_FILE);
        let bytes = read_sealed(&rows_path)?.ok_or_else(|| missing(&rows_path))?;
        let (rows, with_vector) = rows_from(&rows_path, &bytes)?;
        let codes = match with_vector.is_empty() {
            true => None,
            false => Some(Codes::open(folder, cache)?),
        };
        let columns_path = folder.join(COLUMNS_FILE);
        let columns_file = BlockFile::open(&columns_path, cache)?;
        let columns = Columns::open(columns_file.clone()).map_err(|error| columns_error(&columns_path, error))?;
        if u64::from(columns.rows()) != rows.len()
            || codes.as_ref().is_some_and(|c| u64::from(c.rows()) != with_vector.len())
        {
            return Err(Error::corrupt(
                &rows_path,
                format!("{} does not belong to the files beside it", rows_path.display()),
            ));
        }
        let vector_rows = (with_vector.len() != rows.len()).then_some(with_vector);
        Ok(Arc::new(Self { id, folder: folder.to_path_buf(), rows, vector_rows, codes, columns, columns_file }))
    }

    pub fn rows(&self) -> &RoaringTreemap {
        &self.rows
    }

    pub fn codes(&self) -> Option<&Codes> {
        self.codes.as_ref()
    }

    /// The place of a row in this segment.
    pub fn ordinal(&self, row: u64) -> Option<u32> {
        self.rows.contains(row).then(|| (self.rows.rank(row) - 1) as u32)
    }

    /// Ordinals of the rows whose payload passes the filter.
    pub fn matching(&self, filter: &Filter) -> Result<RoaringBitmap> {
        self.columns.evaluate(filter).map_err(|error| columns_error(self.columns_file.path(), error))
    }

    /// Row ids of ordinals.
    pub fn rows_of(&self, ordinals: &RoaringBitmap) -> RoaringTreemap {
        if ordinals.len() == self.rows.len() {
            return self.rows.clone();
        }
        // Both sides ascend: one walk instead of a search per ordinal.
        let mut rows = self.rows.iter().enumerate();
        ordinals.iter().filter_map(|ordinal| rows.find(|(at, _)| *at == ordinal as usize).map(|(_, row)| row)).collect()
    }

    /// Slots in the code files of those ordinals whose rows have a vector.
    pub fn slots_of(&self, ordinals: &RoaringBitmap) -> RoaringBitmap {
        match &self.vector_rows {
            None => ordinals.clone(),
            Some(with_vector) => {
                (self.rows_of(ordinals) & with_vector).iter().map(|row| (with_vector.rank(row) - 1) as u32).collect()
            }
        }
    }

    /// The row in a slot.
    pub fn row_in_slot(&self, slot: u32) -> Option<u64> {
        self.vector_rows.as_ref().unwrap_or(&self.rows).select(u64::from(slot))
    }

    /// Every damaged file.
    pub fn verify(&self) -> Vec<Error> {
        let rows = nuthatch_segment::verify_sealed(&self.folder.join(ROWS_FILE)).err().map(Error::from);
        let codes = self.codes.as_ref().and_then(|codes| codes.verify().err()).map(Error::from);
        let columns = self.columns_file.verify().err().map(Error::from);
        rows.into_iter().chain(codes).chain(columns).collect()
    }
}

fn centroid(rows: &RoaringTreemap, dim: usize, build: &Build<'_>) -> Result<Vec<f32>> {
    let step = (rows.len() / CENTROID_ROWS).max(1) as usize;
    let sample: RoaringTreemap = rows.iter().step_by(step).collect();
    let mut centroid = Centroid::new(dim, build.metric)?;
    let keys: Vec<Vec<u8>> = sample.iter().map(|row| build.shard.number_key(row)).collect();
    for keys in keys.chunks(READ_ROWS) {
        for bytes in build.truth.multi_get(Table::Vectors, keys)?.into_iter().flatten() {
            centroid.add(&vector_from(&bytes))?;
        }
    }
    Ok(centroid.mean())
}

type ForRow<'v> = dyn FnMut(u64, Row, Option<Vec<f32>>) -> Result<()> + 'v;

fn for_rows(rows: &RoaringTreemap, build: &Build<'_>, visit: &mut ForRow<'_>) -> Result<()> {
    let mut rows = rows.iter().peekable();
    while rows.peek().is_some() {
        let chunk: Vec<u64> = rows.by_ref().take(READ_ROWS).collect();
        let keys: Vec<Vec<u8>> = chunk.iter().map(|row| build.shard.number_key(*row)).collect();
        let stored = build.truth.multi_get(Table::Records, &keys)?;
        let vectors = build.truth.multi_get(Table::Vectors, &keys)?;
        for ((row, stored), vector) in chunk.into_iter().zip(stored).zip(vectors) {
            if let Some(stored) = stored {
                visit(row, Row::decode(&stored)?, vector.as_deref().map(vector_from))?;
            }
        }
    }
    Ok(())
}

fn rows_bytes(rows: &RoaringTreemap, with_vector: &RoaringTreemap) -> Vec<u8> {
    let mut bytes = Vec::new();
    rows.serialize_into(&mut bytes)
        .and_then(|()| with_vector.serialize_into(&mut bytes))
        .expect("writing to memory does not fail");
    bytes
}

fn rows_from(path: &Path, mut bytes: &[u8]) -> Result<(RoaringTreemap, RoaringTreemap)> {
    let mut one = || RoaringTreemap::deserialize_from(&mut bytes);
    let both = one().and_then(|rows| Ok((rows, one()?)));
    both.map_err(|error| Error::corrupt(path, format!("{} does not decode: {error}", path.display())))
}

fn missing(path: &Path) -> Error {
    Error::corrupt(path, format!("{} is missing", path.display()))
}

/// The columns reader hands block file errors through as `io::Error`: take the file's name out again.
fn columns_error(path: &Path, error: nuthatch_filter::FilterError) -> Error {
    match error {
        nuthatch_filter::FilterError::Io(io) => match io.downcast::<SegmentError>() {
            Ok(segment) => segment.into(),
            Err(io) => Error::io(path, &io),
        },
        nuthatch_filter::FilterError::CorruptColumns { .. } => {
            Error::corrupt(path, format!("{}: {error}", path.display()))
        }
        other => other.into(),
    }
}
