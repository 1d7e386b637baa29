//! Every target over its seeds, over what was once found, and over mutations of them. libFuzzer does the same, guided and for longer.

use std::path::Path;

use nuthatch_fuzz::mutate::mutate;
use nuthatch_fuzz::{TARGETS, Target};

/// Mutations of a target in each run.
const ROUNDS: usize = 100;
const ROUNDS_LONG: usize = 20_000;
/// These open a store, or make collections, for each input: a tenth of that.
const SLOW: [&str; 4] = ["log", "stored", "vsim", "frame"];

fn inputs(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

fn run(names: &[&str]) {
    let rounds = if std::env::var_os("NUTHATCH_LONG").is_some() { ROUNDS_LONG } else { ROUNDS };
    let seed = std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    for name in names {
        let target = nuthatch_fuzz::target(name).unwrap();
        let inputs = inputs(target);
        assert!(!inputs.is_empty(), "{name} has no seed");
        let mut run = (target.start)();
        for (path, bytes) in &inputs {
            println!("{path}");
            run(bytes);
        }
        let rounds = if SLOW.contains(name) { rounds / 10 } else { rounds };
        let mut dice = fastrand::Rng::with_seed(seed);
        for round in 0..rounds {
            let bytes = mutate(&inputs[round % inputs.len()].1, &mut dice);
            println!("{name}, round {round} of seed {seed}: {}", bytes.escape_ascii());
            run(&bytes);
        }
    }
}

#[test]
fn languages_and_values_come_back_as_they_were() {
    run(&["where", "agreement", "payload", "schema", "resp", "snippet", "llm", "grams", "config", "cursor"]);
}

#[test]
fn damaged_files_are_refused_or_harmless() {
    run(&["columns", "sealed", "block_file", "record_file", "vector_index", "text_index"]);
}

#[test]
fn a_damaged_store_says_so() {
    run(&["log", "stored"]);
}

#[test]
fn files_beside_the_store_are_read_or_refused() {
    run(&["keys", "audit", "model", "backup", "import"]);
}

#[test]
fn documents_are_cut_into_what_they_are() {
    run(&["text", "markdown", "html", "code", "pdf"]);
}

#[test]
fn faces_answer_whatever_comes() {
    run(&["redis", "vsim", "http", "flight", "mcp"]);
}

/// By itself, because it changes the process's current folder.
#[test]
fn the_socket_between_processes_is_answered_whatever_comes() {
    run(&["frame"]);
}

#[test]
fn every_target_is_run_and_every_seed_has_a_target() {
    let source = include_str!("seeds.rs");
    for target in TARGETS {
        assert!(source.contains(&format!("{:?}", target.name)), "{} is run by no test", target.name);
    }
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(nuthatch_fuzz::target(name.to_str().unwrap()).is_some(), "{name:?}");
    }
}
