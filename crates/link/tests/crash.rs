//! kill -9 at random moments: every acknowledged write is there, none half there, and the indexes agree with the store.
//!
//! Ten rounds, or `NUTHATCH_CRASH_ROUNDS` of them (two hundred with `NUTHATCH_LONG=1`).
#![cfg(unix)]

#[path = "support/killed.rs"]
mod killed;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use killed::{rounds, run_and_kill};
use nuthatch_link::*;

/// The victim, and the verbs of what it says.
const CHILD: (&str, &[&str]) = ("child_writes_until_it_is_killed", &["U", "D"]);

/// id -> version, as far as acknowledged.
type Model = BTreeMap<String, i64>;

/// The victim: writes to a folder until it is killed, and says what was acknowledged. One line per finished call,
/// `U id:version …` or `D id …`; before each call the same line with a `?` in front.
#[test]
#[ignore = "run by the crash tests in a process of its own"]
fn child_writes_until_it_is_killed() {
    let folder = std::env::var("NUTHATCH_CHILD_FOLDER").expect("set by the parent");
    let seed: u64 =
        std::env::var("NUTHATCH_CHILD_SEED").ok().and_then(|seed| seed.parse().ok()).expect("set by the parent");
    let mut dice = fastrand::Rng::with_seed(seed);
    let db = Database::open(&folder, Options { fresh_rows_max: 40, ..Options::default() }).unwrap();
    let notes = db.collection("notes", settings()).unwrap();
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
    };
    for call in 0u64.. {
        let mut ids: Vec<u32> = (0..dice.usize(1..30)).map(|_| dice.u32(..200)).collect();
        ids.sort_unstable();
        ids.dedup();
        if dice.u8(..4) == 0 {
            let line = ids.iter().map(|id| format!(" r{id}")).collect::<String>();
            say(&format!("?D{line}\n"));
            notes.delete(&ids.iter().map(|id| format!("r{id}")).collect::<Vec<_>>()).unwrap();
            say(&format!("D{line}\n"));
        } else {
            let version = seed % 1_000_000 * 10_000 + call;
            let line = ids.iter().map(|id| format!(" r{id}:{version}")).collect::<String>();
            let records = ids.iter().map(|id| whole(*id, version)).collect();
            say(&format!("?U{line}\n"));
            notes.upsert(records).unwrap();
            say(&format!("U{line}\n"));
        }
        if call % 23 == 22 {
            db.optimize().unwrap();
        }
    }
}

fn settings() -> CollectionOptions {
    CollectionOptions {
        dim: Some(8),
        metric: Some(Metric::L2),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    }
}

/// A record all of whose parts say the same id and version.
fn whole(id: u32, version: u64) -> Record {
    Record::new(format!("r{id}"))
        .text(format!("record number{id} version{version}"))
        .vector(vector(id, version))
        .payload([("version".to_string(), Value::Int(version as i64))].into())
}

fn vector(id: u32, version: u64) -> Vec<f32> {
    (0..8).map(|at| (version % 977) as f32 + id as f32 / 10.0 + at as f32).collect()
}

/// Applies one line of the child to the model.
fn apply(model: &mut Model, line: &str) {
    let mut words = line.split(' ');
    let verb = words.next().unwrap();
    for word in words {
        match verb {
            "U" => {
                let (id, version) = word.split_once(':').unwrap();
                model.insert(id.to_string(), version.parse().unwrap());
            }
            "D" => drop(model.remove(word)),
            _ => panic!("{line:?}"),
        }
    }
}

fn stored(notes: &Collection) -> Model {
    let mut found = Model::new();
    let mut cursor = None;
    loop {
        let page = notes.scan(&Scan { cursor, limit: 500, filter: None, vectors: true }).unwrap();
        for record in page.records {
            let Some(Value::Int(version)) = record.payload.get("version") else { panic!("{record:?}") };
            let id: u32 = record.id[1..].parse().unwrap();
            // A record is whole: id, text, vector and payload of one version.
            assert_eq!(record.text.as_deref(), Some(&*format!("record number{id} version{version}")));
            assert_eq!(record.vector.unwrap(), vector(id, *version as u64));
            assert!(found.insert(record.id, *version).is_none());
        }
        cursor = page.cursor;
        if cursor.is_none() {
            return found;
        }
    }
}

fn indexes_agree(notes: &Collection, model: &Model, note: &str) {
    assert_eq!(notes.len().unwrap() as usize, model.len(), "{note}");
    for (id, version) in model.iter().step_by(7) {
        let number: u32 = id[1..].parse().unwrap();
        let answer = notes.search(&Search::text(format!("version{version} number{number}")).limit(1)).unwrap();
        assert_eq!(answer.hits[0].id, *id, "{note}: text of {id}");
        let answer = notes.search(&Search::vector(vector(number, *version as u64)).limit(1)).unwrap();
        assert_eq!(answer.hits[0].score, 0.0, "{note}: vector of {id}");
        assert_eq!(
            notes.count(Some(&format!("version = {version}"))).unwrap() as usize,
            model.values().filter(|v| *v == version).count(),
            "{note}: count of {version}"
        );
    }
    let all = notes.search(&Search::vector(vec![0.0; 8]).limit(1000)).unwrap();
    assert_eq!(all.hits.len(), model.len(), "{note}: all vectors");
    let all = notes.search(&Search::text("record").mode(Mode::Text).limit(1000)).unwrap();
    assert_eq!(all.hits.len(), model.len(), "{note}: all texts");
}

#[test]
fn every_acknowledged_write_survives_kill_9_and_none_is_half_there() {
    let seed =
        std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let (mut acknowledged, mut cut_short) = (0, 0);
    for round in 0..rounds() {
        let note = format!("seed {seed} round {round}");
        let life = Duration::from_millis(dice.u64(50..900));
        // Some rounds linger between the steps of background work, so that the kill hits there.
        let pause = ["", "seal=60", "manifest=60", "text=60", "merge=80", "flush=30,merge=30"][dice.usize(..6)];
        let (done, under_way) = run_and_kill(CHILD, folder.path(), dice.u64(..), life, pause);
        acknowledged += done.len();
        cut_short += usize::from(under_way.is_some());
        for line in &done {
            apply(&mut model, line);
        }
        let db = Database::open(folder.path(), Options { background: false, ..Options::default() })
            .unwrap_or_else(|error| panic!("{note}: {error}"));
        let notes = db.collection("notes", settings()).unwrap();
        let found = stored(&notes);
        if found != model {
            // The call under way may have happened: then wholly.
            let line = under_way.unwrap_or_else(|| panic!("{note}: differs from what was acknowledged"));
            apply(&mut model, &line);
            assert!(found == model, "{note}: half of {line:?}");
        }
        indexes_agree(&notes, &model, &note);
        let doctor = db.doctor().unwrap();
        assert!(doctor.is_well(), "{note}: {doctor:?}");
        if dice.bool() {
            db.optimize().unwrap();
            indexes_agree(&notes, &model, &note);
        }
        db.close().unwrap();
    }
    println!(
        "proof: {} times kill -9 under one writer and background work: {acknowledged} acknowledged calls, {cut_short} cut short, {} records at the end",
        rounds(),
        model.len()
    );
    assert!(acknowledged > 0 && cut_short > 0);
}
