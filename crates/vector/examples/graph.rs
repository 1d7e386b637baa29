//! Question: what does the index of one segment cost to build and to search, at which recall?
//!
//! Data: any two-dimensional `.npy` file of rows, one of queries, one of the true neighbours' row numbers. Lines of JSON come out.
//! Commands:
//!   `graph build ROWS.npy cosine|dot|l2 FOLDER [--rows N] [--threads T] [--element f32|f16|uint8…] [--flat]`
//!   `graph search FOLDER QUERIES.npy TRUE_IDS.npy [--access read|mapped] [--efforts 16,32,…] [--recalls .9,.99,…] [--exact]
//!     [--limit K] [--queries N] [--filter P] [--cache MIB]` one thread, a block cache of 1,024 MiB; `--filter` searches only every P-th row (true ids are then computed).
//! Run as `cargo run --release -p nuthatch-vector --example graph -- …`. A row counts as found when its exact similarity reaches that
//! of the K-th true neighbour. CPU time is that of the searching thread; nothing is asked of a store.

#[path = "../tests/data/mod.rs"]
mod data;

use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use data::{Matrix, read_npy};
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
            metric.parse()?,
            option("--element").unwrap_or("f32").parse()?,
            Path::new(folder),
            option("--rows").map_or(Ok(usize::MAX), str::parse)?,
            option("--threads").map_or(Ok(2), str::parse)?,
            !flag("--flat"),
        ),
        ["search", folder, queries, truth] => {
            let access = if option("--access") == Some("mapped") { Access::Mapped } else { Access::Read };
            let cache_mib = option("--cache").map_or(Ok(1024), str::parse::<u64>)?;
            let index = Index::open(Path::new(folder), &BlockCache::new(cache_mib << 20), access)?;
            let queries_max = option("--queries").map_or(Ok(usize::MAX), str::parse)?;
            let queries = read_npy(Path::new(queries), queries_max);
            let limit = option("--limit").map_or(Ok(10), str::parse)?;
            let filter = option("--filter").map(|every| every.parse::<usize>()).transpose()?;
            let only: Option<RoaringBitmap> = filter.map(|every| (0..index.rows()).step_by(every).collect());
            let reach = reach(&index, &queries, Path::new(truth), limit, only.as_ref())?;
            let list = |name: &str| option(name).unwrap_or_default().split(',').filter_map(|x| x.parse::<f32>().ok());
            let efforts = list("--efforts").map(|effort| Accuracy::Effort(effort as usize));
            let recalls = list("--recalls").map(Accuracy::Recall);
            for accuracy in efforts.chain(recalls).chain(flag("--exact").then_some(Accuracy::Exact)) {
                let rows = only.as_ref().map_or(Rows::All, Rows::Only);
                search(&index, &queries, &reach, rows, limit, accuracy)?;
            }
            Ok(())
        }
        _ => Err("see the head of this file for what to write".into()),
    }
}

/// Rows of a `.npy` file of u8, f16 or f32, one at a time.
struct NpyRows {
    file: BufReader<std::fs::File>,
    kind: String,
    rows: usize,
    dim: usize,
}

impl NpyRows {
    fn open(path: &Path) -> Outcome<Self> {
        let mut file = BufReader::with_capacity(1 << 20, std::fs::File::open(path)?);
        let mut head = [0; 10];
        file.read_exact(&mut head)?;
        let mut header = vec![0; usize::from(u16::from_le_bytes([head[8], head[9]]))];
        file.read_exact(&mut header)?;
        let header = String::from_utf8(header)?;
        let between = |from: &str, to: char| Some(header.split_once(from)?.1.split_once(to)?.0.to_string());
        let shape = between("'shape': (", ')').ok_or("no shape")?;
        let shape: Vec<usize> = shape.split(',').filter_map(|x| x.trim().parse().ok()).collect();
        let kind = between("'descr': '", '\'').ok_or("no kind")?;
        Ok(Self { file, kind, rows: shape[0], dim: shape[1] })
    }

    fn read(&mut self, row: &mut Vec<f32>) -> Outcome<()> {
        row.clear();
        let bytes = match self.kind.as_str() {
            "|u1" => 1,
            "<f2" => 2,
            "<f4" => 4,
            kind => return Err(format!("values of kind {kind}").into()),
        };
        let mut raw = vec![0; self.dim * bytes];
        self.file.read_exact(&mut raw)?;
        match bytes {
            1 => row.extend(raw.iter().map(|x| f32::from(*x))),
            2 => row.extend(raw.chunks_exact(2).map(|x| half::f16::from_le_bytes([x[0], x[1]]).to_f32())),
            _ => row.extend(raw.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]))),
        }
        Ok(())
    }
}

fn build(
    source: &Path,
    metric: Metric,
    element: Element,
    folder: &Path,
    rows_max: usize,
    threads: usize,
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
    let (started, cpu) = (Instant::now(), cpu_seconds("self"));
    let options = IndexOptions { dim, metric, element, seed: 42, centroid: centroid.mean(), graph };
    let mut writer = IndexWriter::create(folder, options)?;
    let mut npy = NpyRows::open(source)?;
    for _ in 0..rows {
        npy.read(&mut row)?;
        writer.push(&element.encode(&row)?)?;
    }
    let encoded = cpu_seconds("self") - cpu;
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
        cpu_seconds("self") - cpu,
        started.elapsed().as_secs_f64(),
        status("VmHWM:")
    );
    Ok(())
}

/// What the `limit`-th best row of each query reaches.
fn reach(
    index: &Index,
    queries: &Matrix,
    truth: &Path,
    limit: usize,
    only: Option<&RoaringBitmap>,
) -> Outcome<Vec<f32>> {
    let truth = read_npy(truth, queries.len());
    let mut reach = Vec::with_capacity(queries.len());
    for (query, truth) in queries.rows().zip(truth.rows()) {
        let similarity = match only {
            None => index.compare(query, &[truth[limit - 1] as u32])?[0],
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
    limit: usize,
    accuracy: Accuracy,
) -> Outcome<()> {
    let (mut hits, mut hops, mut cold, mut compared) = (0, 0, 0, 0);
    let mut plan = Plan::Nothing;
    let mut times_us = Vec::with_capacity(queries.len());
    let mut cpu = 0.0;
    for measured in [false, true] {
        cpu = cpu_seconds("thread-self");
        for (query, reach) in queries.rows().zip(reach) {
            let started = Instant::now();
            let mut found = index.search(query, rows, limit, accuracy, &|| false)?;
            let (similarities, read) = best(index, query, &mut found.candidates, limit)?;
            if measured {
                times_us.push(started.elapsed().as_secs_f64() * 1e6);
                hits += similarities.iter().filter(|similarity| *similarity >= reach).count().min(limit);
                (hops, cold, compared) = (hops + found.walk.hops, cold + found.walk.cold, compared + read);
                plan = found.plan;
            }
        }
        cpu = cpu_seconds("thread-self") - cpu;
    }
    times_us.sort_unstable_by(f64::total_cmp);
    let queries = queries.len();
    let per_query = |count: usize| count as f64 / queries as f64;
    println!(
        "{{\"accuracy\": \"{accuracy:?}\", \"plan\": \"{plan:?}\", \"recall\": {:.4}, \"cpu_us\": {:.1}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \"hops\": {:.1}, \"compared\": {:.1}, \"cold\": {:.2}, \"rss_anon_kb\": {}, \"rss_file_kb\": {}}}",
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

/// CPU time of this process (`self`) or thread (`thread-self`).
fn cpu_seconds(whose: &str) -> f64 {
    if whose == "self" {
        let stat = std::fs::read_to_string("/proc/self/stat").expect("measured on Linux");
        let fields: Vec<&str> = stat.rsplit_once(')').expect("the name is in brackets").1.split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number of ticks");
        return (ticks(11) + ticks(12)) / 100.0;
    }
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("measured on Linux");
    statistics.split(' ').next().and_then(|field| field.parse::<f64>().ok()).expect("nanoseconds on the CPU") / 1e9
}

/// A field of this process' status, in KiB.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("measured on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
