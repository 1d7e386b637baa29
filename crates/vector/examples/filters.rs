//! Question: what does a filter cost a search, at which recall?
//!
//! Data: an index that `examples/graph.rs` built, the `.npy` files of its rows and of queries. Commands:
//!   `filters FOLDER ROWS.npy QUERIES.npy [--access read|mapped] [--cache MIB] [--recall R] [--limit K] [--queries N] [--only KIND]
//!     [--shares S,…] [--strange]`
//! Run as `cargo run --release -p nuthatch-vector --example filters -- …`. One thread, warm; a block cache of 1,024 MiB and recall .99
//! when nothing is said. A row counts as found when its exact similarity reaches that of the K-th best row that matches.
//!
//! Filters: `random`, rows at random; `beside`, those nearest to a row near the query; `other`, those nearest to any
//! row; `islands`, four such balls of very different sizes; `mixed`, one of nine tenths of the rows, the others at
//! random. `--strange`: queries that are like no row. Filtered searches alternate with unfiltered ones of the same
//! queries, and their cost is divided by that of the latter: on a busy machine the ratio means more than the times. CPU
//! is that of the thread, mean; p50 and p99 are wall time.

#[path = "../tests/data/cpu.rs"]
mod cpu;
#[path = "../tests/data/mod.rs"]
mod data;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use data::{Matrix, Numbers, read_npy};
use nuthatch_segment::{Access, BlockCache};
use nuthatch_vector::*;
use roaring::RoaringBitmap;

type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Shares of the rows that match, and of those of filters that are made for every query.
const SHARES: [f64; 11] = [0.5, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0001];
const SHARES_LOCAL: [f64; 3] = [0.5, 0.1, 0.01];
/// The rank of the query's neighbour around which the rows of `beside` lie.
const BESIDE: usize = 200;
/// The fractions of the matching rows in the balls of `islands`.
const ISLANDS: [f64; 4] = [0.9, 0.08, 0.015, 0.005];
/// The fraction of the matching rows of `mixed` that lies anywhere.
const MIXED: f64 = 0.1;
const ROUNDS: usize = 4;

struct Measured<'a> {
    index: &'a Index,
    limit: usize,
    accuracy: Accuracy,
}

/// The cost of some searches.
#[derive(Default)]
struct Cost {
    wall_us: Vec<f64>,
    cpu_us: f64,
    hops: usize,
    compared: usize,
    plans: BTreeMap<&'static str, usize>,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let [folder, rows, queries] = &arguments[..3.min(arguments.len())] else {
        return Err("see the head of this file for what to write".into());
    };
    let access = if option("--access") == Some("mapped") { Access::Mapped } else { Access::Read };
    let cache = BlockCache::new(option("--cache").map_or(Ok(1024), str::parse::<u64>)? << 20);
    let index = Index::open(Path::new(folder), &cache, access)?;
    let rows = read_npy(Path::new(rows), usize::MAX);
    let mut queries = read_npy(Path::new(queries), option("--queries").map_or(Ok(200), str::parse)?);
    if arguments.iter().any(|argument| argument == "--strange") {
        let dim = queries.dim;
        queries.values.chunks_exact_mut(dim).for_each(<[f32]>::reverse);
    }
    let accuracy = Accuracy::Recall(option("--recall").map_or(Ok(RECALL_DEFAULT), str::parse)?);
    let measured = Measured { index: &index, limit: option("--limit").map_or(Ok(10), str::parse)?, accuracy };
    let only = option("--only");
    let asked: Option<Vec<f64>> =
        option("--shares").map(|list| list.split(',').map(str::parse).collect()).transpose()?;
    println!(
        "| filter | share | recall | CPU us | ratio | p50 us | p99 us | ratio p50 | hops | compared | plans | unfiltered: CPU us, p50 us |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|");
    for kind in ["random", "beside", "other", "islands", "mixed"]
        .into_iter()
        .filter(|kind| only.is_none_or(|only| only == *kind))
    {
        let mut numbers = Numbers(5);
        let shares = if kind == "random" { &SHARES[..] } else { &SHARES_LOCAL };
        for share in asked.as_deref().unwrap_or(shares) {
            let filters: Vec<RoaringBitmap> = match kind {
                "random" => vec![
                    (0..index.rows())
                        .filter(|_| (numbers.next() >> 11) as f64 <= share * (1u64 << 53) as f64)
                        .collect(),
                ],
                _ => queries
                    .rows()
                    .map(|query| around(&index, &rows, query, kind, *share, &mut numbers))
                    .collect::<Outcome<_>>()?,
            };
            measured.row(kind, *share, &queries, &filters)?;
        }
    }
    Ok(())
}

/// The rows nearest to a row near the query, or to any.
fn around(
    index: &Index,
    rows: &Matrix,
    query: &[f32],
    kind: &str,
    share: f64,
    numbers: &mut Numbers,
) -> Outcome<RoaringBitmap> {
    let any = |numbers: &mut Numbers| (numbers.next() % rows.len() as u64) as u32;
    match kind {
        "beside" => {
            let near = index.search(query, Rows::All, BESIDE, Accuracy::Ef(BESIDE * 3), &|| false)?;
            Ok(ball(index, rows, near.candidates[BESIDE - 1].slot, share))
        }
        "islands" => {
            let balls = ISLANDS.map(|part| ball(index, rows, any(numbers), share * part));
            Ok(balls.into_iter().fold(RoaringBitmap::new(), |all, ball| all | ball))
        }
        "mixed" => {
            let some =
                (0..index.rows()).filter(|_| (numbers.next() >> 11) as f64 <= share * MIXED * (1u64 << 53) as f64);
            Ok(some.collect::<RoaringBitmap>() | ball(index, rows, any(numbers), share * (1.0 - MIXED)))
        }
        _ => Ok(ball(index, rows, any(numbers), share)),
    }
}

/// The rows nearest to one.
fn ball(index: &Index, rows: &Matrix, middle: u32, share: f64) -> RoaringBitmap {
    let middle = rows.row(middle as usize);
    let mut all: Vec<(f32, u32)> =
        rows.rows().zip(0..).map(|(row, slot)| (index.metric().similarity(middle, row), slot)).collect();
    let count = ((rows.len() as f64 * share) as usize).max(1);
    all.select_nth_unstable_by(count - 1, |a, b| b.0.total_cmp(&a.0));
    all[..count].iter().map(|(_, slot)| *slot).collect()
}

impl Measured<'_> {
    fn row(&self, kind: &str, share: f64, queries: &Matrix, filters: &[RoaringBitmap]) -> Outcome<()> {
        let only = |at: usize| Rows::Only(&filters[at % filters.len()]);
        let best = |query, rows| -> Outcome<Vec<f32>> {
            let found = self.index.search(query, rows, self.limit, Accuracy::Exact, &|| false)?;
            Ok(found.candidates.iter().take(self.limit).map(|candidate| candidate.similarity).collect())
        };
        let store: Vec<Vec<f32>> =
            queries.rows().enumerate().map(|(at, query)| best(query, only(at))).collect::<Outcome<_>>()?;
        let (mut filtered, mut plain) = (Cost::default(), Cost::default());
        let (mut hits, mut wanted) = (0, 0);
        // By turns, so that a busy moment falls on both; the first round warms.
        for round in 0..ROUNDS {
            if round == 1 {
                (filtered, plain) = Default::default();
                (hits, wanted) = (0, 0);
            }
            for (at, query) in queries.rows().enumerate() {
                let found = self.search(query, only(at), &mut filtered)?;
                assert!(found.len() >= store[at].len(), "{} of {} rows came back", found.len(), store[at].len());
                wanted += store[at].len();
                hits +=
                    found.iter().filter(|similarity| store[at].last().is_some_and(|last| *similarity >= last)).count();
            }
            queries.rows().try_for_each(|query| self.search(query, Rows::All, &mut plain).map(drop))?;
        }
        let count = (queries.len() * (ROUNDS - 1)) as f64;
        let (p50, plain_p50) = (filtered.percentile(50), plain.percentile(50));
        println!(
            "| {kind} | {share} | {:.4} | {:.0} | {:.2} | {p50:.0} | {:.0} | {:.2} | {:.0} | {:.1} | {:?} | {:.0}, {plain_p50:.0} |",
            hits as f64 / wanted as f64,
            filtered.cpu_us / count,
            filtered.cpu_us / plain.cpu_us,
            filtered.percentile(99),
            p50 / plain_p50,
            filtered.hops as f64 / count,
            filtered.compared as f64 / count,
            filtered.plans,
            plain.cpu_us / count,
        );
        Ok(())
    }

    /// The similarities of the best.
    fn search(&self, query: &[f32], rows: Rows<'_>, cost: &mut Cost) -> Outcome<Vec<f32>> {
        let (started, cpu) = (Instant::now(), cpu::thread_seconds());
        let mut found = self.index.search(query, rows, self.limit, self.accuracy, &|| false)?;
        retain_reaching(&mut found.candidates, self.limit, |candidate| (candidate.lower, candidate.upper));
        let (known, unknown): (Vec<Candidate>, Vec<Candidate>) =
            found.candidates.iter().copied().partition(|candidate| candidate.lower == candidate.upper);
        let mut best: Vec<f32> = known.iter().map(|candidate| candidate.similarity).collect();
        let slots: Vec<u32> = unknown.iter().map(|candidate| candidate.slot).collect();
        best.extend(self.index.compare(query, &slots)?);
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        best.truncate(self.limit);
        cost.cpu_us += (cpu::thread_seconds() - cpu) * 1e6;
        cost.wall_us.push(started.elapsed().as_secs_f64() * 1e6);
        cost.hops += found.walk.hops;
        cost.compared += slots.len();
        *cost.plans.entry(found.plan.as_str()).or_default() += 1;
        Ok(best)
    }
}

impl Cost {
    fn percentile(&mut self, percent: usize) -> f64 {
        self.wall_us.sort_unstable_by(f64::total_cmp);
        self.wall_us[(self.wall_us.len() * percent / 100).min(self.wall_us.len() - 1)]
    }
}
