//! Question: what does the index of one segment cost to build and to search, at which recall?
//!
//! Data: any two-dimensional `.npy` file of rows, one of queries, one of the true neighbours' row numbers. Lines of JSON come out.
//! Commands:
//!   `graph build ROWS.npy cosine|dot|l2 FOLDER [--rows N] [--threads T] [--element f32|f16|uint8…] [--memory MIB] [--flat]`
//!   `graph search FOLDER QUERIES.npy TRUE_IDS.npy [--access read|mapped|auto] [--ef 16,32,…] [--recalls .9,.99,…] [--exact]
//!     [--limit K] [--queries N] [--filter P] [--cache MIB] [--rounds R]` one thread, a block cache of 1,024 MiB; `--filter` searches only every P-th row (true ids are then computed).
//!     `least_us` is the mean over the queries of the least of R times (1 when left out): what a busy machine adds is in the other times.
//! Run as `cargo run --release -p nuthatch-vector --example graph -- …`. A row counts as found when its exact similarity reaches that
//! of the K-th true neighbour. CPU time is that of the searching thread; nothing is asked of a store.

#[path = "../tests/data/cpu.rs"]
mod cpu;
#[path = "../tests/data/mod.rs"]
mod data;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use data::{Matrix, NpyRows, read_npy};
use nuthatch_segment::{Access, BlockCache};
use nuthatch_vector::*;
use roaring::RoaringBitmap;

type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let plain: Vec<&str> =
        arguments.iter().map(String::as_str).take_while(|argument| !argument.starts_with("--")).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    match plain.as_slice() {
        ["build", rows, metric, folder] => build(
            Path::new(rows),
            (metric.parse()?, option("--element").unwrap_or("f32").parse()?),
            Path::new(folder),
            option("--rows").map_or(Ok(usize::MAX), str::parse)?,
            option("--threads").map_or(Ok(2), str::parse)?,
            option("--memory").map_or(Ok(u64::MAX), |mib| mib.parse::<u64>().map(|mib| mib << 20))?,
            !flag("--flat"),
        ),
        ["search", folder, queries, store] => {
            let access = match option("--access") {
                Some("mapped") => Access::Mapped,
                Some("auto") => Access::Auto,
                _ => Access::Read,
            };
            let cache_mib = option("--cache").map_or(Ok(1024), str::parse::<u64>)?;
            let index = Index::open(Path::new(folder), &BlockCache::new(cache_mib << 20), access)?;
            let queries_max = option("--queries").map_or(Ok(usize::MAX), str::parse)?;
            let queries = read_npy(Path::new(queries), queries_max);
            let limit = option("--limit").map_or(Ok(10), str::parse)?;
            let rounds = option("--rounds").map_or(Ok(1), str::parse)?;
            let filter = option("--filter").map(|every| every.parse::<usize>()).transpose()?;
            let only: Option<RoaringBitmap> = filter.map(|every| (0..index.rows()).step_by(every).collect());
            let reach = reach(&index, &queries, Path::new(store), limit, only.as_ref())?;
            let list = |name: &str| option(name).unwrap_or_default().split(',').filter_map(|x| x.parse::<f32>().ok());
            let asked = list("--ef").map(|ef| Accuracy::Ef(ef as usize));
            let recalls = list("--recalls").map(Accuracy::Recall);
            for accuracy in asked.chain(recalls).chain(flag("--exact").then_some(Accuracy::Exact)) {
                let rows = only.as_ref().map_or(Rows::All, Rows::Only);
                search(&index, &queries, &reach, rows, (limit, rounds), accuracy)?;
            }
            Ok(())
        }
        _ => Err("see the head of this file for what to write".into()),
    }
}

fn build(
    source: &Path,
    (metric, element): (Metric, Element),
    folder: &Path,
    rows_max: usize,
    threads: usize,
    build_memory_bytes: u64,
    graph: bool,
) -> Outcome<()> {
    let mut npy = NpyRows::open(source)?;
    let (rows, dim) = (npy.rows.min(rows_max), npy.dim);
    let mut row = Vec::new();
    let mut centroid = Centroid::new(dim, metric)?;
    for at in 0..rows {
        npy.read(&mut row)?;
        if at % (rows / 4096).max(1) == 0 {
            centroid.add(&row)?;
        }
    }
    std::fs::remove_dir_all(folder).ok();
    std::fs::create_dir_all(folder)?;
    let (started, cpu) = (Instant::now(), cpu::process_seconds());
    let options = IndexOptions { dim, metric, element, seed: 42, centroid: centroid.mean(), graph, build_memory_bytes };
    let mut writer = IndexWriter::create(folder, options)?;
    let mut npy = NpyRows::open(source)?;
    for _ in 0..rows {
        npy.read(&mut row)?;
        writer.push(&element.encode(&row)?)?;
    }
    let encoded = cpu::process_seconds() - cpu;
    let progress = &mut |progress: Progress| {
        eprint!("\r{} of {} rows, {:.0} s ", progress.done, progress.total, started.elapsed().as_secs_f64());
        ControlFlow::Continue(())
    };
    let options = BuildOptions { threads, previous: None, checkpoint: None, progress };
    writer.finish(options, &BlockCache::new(16 << 20), Access::Read)?;
    let disk: u64 =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum::<std::io::Result<u64>>()?;
    println!(
        "{{\"rows\": {rows}, \"dim\": {dim}, \"cpu_s\": {:.1}, \"encode_cpu_s\": {encoded:.1}, \"wall_s\": {:.1}, \"threads\": {threads}, \"disk_bytes\": {disk}, \"peak_rss_kb\": {}}}",
        cpu::process_seconds() - cpu,
        started.elapsed().as_secs_f64(),
        status("VmHWM:")
    );
    Ok(())
}

/// Returns the similarity of the `limit`-th best row for each query.
fn reach(
    index: &Index,
    queries: &Matrix,
    store: &Path,
    limit: usize,
    only: Option<&RoaringBitmap>,
) -> Outcome<Vec<f32>> {
    let store = read_npy(store, queries.len());
    let mut reach = Vec::with_capacity(queries.len());
    for (query, store) in queries.rows().zip(store.rows()) {
        let similarity = match only {
            None => index.compare(query, &[store[limit - 1] as u32])?[0],
            Some(only) => {
                let found = index.search(query, Rows::Only(only), limit, Accuracy::Exact, &|| false)?;
                found
                    .candidates
                    .get(limit - 1)
                    .or(found.candidates.last())
                    .map_or(0.0, |candidate| candidate.similarity)
            }
        };
        reach.push(similarity);
    }
    Ok(reach)
}

fn search(
    index: &Index,
    queries: &Matrix,
    reach: &[f32],
    rows: Rows<'_>,
    (limit, rounds): (usize, usize),
    accuracy: Accuracy,
) -> Outcome<()> {
    let (mut hits, mut hops, mut cold, mut compared) = (0, 0, 0, 0);
    let mut plan = Plan::Nothing;
    let mut times_us = Vec::with_capacity(queries.len());
    let mut least_us = vec![f64::INFINITY; queries.len()];
    let mut cpu = 0.0;
    for round in 0..=rounds {
        cpu = cpu::thread_seconds();
        for ((query, reach), least_us) in queries.rows().zip(reach).zip(&mut least_us) {
            let started = Instant::now();
            let mut found = index.search(query, rows, limit, accuracy, &|| false)?;
            let (similarities, read) = best(index, query, &mut found.candidates, limit)?;
            let took_us = started.elapsed().as_secs_f64() * 1e6;
            *least_us = least_us.min(took_us);
            if round == rounds {
                times_us.push(took_us);
                hits += similarities.iter().filter(|similarity| *similarity >= reach).count().min(limit);
                (hops, cold, compared) = (hops + found.walk.hops, cold + found.walk.cold, compared + read);
                plan = found.plan;
            }
        }
        cpu = cpu::thread_seconds() - cpu;
    }
    times_us.sort_unstable_by(f64::total_cmp);
    let queries = queries.len();
    let least_us = least_us.iter().sum::<f64>() / queries as f64;
    let per_query = |count: usize| count as f64 / queries as f64;
    println!(
        "{{\"accuracy\": \"{accuracy:?}\", \"plan\": \"{plan:?}\", \"recall\": {:.4}, \"cpu_us\": {:.1}, \"least_us\": {least_us:.1}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \"hops\": {:.1}, \"compared\": {:.1}, \"cold\": {:.2}, \"rss_anon_kb\": {}, \"rss_file_kb\": {}}}",
        per_query(hits) / limit as f64,
        cpu * 1e6 / queries as f64,
        times_us[queries / 2],
        times_us[queries * 99 / 100],
        per_query(hops),
        per_query(compared),
        per_query(cold),
        status("RssAnon:"),
        status("RssFile:"),
    );
    Ok(())
}

/// The exact similarities of the best, and how many rows had to be read for them.
fn best(index: &Index, query: &[f32], candidates: &mut Vec<Candidate>, limit: usize) -> Outcome<(Vec<f32>, usize)> {
    retain_reaching(candidates, limit, |candidate| (candidate.lower, candidate.upper));
    let mut similarities: Vec<f32> = Vec::with_capacity(candidates.len());
    let mut slots = Vec::with_capacity(candidates.len());
    for candidate in candidates.iter() {
        match candidate.lower == candidate.upper {
            true => similarities.push(candidate.similarity),
            false => slots.push(candidate.slot),
        }
    }
    similarities.extend(index.compare(query, &slots)?);
    similarities.sort_unstable_by(|a, b| b.total_cmp(a));
    similarities.truncate(limit);
    Ok((similarities, slots.len()))
}

/// A field of this process' status, in KiB.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("measured on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
