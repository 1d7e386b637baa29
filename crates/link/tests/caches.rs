//! A cache's knowledge of its answers after reopening, and how much of it each user may take up.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_link::*;

fn ask(prompt: &str) -> AskCache {
    AskCache { prompt: prompt.into(), ..AskCache::default() }
}

fn answer(prompt: &str) -> StoreAnswer {
    let cost = CacheCost { tokens: 10, nano_usd: 5 };
    StoreAnswer { prompt: prompt.into(), response: "1".into(), cost, ..StoreAnswer::default() }
}

fn open(folder: &Path) -> (Database, Cache) {
    let db = Database::open(folder, Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    (db, cache)
}

#[test]
fn what_was_counted_since_the_last_write_survives_closing() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    cache.store(answer("What is DNS?")).unwrap();
    let elsewhere = BTreeMap::from([("user".into(), "x".into())]);
    for question in
        [ask("What is DNS?"), ask("what's DNS"), ask("What is BGP?"), AskCache { scope: elsewhere, ..ask("a") }]
    {
        cache.lookup(&question).unwrap();
    }
    let owner = |owner: &str| LeaseAnswer {
        ask: ask("What is DNS?"),
        owner: owner.into(),
        lease_ms: 1_000,
        ..LeaseAnswer::default()
    };
    assert!(matches!(cache.lease(&owner("a")).unwrap(), CacheLease::Answered(_)));
    let told = cache.stats().unwrap().counts;
    assert_eq!((told.exact, told.canonical, told.misses, told.awaited, told.saved_tokens), (1, 1, 2, 1, 30));
    db.close().unwrap();
    db.close().unwrap();
    let (db, cache) = open(folder.path());
    assert_eq!(cache.stats().unwrap().counts, told);
    // Nothing waits for a write any more: it is not counted twice.
    db.close().unwrap();
    let (db, cache) = open(folder.path());
    assert_eq!(cache.stats().unwrap().counts, told);
    drop((db, cache));
}

#[test]
fn which_answers_were_used_last_survives_closing() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    cache.configure(&CacheChange { max_entries: Some(2), ..CacheChange::default() }).unwrap();
    cache.store(answer("first")).unwrap();
    cache.store(answer("second")).unwrap();
    assert!(cache.lookup(&ask("first")).unwrap().hit.is_some());
    db.close().unwrap();
    let (_db, cache) = open(folder.path());
    cache.store(answer("third")).unwrap();
    assert!(cache.lookup(&ask("first")).unwrap().hit.is_some());
    assert!(cache.lookup(&ask("second")).unwrap().hit.is_none());
}

#[test]
fn a_database_closes_after_its_caches_were_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    cache.lookup(&ask("a")).unwrap();
    db.drop_cache("answers").unwrap();
    db.close().unwrap();
}

/// A user's share in the tests of floods.
const SHARE: u64 = 20;

fn of(user: &str, prompt: &str) -> StoreAnswer {
    StoreAnswer { user: Some(user.into()), ..answer(prompt) }
}

/// The prompts of all answers.
fn prompts(cache: &Cache) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut wanted = ListAnswers { limit: 1_000, ..ListAnswers::default() };
    loop {
        let page = cache.answers(&wanted).unwrap();
        all.extend(page.answers.into_iter().map(|answer| answer.prompt));
        wanted.after = page.next;
        if wanted.after.is_none() {
            return all;
        }
    }
}

fn shares(entries: u64, bytes: u64) -> CacheChange {
    CacheChange { user_max_entries: Some(entries), user_max_bytes: Some(bytes), ..CacheChange::default() }
}

/// The expected contents of a cache, computed naively: answers with their users and bytes, the least recently used
/// first.
#[derive(Default)]
struct Model {
    kept: Vec<(Option<usize>, String, u64)>,
    most: [u64; 2],
    share: [u64; 2],
}

impl Model {
    fn store(&mut self, user: Option<usize>, prompt: String, bytes: u64, found: &BTreeSet<String>) {
        self.kept.retain(|(_, known, _)| *known != prompt);
        self.kept.push((user, prompt, bytes));
        self.fit_shares(true);
        self.fit(true, found);
    }

    /// The newest stays where an answer has just been stored.
    fn fit_shares(&mut self, keeps_newest: bool) {
        for user in (0..3).map(Some) {
            let newest = self.kept.len() - usize::from(keeps_newest);
            Self::trim(&mut self.kept, newest, self.share, |of| of == user);
        }
    }

    /// The user with the most makes room. If several are tied, any of them may; the entries found then tell which one
    /// did.
    fn fit(&mut self, keeps_newest: bool, found: &BTreeSet<String>) {
        let fitted = self.fitted(self.kept.clone(), keeps_newest, found);
        self.kept = fitted.unwrap_or_else(|| panic!("no user with the most makes room so: {:?}, {found:?}", self.kept));
    }

    fn fitted(
        &self,
        kept: Vec<(Option<usize>, String, u64)>,
        keeps_newest: bool,
        found: &BTreeSet<String>,
    ) -> Option<Vec<(Option<usize>, String, u64)>> {
        let newest = kept.len() - usize::from(keeps_newest);
        let is_over = |is: u64, most: u64| most > 0 && is > most;
        let by_entries = is_over(kept.len() as u64, self.most[0]);
        if newest == 0 || (!by_entries && !is_over(kept.iter().map(|(.., bytes)| bytes).sum(), self.most[1])) {
            return Some(kept).filter(|kept| kept.iter().all(|(_, prompt, _)| found.contains(prompt)));
        }
        let has = |user: Option<usize>| -> u64 {
            kept.iter().filter(|(of, ..)| *of == user).map(|(.., n)| if by_entries { 1 } else { *n }).sum()
        };
        let oldest = |user: Option<usize>| kept[..newest].iter().position(|(of, ..)| *of == user);
        let users: Vec<Option<usize>> = (0..3).map(Some).filter(|user| oldest(*user).is_some()).collect();
        let most = users.iter().map(|user| has(*user)).max();
        let goes: Vec<usize> = match kept[0].0 {
            None => vec![0],
            Some(_) => users.into_iter().filter(|user| Some(has(*user)) == most).filter_map(oldest).collect(),
        };
        goes.into_iter().filter(|at| !found.contains(&kept[*at].1)).find_map(|at| {
            let mut without = kept.clone();
            without.remove(at);
            self.fitted(without, keeps_newest, found)
        })
    }

    fn trim(
        kept: &mut Vec<(Option<usize>, String, u64)>,
        mut newest: usize,
        [entries_max, bytes_max]: [u64; 2],
        counts: impl Fn(Option<usize>) -> bool,
    ) {
        loop {
            let bytes: u64 = kept.iter().filter(|(of, ..)| counts(*of)).map(|(.., bytes)| bytes).sum();
            let entries = kept.iter().filter(|(of, ..)| counts(*of)).count() as u64;
            let is_over = (entries_max > 0 && entries > entries_max) || (bytes_max > 0 && bytes > bytes_max);
            let oldest = kept.iter().take(newest).position(|(of, ..)| counts(*of));
            let (true, Some(oldest)) = (is_over, oldest) else { return };
            kept.remove(oldest);
            newest -= 1;
        }
    }

    fn ask(&mut self, prompt: &str) -> bool {
        let Some(at) = self.kept.iter().position(|(_, known, _)| known == prompt) else { return false };
        let used = self.kept.remove(at);
        self.kept.push(used);
        true
    }

    fn prompts(&self) -> BTreeSet<String> {
        self.kept.iter().map(|(_, prompt, _)| prompt.clone()).collect()
    }
}

#[test]
fn shares_hold_what_a_model_holds() {
    for seed in 0..20 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let cache = db.cache("answers").unwrap();
        let mut model = Model { share: [4, 0], ..Model::default() };
        cache.configure(&shares(4, 0)).unwrap();
        for step in 0..400 {
            match dice.u8(..100) {
                0..60 => {
                    let user = Some(dice.usize(..4)).filter(|user| *user < 3);
                    let prompt = format!("{user:?} {}", dice.u8(..30));
                    let text = "x".repeat(dice.usize(..2_000));
                    let response = serde_json::to_string(&text).unwrap();
                    // As the engine counts them: both texts, plus 256 bytes.
                    let bytes = (prompt.len() + response.len()) as u64 + 256;
                    let user_name = user.map(|user| format!("user {user}"));
                    let new = StoreAnswer { user: user_name, response, ..answer(&prompt) };
                    let is_too_large = |most: u64| most > 0 && bytes > most;
                    if is_too_large(model.most[1]) || (user.is_some() && is_too_large(model.share[1])) {
                        assert_eq!(cache.store(new).unwrap_err().kind, ErrorKind::Exhausted);
                    } else {
                        cache.store(new).unwrap().unwrap();
                        model.store(user, prompt, bytes, &prompts(&cache));
                    }
                }
                60..95 => {
                    let user = Some(dice.usize(..4)).filter(|user| *user < 3);
                    let prompt = format!("{user:?} {}", dice.u8(..30));
                    let is_there = cache.lookup(&ask(&prompt)).unwrap().hit.is_some();
                    assert_eq!(is_there, model.ask(&prompt), "seed {seed}, step {step}");
                }
                95 => {
                    let prompt = model.kept.first().map(|(_, prompt, _)| prompt.clone());
                    let listed = cache.answers(&ListAnswers { limit: 1_000, ..ListAnswers::default() }).unwrap();
                    if let Some(found) = listed.answers.iter().find(|answer| Some(&answer.prompt) == prompt.as_ref()) {
                        cache.invalidate(CacheEntries::Entry(found.entry)).unwrap();
                        model.kept.remove(0);
                    }
                }
                _ => {
                    // Never none for users: what is stored without shares lies in nobody's.
                    let share = [dice.u64(2..8), [0, 3_000, 6_000][dice.usize(..3)]];
                    model.most = [dice.u64(0..20), [0, 9_000][dice.usize(..2)]];
                    let most = CacheChange {
                        max_entries: Some(model.most[0]),
                        max_bytes: Some(model.most[1]),
                        ..CacheChange::default()
                    };
                    cache.configure(&most).unwrap();
                    model.fit(false, &prompts(&cache));
                    model.share = share;
                    cache.configure(&shares(model.share[0], model.share[1])).unwrap();
                    model.fit_shares(false);
                }
            }
            assert_eq!(prompts(&cache), model.prompts(), "seed {seed}, step {step}");
        }
        let stats = cache.stats().unwrap();
        let bytes: u64 = model.kept.iter().map(|(.., bytes)| bytes).sum();
        assert_eq!((stats.entries, stats.bytes), (model.kept.len() as u64, bytes), "seed {seed}");
    }
}

#[test]
fn as_many_answers_go_at_once_as_there_is_no_room_for() {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let fill = |name: &str, change: CacheChange| {
        let cache = db.cache(name).unwrap();
        cache.configure(&change).unwrap();
        for at in 0..300 {
            cache.store(of("anna", &format!("question {at}"))).unwrap().unwrap();
        }
        cache
    };
    let large = || StoreAnswer { response: format!("\"{}\"", "x".repeat(60_000)), ..of("anna", "large") };
    let lowered = fill("lowered", CacheChange::default());
    lowered.configure(&CacheChange { max_entries: Some(7), ..CacheChange::default() }).unwrap();
    assert_eq!(prompts(&lowered), (293..300).map(|at| format!("question {at}")).collect());
    let lowered = fill("lowered-shares", shares(1_000, 0));
    lowered.configure(&shares(7, 0)).unwrap();
    assert_eq!(prompts(&lowered), (293..300).map(|at| format!("question {at}")).collect());
    for (name, change) in [
        ("bytes", CacheChange { max_bytes: Some(81_000), ..CacheChange::default() }),
        ("bytes-of-a-user", shares(0, 81_000)),
    ] {
        let cache = fill(name, change);
        let before = cache.stats().unwrap();
        assert!(before.bytes <= 81_000 && before.entries == 300, "{before:?}");
        let evicted = cache.store(large()).unwrap().unwrap().evicted;
        let after = cache.stats().unwrap();
        assert!(evicted > 200 && after.bytes <= 81_000, "{after:?}");
        assert_eq!(after.entries, 301 - evicted);
    }
}

/// Stores answers of one user until it is killed.
#[test]
#[ignore = "run by the flood in processes of its own"]
fn child_floods() {
    let read = |name: &str| std::env::var(name).expect("set by the parent");
    let db = Database::open(read("NUTHATCH_CHILD_FOLDER"), Options::default()).unwrap();
    let cache = db.cache("answers").unwrap().with_durability(Durability::Os);
    cache.configure(&shares(SHARE, 0)).unwrap();
    let name = read("NUTHATCH_CHILD_NAME");
    for at in 0.. {
        cache.store(of("flood", &format!("flood {name} {at}"))).unwrap();
        if at == 10 * SHARE {
            println!("\nflooded");
        }
    }
}

struct Flood(Child);

impl Flood {
    /// A process that floods, and has stored ten times its share.
    fn start(folder: &Path, name: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_floods", "--exact", "--ignored", "--nocapture"])
            .env("NUTHATCH_CHILD_FOLDER", folder)
            .env("NUTHATCH_CHILD_NAME", name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while lines.next().expect("it floods").unwrap() != "flooded" {}
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_flood_from_threads_and_processes_evicts_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    // The first flood holds the folder, so that its death is also that of the writing process.
    let first = Flood::start(folder.path(), "first");
    let (db, cache) = open(folder.path());
    let cache = cache.with_durability(Durability::Os);
    let others: BTreeSet<String> = (0..3 * SHARE).map(|at| format!("other {} {at}", at % 3)).collect();
    for prompt in &others {
        cache.store(of(&prompt[..7], prompt)).unwrap();
    }
    let check = |cache: &Cache| {
        let kept = prompts(cache);
        let (mine, flooded): (BTreeSet<String>, BTreeSet<String>) =
            kept.into_iter().partition(|prompt| prompt.starts_with("other"));
        assert_eq!(mine, others);
        flooded
    };
    let second = Flood::start(folder.path(), "second");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (cache, is_over) = (&cache, &is_over);
            threads.spawn(move || {
                for at in 0..10 * SHARE {
                    cache.store(of("flood", &format!("flood thread {thread} {at}"))).unwrap();
                }
                is_over.store(true, Ordering::SeqCst);
            });
        }
        while !is_over.load(Ordering::SeqCst) {
            assert!(check(&cache).len() as u64 <= SHARE);
        }
    });
    first.kill();
    second.kill();
    // A list is a page at a moment; now nobody writes.
    assert_eq!(check(&cache).len() as u64, SHARE);
    let kept: BTreeSet<String> = (0..SHARE).map(|at| format!("flood last {at}")).collect();
    for prompt in &kept {
        cache.store(of("flood", prompt)).unwrap();
    }
    assert_eq!(check(&cache), kept, "what was killed left no share that is counted wrongly");
    db.close().unwrap();
    let (_db, cache) = open(folder.path());
    cache.store(of("flood", "flood again")).unwrap();
    assert_eq!(check(&cache).len() as u64, SHARE);
}

#[test]
fn a_flood_at_the_limit_of_the_cache_takes_from_nobody_who_has_less() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    let cache = cache.with_durability(Durability::Os);
    let limits = CacheChange { max_entries: Some(2 * SHARE), ..shares(SHARE, 0) };
    cache.configure(&limits).unwrap();
    // An entry in nobody's share has no user to keep it for.
    cache.store(StoreAnswer { user: None, ..answer("nobody's") }).unwrap();
    // Three users with a quarter of the cache each, and none of them uses an answer again.
    let others: BTreeSet<String> = (0..3 * SHARE / 2).map(|at| format!("other {} {at}", at % 3)).collect();
    for prompt in &others {
        cache.store(of(&prompt[..7], prompt)).unwrap();
    }
    let flood = Flood::start(folder.path(), "only");
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let cache = &cache;
            threads.spawn(move || {
                for at in 0..5 * SHARE {
                    cache.store(of("flood", &format!("flood thread {thread} {at}"))).unwrap();
                }
            });
        }
    });
    flood.kill();
    let kept = prompts(&cache);
    assert!(others.is_subset(&kept), "{:?} went", others.difference(&kept).collect::<Vec<_>>());
    assert!(!kept.contains("nobody's"));
    assert_eq!(kept.len() as u64, 2 * SHARE);
    db.close().unwrap();
    // A fifth user gets as much as the others, who have the most until then.
    let (_db, cache) = open(folder.path());
    for at in 0..SHARE {
        cache.store(of("fifth", &format!("fifth {at}"))).unwrap();
    }
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for prompt in prompts(&cache) {
        let user = if prompt.starts_with("other") { &prompt[..7] } else { &prompt[..5] };
        *held.entry(user.into()).or_default() += 1;
    }
    assert_eq!(held.values().copied().collect::<Vec<_>>(), [SHARE * 2 / 5; 5], "{held:?}");
}
