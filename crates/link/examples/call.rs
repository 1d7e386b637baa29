//! Question: what does a search through a collection cost over its index?
//!
//! Data: a folder with one collection, queries and true neighbours' row numbers as `.npy` files; ids are row numbers. `bench/call.py` makes
//! the folder, runs this program and measures the same searches through Python.
//! Command: `call FOLDER COLLECTION QUERIES.npy TRUE_IDS.npy REPETITIONS [RECALL]`; `NUTHATCH_MAPPED=1` maps.
//!
//! One thread, ten hits without text and payload. A line of JSON comes out: recall, and for each query the least time of its repetitions in
//! microseconds, of the index alone (search, bounds, exact comparison) and of `Collection::search`.

#[path = "../../vector/tests/data/npy.rs"]
mod npy;

use std::path::{Path, PathBuf};
use std::time::Instant;

use npy::NpyRows;
use nuthatch_link::{Accuracy, Database, Include, Options, Search};
use nuthatch_segment::{Access, BlockCache};
use nuthatch_vector::{Index, Rows, retain_reaching};

type Outcome<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const LIMIT: usize = 10;
const CACHE_BYTES: u64 = 256 << 20;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (asked, accuracy) = match args.len() {
        5 => (&args[..], Accuracy::default()),
        6 => (&args[..5], Accuracy::Recall(args[5].parse()?)),
        _ => return Err("see the head of this file for what to write".into()),
    };
    let [folder, collection, queries, truth, repetitions] = asked else { unreachable!("five arguments") };
    let (queries, truth) = (matrix(queries)?, matrix(truth)?);
    let mapped = std::env::var_os("NUTHATCH_MAPPED").is_some();
    let db = Database::open(Path::new(folder), Options { mapped: Some(mapped), ..Options::default() })?;
    let rows = db.existing_collection(collection)?;
    let access = if mapped { Access::Mapped } else { Access::Read };
    let cache = BlockCache::new(CACHE_BYTES);
    let segments = segments(Path::new(folder))?;
    let indexes = segments.iter().map(|at| Index::open(at, &cache, access)).collect::<Result<Vec<_>, _>>()?;
    let searches: Vec<Search> = queries.iter().map(|query| search(query, accuracy)).collect();
    let mut least = vec![[f64::INFINITY; 2]; queries.len()];
    let mut found = 0;
    let repetitions: usize = repetitions.parse()?;
    // All queries of one layer, then all of the other: asked twice in a row, a query finds what it reads in the processor's caches.
    for repetition in 0..repetitions {
        let mut counts = Vec::with_capacity(queries.len());
        for (query, least) in queries.iter().zip(&mut least) {
            let started = Instant::now();
            let nearest = alone(&indexes, query, accuracy)?;
            least[0] = least[0].min(started.elapsed().as_secs_f64() * 1e6);
            counts.push(nearest.len());
        }
        for (at, search) in searches.iter().enumerate() {
            let started = Instant::now();
            let answer = rows.search(search)?;
            least[at][1] = least[at][1].min(started.elapsed().as_secs_f64() * 1e6);
            if repetition == 0 {
                let ids = answer.hits.iter().map(|hit| hit.id.parse::<f32>());
                let ids = ids.collect::<Result<Vec<_>, _>>()?;
                found += ids.iter().filter(|id| truth[at][..LIMIT].contains(id)).count();
                assert_eq!(counts[at], answer.hits.len(), "both find the same number of rows");
            }
        }
    }
    let info = rows.info()?;
    let of = |layer: usize| least.iter().map(|times| times[layer]).collect::<Vec<_>>();
    println!(
        "{}",
        serde_json::json!({
            "recall": found as f64 / (queries.len() * LIMIT) as f64, "segments": info.segments, "graphs": info.vector_graphs,
            "mapped": mapped, "index_us": of(0), "rust_us": of(1),
        })
    );
    Ok(db.close()?)
}

/// A collection's work for one vector, without anything around it.
fn alone(indexes: &[Index], query: &[f32], accuracy: Accuracy) -> Outcome<Vec<(usize, u32, f32)>> {
    let mut candidates = Vec::new();
    for (at, index) in indexes.iter().enumerate() {
        let found = index.search(query, Rows::All, LIMIT, accuracy, &|| false)?;
        candidates.extend(found.candidates.into_iter().map(|candidate| (at, candidate)));
    }
    retain_reaching(&mut candidates, LIMIT, |(_, candidate)| (candidate.lower, candidate.upper));
    let mut nearest = Vec::with_capacity(candidates.len());
    for (at, index) in indexes.iter().enumerate() {
        let own = candidates.iter().filter(|(of, _)| *of == at);
        let mut slots: Vec<u32> = own.map(|(_, candidate)| candidate.slot).collect();
        slots.sort_unstable();
        let similarities = index.compare(query, &slots)?;
        nearest.extend(slots.into_iter().zip(similarities).map(|(slot, similarity)| (at, slot, similarity)));
    }
    nearest.sort_unstable_by(|a, b| b.2.total_cmp(&a.2));
    nearest.truncate(LIMIT);
    Ok(nearest)
}

fn search(query: &[f32], accuracy: Accuracy) -> Search {
    let include = Include { text: false, payload: false, vector: false };
    Search { include, ..Search::vector(query.to_vec()).limit(LIMIT).accuracy(accuracy) }
}

/// The folders of the segments of the one collection that there is.
fn segments(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for collection in std::fs::read_dir(folder.join("indexes/0"))? {
        for segment in std::fs::read_dir(collection?.path().join("segments"))? {
            let path = segment?.path();
            if path.join("codes1").exists() {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn matrix(path: &str) -> Outcome<Vec<Vec<f32>>> {
    let mut npy = NpyRows::open(Path::new(path))?;
    let rows = npy.rows;
    let mut next = || {
        let mut row = Vec::with_capacity(npy.dim);
        npy.read(&mut row).map(|()| row)
    };
    Ok((0..rows).map(|_| next()).collect::<Result<_, _>>()?)
}
