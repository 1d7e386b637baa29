//! Question: what do the calls of a cache of answers cost in the process that holds the folder?
//!
//! Data: answers of 210 bytes; random vectors of 768 components, of which one question in two has one at a cosine of 0.9; seed 7.
//! Command: `cache ANSWERS SCOPES`, such as `cache 100000 1` and `cache 100000 100`. Durability "os", one thread.
//!
//! A line for each call: the median and the 99th percentile in microseconds. `semantic` finds nothing near, `near` finds one that it
//! may not give, as long as nobody judges. Neither writes.

use std::collections::BTreeMap;
use std::time::Instant;

use nuthatch_link::{AskCache, Cache, CacheChange, Database, Durability, Options, StoreAnswer};

type Outcome<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const DIM: usize = 768;
const LOOKUPS: usize = 2_000;
const COSINE: f32 = 0.9;

fn main() -> Outcome {
    let args: Vec<usize> = std::env::args().skip(1).map(|arg| arg.parse()).collect::<Result<_, _>>()?;
    let [answers, scopes] = args[..] else { return Err("see the head of this file for what to write".into()) };
    let folder = tempfile::tempdir()?;
    let db = Database::open(folder.path(), Options::default())?;
    let cache = db.cache("answers")?.with_durability(Durability::Os);
    cache.configure(&CacheChange { budget: Some(0.01), ..CacheChange::default() })?;
    let mut random = fastrand::Rng::with_seed(7);
    let mut kept = Vec::new();
    let mut took = Vec::new();
    for at in 0..answers {
        let vector = some(&mut random);
        if at % (answers / 100).max(1) == 0 {
            kept.push((at, vector.clone()));
        }
        let prompt = prompt(at);
        let answer = StoreAnswer {
            prompt,
            scope: scope(at, scopes),
            vector: Some(vector),
            response: format!("\"{}\"", "answer ".repeat(30)),
            ..StoreAnswer::default()
        };
        took.push(timed(|| cache.store(answer).map(drop))?);
    }
    tell("store", took);
    lookups(&cache, answers, scopes, &kept, &mut random)?;
    let memory = db.stats()?.memory;
    println!(
        "memory: {} KB of signs and segments, budget {} MB",
        memory.segment_bytes >> 10,
        memory.budget_bytes >> 20
    );
    Ok(())
}

fn lookups(
    cache: &Cache,
    answers: usize,
    scopes: usize,
    kept: &[(usize, Vec<f32>)],
    random: &mut fastrand::Rng,
) -> Outcome {
    let ask = |prompt: String, at: usize, vector: Option<Vec<f32>>| AskCache {
        prompt,
        scope: scope(at, scopes),
        vector,
        ..AskCache::default()
    };
    // The signs of every scope are read at its first lookup.
    let first = (0..scopes).map(|at| {
        let asked = ask("quite another question".into(), at, Some(some(random)));
        timed(|| cache.lookup(&asked).map(drop))
    });
    tell("first of a scope", first.collect::<Outcome<Vec<f64>>>()?);
    let mut calls: [(&str, Vec<f64>); 4] = ["exact", "canonical", "semantic", "near"].map(|name| (name, Vec::new()));
    for at in 0..LOOKUPS {
        let entry = random.usize(..answers);
        let (near, vector) = &kept[at % kept.len()];
        let other = some(random);
        let turned = vector.iter().zip(&other).map(|(a, b)| a * COSINE + b * (1.0 - COSINE * COSINE).sqrt()).collect();
        let asked = [
            ask(prompt(entry), entry, None),
            ask(format!("What  does part number {entry} of the machine do?"), entry, None),
            ask(format!("quite another question {at}"), entry, Some(other)),
            ask(format!("tell me what the part number {near} of that machine does"), *near, Some(turned)),
        ];
        for ((_, took), asked) in calls.iter_mut().zip(&asked) {
            took.push(timed(|| cache.lookup(asked).map(drop))?);
        }
    }
    calls.into_iter().for_each(|(name, took)| tell(name, took));
    Ok(())
}

fn prompt(at: usize) -> String {
    format!("what does part number {at} of the machine do")
}

fn scope(at: usize, scopes: usize) -> BTreeMap<String, String> {
    [("user".to_string(), (at % scopes).to_string())].into()
}

fn some(random: &mut fastrand::Rng) -> Vec<f32> {
    (0..DIM).map(|_| random.f32() + random.f32() - 1.0).collect()
}

fn timed<E: Into<Box<dyn std::error::Error>>>(call: impl FnOnce() -> Result<(), E>) -> Outcome<f64> {
    let begun = Instant::now();
    call().map_err(Into::into)?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

fn tell(name: &str, mut took: Vec<f64>) {
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() as f64 * share) as usize).min(took.len() - 1)];
    println!("{name:<16} {:>9.0} {:>9.0}  of {}", at(0.5), at(0.99), took.len());
}
