//! One computation of a missing answer: among threads, among processes, and when those that compute are killed.
//!
//! Each process asks 40 times, or 1,000 times with `NUTHATCH_LONG=1`.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nuthatch_link::*;

/// Different questions, and how often a process asks.
fn load() -> (u64, u64) {
    if std::env::var_os("NUTHATCH_LONG").is_some() { (1_500, 1_000) } else { (60, 40) }
}

const PROCESSES: usize = 64;
/// How long an answer takes to compute.
const COMPUTES_MS: u64 = 20;

fn ask(prompt: &str) -> AskCache {
    AskCache { prompt: prompt.into(), ..AskCache::default() }
}

fn wanted(prompt: &str, owner: &str, lease_ms: u64, wait_ms: u64) -> LeaseAnswer {
    LeaseAnswer { ask: ask(prompt), owner: owner.into(), lease_ms, wait_ms }
}

fn end(prompt: &str, owner: &str, unkept: bool) -> EndLease {
    EndLease { ask: ask(prompt), owner: owner.into(), unkept }
}

fn answer(prompt: &str, response: &str) -> StoreAnswer {
    StoreAnswer { prompt: prompt.into(), response: response.into(), ..StoreAnswer::default() }
}

fn is_granted(lease: &CacheLease) -> bool {
    matches!(lease, CacheLease::Granted { .. })
}

fn is_held(lease: &CacheLease) -> bool {
    matches!(lease, CacheLease::Held { .. })
}

/// A cache whose time a test moves.
fn desk() -> (Database, Cache, Arc<AtomicU64>) {
    let now_ms = Arc::new(AtomicU64::new(1_000_000));
    let read = now_ms.clone();
    let clock = Clock::from_fn(move || read.load(Ordering::SeqCst));
    let db = Database::in_memory(Options { background: false, clock, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    (db, cache, now_ms)
}

#[test]
fn one_owner_has_the_lease_until_it_stores_gives_back_or_its_time_is_up() {
    let (_db, cache, now_ms) = desk();
    let take = |owner: &str| cache.lease(&wanted("What is DNS?", owner, 1_000, 0)).unwrap();
    assert_eq!(take("a"), CacheLease::Granted { left_ms: 1_000 });
    now_ms.fetch_add(400, Ordering::SeqCst);
    assert_eq!(take("b"), CacheLease::Held { left_ms: 600 });
    assert_eq!(take("a"), CacheLease::Granted { left_ms: 1_000 }, "its owner extends it");
    // A prompt of the same form is the same question; another scope is another.
    assert!(is_held(&cache.lease(&wanted("what's  DNS", "b", 1_000, 0)).unwrap()));
    let mut other = wanted("What is DNS?", "b", 1_000, 0);
    other.ask.scope = BTreeMap::from([("user".into(), "b".into())]);
    assert!(is_granted(&cache.lease(&other).unwrap()));
    assert!(!cache.end_lease(&end("What is DNS?", "b", false)).unwrap(), "it is not b's");
    assert!(cache.end_lease(&end("What is DNS?", "a", false)).unwrap());
    assert!(is_granted(&take("b")));
    now_ms.fetch_add(1_001, Ordering::SeqCst);
    assert!(is_granted(&take("c")), "b's time is up");
    cache.store(answer("what is DNS ?", "\"names\"")).unwrap();
    let CacheLease::Answered(hit) = take("d") else { panic!("an answer was stored") };
    assert_eq!((hit.response.as_str(), hit.tier), ("\"names\"", CacheTier::Canonical));
    assert!(!cache.end_lease(&end("What is DNS?", "c", false)).unwrap(), "the answer has ended it");
    let counts = cache.stats().unwrap().counts;
    assert_eq!((counts.awaited, counts.misses, counts.exact + counts.canonical), (1, 0, 0));
}

#[test]
fn what_is_not_kept_is_computed_side_by_side() {
    let (_db, cache, now_ms) = desk();
    let take = |owner: &str| cache.lease(&wanted("Roll a die", owner, 1_000, 0)).unwrap();
    assert!(is_granted(&take("a")) && is_held(&take("b")));
    assert!(cache.end_lease(&end("Roll a die", "a", true)).unwrap());
    assert_eq!([take("b"), take("c")], [CacheLease::Free, CacheLease::Free]);
    now_ms.fetch_add(1_001, Ordering::SeqCst);
    assert!(is_granted(&take("b")));
}

#[test]
fn a_cache_that_gives_nothing_makes_nobody_wait_and_wrong_questions_take_no_lease() {
    let (_db, cache, _) = desk();
    for mode in [CacheMode::Off, CacheMode::Shadow] {
        cache.configure(&CacheChange { mode: Some(mode), ..CacheChange::default() }).unwrap();
        assert_eq!(cache.lease(&wanted("a", "one", 1_000, 0)).unwrap(), CacheLease::Free);
        assert_eq!(cache.lease(&wanted("a", "two", 1_000, 0)).unwrap(), CacheLease::Free);
    }
    let change =
        CacheChange { mode: Some(CacheMode::Serve), scope: Some(vec!["user".into()]), ..CacheChange::default() };
    cache.configure(&change).unwrap();
    for wrong in
        [wanted("a", "one", 1_000, 0), wanted("", "one", 1_000, 0), wanted("a", "", 1_000, 0), wanted("a", "one", 0, 0)]
    {
        assert_eq!(cache.lease(&wrong).unwrap_err().kind, ErrorKind::Invalid, "{wrong:?}");
    }
}

#[test]
fn so_many_leases_are_enough() {
    let (_db, cache, now_ms) = desk();
    for at in 0..10_000 {
        assert!(is_granted(&cache.lease(&wanted(&format!("question {at}"), "a", 1_000, 0)).unwrap()));
    }
    assert_eq!(cache.lease(&wanted("one more", "a", 1_000, 0)).unwrap(), CacheLease::Free);
    assert!(is_held(&cache.lease(&wanted("question 7", "b", 1_000, 0)).unwrap()), "the others hold");
    now_ms.fetch_add(1_001, Ordering::SeqCst);
    assert!(is_granted(&cache.lease(&wanted("one more", "a", 1_000, 0)).unwrap()));
}

#[test]
fn whoever_waits_gets_the_answer_when_it_comes_and_the_lease_when_it_does_not() {
    let db = Database::in_memory(Options::default()).unwrap();
    let cache = db.cache("answers").unwrap();
    assert!(is_granted(&cache.lease(&wanted("a", "first", 60_000, 0)).unwrap()));
    std::thread::scope(|scope| {
        let waits = |owner: &'static str| {
            let cache = &cache;
            scope.spawn(move || {
                loop {
                    match cache.lease(&wanted("a", owner, 60_000, 2_000)).unwrap() {
                        CacheLease::Held { .. } => {}
                        other => return other,
                    }
                }
            })
        };
        let second = waits("second");
        std::thread::sleep(Duration::from_millis(50));
        cache.end_lease(&end("a", "first", false)).unwrap();
        assert!(is_granted(&second.join().unwrap()));
        let waiting: Vec<_> = ["third", "fourth", "fifth"].map(waits).into();
        std::thread::sleep(Duration::from_millis(50));
        cache.store(answer("a", "1")).unwrap();
        for thread in waiting {
            assert!(matches!(thread.join().unwrap(), CacheLease::Answered(hit) if hit.response == "1"));
        }
    });
    db.close().unwrap();
}

/// How most ask.
fn asked_as(question: u64) -> String {
    format!("What is question {question}?")
}

fn say(line: String) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
}

fn read(name: &str) -> String {
    std::env::var(name).expect("set by the parent")
}

/// Asks questions, the frequent ones more often, and computes what nobody else does. `computes n` comes before, `computed n` after.
#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_asks() {
    let (folder, name) = (read("NUTHATCH_CHILD_FOLDER"), read("NUTHATCH_CHILD_NAME"));
    let db = Database::open(Path::new(&folder), Options::default()).unwrap();
    let cache = db.cache("answers").unwrap();
    say("ready".into());
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let mut dice = fastrand::Rng::with_seed(name.bytes().map(u64::from).sum::<u64>() * 7919 + name.len() as u64);
    let started = Instant::now();
    let (questions, asked) = load();
    for n in 0..asked {
        let question = (questions as f64).powf(dice.f64()) as u64 - 1;
        // Three of ten are of the same form as others.
        let prompt = if dice.u8(..10) < 3 { format!("what's question {question}") } else { asked_as(question) };
        let owner = format!("{name}-{n}");
        let found = match cache.lookup(&ask(&prompt)).unwrap().hit {
            Some(hit) => hit.response,
            None => compute(&cache, &prompt, question, &owner),
        };
        assert_eq!(found, question.to_string(), "an answer to another question");
    }
    say(format!("end {}", started.elapsed().as_micros()));
    db.close().unwrap();
}

fn compute(cache: &Cache, prompt: &str, question: u64, owner: &str) -> String {
    loop {
        match cache.lease(&wanted(prompt, owner, 5_000, 2_000)).unwrap() {
            CacheLease::Held { .. } => {}
            CacheLease::Answered(hit) => return hit.response,
            CacheLease::Granted { .. } | CacheLease::Free => {
                say(format!("computes {question}"));
                std::thread::sleep(Duration::from_millis(COMPUTES_MS));
                cache.store(answer(prompt, &question.to_string())).unwrap();
                say(format!("computed {question}"));
                return question.to_string();
            }
        }
    }
}

/// Takes the lease on question 0 and holds it until it is killed.
#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_holds() {
    let folder = read("NUTHATCH_CHILD_FOLDER");
    let db = Database::open(Path::new(&folder), Options::default()).unwrap();
    let cache = db.cache("answers").unwrap();
    assert!(is_granted(&cache.lease(&wanted(&asked_as(0), "killed", 3_000, 0)).unwrap()));
    say("ready".into());
    std::thread::sleep(Duration::from_secs(600));
}

struct Process {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(folder: &Path, kind: &str, name: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([kind, "--exact", "--ignored", "--nocapture"])
            .env("NUTHATCH_CHILD_FOLDER", folder)
            .env("NUTHATCH_CHILD_NAME", name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut process = Self { child, out };
        while process.line().expect("it starts") != "ready" {}
        process
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.out.read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_string())
    }

    fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }

    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.line()).collect()
    }
}

/// Lets the processes ask all at once. Which questions were computed, how often, and whether everybody came to the end.
fn asked(processes: &mut [Process]) -> (BTreeMap<u64, u64>, usize) {
    processes.iter_mut().for_each(Process::go);
    let readers = std::thread::scope(|scope| {
        let readers: Vec<_> = processes.iter_mut().map(|process| scope.spawn(move || process.rest())).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    let mut computed = BTreeMap::new();
    let mut ended = 0;
    for line in readers.into_iter().flatten() {
        if let Some(question) = line.strip_prefix("computed ") {
            *computed.entry(question.parse().unwrap()).or_default() += 1;
        }
        ended += usize::from(line.starts_with("end "));
    }
    (computed, ended)
}

#[test]
fn sixty_four_processes_compute_each_answer_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let cache = db.cache("answers").unwrap();
    let mut processes: Vec<Process> =
        (0..PROCESSES).map(|at| Process::start(folder.path(), "child_asks", &format!("p{at}"))).collect();
    let (computed, ended) = asked(&mut processes);
    assert_eq!(ended, PROCESSES);
    let (questions, asked) = load();
    assert!(computed.len() as u64 > questions / 2, "only {} questions came", computed.len());
    assert!(computed.values().all(|times| *times == 1), "computed more than once: {computed:?}");
    let stats = cache.stats().unwrap();
    let hits = stats.counts.exact + stats.counts.canonical;
    assert_eq!(hits + stats.counts.misses, PROCESSES as u64 * asked, "every lookup was counted");
    assert_eq!(stats.counts.misses - stats.counts.awaited, computed.len() as u64, "every miss computed or waited");
    assert_eq!(stats.entries, computed.len() as u64);
    for mut process in processes {
        assert!(process.child.wait().unwrap().success());
    }
    db.close().unwrap();
}

#[test]
fn a_killed_owner_holds_nobody_up_for_longer_than_its_lease() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let cache = db.cache("answers").unwrap();
    let mut held = Process::start(folder.path(), "child_holds", "holder");
    assert!(is_held(&cache.lease(&wanted(&asked_as(0), "parent", 3_000, 0)).unwrap()));
    held.child.kill().unwrap();
    held.child.wait().unwrap();
    let mut processes: Vec<Process> =
        (0..4).map(|at| Process::start(folder.path(), "child_asks", &format!("p{at}"))).collect();
    let (computed, ended) = asked(&mut processes);
    assert_eq!(ended, 4);
    assert_eq!(computed.get(&0), Some(&1), "the question of the one that was killed was computed once");
    assert!(computed.values().all(|times| *times == 1), "{computed:?}");
    for mut process in processes {
        assert!(process.child.wait().unwrap().success());
    }
    db.close().unwrap();
}

#[test]
fn a_killed_process_that_held_the_folder_costs_one_more_computation_at_most() {
    let folder = tempfile::tempdir().unwrap();
    // The first opener holds the folder, and the leases.
    let mut first = Process::start(folder.path(), "child_holds", "holder");
    let mut processes: Vec<Process> =
        (0..8).map(|at| Process::start(folder.path(), "child_asks", &format!("p{at}"))).collect();
    processes.iter_mut().for_each(Process::go);
    // In the middle of it: some answers are being computed.
    let mut begun = Vec::new();
    while !begun.iter().any(|line: &String| line.starts_with("computed")) {
        begun.push(processes[0].line().expect("it goes on"));
    }
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let rests: Vec<Vec<String>> = std::thread::scope(|scope| {
        let readers: Vec<_> = processes.iter_mut().map(|process| scope.spawn(move || process.rest())).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    let mut computed: BTreeMap<String, u64> = BTreeMap::new();
    for line in rests.iter().flatten().chain(&begun).filter_map(|line| line.strip_prefix("computed ")) {
        *computed.entry(line.into()).or_default() += 1;
    }
    let ended = rests.iter().flatten().filter(|line| line.starts_with("end ")).count();
    assert_eq!(ended, 8, "no call failed");
    let twice: u64 = computed.values().map(|times| times - 1).sum();
    assert!(twice <= 8, "each process had one question under way: {computed:?}");
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let entries = db.cache("answers").unwrap().stats().unwrap().entries;
    assert!(entries >= computed.len() as u64, "{entries} of {} stored answers", computed.len());
    for mut process in processes {
        assert!(process.child.wait().unwrap().success());
    }
    db.close().unwrap();
}
