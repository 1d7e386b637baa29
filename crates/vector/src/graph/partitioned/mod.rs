//! The graph of more rows than can be built in memory at once.
//!
//! **Useful for** one graph over any number of rows: the rows are split into shards of near ones (k-means), a graph is
//! built for each shard, each row is searched for in the shards nearest to it ([`meetings`]), and then it chooses its
//! neighbours again ([`choose`]). Memory holds one shard while its graph is built, two while their rows meet, and one
//! with the rows of others that it may choose while it is linked. **Not for** rows that fit: one graph built at once
//! takes two thirds of the time and keeps what an earlier graph has.
//!
//! The shards are files in a separate folder: rows in the form of [`BuildCodes`] and what each record stores about its
//! own row, so that everything is read in order. A stopped build resumes there: assigned rows and finished graphs are
//! kept, while meetings and linking start over.
//!
//! **Invariant:** the bytes of the graph depend on the rows, their order, the parameters and the memory that is allowed, not on
//! threads or interruptions.

mod assign;
mod meetings;
mod plan;
mod shards;

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use nuthatch_segment::{ScatteredRecordWriter, SegmentError};

use self::meetings::{Block, Others};
use self::plan::Plan;
use self::shards::{OwnRows, Shards};
use super::GRAPH_FILE;
use super::build::{BuildCodes, BuildParameters, Choice, GraphBuilder, List, Progress, choose, keep_connected};
use super::layout::{ENTRIES_MAX, GraphHeader, RecordLayout};
use super::writer::{RecordMaker, entry_blocks};
use crate::vectors::Vectors;
use crate::{Codes, Result, VectorError};

pub(crate) use plan::rows_max;

/// Records that one thread makes before they are written.
const CHUNK: u32 = 1024;

/// All of one segment, in the order of its slots.
pub(crate) struct Rows<'a> {
    pub(crate) codes: &'a Codes,
    pub(crate) vectors: &'a Vectors,
    /// Under the dot product the greatest squared length.
    pub(crate) lift_max_squared: f32,
}

/// How the graph is built.
pub(crate) struct Settings<'a> {
    pub(crate) parameters: BuildParameters,
    pub(crate) threads: usize,
    pub(crate) memory_bytes: u64,
    /// For the shards; removed when the graph is finished.
    pub(crate) folder: PathBuf,
    /// Identifies the rows, if a stopped build is to be resumed.
    pub(crate) fingerprint: Option<&'a [u8]>,
}

/// Writes `graph` in `dir`; returns its size in bytes.
pub(crate) fn write(
    dir: &Path,
    rows: &Rows<'_>,
    settings: &Settings<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<u64> {
    let resumed = settings.fingerprint.and_then(|fingerprint| Plan::read(rows, settings, fingerprint));
    let is_resumed = resumed.is_some();
    let written = write_with(dir, rows, settings, resumed, progress);
    let written = match written {
        // The files of an earlier process are damaged: start over from the rows.
        Err(VectorError::Segment(SegmentError::Corrupt { path, .. }))
            if is_resumed && path.starts_with(&settings.folder) =>
        {
            write_with(dir, rows, settings, None, progress)
        }
        written => written,
    };
    if written.as_ref().is_err_and(|error| !matches!(error, VectorError::Stopped)) {
        // The space is wanted back, above all when it was a full disk. The error that counts is the first.
        remove_folder(&settings.folder).ok();
    }
    written
}

fn write_with(
    dir: &Path,
    rows: &Rows<'_>,
    settings: &Settings<'_>,
    plan: Option<Plan>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<u64> {
    let header = &rows.codes.header;
    let layout = RecordLayout::new(header.dim, rows.vectors.element());
    let shards = Shards { folder: &settings.folder, padded_dim: header.padded_dim(), layout };
    let mut progress = Steps { total: header.rows as usize, done: 0, tell: progress };
    let plan = match plan {
        Some(plan) => plan,
        None => assign::assign(rows, settings, &shards, &mut progress)?,
    };
    for shard in 0..plan.shards() {
        build_graph(&shards, shard, plan.rows_of(shard), settings, &mut progress)?;
    }
    meetings::hold(&shards, &plan, settings, &mut progress)?;
    remove_if_there(&dir.join(GRAPH_FILE))?;
    let mut file = ScatteredRecordWriter::create(&dir.join(GRAPH_FILE), layout.stride, header.rows)?;
    let mut entries = Entries {
        codes: BuildCodes::new(header.padded_dim()),
        slots: Vec::new(),
        per_shard: (ENTRIES_MAX / plan.shards()).max(1),
    };
    for shard in 0..plan.shards() {
        write_shard(&shards, &plan, shard, settings, &mut file, &mut entries)?;
        progress.step(plan.rows_of(shard))?;
    }
    let places: Vec<u32> = (0..entries.slots.len() as u32).collect();
    let meta = GraphHeader {
        rows: header.rows,
        dim: header.dim,
        metric: header.metric,
        element: rows.vectors.element(),
        seed: header.seed,
        lift_max_squared: rows.lift_max_squared,
        entry_blocks: entry_blocks(&entries.codes, &layout, &places),
        entries: entries.slots,
    };
    let bytes = file.finish(&meta.to_bytes(&layout))?;
    remove_folder(&settings.folder)?;
    Ok(bytes)
}

/// Builds the graph of a shard, unless an earlier process did.
fn build_graph(
    shards: &Shards<'_>,
    shard: usize,
    rows: usize,
    settings: &Settings<'_>,
    progress: &mut Steps<'_>,
) -> Result<()> {
    if !shards.has_edges(shard) {
        let mut part = Part::new(shards);
        part.add(shards, shard)?;
        let mut builder = GraphBuilder::new(&part.codes, settings.parameters);
        let outcome = builder.build(settings.threads, &mut |built| progress.tell_of(built.done));
        if outcome.is_break() {
            return Err(VectorError::Stopped);
        }
        shards.write_edges(shard, &builder.finish(settings.threads))?;
    }
    progress.step(rows)
}

/// Chooses the neighbours of a shard's rows again and writes their records.
fn write_shard(
    shards: &Shards<'_>,
    plan: &Plan,
    shard: usize,
    settings: &Settings<'_>,
    file: &mut ScatteredRecordWriter,
    entries: &mut Entries,
) -> Result<()> {
    let edges = shards.read_edges(shard)?;
    let mut part = Part::new(shards);
    part.add(shards, shard)?;
    entries.add(&part, edges.entries());
    let Some(entry) = edges.entries().first().copied() else { return Ok(()) };
    let others = Others::read(shards, plan, shard)?;
    let (home, first) = (edges.len() as u32, plan.first_of(shard));
    let others_max = plan::others_max(shards.padded_dim, settings.memory_bytes);
    let mut lists: Vec<List> = Vec::with_capacity(edges.len());
    while lists.len() < edges.len() {
        let names = |row| -> Box<dyn Iterator<Item = u32> + '_> { Box::new(others.of_row(row).iter().copied()) };
        let block = Block::new(lists.len() as u32, home, others_max, names);
        block.add_to(shards, plan, home, &mut part)?;
        let (mut starts, mut places) = (vec![0], Vec::new());
        for row in block.rows.clone() {
            places.extend(others.of_row(row).iter().map(|number| home + block.place_of(*number)));
            starts.push(places.len() as u32);
        }
        let choice =
            Choice { codes: &part.codes, edges: &edges, first: block.rows.start, starts: &starts, others: &places };
        let mut chosen = choose(&choice, &settings.parameters, settings.threads);
        for list in &mut chosen {
            list.renumber(|place| place.checked_sub(home).map_or(first + place, |place| block.number_at(place)));
        }
        lists.append(&mut chosen);
    }
    drop((edges, others));
    part.truncate(home);
    keep_connected(&part.codes, entry, first, &mut lists, &settings.parameters);
    let mut own = shards.own_rows(shard)?;
    let is_other = |number: &u32| number.checked_sub(first).is_none_or(|place| place >= home);
    let mut next = 0;
    while next < home {
        let names = |row: u32| -> Box<dyn Iterator<Item = u32> + '_> {
            Box::new(lists[row as usize].neighbours().iter().copied().filter(is_other))
        };
        let block = Block::new(next, home, others_max, names);
        block.add_to(shards, plan, home, &mut part)?;
        next = block.rows.end;
        for list in &mut lists[block.rows.start as usize..next as usize] {
            list.renumber(|number| if is_other(&number) { home + block.place_of(number) } else { number - first });
        }
        let records = Records { shards, part: &part, lists: &lists };
        records.write(block.rows, settings.threads, &mut own, file)?;
    }
    Ok(())
}

/// Shards in memory, one behind the other.
struct Part {
    codes: BuildCodes,
    slots: Vec<u32>,
}

impl Part {
    fn new(shards: &Shards<'_>) -> Self {
        Self { codes: BuildCodes::new(shards.padded_dim), slots: Vec::new() }
    }

    fn add(&mut self, shards: &Shards<'_>, shard: usize) -> Result<()> {
        shards.read(shard, &mut self.codes, &mut self.slots)
    }

    fn truncate(&mut self, rows: u32) {
        self.codes.truncate(rows as usize);
        self.slots.truncate(rows as usize);
    }
}

/// Where searches in the whole graph begin: the entry of every shard, which reaches all of it, and some more of each.
struct Entries {
    codes: BuildCodes,
    slots: Vec<u32>,
    per_shard: usize,
}

impl Entries {
    fn add(&mut self, part: &Part, entries: &[u32]) {
        let mut bytes = Vec::new();
        for entry in entries.iter().take(self.per_shard) {
            bytes.clear();
            part.codes.row(*entry).to_bytes(&mut bytes);
            self.codes.push_bytes(&bytes).expect("a row of codes of the same length");
            self.slots.push(part.slots[*entry as usize]);
        }
    }
}

/// The records of a shard's rows.
struct Records<'a> {
    shards: &'a Shards<'a>,
    part: &'a Part,
    /// Neighbours by their places in the part.
    lists: &'a [List],
}

impl Records<'_> {
    fn write(
        &self,
        rows: Range<u32>,
        threads: usize,
        own: &mut OwnRows,
        file: &mut ScatteredRecordWriter,
    ) -> Result<()> {
        let mut next = rows.start;
        while next < rows.end {
            let ranges: Vec<Range<u32>> = (0..threads.max(1) as u32)
                .map(|at| next.saturating_add(at * CHUNK))
                .take_while(|start| *start < rows.end)
                .map(|start| start..rows.end.min(start + CHUNK))
                .collect();
            next = ranges.last().map_or(rows.end, |range| range.end);
            let mut chunks: Vec<Vec<u8>> = std::thread::scope(|scope| {
                let workers: Vec<_> =
                    ranges.iter().map(|range| scope.spawn(|| self.neighbours_of(range.clone()))).collect();
                workers.into_iter().map(|worker| worker.join().expect("coding does not panic")).collect()
            });
            for (range, chunk) in ranges.into_iter().zip(&mut chunks) {
                self.put(range, chunk, own, file)?;
            }
        }
        Ok(())
    }

    /// All but what the records say of their own nodes.
    fn neighbours_of(&self, range: Range<u32>) -> Vec<u8> {
        let layout = &self.shards.layout;
        let mut bytes = vec![0; range.len() * (layout.stride - 4)];
        let mut maker = RecordMaker::new(*layout, &self.part.codes);
        for (node, record) in range.zip(bytes.chunks_exact_mut(layout.stride - 4)) {
            let slot_of = |node: u32| self.part.slots[node as usize];
            maker.put_neighbours(node, self.lists[node as usize].neighbours(), slot_of, record);
        }
        bytes
    }

    /// Adds that and writes the records.
    fn put(
        &self,
        range: Range<u32>,
        bytes: &mut [u8],
        own: &mut OwnRows,
        file: &mut ScatteredRecordWriter,
    ) -> Result<()> {
        let layout = &self.shards.layout;
        let mut records = bytes.chunks_exact_mut(layout.stride - 4);
        own.read(range, |node, factors, own| {
            let record = records.next().expect("a record for each node");
            layout.put_factors(factors, record);
            layout.put_own(own, record);
            Ok(file.put(self.part.slots[node as usize], record)?)
        })
    }
}

/// How far the work is. A row counts a third when its shard has a graph, when it has met others, and when it is linked.
struct Steps<'a> {
    total: usize,
    done: usize,
    tell: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Steps<'_> {
    /// Reports that `rows` rows of the current step are done.
    fn tell_of(&mut self, rows: usize) -> ControlFlow<()> {
        (self.tell)(Progress { done: (self.done + rows) / 3, total: self.total })
    }

    /// Completes a step of `rows` rows.
    fn step(&mut self, rows: usize) -> Result<()> {
        self.done += rows;
        match self.tell_of(0) {
            ControlFlow::Break(()) => Err(VectorError::Stopped),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SegmentError::io(path, error).into()),
        _ => Ok(()),
    }
}

/// Removes what a build left, if there is anything.
fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SegmentError::io(folder, error).into()),
        _ => Ok(()),
    }
}
