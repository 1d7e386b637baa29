//! Writing the index of a segment, row by row.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_segment::{Access, BlockCache};

use super::{Index, ef_table};
use crate::graph::build::{BuildCodes, BuildParameters, GraphBuilder, Progress};
use crate::graph::partitioned::{self, Rows, Settings};
use crate::graph::writer::{self, Source};
use crate::rotation::padded_dim;
use crate::vectors::{Vectors, VectorsWriter};
use crate::{Codes, CodesWriter, Element, Metric, Result, VectorError};

/// Rows from which a graph is worth building although more rows, and then a new graph, follow: where a scan of the
/// codes takes some 0.2 to 0.3 ms.
pub fn graph_rows_min(dim: usize) -> u64 {
    if dim > 512 { 32_768 } else { 65_536 }
}

/// Rows from which a graph answers sooner than a scan of the codes, by enough to be built when there is nothing else to do.
pub const GRAPH_ROWS_AT_LEISURE: u64 = 12_800;

/// Of a row while its graph is built at once: factors, a growing list, and what a merge holds of the graph before.
const BUILD_OVERHEAD_BYTES: u64 = 350;

/// Of the folder of a build in shards.
pub const SHARDS_EXTENSION: &str = "shards";

/// The number of parts of a build; it saves its progress after each.
const CHECKPOINTS: usize = 16;

/// The properties of a segment's vectors.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// Dimension of every row.
    pub dim: usize,
    /// How rows are compared with a query.
    pub metric: Metric,
    /// The element type of the stored vectors.
    pub element: Element,
    /// Of the rotation and the order of insertion.
    pub seed: u64,
    /// Best the mean of the rows to come ([`Centroid`](crate::Centroid)); any finite point is right.
    pub centroid: Vec<f32>,
    /// Whether to build a graph; see [`graph_rows_min`].
    pub graph: bool,
    /// Bytes of memory that building it may take, about; see [`graph_rows_max`].
    pub build_memory_bytes: u64,
}

/// Returns the bytes of memory that building a graph of `rows` rows at once takes.
pub fn graph_build_bytes(dim: usize, rows: u64) -> u64 {
    rows * (padded_dim(dim) as u64 + BUILD_OVERHEAD_BYTES)
}

/// Returns the number of rows whose graph is built at once in `memory_bytes` bytes of memory. More are cut into shards,
/// which takes about twice the time for a row and keeps nothing of earlier graphs.
pub fn graph_rows_at_once(dim: usize, memory_bytes: u64) -> u64 {
    memory_bytes / graph_build_bytes(dim, 1)
}

/// Returns the most rows of one graph that is built in about `memory_bytes` bytes of memory: 256 shards.
pub fn graph_rows_max(dim: usize, memory_bytes: u64) -> u64 {
    partitioned::rows_max(dim, memory_bytes).max(graph_rows_at_once(dim, memory_bytes))
}

/// How the graph is built.
pub struct BuildOptions<'a> {
    /// Threads that build it; the graph does not depend on how many there are.
    pub threads: usize,
    /// The index that most of the rows come from, and what its slots have become (`u32::MAX`: dropped). Its graph is kept.
    pub previous: Option<(&'a Index, &'a [u32])>,
    /// Where to save unfinished work, and what identifies the rows: a build of the same rows goes on from there. Shards go into
    /// a folder of that name with the extension `shards`.
    pub checkpoint: Option<(PathBuf, Vec<u8>)>,
    /// Called now and then; [`ControlFlow::Break`] saves and ends the build with [`VectorError::Stopped`].
    pub progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// Streams rows into the files of an [`Index`]. Memory without a graph: one block a file. With one: `padded_dim + 12` bytes a row
/// while rows come, and up to 198 more a row while the graph is built; from [`graph_rows_at_once`] rows on what a shard takes.
pub struct IndexWriter {
    dir: PathBuf,
    options: IndexOptions,
    codes: CodesWriter,
    vectors: VectorsWriter,
    build: Option<BuildCodes>,
    longest_squared: f32,
    row: Vec<f32>,
}

impl IndexWriter {
    /// Creates the files in `dir`, which must not hold them yet.
    pub fn create(dir: &Path, options: IndexOptions) -> Result<Self> {
        Ok(Self {
            dir: dir.to_path_buf(),
            codes: CodesWriter::create(dir, options.dim, options.metric, options.seed, &options.centroid)?,
            vectors: VectorsWriter::create(dir, options.dim, options.element)?,
            build: options.graph.then(|| BuildCodes::new(padded_dim(options.dim))),
            longest_squared: 0.0,
            row: Vec::with_capacity(options.dim),
            options,
        })
    }

    /// Appends a row in its stored form ([`Element::encode`]); its slot is the number of rows before it.
    pub fn push(&mut self, stored: &[u8]) -> Result<()> {
        self.options.element.decode_into(stored, self.options.dim, &mut self.row);
        self.codes.push(&self.row)?;
        self.vectors.push(stored)?;
        // More rows than can be built at once: the shards are made of the stored vectors.
        let rows_max = graph_rows_at_once(self.options.dim, self.options.build_memory_bytes);
        if self.build.as_ref().is_some_and(|build| build.len() as u64 >= rows_max.max(1)) {
            self.build = None;
        }
        if self.options.graph {
            let length_squared = match self.options.metric {
                Metric::Dot => self.row.iter().map(|x| x * x).sum(),
                Metric::Cosine | Metric::L2 | Metric::Hamming => 0.0,
            };
            self.longest_squared = self.longest_squared.max(length_squared);
            if let Some(build) = &mut self.build {
                // Under the dot product the lift follows when the longest row is known; until then its place holds this.
                build.push(self.codes.rotated(), length_squared);
            }
        }
        Ok(())
    }

    /// Writes what is open, builds the graph and opens the index. Everything is synced but the folder's entry.
    pub fn finish(self, build: BuildOptions<'_>, cache: &Arc<BlockCache>, access: Access) -> Result<Index> {
        let Self { dir, options, codes, vectors, build: build_codes, longest_squared, row: _ } = self;
        codes.finish()?;
        vectors.finish()?;
        if let Some(mut build_codes) = build_codes {
            build_codes.map_lifts(|length_squared| (longest_squared - length_squared).max(0.0).sqrt());
            let threads = build.threads;
            let edges = edges(&build_codes, options.seed, build)?;
            let codes = Codes::open(&dir, cache)?;
            let vectors = Vectors::open(&dir, access)?;
            let source = Source {
                codes: &codes,
                vectors: &vectors,
                build: &build_codes,
                edges: &edges,
                lift_max_squared: longest_squared,
            };
            writer::write(&dir, &source, threads)?;
        } else if options.graph {
            let codes = Codes::open(&dir, cache)?;
            let vectors = Vectors::open(&dir, access)?;
            let rows = Rows { codes: &codes, vectors: &vectors, lift_max_squared: longest_squared };
            let (folder, fingerprint) = match &build.checkpoint {
                Some((path, fingerprint)) => (path.with_extension(SHARDS_EXTENSION), Some(fingerprint.as_slice())),
                None => (dir.join(SHARDS_EXTENSION), None),
            };
            let parameters = BuildParameters { seed: options.seed, ..BuildParameters::default() };
            let memory_bytes = options.build_memory_bytes;
            let settings = Settings { parameters, threads: build.threads, memory_bytes, folder, fingerprint };
            partitioned::write(&dir, &rows, &settings, build.progress)?;
        }
        let mut index = Index::open_unmeasured(&dir, cache, access)?;
        if index.has_graph() {
            index.ef_table = ef_table::measure(&index)?;
            index.ef_table.write(&dir)?;
        }
        Ok(index)
    }
}

fn edges(codes: &BuildCodes, seed: u64, options: BuildOptions<'_>) -> Result<crate::graph::build::Edges> {
    let parameters = BuildParameters { seed, ..BuildParameters::default() };
    let threads = options.threads;
    let resumed =
        options.checkpoint.as_ref().and_then(|(path, rows)| GraphBuilder::resume(codes, parameters, path, rows));
    let previous = options.previous.and_then(|(index, new_of_old)| Some((index.graph.as_ref()?, new_of_old)));
    let mut builder = match (resumed, previous) {
        (Some(builder), _) => builder,
        (None, Some((graph, new_of_old))) => {
            GraphBuilder::from_previous(codes, &graph.edges()?, new_of_old, parameters, threads)
        }
        (None, _) => GraphBuilder::new(codes, parameters),
    };
    let step = (codes.len() / CHECKPOINTS).max(1);
    let mut stopped = false;
    loop {
        let mut first = None;
        let outcome = builder.build(threads, &mut |progress| {
            stopped = (options.progress)(progress).is_break();
            let from = *first.get_or_insert(progress.done);
            match stopped || (options.checkpoint.is_some() && progress.done >= from + step) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if let (ControlFlow::Break(()), Some((path, rows))) = (outcome, &options.checkpoint) {
            builder.checkpoint(path, rows)?;
        }
        match outcome {
            ControlFlow::Break(()) if stopped => return Err(VectorError::Stopped),
            ControlFlow::Break(()) => {}
            ControlFlow::Continue(()) => return Ok(builder.finish(threads)),
        }
    }
}
