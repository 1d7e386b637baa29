//! A segment: an immutable set of rows with their vectors' codes and their attribute columns.
//!
//! Rows are stored in ascending row id; a row's place among them is its ordinal, its place among the rows that have a
//! vector is its slot in the vector index.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_filter::{Columns, ColumnsWriter, Filter};
use nuthatch_segment::{
    Access, BlockCache, BlockFile, BlockFileWriter, SegmentError, read_sealed, sync_folder, write_sealed,
};
use nuthatch_truth::{Reader, Shard, Table};
use nuthatch_vector::{
    BuildOptions, Centroid, Element, Index, IndexOptions, IndexWriter, Metric, Progress, graph_rows_min,
};
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::collection::pace::Pace;
use crate::record::Row;
use crate::{Error, Result};

/// Rows from which on a segment has a graph; sealed segments are smaller.
pub(crate) const FLAT_ROWS_MAX: u64 = 65_536;
/// Bytes of memory that building a graph takes per row besides its codes: lists with their slack, and for a while the lists of
/// the graph that it begins with.
const BUILD_OVERHEAD_BYTES: u64 = 350;
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
    index: Option<Index>,
    columns: Columns,
    columns_file: Arc<BlockFile>,
}

/// What building a segment needs to know.
pub(crate) struct Build<'a> {
    pub truth: &'a dyn Reader,
    pub shard: Shard,
    pub metric: Metric,
    pub element: Element,
    pub dim: Option<usize>,
    pub cache: &'a Arc<BlockCache>,
    pub access: Access,
    /// Of the graph, if there is one.
    pub threads: usize,
    /// The segment that most of the rows come from.
    pub previous: Option<&'a Segment>,
    /// Where an unfinished graph is kept, in case that the process ends.
    pub checkpoint: Option<PathBuf>,
    pub progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Bytes of memory that building a graph of so many rows takes.
pub(crate) fn build_bytes(dim: usize, rows: u64) -> u64 {
    rows * (dim.next_multiple_of(64) as u64 + BUILD_OVERHEAD_BYTES)
}

/// Rows of one segment at most, so that its graph can be built in `memory_bytes`.
pub(crate) fn rows_max(dim: usize, memory_bytes: u64) -> u64 {
    (memory_bytes / build_bytes(dim, 1)).max(FLAT_ROWS_MAX)
}

impl Segment {
    /// Writes the segment of those of `rows` that the truth still has. Memory: the columns of its rows, and one block per file.
    pub fn build(folder: &Path, id: u64, rows: &RoaringTreemap, build: Build<'_>) -> Result<Arc<Self>> {
        if folder.exists() {
            // Left by a build that was killed before the manifest named it.
            std::fs::remove_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        }
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        let mut index = match build.dim {
            Some(dim) => {
                let options = IndexOptions {
                    dim,
                    metric: build.metric,
                    element: build.element,
                    seed: ROTATION_SEED,
                    centroid: centroid(rows, dim, &build)?,
                    graph: rows.len() > graph_rows_min(dim),
                };
                Some(IndexWriter::create(folder, options)?)
            }
            None => None,
        };
        let mut columns = ColumnsWriter::new();
        let mut columns_file = BlockFileWriter::create(&folder.join(COLUMNS_FILE))?;
        let (mut kept, mut with_vector) = (RoaringTreemap::new(), RoaringTreemap::new());
        for_rows(rows, &build, &mut |row, stored, vector| {
            columns.push(&stored.payload()?);
            columns.write_ready(&mut columns_file)?;
            kept.insert(row);
            if let (Some(vector), Some(index)) = (vector, &mut index) {
                index.push(&vector)?;
                with_vector.insert(row);
            }
            Ok(())
        })?;
        if let Some(index) = index {
            let new_of_old = build.previous.map(|previous| new_slots(previous.with_vector(), &with_vector));
            let previous = build.previous.and_then(|previous| previous.index.as_ref());
            let options = BuildOptions {
                threads: build.threads,
                previous: previous.zip(new_of_old.as_deref()),
                checkpoint: build.checkpoint.map(|path| (path, fingerprint(&with_vector))),
                progress: build.progress,
            };
            index.finish(options, build.cache, build.access)?;
        }
        columns.finish(&mut columns_file)?;
        columns_file.finish()?;
        write_sealed(&folder.join(ROWS_FILE), &rows_bytes(&kept, &with_vector))?;
        sync_folder(folder)?;
        sync_folder(folder.parent().unwrap_or(folder))?;
        Self::open(folder, id, build.cache, build.access)
    }

    pub fn open(folder: &Path, id: u64, cache: &Arc<BlockCache>, access: Access) -> Result<Arc<Self>> {
        let rows_path = folder.join(ROWS_FILE);
        let bytes = read_sealed(&rows_path)?.ok_or_else(|| missing(&rows_path))?;
        let (rows, with_vector) = rows_from(&rows_path, &bytes)?;
        let index = match with_vector.is_empty() {
            true => None,
            false => Some(Index::open(folder, cache, access)?),
        };
        let columns_path = folder.join(COLUMNS_FILE);
        let columns_file = BlockFile::open(&columns_path, cache)?;
        let columns = Columns::open(columns_file.clone()).map_err(|error| columns_error(&columns_path, error))?;
        if u64::from(columns.rows()) != rows.len()
            || index.as_ref().is_some_and(|index| u64::from(index.rows()) != with_vector.len())
        {
            return Err(Error::corrupt(
                &rows_path,
                format!("{} does not belong to the files beside it", rows_path.display()),
            ));
        }
        let vector_rows = (with_vector.len() != rows.len()).then_some(with_vector);
        Ok(Arc::new(Self { id, folder: folder.to_path_buf(), rows, vector_rows, index, columns, columns_file }))
    }

    pub fn rows(&self) -> &RoaringTreemap {
        &self.rows
    }

    /// Bytes of memory that its row ids take.
    pub fn resident_bytes(&self) -> u64 {
        let sets = self.rows.serialized_size() + self.vector_rows.as_ref().map_or(0, RoaringTreemap::serialized_size);
        sets as u64
    }

    /// The vectors' index; `None` when no row has one.
    pub fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    pub fn has_graph(&self) -> bool {
        self.index.as_ref().is_some_and(Index::has_graph)
    }

    /// Its columns are readable, but of an earlier version than what is written now.
    pub fn has_old_columns(&self) -> bool {
        self.columns.version() < nuthatch_filter::COLUMNS_VERSION
    }

    /// Rows that have a vector, in the order of their slots.
    fn with_vector(&self) -> &RoaringTreemap {
        self.vector_rows.as_ref().unwrap_or(&self.rows)
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
    pub fn slots_of<'o>(&self, ordinals: &'o RoaringBitmap) -> Cow<'o, RoaringBitmap> {
        match &self.vector_rows {
            None => Cow::Borrowed(ordinals),
            Some(with_vector) => {
                let rows = self.rows_of(ordinals) & with_vector;
                Cow::Owned(rows.iter().map(|row| (with_vector.rank(row) - 1) as u32).collect())
            }
        }
    }

    /// The row in a slot.
    pub fn row_in_slot(&self, slot: u32) -> Option<u64> {
        self.with_vector().select(u64::from(slot))
    }

    /// Every damaged file.
    pub fn verify(&self) -> Vec<Error> {
        let rows = nuthatch_segment::verify_sealed(&self.folder.join(ROWS_FILE)).err().map(Error::from);
        let index = self.index.as_ref().and_then(|index| index.verify().err()).map(Error::from);
        let columns = self.columns_file.verify().err().map(Error::from);
        rows.into_iter().chain(index).chain(columns).collect()
    }
}

fn centroid(rows: &RoaringTreemap, dim: usize, build: &Build<'_>) -> Result<Vec<f32>> {
    let step = (rows.len() / CENTROID_ROWS).max(1) as usize;
    let sample: RoaringTreemap = rows.iter().step_by(step).collect();
    let mut centroid = Centroid::new(dim, build.metric)?;
    let keys: Vec<Vec<u8>> = sample.iter().map(|row| build.shard.number_key(row)).collect();
    for keys in keys.chunks(Pace::default().rows()) {
        for bytes in build.truth.multi_get(Table::Vectors, keys)?.into_iter().flatten() {
            centroid.add(&build.element.decode(&bytes, dim))?;
        }
    }
    Ok(centroid.mean())
}

/// What the slots of `old` have become; `u32::MAX` for rows that are not in `new`.
fn new_slots(old: &RoaringTreemap, new: &RoaringTreemap) -> Vec<u32> {
    let mut slots = new.iter().zip(0u32..).peekable();
    let slot_of = |row: u64| {
        // Both sides ascend.
        while slots.next_if(|(at, _)| *at < row).is_some() {}
        slots.next_if(|(at, _)| *at == row).map_or(u32::MAX, |(_, slot)| slot)
    };
    old.iter().map(slot_of).collect()
}

/// What an unfinished graph must have been built of to be gone on with: a row id never has another vector.
fn fingerprint(rows: &RoaringTreemap) -> Vec<u8> {
    let mut bytes = Vec::new();
    rows.serialize_into(&mut bytes).expect("writing to memory does not fail");
    blake3::hash(&bytes).as_bytes().to_vec()
}

/// Takes a row and its stored vector.
type ForRow<'v> = dyn FnMut(u64, Row, Option<Vec<u8>>) -> Result<()> + 'v;

fn for_rows(rows: &RoaringTreemap, build: &Build<'_>, visit: &mut ForRow<'_>) -> Result<()> {
    let mut rows = rows.iter().peekable();
    let mut pace = Pace::default();
    while rows.peek().is_some() {
        let chunk: Vec<u64> = rows.by_ref().take(pace.rows()).collect();
        let keys: Vec<Vec<u8>> = chunk.iter().map(|row| build.shard.number_key(*row)).collect();
        let stored = build.truth.multi_get(Table::Records, &keys)?;
        let vectors = build.truth.multi_get(Table::Vectors, &keys)?;
        pace.learn(stored.iter().chain(&vectors).flatten().map(Vec::len).sum());
        for ((row, stored), vector) in chunk.into_iter().zip(stored).zip(vectors) {
            if let Some(stored) = stored {
                visit(row, Row::decode(&stored)?, vector)?;
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
