//! A segment: an immutable set of rows with their vectors' codes and their attribute columns.
//!
//! Rows are stored in ascending row id; a row's place among them is its ordinal, its place among the rows that have a
//! vector of a field is its slot in the index of that field.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_filter::{Columns, ColumnsWriter, Filter, Scalar};
use nuthatch_segment::{
    Access, BlockCache, BlockFile, BlockFileWriter, ReadAhead, SegmentError, read_sealed, sync_folder, write_sealed,
};
use nuthatch_sparse::{Postings, PostingsWriter};
use nuthatch_store::{Reader, Shard, Table};
use nuthatch_vector::{
    BuildOptions, Centroid, GRAPH_ROWS_AT_LEISURE, Index, IndexOptions, IndexWriter, Progress, SHARDS_EXTENSION,
    graph_rows_at_once, graph_rows_max, graph_rows_min,
};
use parking_lot::{Mutex, MutexGuard};
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::descriptor::field::{Field, FieldId, FieldKind, Fields, UNNAMED};
use crate::record::Row;
use crate::state::batch_sizing::BatchSizing;
use crate::state::ids::{Ids, IdsWriter};
use crate::{Error, Result};

/// Rows from which a segment always gets a graph; sealed segments are smaller.
pub(crate) const FLAT_ROWS_MAX: u64 = 65_536;
/// Rows that the centroid is the mean of.
const CENTROID_ROWS: u64 = 2048;
/// The seed of the codes' rotation: one for all, so that equal rows give equal files.
const ROTATION_SEED: u64 = 0x6e75_7468;

/// Where the graph of a merge is kept while it is unfinished.
const CHECKPOINT_FILE: &str = "UNFINISHED";
const ROWS_FILE: &str = "rows";
const COLUMNS_FILE: &str = "columns";
const IDS_FILE: &str = "ids";
const POSTINGS_FILE: &str = "postings";

pub(crate) struct Segment {
    pub id: u64,
    folder: PathBuf,
    rows: RoaringTreemap,
    /// The first one, if each is one more than the one before, as they are where nothing was replaced.
    rows_from: Option<u64>,
    /// Of the fields that any row has a vector of.
    indexes: BTreeMap<FieldId, FieldIndex>,
    columns: Columns,
    columns_file: Arc<BlockFile>,
    /// `None`: it is of an earlier build, and the store knows the ids.
    ids: Option<Ids>,
    /// It has every graph that it deserves: this process built it with time to spare.
    built_at_leisure: bool,
    /// Its graphs were on the disk before this process was there, and have not been read ahead yet.
    may_be_cold: AtomicBool,
}

/// The vectors of one field.
struct FieldIndex {
    /// `None`: every row has a vector, so that slots are ordinals.
    rows: Option<RoaringTreemap>,
    index: OfField,
}

/// The structure that searches a field's values.
enum OfField {
    Dense(Box<Index>),
    Sparse(Postings),
}

/// The parameters for building a segment.
pub(crate) struct Build<'a> {
    pub store: &'a dyn Reader,
    pub shard: Shard,
    pub fields: &'a Fields,
    pub cache: &'a Arc<BlockCache>,
    /// Held by the one user of the budget's share for work.
    pub working: &'a Mutex<()>,
    pub access: Access,
    /// Of the graph, if there is one.
    pub threads: usize,
    /// Bytes of memory for building one graph, about.
    pub memory_bytes: u64,
    /// There is nothing else to do, so smaller segments get a graph, too.
    pub at_leisure: bool,
    /// The segment that most of the rows come from.
    pub previous: Option<&'a Segment>,
    /// The folder for unfinished graphs, in case the process ends.
    pub checkpoints: Option<PathBuf>,
    pub progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Rows of one segment at most, so that its graph can be built in `memory_bytes`.
pub(crate) fn rows_max(dim: usize, memory_bytes: u64) -> u64 {
    graph_rows_max(dim, memory_bytes).max(FLAT_ROWS_MAX)
}

/// Rows of a segment whose graph is built at once, with what an earlier graph has; larger segments take shards, and
/// start over.
pub(crate) fn rows_at_once(dim: usize, memory_bytes: u64) -> u64 {
    graph_rows_at_once(dim, memory_bytes).max(FLAT_ROWS_MAX)
}

impl OfField {
    fn dense(&self) -> Option<&Index> {
        match self {
            Self::Dense(index) => Some(index.as_ref()),
            Self::Sparse(_) => None,
        }
    }

    fn sparse(&self) -> Option<&Postings> {
        match self {
            Self::Sparse(postings) => Some(postings),
            Self::Dense(_) => None,
        }
    }

    fn slots(&self) -> u32 {
        match self {
            Self::Dense(index) => index.rows(),
            Self::Sparse(postings) => postings.slots(),
        }
    }
}

impl Segment {
    /// Writes the segment of those of `rows` that the store still has. Memory: the columns of its rows, one block per file, and
    /// one graph at a time.
    pub fn build(folder: &Path, id: u64, rows: &RoaringTreemap, mut build: Build<'_>) -> Result<Arc<Self>> {
        if folder.exists() {
            // Left by a build that was killed before the manifest named it.
            std::fs::remove_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        }
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        let mut columns = ColumnsWriter::new();
        let mut columns_file = BlockFileWriter::create(&folder.join(COLUMNS_FILE))?;
        let ids_path = folder.join(IDS_FILE);
        let mut ids = IdsWriter::create(&ids_path)?;
        let mut kept = RoaringTreemap::new();
        let stored = |rows: &[u64]| {
            let keys: Vec<Vec<u8>> = rows.iter().map(|row| build.shard.number_key(*row)).collect();
            Ok(build.store.multi_get(Table::Records, &keys)?)
        };
        let mut working = None;
        for_rows(rows, &stored, &mut |row, stored| {
            working.get_or_insert_with(|| build.working.lock());
            let stored = Row::decode(stored)?;
            columns.push(&stored.payload()?);
            ids.push(&stored.id).map_err(|error| Error::io(&ids_path, &error))?;
            if columns.has_ready() {
                columns.write_ready(&mut columns_file)?;
                // A large segment has many chunks; between two of them others have their turn.
                working.take().into_iter().for_each(MutexGuard::unlock_fair);
            }
            kept.insert(row);
            Ok(())
        })?;
        columns.finish(&mut columns_file)?;
        columns_file.finish()?;
        ids.finish().map_err(|error| Error::io(&ids_path, &error))?.finish()?;
        drop(working);
        // Only rows that have a record, so that one that is deleted during the build is in no index without being in
        // `rows`.
        let mut with_vector = BTreeMap::new();
        let fields = build.fields;
        for field in fields.iter() {
            let some = match field.kind() {
                FieldKind::Dense => build_index(folder, field, &kept, &mut build)?,
                FieldKind::Sparse => build_postings(folder, field, &kept, &build)?,
                FieldKind::Tokens => continue,
            };
            with_vector.extend((!some.is_empty()).then_some((field.id, some)));
        }
        write_sealed(&folder.join(ROWS_FILE), &rows_bytes(&kept, &with_vector))?;
        sync_folder(folder)?;
        sync_folder(folder.parent().unwrap_or(folder))?;
        let built_at_leisure = build.at_leisure;
        let read = Self::read(folder, id, build.cache, build.access)?;
        Ok(Arc::new(Self { built_at_leisure, may_be_cold: false.into(), ..read }))
    }

    pub fn open(folder: &Path, id: u64, cache: &Arc<BlockCache>, access: Access) -> Result<Arc<Self>> {
        Self::read(folder, id, cache, access).map(Arc::new)
    }

    fn read(folder: &Path, id: u64, cache: &Arc<BlockCache>, access: Access) -> Result<Self> {
        let rows_path = folder.join(ROWS_FILE);
        let bytes = read_sealed(&rows_path)?.ok_or_else(|| missing(&rows_path))?;
        let (rows, with_vector) = rows_from(&rows_path, &bytes)?;
        let strange =
            || Error::corrupt(&rows_path, format!("{} does not belong to the files next to it", rows_path.display()));
        let mut indexes = BTreeMap::new();
        for (field, with_vector) in with_vector {
            let place = field_folder(folder, field);
            let index = match FieldKind::of(field) {
                FieldKind::Sparse => OfField::Sparse(Postings::open(&place.join(POSTINGS_FILE), cache)?),
                FieldKind::Dense | FieldKind::Tokens => OfField::Dense(Box::new(Index::open(&place, cache, access)?)),
            };
            if u64::from(index.slots()) != with_vector.len() {
                return Err(strange());
            }
            let some = (with_vector.len() != rows.len()).then_some(with_vector);
            indexes.insert(field, FieldIndex { rows: some, index });
        }
        let columns_path = folder.join(COLUMNS_FILE);
        let columns_file = BlockFile::open(&columns_path, cache)?;
        let columns = Columns::open(columns_file.clone()).map_err(|error| columns_error(&columns_path, error))?;
        if u64::from(columns.rows()) != rows.len() {
            return Err(strange());
        }
        let ids = Ids::open(&folder.join(IDS_FILE), cache)?;
        if ids.as_ref().is_some_and(|ids| u64::from(ids.rows()) != rows.len()) {
            return Err(strange());
        }
        let rows_from = rows.min().filter(|first| rows.max().is_some_and(|last| last - first + 1 == rows.len()));
        let folder = folder.to_path_buf();
        let may_be_cold = true.into();
        let built_at_leisure = false;
        Ok(Self { id, folder, rows, rows_from, indexes, columns, columns_file, ids, built_at_leisure, may_be_cold })
    }

    pub fn rows(&self) -> &RoaringTreemap {
        &self.rows
    }

    /// Bytes of memory that its row ids take, and the table of the pages that ids lie in.
    pub fn resident_bytes(&self) -> u64 {
        let some = self.indexes.values().filter_map(|of_field| of_field.rows.as_ref());
        let rows: u64 = some.chain([&self.rows]).map(|rows| rows.serialized_size() as u64).sum();
        let postings: u64 = self.postings_of_all().map(Postings::resident_bytes).sum();
        rows + postings + self.ids.as_ref().map_or(0, Ids::resident_bytes)
    }

    /// The index of a field; `None` when no row has a vector of it.
    pub fn index(&self, field: FieldId) -> Option<&Index> {
        self.indexes.get(&field).and_then(|of_field| of_field.index.dense())
    }

    /// The posting lists of a field; `None` when no row has a value of it.
    pub fn postings(&self, field: FieldId) -> Option<&Postings> {
        self.indexes.get(&field).and_then(|of_field| of_field.index.sparse())
    }

    fn indexes_of_all(&self) -> impl Iterator<Item = &Index> {
        self.indexes.values().filter_map(|of_field| of_field.index.dense())
    }

    fn postings_of_all(&self) -> impl Iterator<Item = &Postings> {
        self.indexes.values().filter_map(|of_field| of_field.index.sparse())
    }

    pub fn has_graph(&self) -> bool {
        self.indexes_of_all().any(Index::has_graph)
    }

    /// The same of a segment that is not open.
    pub fn has_graph_in(folder: &Path) -> bool {
        let of_named = || std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        Index::has_graph_in(folder) || of_named().any(|path| path.is_dir() && Index::has_graph_in(&path))
    }

    /// True when a graph that it lacks would make it answer sooner and can be built in `memory_bytes`. It must have a
    /// quarter more rows than a build asks for, because the rows with a vector are only estimated before a build.
    pub fn wants_graph(&self, live: u64, memory_bytes: u64) -> bool {
        let wants = |index: &Index| {
            let rows = live.min(index.rows().into());
            let is_worth = rows * 4 > GRAPH_ROWS_AT_LEISURE * 5;
            !index.has_graph() && is_worth && rows <= graph_rows_max(index.dim(), memory_bytes)
        };
        !self.built_at_leisure && self.indexes_of_all().any(wants)
    }

    /// Reads its graphs into the page cache, once, if there is free memory for them; the next call continues where
    /// `go_on` said no.
    pub fn read_ahead(&self, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
        if !self.may_be_cold.load(Ordering::Relaxed) {
            return Ok(());
        }
        for index in self.indexes_of_all() {
            if index.read_ahead(go_on)? == ReadAhead::Stopped {
                return Ok(());
            }
        }
        self.may_be_cold.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Its columns are readable, but of an earlier version than what is written now.
    pub fn has_old_columns(&self) -> bool {
        self.columns.version() < nuthatch_filter::COLUMNS_VERSION
    }

    /// Rows that have a vector of a field, in the order of their slots, unless every row has one.
    fn some_rows(&self, field: FieldId) -> Option<&RoaringTreemap> {
        self.indexes.get(&field).and_then(|of_field| of_field.rows.as_ref())
    }

    /// Rows that have a vector of a field that the segment has an index of, in the order of their slots.
    fn with_vector(&self, field: FieldId) -> &RoaringTreemap {
        self.some_rows(field).unwrap_or(&self.rows)
    }

    /// The place of a row in this segment.
    pub fn ordinal(&self, row: u64) -> Option<u32> {
        match self.rows_from {
            Some(first) => row.checked_sub(first).filter(|at| *at < self.rows.len()).map(|at| at as u32),
            None => self.rows.contains(row).then(|| (self.rows.rank(row) - 1) as u32),
        }
    }

    /// The id of the row at an ordinal; `None` when the segment does not have its ids.
    pub fn id_at(&self, ordinal: u32) -> Result<Option<String>> {
        self.ids.as_ref().map(|ids| ids.get(ordinal)).transpose()
    }

    /// Ordinals of the rows whose payload passes the filter.
    pub fn matching(&self, filter: &Filter) -> Result<RoaringBitmap> {
        self.columns.evaluate(filter).map_err(|error| columns_error(self.columns_file.path(), error))
    }

    /// Counts the values of a field among ordinals, see [`Columns::count_values`].
    pub fn count_values(
        &self,
        field: &str,
        ordinals: &RoaringBitmap,
        count: &mut dyn FnMut(Scalar, u64) -> bool,
    ) -> Result<Option<RoaringBitmap>> {
        let counted = self.columns.count_values(field, ordinals, count);
        counted.map_err(|error| columns_error(self.columns_file.path(), error))
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

    /// Slots in the index of a field of those ordinals whose rows have a vector of it.
    pub fn slots_of<'o>(&self, field: FieldId, ordinals: &'o RoaringBitmap) -> Cow<'o, RoaringBitmap> {
        match self.some_rows(field) {
            None => Cow::Borrowed(ordinals),
            Some(with_vector) => {
                let rows = self.rows_of(ordinals) & with_vector;
                Cow::Owned(rows.iter().map(|row| (with_vector.rank(row) - 1) as u32).collect())
            }
        }
    }

    /// The row in a slot of the index of a field.
    pub fn row_in_slot(&self, field: FieldId, slot: u32) -> Option<u64> {
        match (self.some_rows(field), self.rows_from) {
            (None, Some(first)) => (u64::from(slot) < self.rows.len()).then(|| first + u64::from(slot)),
            (some, _) => some.unwrap_or(&self.rows).select(u64::from(slot)),
        }
    }

    /// Every damaged file.
    pub fn verify(&self) -> Vec<Error> {
        let rows = nuthatch_segment::verify_sealed(&self.folder.join(ROWS_FILE)).err().map(Error::from);
        let indexes = self.indexes_of_all().filter_map(|index| index.verify().err()).map(Error::from);
        let postings = self.postings_of_all().filter_map(|postings| postings.verify().err()).map(Error::from);
        let columns = self.columns_file.verify().err().map(Error::from);
        let ids = self.ids.as_ref().and_then(|ids| ids.verify().err());
        rows.into_iter().chain(indexes).chain(postings).chain(columns).chain(ids).collect()
    }
}

/// Writes the index of a field, if any of `rows` has a vector of it; says which have.
fn build_index(folder: &Path, field: &Field, rows: &RoaringTreemap, build: &mut Build<'_>) -> Result<RoaringTreemap> {
    let mut with_vector = RoaringTreemap::new();
    let Some(dim) = field.dim else { return Ok(with_vector) };
    let place = field_folder(folder, field.id);
    let (centroid, expected) = sample(rows, field, dim, build)?;
    let options = IndexOptions {
        dim,
        metric: field.metric,
        element: field.element,
        seed: ROTATION_SEED,
        centroid,
        build_memory_bytes: build.memory_bytes,
        graph: expected > if build.at_leisure { GRAPH_ROWS_AT_LEISURE } else { graph_rows_min(dim) },
    };
    let mut index = None;
    let stored = |rows: &[u64]| field.stored(build.store, build.shard, rows);
    for_rows(rows, &stored, &mut |row, vector| {
        let index = match &mut index {
            Some(index) => index,
            none => {
                std::fs::create_dir_all(&place).map_err(|error| Error::io(&place, &error))?;
                none.insert(IndexWriter::create(&place, options.clone())?)
            }
        };
        index.push(vector)?;
        with_vector.insert(row);
        Ok(())
    })?;
    let Some(index) = index else { return Ok(with_vector) };
    let previous = build.previous.and_then(|previous| Some((previous, previous.index(field.id)?)));
    let new_of_old = previous.map(|(previous, _)| new_slots(previous.with_vector(field.id), &with_vector));
    let checkpoint = build.checkpoints.as_ref().map(|folder| folder.join(checkpoint_name(field.id)));
    let options = BuildOptions {
        threads: build.threads,
        previous: previous.map(|(_, index)| index).zip(new_of_old.as_deref()),
        checkpoint: checkpoint.map(|path| (path, fingerprint(&with_vector))),
        progress: &mut *build.progress,
    };
    index.finish(options, build.cache, build.access)?;
    if place != folder {
        sync_folder(&place)?;
    }
    Ok(with_vector)
}

/// Writes the posting lists of a field, if any of `rows` has a value of it; says which have.
fn build_postings(folder: &Path, field: &Field, rows: &RoaringTreemap, build: &Build<'_>) -> Result<RoaringTreemap> {
    let mut with_vector = RoaringTreemap::new();
    let place = field_folder(folder, field.id);
    let mut postings = None;
    // The terms of some thousand rows are in memory at once.
    let _working = build.working.lock();
    let stored = |rows: &[u64]| field.stored(build.store, build.shard, rows);
    for_rows(rows, &stored, &mut |row, value| {
        let postings = match &mut postings {
            Some(postings) => postings,
            none => {
                std::fs::create_dir_all(&place).map_err(|error| Error::io(&place, &error))?;
                none.insert(PostingsWriter::create(&place.join(POSTINGS_FILE))?)
            }
        };
        postings.push(&field.sparse(value)?)?;
        with_vector.insert(row);
        Ok(())
    })?;
    if let Some(postings) = postings {
        postings.finish()?;
        sync_folder(&place)?;
    }
    Ok(with_vector)
}

/// The centroid of a field's vectors, and how many of the rows have one, by a sample.
fn sample(rows: &RoaringTreemap, field: &Field, dim: usize, build: &Build<'_>) -> Result<(Vec<f32>, u64)> {
    let step = (rows.len() / CENTROID_ROWS).max(1) as usize;
    let sample: Vec<u64> = rows.iter().step_by(step).collect();
    let mut centroid = Centroid::new(dim, field.metric)?;
    let mut found = 0;
    for rows in sample.chunks(BatchSizing::default().rows()) {
        for bytes in field.stored(build.store, build.shard, rows)?.into_iter().flatten() {
            centroid.add(&field.element.decode(&bytes, dim))?;
            found += 1;
        }
    }
    Ok((centroid.mean(), rows.len() * found / (sample.len() as u64).max(1)))
}

/// The folder of a field's index files; those of the unnamed field lie next to the columns.
fn field_folder(segment: &Path, field: FieldId) -> PathBuf {
    match field {
        UNNAMED => segment.to_path_buf(),
        named => segment.join(format!("field-{named}")),
    }
}

/// The file that keeps an unfinished graph of a field.
fn checkpoint_name(field: FieldId) -> String {
    match field {
        UNNAMED => CHECKPOINT_FILE.into(),
        named => format!("{CHECKPOINT_FILE}-{named}"),
    }
}

/// Removes the unfinished graphs that a folder of segments has; there are none unless a build took long.
pub(crate) fn remove_checkpoints(segments: &Path, fields: &Fields) -> Result<()> {
    for field in fields.iter() {
        let path = segments.join(checkpoint_name(field.id));
        let shards = path.with_extension(SHARDS_EXTENSION);
        for (path, removed) in [(&path, std::fs::remove_file(&path)), (&shards, std::fs::remove_dir_all(&shards))] {
            match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(path, &error)),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Maps the slots of `old` to those of `new`; `u32::MAX` for rows that are not in `new`.
fn new_slots(old: &RoaringTreemap, new: &RoaringTreemap) -> Vec<u32> {
    let mut slots = new.iter().zip(0u32..).peekable();
    let slot_of = |row: u64| {
        // Both sides ascend.
        while slots.next_if(|(at, _)| *at < row).is_some() {}
        slots.next_if(|(at, _)| *at == row).map_or(u32::MAX, |(_, slot)| slot)
    };
    old.iter().map(slot_of).collect()
}

/// Identifies the rows of an unfinished graph, so that a build continues only its own: a row id never gets another
/// vector.
fn fingerprint(rows: &RoaringTreemap) -> Vec<u8> {
    let mut bytes = Vec::new();
    rows.serialize_into(&mut bytes).expect("writing to memory does not fail");
    blake3::hash(&bytes).as_bytes().to_vec()
}

/// Reads something stored of rows, in their order.
type Stored<'s> = dyn Fn(&[u64]) -> Result<Vec<Option<Vec<u8>>>> + 's;
/// Takes a row and what is stored of it.
type ForRow<'v> = dyn FnMut(u64, &[u8]) -> Result<()> + 'v;

/// Visits the rows of which something is stored.
fn for_rows(rows: &RoaringTreemap, stored: &Stored<'_>, visit: &mut ForRow<'_>) -> Result<()> {
    let mut rows = rows.iter().peekable();
    let mut batch_sizing = BatchSizing::default();
    while rows.peek().is_some() {
        let chunk: Vec<u64> = rows.by_ref().take(batch_sizing.rows()).collect();
        let stored = stored(&chunk)?;
        batch_sizing.learn(stored.iter().flatten().map(Vec::len).sum());
        for (row, stored) in chunk.into_iter().zip(stored) {
            if let Some(stored) = stored {
                visit(row, &stored)?;
            }
        }
    }
    Ok(())
}

/// All rows, those that have an unnamed vector, and the number and rows of each other field that any row has.
fn rows_bytes(rows: &RoaringTreemap, with_vector: &BTreeMap<FieldId, RoaringTreemap>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let put = |rows: &RoaringTreemap, bytes: &mut Vec<u8>| {
        rows.serialize_into(bytes).expect("writing to memory does not fail");
    };
    put(rows, &mut bytes);
    put(with_vector.get(&UNNAMED).unwrap_or(&RoaringTreemap::new()), &mut bytes);
    for (field, rows) in with_vector.iter().filter(|(field, _)| **field != UNNAMED) {
        bytes.extend(field.to_le_bytes());
        put(rows, &mut bytes);
    }
    bytes
}

/// All rows, and those that have a vector of each field.
type RowSets = (RoaringTreemap, BTreeMap<FieldId, RoaringTreemap>);

fn rows_from(path: &Path, mut bytes: &[u8]) -> Result<RowSets> {
    let wrong = |what: String| Error::corrupt(path, format!("{} cannot be decoded: {what}", path.display()));
    let one = |bytes: &mut &[u8]| RoaringTreemap::deserialize_from(bytes).map_err(|error| wrong(error.to_string()));
    let rows = one(&mut bytes)?;
    let mut with_vector = BTreeMap::from([(UNNAMED, one(&mut bytes)?)]);
    while let Some((field, rest)) = bytes.split_first_chunk() {
        bytes = rest;
        if with_vector.insert(FieldId::from_le_bytes(*field), one(&mut bytes)?).is_some() {
            return Err(wrong("a field occurs twice".into()));
        }
    }
    if !bytes.is_empty() {
        return Err(wrong("extra bytes follow its end".into()));
    }
    if with_vector.values().any(|some| !some.is_subset(&rows)) {
        return Err(wrong("a row that is not in the segment has a vector".into()));
    }
    with_vector.retain(|_, rows| !rows.is_empty());
    Ok((rows, with_vector))
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
