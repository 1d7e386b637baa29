//! Question: what does one folder with 50,000 passages and 200,000 SIFT vectors cost, to fill, to open, to ask and to keep?
//!
//! Data: `text/` and `sift/` of the benchmark data (`NUTHATCH_TEST_DATA`, or `../shared/data`). No seed: everything is read.
//! Durability: `commit`, every call fsynced. Budget: the default 64 MiB. Each step is a process of its own, so that its
//! memory is its own:
//!
//! ```text
//! cargo run --release -p nuthatch-link --example scale -- load FOLDER [--given-vectors]
//! cargo run --release -p nuthatch-link --example scale -- ask FOLDER
//! cargo run --release -p nuthatch-link --example scale -- recall FOLDER
//! ```
//!
//! `NUTHATCH_MEMORY_BUDGET_MIB` sets another budget. Recall is against brute force over the vectors that are stored.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nuthatch_link::*;

const SIFT_ROWS: usize = 200_000;
const RECALL_QUERIES: usize = 200;
const DIM_TEXT: usize = 384;
const DIM_SIFT: usize = 128;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(data) = data_folder() else {
        println!("skipped: the benchmark data is not here; set NUTHATCH_TEST_DATA");
        return Ok(());
    };
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["load", folder] => load(&data, Path::new(folder), false),
        ["load", folder, "--given-vectors"] => load(&data, Path::new(folder), true),
        ["ask", folder] => ask(&data, Path::new(folder)),
        ["recall", folder] => recall(&data, Path::new(folder)),
        _ => Err("usage: scale load FOLDER [--given-vectors] | scale ask FOLDER | scale recall FOLDER".into()),
    }
}

fn options() -> Options {
    let mib = std::env::var("NUTHATCH_MEMORY_BUDGET_MIB").ok().and_then(|mib| mib.parse::<u64>().ok());
    Options { memory_budget_bytes: mib.map_or(MEMORY_BUDGET_DEFAULT_BYTES, |mib| mib << 20), ..Options::default() }
}

fn load(data: &Path, folder: &Path, given_vectors: bool) -> Outcome {
    let peak = Peak::watch();
    let db = Database::open(folder, options())?;
    let docs = db.collection("docs", CollectionOptions::default())?;
    let vectors = match given_vectors {
        true => Some(f16_rows(&data.join("text/docs50k_vec_f16.npy"), DIM_TEXT)?),
        false => None,
    };
    let started = Instant::now();
    let lines =
        BufReader::new(flate2::read::GzDecoder::new(std::fs::File::open(data.join("text/docs50k.jsonl.gz"))?)).lines();
    let mut batch = Vec::new();
    let mut passages = 0;
    for (row, line) in lines.enumerate() {
        let json: serde_json::Value = serde_json::from_str(&line?)?;
        let field = |name: &str| json[name].as_str().unwrap_or_default().to_string();
        let payload = ["pkg", "page", "section"].map(|name| (name.to_string(), Value::Text(field(name))));
        let mut record = Record::new(format!("d{row}")).text(field("text")).payload(payload.into());
        record.vector = vectors.as_ref().map(|vectors| vectors[row * DIM_TEXT..][..DIM_TEXT].to_vec());
        batch.push(record);
        passages += 1;
        if batch.len() == 128 {
            docs.upsert(std::mem::take(&mut batch))?;
        }
    }
    docs.upsert(batch)?;
    let seconds = started.elapsed().as_secs_f64();
    let how = if given_vectors { "given vectors" } else { "default embedder" };
    println!("passages ({how}): {passages} in {seconds:.1} s, {:.0}/s", passages as f64 / seconds);

    let sift = db.collection(
        "sift",
        CollectionOptions { metric: Some(Metric::L2), embedder: EmbedderChoice::None, ..Default::default() },
    )?;
    let rows = sift_rows(data)?;
    let started = Instant::now();
    for (number, chunk) in rows.chunks(1000 * DIM_SIFT).enumerate() {
        let records = chunk.chunks(DIM_SIFT).enumerate().map(|(at, row)| {
            Record::new(format!("s{}", number * 1000 + at)).vector(row.iter().map(|x| f32::from(*x)).collect())
        });
        sift.upsert(records.collect())?;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("SIFT vectors: {SIFT_ROWS} in {seconds:.1} s, {:.0}/s, 1,000 a call", SIFT_ROWS as f64 / seconds);
    let started = Instant::now();
    docs.wait_until_indexed(None)?;
    sift.wait_until_indexed(None)?;
    db.optimize()?;
    println!("until everything is indexed and merged: {:.1} s more", started.elapsed().as_secs_f64());
    print_stats("after loading", &db.stats()?);
    println!("peak resident while loading: {}", mib(peak.bytes()));
    db.close()?;
    Ok(())
}

fn ask(data: &Path, folder: &Path) -> Outcome {
    let text_queries = f16_rows(&data.join("text/queries1k_vec_f16.npy"), DIM_TEXT)?;
    let queries: Vec<String> = BufReader::new(std::fs::File::open(data.join("text/queries1k.jsonl"))?)
        .lines()
        .map(|line| {
            Ok(serde_json::from_str::<serde_json::Value>(&line?)?["text"].as_str().unwrap_or_default().to_string())
        })
        .collect::<std::result::Result<_, Box<dyn std::error::Error>>>()?;
    let before = ProcessMemory::now().unwrap_or_default();

    let started = Instant::now();
    let db = Database::open(folder, options())?;
    let docs = db.existing_collection("docs")?;
    docs.search(&Search::vector(text_queries[..DIM_TEXT].to_vec()))?;
    println!("open to first answer by vector: {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    let started = Instant::now();
    docs.search(&Search::text(&queries[0]).mode(Mode::Text))?;
    println!("first answer by words: {:.0} ms", started.elapsed().as_secs_f64() * 1e3);

    let times = timed(queries.len(), |at| {
        docs.search(&Search::vector(text_queries[at * DIM_TEXT..][..DIM_TEXT].to_vec())).map(drop)
    })?;
    println!("50k x 384 cosine, vector leg: {times}");
    let filtered = timed(queries.len(), |at| {
        let query = text_queries[at * DIM_TEXT..][..DIM_TEXT].to_vec();
        let answer = docs.search(&Search::vector(query).filter("pkg = 'git-doc'")?)?;
        assert_eq!(answer.hits.len(), 10, "a filter never shortens the answer");
        Ok(())
    })?;
    println!("the same where pkg = 'git-doc': {filtered}");
    let words = timed(queries.len(), |at| docs.search(&Search::text(&queries[at]).mode(Mode::Text)).map(drop))?;
    println!("50k passages, text leg: {words}");
    print_stats("busy, no model loaded", &db.stats()?);

    let sift = db.existing_collection("sift")?;
    let sift_queries = npy_body(&data.join("sift/query.npy"))?;
    let times = timed(1000, |at| {
        let query = sift_queries[at * DIM_SIFT..][..DIM_SIFT].iter().map(|x| f32::from(*x)).collect();
        sift.search(&Search::vector(query)).map(drop)
    })?;
    println!("200k x 128 L2, vector leg: {times}");
    print_stats("busy with both collections", &db.stats()?);

    match docs.search(&Search::text(&queries[0])) {
        Ok(_) => {
            let hybrid = timed(queries.len(), |at| docs.search(&Search::text(&queries[at])).map(drop))?;
            println!("50k passages, hybrid with the default embedder: {hybrid}");
            print_stats("busy, model loaded", &db.stats()?);
        }
        Err(error) => println!("hybrid left out: {error}"),
    }
    println!("resident before opening: {} anonymous, {} file", mib(before.anonymous_bytes), mib(before.file_bytes));
    db.close()?;
    Ok(())
}

fn recall(data: &Path, folder: &Path) -> Outcome {
    let db = Database::open(folder, options())?;
    let text = f16_rows(&data.join("text/queries1k_vec_f16.npy"), DIM_TEXT)?;
    let sift: Vec<f32> = npy_body(&data.join("sift/query.npy"))?.into_iter().map(f32::from).collect();
    for (name, queries, dim) in [("docs", text, DIM_TEXT), ("sift", sift, DIM_SIFT)] {
        let collection = db.existing_collection(name)?;
        let mut rows: Vec<f32> = Vec::new();
        let mut cursor = None;
        loop {
            let page = collection.scan(&Scan { cursor, limit: 10_000, filter: None, vectors: true })?;
            rows.extend(page.records.into_iter().filter_map(|record| record.vector).flatten());
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        let (mut right, mut wanted) = (0, 0);
        for query in queries.chunks(dim).take(RECALL_QUERIES) {
            let mut store: Vec<f32> = rows.chunks(dim).map(|row| collection.metric().similarity(query, row)).collect();
            let (_, tenth, _) = store.select_nth_unstable_by(9, |a, b| b.total_cmp(a));
            let bar = collection.metric().score(*tenth);
            let hits = collection.search(&Search::vector(query.to_vec()))?.hits;
            let good = |score: f32| match collection.metric() {
                Metric::L2 | Metric::Hamming => score <= bar + 1e-3,
                Metric::Cosine | Metric::Dot => score >= bar - 1e-6,
            };
            right += hits.iter().filter(|hit| good(hit.score)).count();
            wanted += 10;
        }
        println!(
            "{name}: recall@10 {:.4} over {} queries and {} rows",
            right as f64 / wanted as f64,
            wanted / 10,
            rows.len() / dim
        );
    }
    Ok(db.close()?)
}

/// Runs them one after the other and says how long they took.
fn timed(count: usize, mut run: impl FnMut(usize) -> Result<()>) -> Result<String> {
    let mut times = Vec::with_capacity(count);
    let started = Instant::now();
    for at in 0..count {
        let begun = Instant::now();
        run(at)?;
        times.push(begun.elapsed());
    }
    let total = started.elapsed().as_secs_f64();
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    Ok(format!("p50 {:.2} ms, p99 {:.2} ms, {:.0}/s on one thread", at(0.5), at(0.99), count as f64 / total))
}

struct Peak {
    bytes: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Peak {
    /// Samples the resident size a hundred times a second.
    fn watch() -> Self {
        let (bytes, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (bytes.clone(), stop.clone());
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let now = ProcessMemory::now().unwrap_or_default();
                seen.fetch_max(now.anonymous_bytes + now.file_bytes, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Self { bytes, stop }
    }

    fn bytes(&self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.bytes.load(Ordering::Relaxed)
    }
}

fn print_stats(when: &str, stats: &Stats) {
    let memory = &stats.memory;
    println!(
        "memory {when}: {} anonymous + {} file resident; engine {} (truth cache {}, block cache {}, fresh {}, text {}), embedder {}",
        mib(memory.process_anonymous_bytes),
        mib(memory.process_file_bytes),
        mib(memory.engine_bytes),
        mib(memory.store_cache_bytes),
        mib(memory.block_cache_bytes),
        mib(memory.fresh_bytes),
        mib(memory.text_index_bytes),
        mib(memory.embedder_bytes)
    );
    let disk = &stats.disk;
    println!(
        "disk {when}: {} (truth {}, indexes {})",
        mib(disk.total_bytes),
        mib(disk.store_bytes),
        mib(disk.indexes_bytes)
    );
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn data_folder() -> Option<PathBuf> {
    let named = std::env::var_os("NUTHATCH_TEST_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    named.into_iter().chain([beside]).find(|folder| folder.is_dir())
}

/// The body of an npy file: the header says where it begins.
fn npy_body(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.read_to_end(&mut bytes)?;
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    Ok(bytes.split_off(10 + header))
}

fn f16_rows(path: &Path, dim: usize) -> std::io::Result<Vec<f32>> {
    let body = npy_body(path)?;
    let values: Vec<f32> = body.chunks_exact(2).map(|x| half::f16::from_le_bytes([x[0], x[1]]).to_f32()).collect();
    assert_eq!(values.len() % dim, 0, "{}", path.display());
    Ok(values)
}

/// The first rows alone, so that the benchmark's own memory stays small.
fn sift_rows(data: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(data.join("sift/base_0.npy"))?;
    let mut start = [0; 10];
    file.read_exact(&mut start)?;
    let header = u64::from(u16::from_le_bytes([start[8], start[9]]));
    std::io::copy(&mut file.by_ref().take(header), &mut std::io::sink())?;
    let mut rows = vec![0; SIFT_ROWS * DIM_SIFT];
    file.read_exact(&mut rows)?;
    Ok(rows)
}
