//! Question: what does a search of one flat segment cost, and how many candidates does it leave to compare exactly?
//!
//! Data: 50,000 MiniLM vectors (cosine, 384-d), 200,000 SIFT descriptors (L2, 128-d), and with `all` Gaussian clusters.
//! Command: `cargo run --release -p nuthatch-vector --example scan [all]`. One thread's CPU time, warm cache, k = 10. Recall counts a row
//! as found when its exact similarity reaches that of the k-th best.

#[path = "../tests/data/cpu.rs"]
mod cpu;
#[path = "../tests/data/mod.rs"]
mod data;

use data::{Matrix, clusters, read_npy};
use nuthatch_segment::BlockCache;
use nuthatch_vector::*;
use roaring::RoaringBitmap;

const LIMIT: usize = 10;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    if let Some(folder) = data::folder() {
        let rows = read_npy(&folder.join("text/docs50k_vec_f16.npy"), usize::MAX);
        let queries = read_npy(&folder.join("text/queries1k_vec_f16.npy"), 500);
        measure("text384-50k", &rows, &queries, Metric::Cosine)?;
        let rows = read_npy(&folder.join("sift/base_0.npy"), 200_000);
        let queries = read_npy(&folder.join("sift/query.npy"), 300);
        measure("sift128-200k", &rows, &queries, Metric::L2)?;
    }
    if std::env::args().any(|argument| argument == "all") {
        for dim in [8, 32, 64, 128, 384, 1024] {
            for spread in [0.1, 0.5] {
                let (rows, queries) = clusters(dim, 20_000, 100, 50, spread, 7);
                for metric in [Metric::Cosine, Metric::L2] {
                    measure(&format!("clusters{dim}-20k spread {spread} {metric}"), &rows, &queries, metric)?;
                }
            }
        }
    }
    Ok(())
}

fn measure(
    name: &str,
    rows: &Matrix,
    queries: &Matrix,
    metric: Metric,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut centroid = Centroid::new(rows.dim, metric)?;
    rows.rows().step_by(8).try_for_each(|row| centroid.add(row))?;
    let started = cpu::thread_seconds();
    let mut writer = CodesWriter::create(folder.path(), rows.dim, metric, 42, &centroid.mean())?;
    rows.rows().try_for_each(|row| writer.push(row))?;
    let files = writer.finish()?;
    let us_per_row = (cpu::thread_seconds() - started) * 1e6 / rows.len() as f64;
    println!("\n{name}: encode {us_per_row:.2} us/row, files {files:?}");

    let codes = Codes::open(folder.path(), &BlockCache::new(1 << 30))?;
    let reach: Vec<f32> = queries
        .rows()
        .map(|query| {
            let mut exact: Vec<f32> = rows.rows().map(|row| metric.similarity(query, row)).collect();
            *exact.select_nth_unstable_by(LIMIT - 1, |a, b| b.total_cmp(a)).1
        })
        .collect();
    for query in queries.rows() {
        codes.search(query, Rows::All, LIMIT)?;
    }
    let started = cpu::thread_seconds();
    let rounds = 5;
    for query in (1..rounds).flat_map(|_| queries.rows()) {
        codes.search(query, Rows::All, LIMIT)?;
    }
    let found: Vec<_> = queries.rows().map(|query| codes.search(query, Rows::All, LIMIT)).collect::<Result<_>>()?;
    let us_search = (cpu::thread_seconds() - started) * 1e6 / (rounds * queries.len()) as f64;
    let started = cpu::thread_seconds();
    let mut hits = 0;
    for ((query, found), reach) in queries.rows().zip(&found).zip(&reach) {
        let exact = found.iter().map(|candidate| metric.similarity(query, rows.row(candidate.slot as usize)));
        hits += exact.filter(|similarity| similarity >= reach).count().min(LIMIT);
    }
    let us_rerank = (cpu::thread_seconds() - started) * 1e6 / queries.len() as f64;
    let recall = hits as f64 / (queries.len() * LIMIT) as f64;
    let mut counts: Vec<usize> = found.iter().map(Vec::len).collect();
    counts.sort_unstable();
    println!(
        "  recall@{LIMIT} {recall:.4}, {us_search:.1} us/query + {us_rerank:.1} us rerank of {} candidates (median), {} (p99)",
        counts[counts.len() / 2],
        counts[counts.len() * 99 / 100],
    );
    for share in [2, 5, 10, 20, 50, 100, 1000] {
        let only: RoaringBitmap = (0..rows.len() as u32)
            .filter(|slot| slot.wrapping_mul(2_654_435_761) >> 8 < u32::MAX / 256 / share)
            .collect();
        let started = cpu::thread_seconds();
        for query in queries.rows() {
            codes.search(query, Rows::Only(&only), LIMIT)?;
        }
        let us_search = (cpu::thread_seconds() - started) * 1e6 / queries.len() as f64;
        println!("  filter 1 in {share}: {us_search:.1} us/query, {:.1} ns/match", us_search * 1e3 / only.len() as f64);
    }
    let mut memtable = VectorMemtable::new(rows.dim, metric)?;
    let fresh = rows.len().min(8192);
    let started = cpu::thread_seconds();
    for row in 0..fresh {
        memtable.push(row as u64, rows.row(row))?;
    }
    let us_per_row = (cpu::thread_seconds() - started) * 1e6 / fresh as f64;
    let started = cpu::thread_seconds();
    let mut found = 0;
    for query in queries.rows() {
        found += memtable.search(query, |_| true, LIMIT)?.len();
    }
    let us_search = (cpu::thread_seconds() - started) * 1e6 / queries.len() as f64;
    println!(
        "  memtable of {fresh}: {} bytes, {us_per_row:.2} us/row to push, {us_search:.1} us/query, {:.1} candidates (mean)",
        memtable.bytes(),
        found as f64 / queries.len() as f64
    );
    Ok(())
}
