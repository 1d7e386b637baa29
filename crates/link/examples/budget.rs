//! Question: does the whole life of a folder fit into little memory: 1,000,000 keys with values of 256 bytes and 200,000 vectors of 384
//! dimensions, written, indexed, asked, within 128 MB, page cache included?
//!
//! Data: made here, seed 1: values of random bytes; vectors around 2,000 random centres (spread 0.6), questions alike. Durability:
//! `commit` for vectors (1,000 a call), `interval` for keys (1,000 a call). Budget: 32 MiB and 24 MiB of build memory, unless
//! `NUTHATCH_MEMORY_BUDGET_MIB` and `NUTHATCH_BUILD_MEMORY_MIB` say otherwise. Inside a limit, as root:
//!
//! ```text
//! cargo build --release --example budget && python -m bench.cgroup 128 target/release/examples/budget FOLDER
//! ```

#[allow(clippy::duplicate_mod)]
#[path = "measuring/mod.rs"]
mod measuring;

use std::time::{Duration, Instant};

use measuring::*;
use nuthatch_link::*;

const KEYS: usize = 1_000_000;
const VALUE_BYTES: usize = 256;
const VECTORS: usize = 200_000;
const DIM: usize = 384;
const CENTRES: usize = 2_000;
const SPREAD: f32 = 0.6;
const BATCH: usize = 1_000;
const QUESTIONS: usize = 200;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = &args[..] else { return Err("usage: budget FOLDER".into()) };
    let number = |name: &str, default: u64| -> u64 {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let options = Options {
        memory_budget_bytes: number("NUTHATCH_MEMORY_BUDGET_MIB", 32) << 20,
        build_memory_bytes: number("NUTHATCH_BUILD_MEMORY_MIB", 24) << 20,
        ..Options::default()
    };
    // A share of everything, for a quick look.
    let share = number("NUTHATCH_BUDGET_PERCENT", 100) as usize;
    let (keys, vectors) = (KEYS * share / 100, VECTORS * share / 100);
    let peak = Peak::watch();
    let db = Database::open(folder, options)?;
    print_memory("at the beginning", &db.stats()?.memory);

    let started = Instant::now();
    let cache = db.kv("cache")?.with_durability(Durability::Interval);
    let mut dice = fastrand::Rng::with_seed(1);
    for batch in 0..keys / BATCH {
        let op = |n: usize| KvOp::Put { key: key(batch * BATCH + n), value: value(&mut dice), expires_in: None };
        cache.multi_put((0..BATCH).map(op).collect())?;
    }
    println!(
        "{keys} keys in {:.0} s, at most {} anonymous",
        started.elapsed().as_secs_f64(),
        mib(peak.anonymous_bytes())
    );
    print_memory("with the keys written", &db.stats()?.memory);

    let started = Instant::now();
    let collection = CollectionOptions { dim: Some(DIM), embedder: EmbedderChoice::None, ..Default::default() };
    let records = db.collection("vectors", collection)?;
    let space = Space::new(&mut dice);
    for batch in 0..vectors / BATCH {
        let record = |n: usize| Record::new(format!("v{}", batch * BATCH + n)).vector(space.vector(batch * BATCH + n));
        records.upsert((0..BATCH).map(record).collect())?;
    }
    println!(
        "{vectors} vectors in {:.0} s, at most {} anonymous",
        started.elapsed().as_secs_f64(),
        mib(peak.anonymous_bytes())
    );
    let started = Instant::now();
    records.optimize(None)?;
    let info = records.info()?;
    println!(
        "indexed and merged {:.0} s later: {} segments, {} graphs, at most {} anonymous",
        started.elapsed().as_secs_f64(),
        info.segments,
        info.vector_graphs,
        mib(peak.anonymous_bytes())
    );
    print_memory("with everything indexed", &db.stats()?.memory);

    let mut times = Vec::new();
    for _ in 0..20_000 * share / 100 {
        let number = dice.usize(..keys);
        let begun = Instant::now();
        let found = cache.get(key(number))?;
        times.push(begun.elapsed());
        assert_eq!(found.map(|value| value.len()), Some(VALUE_BYTES), "key {number}");
    }
    println!("get: {}", told(&mut times));
    let (mut times, mut itself) = (Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let number = dice.usize(..vectors);
        let question = space.vector(number);
        let begun = Instant::now();
        let hits = records.search(&Search::vector(question))?.hits;
        times.push(begun.elapsed());
        assert_eq!(hits.len(), 10);
        itself += usize::from(hits[0].id == format!("v{number}"));
    }
    println!("search: {}, {itself} of {QUESTIONS} found themselves", told(&mut times));
    print_memory("after asking", &db.stats()?.memory);
    std::thread::sleep(Duration::from_secs(number("NUTHATCH_IDLE_SECONDS", 65)));
    print_memory("when idle", &db.stats()?.memory);
    println!("most anonymous memory of all: {}", mib(peak.anonymous_bytes()));
    db.close()?;
    Ok(())
}

fn key(number: usize) -> Vec<u8> {
    // Spread over the whole range, as hashes are.
    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

fn value(dice: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = vec![0; VALUE_BYTES];
    dice.fill(&mut bytes);
    bytes
}

/// Vectors that can be made again from their number, so that they need no memory here.
struct Space {
    centres: Vec<u64>,
}

impl Space {
    fn new(dice: &mut fastrand::Rng) -> Self {
        Self { centres: (0..CENTRES).map(|_| dice.u64(..)).collect() }
    }

    fn vector(&self, number: usize) -> Vec<f32> {
        let mut centre = fastrand::Rng::with_seed(self.centres[number % CENTRES]);
        let mut own = fastrand::Rng::with_seed(number as u64);
        (0..DIM).map(|_| (centre.f32() - 0.5) + SPREAD * (own.f32() - 0.5)).collect()
    }
}

fn told(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    format!("p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99))
}
