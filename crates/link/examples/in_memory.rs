//! Question: what does a `:memory:` database gain from a store of its own over a folder on a memory file system, which it was before?
//!
//! Data: 50,000 keys of 16 bytes with values of 256, and 10,000 records of a text of five words, in one thread, in turns, three rounds.
//! The order of keys is random, seed 1. Durability: `commit`, which neither of them has to wait for. Figures: the median round.
//!
//! ```text
//! cargo build --release --workspace --example in_memory && target/release/examples/in_memory [FOLDER, /dev/shm when left out]
//! ```

use std::time::Instant;

use nuthatch_link::*;

const KEYS: usize = 50_000;
const RECORDS: usize = 10_000;
const ROUNDS: usize = 3;
const OPENINGS: usize = 10;
const WORDS: [&str; 8] = ["stone", "river", "winter", "bread", "oven", "ship", "harbour", "forest"];

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "/dev/shm".into());
    let mut figures = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let beside = tempfile::tempdir_in(&folder).map_err(|error| Error::io(folder.as_ref(), &error))?;
        let mut opened = 0;
        figures[0].push(round(|| {
            opened += 1;
            Database::open(beside.path().join(opened.to_string()), options())
        })?);
        figures[1].push(round(|| Database::in_memory(options()))?);
    }
    println!("{:<28}{:>14}{:>14}", "", "folder", "in memory");
    for (at, name) in NAMES.iter().enumerate() {
        let [folder, memory] = figures.each_ref().map(|rounds| {
            let mut figures: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
            figures.sort_by(f64::total_cmp);
            figures[ROUNDS / 2]
        });
        println!("{name:<28}{folder:>14.2}{memory:>14.2}");
    }
    Ok(())
}

const NAMES: [&str; 6] =
    ["open and close, ms", "put, us", "get, us", "get of 100 keys, us", "page of 1000 keys, us", "record in 1000, us"];

fn options() -> Options {
    Options { background: false, ..Options::default() }
}

fn round(mut open: impl FnMut() -> Result<Database>) -> Result<[f64; NAMES.len()]> {
    let started = Instant::now();
    (0..OPENINGS).try_for_each(|_| open()?.close())?;
    let opening = started.elapsed().as_secs_f64() * 1e3 / OPENINGS as f64;
    let db = open()?;
    let kv = db.kv("k")?;
    let mut keys: Vec<String> = (0..KEYS).map(|n| format!("{n:016}")).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut keys);
    let each = |count: usize, work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        let started = Instant::now();
        work()?;
        Ok(started.elapsed().as_secs_f64() * 1e6 / count as f64)
    };
    let put = each(KEYS, &mut || keys.iter().try_for_each(|key| kv.put(key, [7; 256])))?;
    let get = each(KEYS, &mut || keys.iter().try_for_each(|key| kv.get(key).map(drop)))?;
    let many = each(KEYS / 100, &mut || keys.chunks(100).try_for_each(|some| kv.multi_get(some).map(drop)))?;
    let page = each(20, &mut || {
        (0..20).try_for_each(|_| kv.scan(&KeyScan { limit: 1000, ..KeyScan::prefix("00000000000") }).map(drop))
    })?;
    let notes = db.collection("notes", CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() })?;
    let mut dice = fastrand::Rng::with_seed(1);
    let mut text = || (0..5).map(|_| WORDS[dice.usize(..WORDS.len())]).collect::<Vec<_>>().join(" ");
    let records: Vec<Record> = (0..RECORDS).map(|n| Record::new(format!("r{n}")).text(text())).collect();
    let record =
        each(RECORDS, &mut || records.chunks(1000).try_for_each(|some| notes.upsert(some.to_vec()).map(drop)))?;
    db.close()?;
    Ok([opening, put, get, many, page, record])
}
