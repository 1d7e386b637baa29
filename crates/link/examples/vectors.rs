//! Question: what does a collection of many vectors cost to fill, to open, to search with and without filters, and to search
//! while rows keep coming?
//!
//! Data: any two-dimensional `.npy` files of f32 rows, queries and true neighbours' row numbers (i32). Durability: `commit`,
//! every call fsynced, 1,000 rows a call. Budget: the default 64 MiB, or `NUTHATCH_MEMORY_BUDGET_MIB`; for building graphs the
//! default, or `NUTHATCH_BUILD_MEMORY_MIB`; `NUTHATCH_MAPPED=1` maps.
//! Each step is a process of its own, so that its memory is its own:
//!
//! ```text
//! cargo run --release -p nuthatch-link --example vectors -- load FOLDER ROWS.npy cosine|dot|l2 [ROWS_MAX]
//! cargo run --release -p nuthatch-link --example vectors -- ask FOLDER QUERIES.npy TRUE_IDS.npy [RECALL]
//! cargo run --release -p nuthatch-link --example vectors -- filter FOLDER QUERIES.npy [RECALL]
//! cargo run --release -p nuthatch-link --example vectors -- live FOLDER QUERIES.npy SECONDS [RECALL]
//! ```
//!
//! `filter` compares with an exact search of the same collection; `live` searches with 2 threads, first alone, then while
//! 1,000 rows a second arrive in batches of 50, each replacing a stored one. One thread searches in `ask` and `filter`.

#[path = "../../vector/tests/data/cpu.rs"]
mod cpu;
mod measuring;
#[path = "../../vector/tests/data/npy.rs"]
mod npy;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measuring::Peak;
use npy::NpyRows;
use nuthatch_link::*;

type Outcome<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const LIMIT: usize = 10;
const COLLECTION: &str = "rows";

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let recall = |text: &str| -> Outcome<Accuracy> { Ok(Accuracy::Recall(text.parse()?)) };
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["load", folder, rows, metric] => load(Path::new(folder), Path::new(rows), metric.parse()?, usize::MAX),
        ["load", folder, rows, metric, most] => {
            load(Path::new(folder), Path::new(rows), metric.parse()?, most.parse()?)
        }
        ["ask", folder, queries, store] => ask(Path::new(folder), queries, store, Accuracy::default()),
        ["ask", folder, queries, store, aim] => ask(Path::new(folder), queries, store, recall(aim)?),
        ["filter", folder, queries] => filter(Path::new(folder), queries, Accuracy::default()),
        ["filter", folder, queries, aim] => filter(Path::new(folder), queries, recall(aim)?),
        ["live", folder, queries, seconds] => live(Path::new(folder), queries, seconds.parse()?, Accuracy::default()),
        ["live", folder, queries, seconds, aim] => live(Path::new(folder), queries, seconds.parse()?, recall(aim)?),
        _ => Err("see the head of this file for what to write".into()),
    }
}

fn options() -> Options {
    let bytes = |name: &str| Some(std::env::var(name).ok()?.parse::<u64>().ok()? << 20);
    let default = Options::default();
    Options {
        memory_budget_bytes: bytes("NUTHATCH_MEMORY_BUDGET_MIB").unwrap_or(default.memory_budget_bytes),
        build_memory_bytes: bytes("NUTHATCH_BUILD_MEMORY_MIB").unwrap_or(default.build_memory_bytes),
        mapped: std::env::var_os("NUTHATCH_MAPPED").map(|_| true),
        ..default
    }
}

fn load(folder: &Path, source: &Path, metric: Metric, most: usize) -> Outcome {
    let mut npy = NpyRows::open(source)?;
    let db = Database::open(folder, options())?;
    let settings = CollectionOptions {
        dim: Some(npy.dim),
        metric: Some(metric),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    };
    let rows = db.collection(COLLECTION, settings)?;
    let total = npy.rows.min(most);
    let started = Instant::now();
    let peak = Peak::watch();
    for first in (0..total).step_by(1000) {
        let ids = first..total.min(first + 1000);
        let records: Vec<Record> = ids.map(|id| Ok(record(id, next_row(&mut npy)?))).collect::<Outcome<_>>()?;
        rows.upsert(records)?;
    }
    let loaded = started.elapsed().as_secs_f64();
    while !rows.optimize(Some(Duration::from_secs(3600)))? {}
    let info = rows.info().unwrap();
    println!(
        "{total} rows of {} dimensions: written in {loaded:.1} s ({:.0}/s), merged after {:.1} s into {} segments, {} with a graph; {:.1} CPU s; at most {} MiB resident, {} MiB anonymous",
        npy.dim,
        total as f64 / loaded,
        started.elapsed().as_secs_f64(),
        info.segments,
        info.vector_graphs,
        cpu::process_seconds(),
        peak.resident_bytes() >> 20,
        peak.anonymous_bytes() >> 20
    );
    println!("disk: {} MiB", db.stats()?.disk.total_bytes >> 20);
    Ok(db.close()?)
}

/// Every row has a number, and a word for one row in 2, 10, 100, 1,000 and 10,000.
fn record(id: usize, vector: Vec<f32>) -> Record {
    // Numbers that have nothing to do with the order of rows.
    let mixed = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let one_in = [2, 10, 100, 1000, 10_000].into_iter().filter(|n| mixed.is_multiple_of(*n));
    let words = one_in.map(|n| Value::Text(format!("1/{n}"))).collect();
    let payload = [("n".to_string(), Value::Int(id as i64)), ("share".to_string(), Value::Array(words))];
    Record::new(id.to_string()).vector(vector).payload(payload.into())
}

fn ask(folder: &Path, queries: &str, store: &str, accuracy: Accuracy) -> Outcome {
    let queries = matrix(queries)?;
    let store = matrix(store)?;
    let before = resident();
    let started = Instant::now();
    let db = Database::open(folder, options())?;
    let rows = db.existing_collection(COLLECTION)?;
    rows.search(&search(&queries[0], accuracy))?;
    println!("open to first answer: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    for round in ["first round", "second round"] {
        let (mut times, mut found) = (Vec::new(), 0);
        let cpu = cpu::thread_seconds();
        let mut plans: Vec<String> = Vec::new();
        let mut cold = 0;
        for (query, store) in queries.iter().zip(&store) {
            let started = Instant::now();
            let answer = rows.search(&search(query, accuracy))?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            // Ties count: a hit as good as the last true one is right.
            let worst = store[..LIMIT].iter().map(|id| id.to_string()).collect::<Vec<_>>();
            found += answer.hits.iter().filter(|hit| worst.contains(&hit.id)).count();
            let plan = answer.explain.vector.as_ref();
            cold += plan.map_or(0, |plan| plan.cold_reads);
            plans.extend(plan.map(|plan| plan.plan.clone()).filter(|plan| !plans.contains(plan)));
        }
        println!(
            "{round}: recall@10 {:.4}, p50 {:.3} ms, p99 {:.3} ms, CPU {:.3} ms, {:.1} cold reads a query; {}; resident {} MiB more than before opening ({})",
            found as f64 / (queries.len() * LIMIT) as f64,
            percentile(&mut times, 50),
            percentile(&mut times, 99),
            (cpu::thread_seconds() - cpu) * 1e3 / queries.len() as f64,
            cold as f64 / queries.len() as f64,
            plans.join(" | "),
            resident().saturating_sub(before) >> 20,
            memory(),
        );
    }
    Ok(db.close()?)
}

fn filter(folder: &Path, queries: &str, accuracy: Accuracy) -> Outcome {
    let queries = matrix(queries)?;
    let db = Database::open(folder, options())?;
    let rows = db.existing_collection(COLLECTION)?;
    let conditions = [None]
        .into_iter()
        .chain(["1/2", "1/10", "1/100", "1/1000", "1/10000"].map(|share| Some(format!("share contains '{share}'"))))
        .chain([Some("n < 1000".to_string())]);
    for condition in conditions {
        let asked = |query: &[f32], accuracy| -> Outcome<Search> {
            let plain = search(query, accuracy);
            Ok(match &condition {
                Some(condition) => plain.filter(condition)?,
                None => plain,
            })
        };
        let (mut times, mut found, mut wanted) = (Vec::new(), 0, 0);
        let mut plan = String::new();
        for query in &queries[..queries.len().min(200)] {
            rows.search(&asked(query, accuracy)?)?;
        }
        for query in &queries[..queries.len().min(200)] {
            let started = Instant::now();
            let answer = rows.search(&asked(query, accuracy)?)?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            plan = answer.explain.vector.as_ref().map(|plan| plan.plan.clone()).unwrap_or_default();
            if times.len() <= 50 {
                let exact = rows.search(&asked(query, Accuracy::Exact)?)?;
                let exact: Vec<&str> = exact.hits.iter().map(|hit| hit.id.as_str()).collect();
                found += answer.hits.iter().filter(|hit| exact.contains(&hit.id.as_str())).count();
                wanted += exact.len();
            }
        }
        println!(
            "{}: recall@10 {:.4}, p50 {:.3} ms, p99 {:.3} ms; {plan}",
            condition.as_deref().unwrap_or("everything"),
            found as f64 / wanted.max(1) as f64,
            percentile(&mut times, 50),
            percentile(&mut times, 99),
        );
    }
    Ok(db.close()?)
}

fn live(folder: &Path, queries: &str, seconds: u64, accuracy: Accuracy) -> Outcome {
    let queries = matrix(queries)?;
    let db = Database::open(folder, options())?;
    let rows = db.existing_collection(COLLECTION)?;
    let total = rows.len()?;
    for arriving in [false, true] {
        let stop = AtomicBool::new(false);
        let (mut times, written, slowest_write) = std::thread::scope(|scope| -> Outcome<_> {
            let searcher = |first: usize| {
                let (rows, queries, stop) = (&rows, &queries, &stop);
                move || -> Result<Vec<f64>> {
                    let mut times = Vec::new();
                    for query in queries.iter().cycle().skip(first) {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let started = Instant::now();
                        rows.search(&search(query, accuracy))?;
                        times.push(started.elapsed().as_secs_f64() * 1e3);
                    }
                    Ok(times)
                }
            };
            let searchers = [scope.spawn(searcher(0)), scope.spawn(searcher(queries.len() / 2))];
            let started = Instant::now();
            let (mut written, mut slowest) = (0u64, 0.0f64);
            while started.elapsed() < Duration::from_secs(seconds) {
                if !arriving {
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
                let due = Duration::from_millis(written);
                std::thread::sleep(due.saturating_sub(started.elapsed()));
                let batch = (written..written + 50).map(|number| {
                    let id = (number * 7919) % total;
                    record(id as usize, queries[number as usize % queries.len()].iter().map(|x| x * 1.01).collect())
                });
                let writing = Instant::now();
                rows.upsert(batch.collect())?;
                slowest = slowest.max(writing.elapsed().as_secs_f64() * 1e3);
                written += 50;
            }
            stop.store(true, Ordering::Relaxed);
            let mut times = Vec::new();
            for searcher in searchers {
                times.extend(searcher.join().expect("searching does not panic")?);
            }
            Ok((times, written, slowest))
        })?;
        println!(
            "{}: {:.0} searches/s by 2 threads, p50 {:.3} ms, p99 {:.3} ms, slowest {:.1} ms; {:.0} rows/s arrived, slowest write {slowest_write:.1} ms; {} fresh rows, {} segments",
            if arriving { "while rows arrive" } else { "idle" },
            times.len() as f64 / seconds as f64,
            percentile(&mut times, 50),
            percentile(&mut times, 99),
            percentile(&mut times, 100),
            written as f64 / seconds as f64,
            rows.info().unwrap().fresh_rows,
            rows.info().unwrap().segments,
        );
    }
    Ok(db.close()?)
}

fn search(query: &[f32], accuracy: Accuracy) -> Search {
    Search::vector(query.to_vec()).limit(LIMIT).accuracy(accuracy)
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn resident() -> u64 {
    ProcessMemory::now().map_or(0, |memory| memory.anonymous_bytes + memory.file_bytes)
}

fn memory() -> String {
    let memory = ProcessMemory::now().unwrap_or_default();
    format!("{} MiB anonymous + {} MiB of files", memory.anonymous_bytes >> 20, memory.file_bytes >> 20)
}

fn matrix(path: &str) -> Outcome<Vec<Vec<f32>>> {
    let mut npy = NpyRows::open(Path::new(path))?;
    (0..npy.rows).map(|_| next_row(&mut npy)).collect()
}

fn next_row(npy: &mut NpyRows) -> Outcome<Vec<f32>> {
    let mut row = Vec::with_capacity(npy.dim);
    npy.read(&mut row)?;
    Ok(row)
}
