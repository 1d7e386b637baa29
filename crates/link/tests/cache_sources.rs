//! No answer outlives what it was made from, while processes change the sources and are killed with -9.
//!
//! Eight processes own ten records each. They replace and delete them, store an answer made from each version, and look up any
//! answer. A process writes into a file that all have mapped what is acknowledged, so whoever looks up knows beforehand which
//! versions are gone. In each round, one of them is killed: 10 rounds, or 1,000 with `NUTHATCH_LONG=1`.
#![cfg(unix)]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nuthatch_link::*;

const PROCESSES: u64 = 8;
const RECORDS: u64 = 10;

fn rounds() -> u64 {
    if std::env::var_os("NUTHATCH_LONG").is_some() { 1_000 } else { 10 }
}

/// The oldest version of each record that may still be given, by its number. Each is written by the record's owner alone.
struct Oldest(File);

impl Oldest {
    fn open(folder: &Path) -> Self {
        let path = folder.join("oldest");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        file.set_len(PROCESSES * RECORDS * 8).unwrap();
        Self(file)
    }

    fn get(&self, record: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, record * 8).unwrap();
        u64::from_le_bytes(bytes)
    }

    fn set(&self, record: u64, version: u64) {
        self.0.write_all_at(&version.to_le_bytes(), record * 8).unwrap();
    }
}

fn id(record: u64) -> String {
    format!("r{record}")
}

fn prompt(record: u64) -> String {
    format!("What does record {record} say?")
}

fn source(record: u64) -> SourceRef {
    SourceRef { collection: "notes".into(), id: id(record) }
}

fn open(folder: &Path) -> (Database, Collection, Cache) {
    let db = Database::open(folder.join("memory"), Options::default()).unwrap();
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = db.collection("notes", options).unwrap().with_durability(Durability::Os);
    let cache = db.cache("answers").unwrap().with_durability(Durability::Os);
    (db, notes, cache)
}

/// The version of a record, if it is there.
fn version_of(notes: &Collection, record: u64) -> Option<u64> {
    let found = notes.get(&[&id(record)], false).unwrap().pop().flatten();
    found.map(|found| found.text.expect("each has a text").parse().unwrap())
}

/// Looks an answer up, and says its version. Panics when that was gone before the lookup began.
fn look(cache: &Cache, oldest: &Oldest, record: u64) -> Option<u64> {
    let least = oldest.get(record);
    let ask = AskCache { prompt: prompt(record), ..AskCache::default() };
    let given = cache.lookup(&ask).unwrap().hit?;
    let version = given.response.parse().unwrap();
    assert!(version >= least, "record {record} was at {least} when its answer of version {version} was given");
    Some(version)
}

#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_changes_sources() {
    let read = |name: &str| std::env::var(name).expect("set by the parent");
    let (folder, process) = (PathBuf::from(read("NUTHATCH_CHILD_FOLDER")), read("NUTHATCH_CHILD_NAME"));
    let (process, round) = process.split_once('-').expect("process and round");
    let (process, round): (u64, u64) = (process.parse().unwrap(), round.parse().unwrap());
    let oldest = Oldest::open(&folder);
    let (_db, notes, cache) = open(&folder);
    let mut dice = fastrand::Rng::with_seed(process * 1_000_003 + round);
    let own = |dice: &mut fastrand::Rng| process * RECORDS + dice.u64(..RECORDS);
    // By now, the requests of the previous process, which was killed, have been carried out or never will be.
    std::thread::sleep(Duration::from_millis(100));
    // It may not have said what became of its last write.
    let mut versions: Vec<u64> = (0..RECORDS)
        .map(|at| {
            let record = process * RECORDS + at;
            let least = oldest.get(record);
            let now = version_of(&notes, record).map_or(least + 1, |version| version.max(least));
            oldest.set(record, now);
            now
        })
        .collect();
    let (mut given, mut missed) = (0u64, 0u64);
    for step in 0u64.. {
        let record = own(&mut dice);
        let at = (record - process * RECORDS) as usize;
        match dice.u8(..10) {
            0 => {
                notes.delete(&[id(record)]).unwrap();
                versions[at] += 1; // a version that no answer has
                oldest.set(record, versions[at]);
            }
            1..4 => {
                let version = versions[at] + 1;
                notes.upsert(vec![Record::new(id(record)).text(version.to_string())]).unwrap();
                versions[at] = version;
                oldest.set(record, version);
                let answer = StoreAnswer {
                    prompt: prompt(record),
                    response: version.to_string(),
                    sources: vec![source(record)],
                    ..StoreAnswer::default()
                };
                cache.store(answer).unwrap();
            }
            _ => match look(&cache, &oldest, dice.u64(..PROCESSES * RECORDS)) {
                Some(_) => given += 1,
                None => missed += 1,
            },
        }
        if step % 20 == 19 {
            println!("\ngave {given} missed {missed}");
            (given, missed) = (0, 0);
        }
    }
}

struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// Lookups with and without an answer.
    looked: [u64; 2],
}

impl Process {
    fn start(folder: &Path, process: u64, round: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_changes_sources", "--exact", "--ignored", "--nocapture"])
            .env("NUTHATCH_CHILD_FOLDER", folder)
            .env("NUTHATCH_CHILD_NAME", format!("{process}-{round}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, looked: [0, 0] }
    }

    /// Reads what it says until it has looked up once more. False when it has come to an end.
    fn goes_on(&mut self) -> bool {
        for line in self.lines.by_ref().map_while(|line| line.ok()) {
            if let Some(told) = line.strip_prefix("gave ") {
                let (given, missed) = told.split_once(" missed ").expect("two numbers");
                self.looked[0] += given.parse::<u64>().unwrap();
                self.looked[1] += missed.parse::<u64>().unwrap();
                return true;
            }
        }
        false
    }

    /// Kills it, unless it has ended by itself: then an answer was wrong.
    fn kill(mut self) -> [u64; 2] {
        if let Some(status) = self.child.try_wait().unwrap() {
            let mut told = String::new();
            std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut told).unwrap();
            panic!("a process ended with {status}: {told}");
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while self.goes_on() {}
        self.looked
    }
}

#[test]
fn no_answer_is_given_after_its_source_is_gone_whoever_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(17);
    let mut looked = [0u64, 0];
    let mut owners: Vec<u64> = (0..PROCESSES).collect();
    let mut processes: Vec<Process> = owners.iter().map(|at| Process::start(folder.path(), *at, 0)).collect();
    for process in &mut processes {
        assert!(process.goes_on(), "each comes so far");
    }
    for round in 1..=rounds() {
        std::thread::sleep(Duration::from_millis(dice.u64(5..60)));
        let at = dice.usize(..processes.len());
        for (sum, more) in looked.iter_mut().zip(processes.swap_remove(at).kill()) {
            *sum += more;
        }
        let owner = owners.swap_remove(at);
        processes.push(Process::start(folder.path(), owner, round));
        owners.push(owner);
    }
    for process in processes {
        for (sum, more) in looked.iter_mut().zip(process.kill()) {
            *sum += more;
        }
    }
    println!("{} rounds, {} lookups with an answer, {} without", rounds(), looked[0], looked[1]);
    assert!(looked[0] > 10 * rounds() && looked[1] > rounds(), "{looked:?}");
    // The remaining entries are sound: each answer is that of its record.
    let oldest = Oldest::open(folder.path());
    let (db, notes, cache) = open(folder.path());
    for record in 0..PROCESSES * RECORDS {
        if let Some(version) = look(&cache, &oldest, record) {
            assert_eq!(version_of(&notes, record), Some(version));
        }
    }
    db.close().unwrap();
}

/// The proof above would detect the fault it looks for: here an answer without a source does outlive its record.
#[test]
fn an_answer_without_its_source_would_be_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let oldest = Oldest::open(folder.path());
    let (db, notes, cache) = open(folder.path());
    for (sources, is_found_out) in [(vec![source(0)], false), (vec![], true)] {
        notes.upsert(vec![Record::new(id(0)).text("1")]).unwrap();
        oldest.set(0, 1);
        let answer = StoreAnswer { prompt: prompt(0), response: "1".into(), sources, ..StoreAnswer::default() };
        cache.store(answer).unwrap();
        notes.upsert(vec![Record::new(id(0)).text("2")]).unwrap();
        oldest.set(0, 2);
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&cache, &oldest, 0)));
        assert_eq!(looked.is_err(), is_found_out);
        assert!(is_found_out || looked.is_ok_and(|found| found.is_none()));
    }
    db.close().unwrap();
}
