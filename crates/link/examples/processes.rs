//! What does it cost to be served by the process that holds the folder, instead of holding it?
//!
//! `cargo run --release --example processes [RECORDS]` (10,000 by default): one process, two handles on one folder in the temporary
//! folder; the first holds it, the second goes through the socket. 384 dimensions, 100-word texts, seed 7. Microseconds, medians.

use std::time::{Duration, Instant};

use nuthatch_link::*;

fn median(rounds: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut took: Vec<Duration> = (0..rounds)
        .map(|round| {
            let started = Instant::now();
            call(round);
            started.elapsed()
        })
        .collect();
    took.sort_unstable();
    took[rounds / 2].as_secs_f64() * 1e6
}

fn main() -> Result<()> {
    let records: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let folder = std::env::temp_dir().join(format!("nuthatch-processes-{}", std::process::id()));
    let dbs = [Database::open(&folder, Options::default())?, Database::open(&folder, Options::default())?];
    let options = CollectionOptions { dim: Some(384), embedder: EmbedderChoice::None, ..Default::default() };
    let notes = [dbs[0].collection("notes", options)?, dbs[1].existing_collection("notes")?];
    let keys = [dbs[0].kv("keys")?, dbs[1].kv("keys")?];
    let mut dice = fastrand::Rng::with_seed(7);
    let mut vector = || (0..384).map(|_| dice.f32() - 0.5).collect::<Vec<f32>>();
    let mut words = fastrand::Rng::with_seed(8);
    let mut text = || (0..100).map(|_| format!("word{}", words.u32(..5000))).collect::<Vec<_>>().join(" ");
    for from in (0..records).step_by(500) {
        let batch = (from..from + 500).map(|n| Record::new(n.to_string()).text(text()).vector(vector())).collect();
        notes[0].upsert(batch)?;
    }
    notes[0].wait_until_indexed(None)?;
    let queries: Vec<Vec<f32>> = (0..100).map(|_| vector()).collect();
    println!("{:<44}{:>9}{:>9}", "", "holding", "served");
    let row = |what: &str, rounds: usize, call: &mut dyn FnMut(usize, usize)| {
        let [here, there] = [0, 1].map(|side| {
            median(rounds / 10, |round| call(side, round));
            median(rounds, |round| call(side, round))
        });
        println!("{what:<44}{here:>9.1}{there:>9.1}");
    };
    row("key: get", 20_000, &mut |side, round| drop(keys[side].get(format!("{}", round % 100)).unwrap()));
    row("key: put 256 bytes, durability os", 20_000, &mut |side, round| {
        keys[side].with_durability(Durability::Os).put(format!("{}", round % 100), [7; 256]).unwrap();
    });
    row("key: put 256 bytes, durability commit", 500, &mut |side, round| {
        keys[side].put(format!("{}", round % 100), [7; 256]).unwrap();
    });
    row("record: get by id", 5_000, &mut |side, round| {
        drop(notes[side].get(&[(round * 37 % records).to_string()], false).unwrap());
    });
    row("record: upsert one, durability commit", 300, &mut |side, round| {
        let record = Record::new(format!("new{side}-{round}")).text("a few words").vector(queries[round % 100].clone());
        notes[side].upsert(vec![record]).unwrap();
    });
    row("search: vector, 10 hits", 1_000, &mut |side, round| {
        drop(notes[side].search(&Search::vector(queries[round % 100].clone())).unwrap());
    });
    row("search: two words, 10 hits", 1_000, &mut |side, round| {
        drop(notes[side].search(&Search::text(format!("word{} word{}", round % 100, round))).unwrap());
    });
    row("snapshot: take, get a key, let go", 2_000, &mut |side, round| {
        let snapshot = dbs[side].snapshot().unwrap();
        drop(snapshot.kv("keys").unwrap().get(format!("{}", round % 100)).unwrap());
    });
    for (what, durability, rounds) in [("os", Durability::Os, 2_000), ("commit", Durability::Commit, 300)] {
        row(&format!("transaction: 2 gets, 2 puts, durability {what}"), rounds, &mut |side, round| {
            let transaction = dbs[side].transaction().unwrap();
            let inside = transaction.kv("keys").unwrap();
            for key in [round % 100, (round + 1) % 100] {
                drop(inside.get(format!("{key}")).unwrap());
                inside.put(format!("{key}"), [8; 256]).unwrap();
            }
            transaction.commit(durability).unwrap();
        });
    }
    dbs[0].close()?;
    dbs[1].close()?;
    std::fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, &error))
}
