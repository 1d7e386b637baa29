//! Searching trees: as of any moment as in a store that holds that moment alone, after kill -9, erased, from other processes.
//!
//! Ten rounds of kills, or `NUTHATCH_CRASH_ROUNDS` of them (two hundred with `NUTHATCH_LONG=1`).
#![cfg(unix)]

#[path = "support/killed.rs"]
mod killed;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use killed::{rounds, run_and_kill};
use nuthatch_embed::{EmbedError, Embedder};
use nuthatch_link::*;
use support::*;

/// The victim, and the verbs of what it says.
const CHILD: (&str, &[&str]) = ("child_searches_trees_until_it_is_killed", &["P", "E"]);

/// Path -> text.
type State = BTreeMap<String, String>;

fn put(tree: &Tree, files: &[(&str, &str)], gone: &[&str]) {
    let file = |(path, text): &(&str, &str)| PutFile {
        path: (*path).into(),
        mode: 0o644,
        modified_ns: 5,
        what: PutWhat::File(text.as_bytes().to_vec()),
    };
    let gone = gone.iter().map(|path| (*path).to_string()).collect();
    tree.put(PutFiles { files: files.iter().map(file).collect(), gone, ..PutFiles::default() }).unwrap();
}

fn by_words(db: &Database, name: &str) -> Tree {
    db.tree(name).unwrap().with_embedder(EmbedderChoice::None)
}

/// Every path that a hit names.
fn paths(hit: &Hit) -> BTreeSet<String> {
    let text = |value: &Value| if let Value::Text(text) = value { text.clone() } else { panic!("{value:?}") };
    match hit.payload.get("paths") {
        Some(Value::Array(paths)) => paths.iter().map(text).collect(),
        _ => [text(&hit.payload["path"])].into(),
    }
}

/// Returns the hits of a search: the paths of each, and its text.
fn found(tree: &Tree, as_of: Option<&str>, search: &Search) -> BTreeSet<(BTreeSet<String>, String)> {
    let answer = tree.search(as_of, "", search).unwrap();
    let hits: Vec<_> = answer.hits.iter().map(|hit| (paths(hit), hit.text.clone().unwrap())).collect();
    let set: BTreeSet<_> = hits.iter().cloned().collect();
    assert_eq!(set.len(), hits.len(), "no hit comes twice");
    set
}

fn words(text: &str) -> Search {
    Search::text(text).mode(Mode::Text).limit(1_000)
}

/// Vectors that say which words are in a text.
struct Counting;

impl Embedder for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn dim(&self) -> usize {
        WORDS.len()
    }

    fn fingerprint(&self) -> &str {
        "counting-1"
    }

    fn embed_passages(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| WORDS.iter().map(|word| 0.01 + text.matches(word).count() as f32).collect();
        Ok(texts.iter().map(vector).collect())
    }

    fn embed_query(&self, text: &str) -> std::result::Result<Vec<f32>, EmbedError> {
        Ok(self.embed_passages(&[text])?.remove(0))
    }
}

fn random_text(dice: &mut fastrand::Rng) -> String {
    let sentence = |dice: &mut fastrand::Rng| {
        let words: Vec<&str> = (0..dice.usize(3..9)).map(|_| WORDS[dice.usize(..WORDS.len())]).collect();
        words.join(" ")
    };
    (0..dice.usize(1..4)).map(|at| format!("# Part {at}\n\n{}\n\n", sentence(dice))).collect()
}

/// Changes some paths: new texts, copies, moves, removals.
fn change(state: &mut State, dice: &mut fastrand::Rng) {
    for _ in 0..dice.usize(3..9) {
        let path = format!("d{}/f{}.{}", dice.u8(..3), dice.u8(..8), ["md", "txt"][dice.usize(..2)]);
        let other = state.keys().nth(dice.usize(..state.len().max(1))).cloned();
        match (dice.u8(..5), other) {
            (0, Some(other)) => drop(state.remove(&other)),
            (1, Some(other)) => drop(state.insert(path, state[&other].clone())),
            (2, Some(other)) => {
                let text = state.remove(&other).unwrap();
                state.insert(path, text);
            }
            _ => drop(state.insert(path, random_text(dice))),
        }
    }
}

fn write(tree: &Tree, before: &State, state: &State) {
    let files: Vec<(&str, &str)> = state.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let gone: Vec<&str> = before.keys().filter(|path| !state.contains_key(*path)).map(String::as_str).collect();
    put(tree, &files, &gone);
}

#[test]
fn a_search_as_of_a_version_answers_as_a_store_that_holds_it_alone() {
    let seed = std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let db = Database::in_memory(quiet()).unwrap();
    let embedder = || EmbedderChoice::Given(Arc::new(Counting));
    let tree = db.tree("t").unwrap().with_embedder(embedder());
    let (mut state, mut states) = (State::new(), Vec::new());
    for version in 0..8 {
        let before = state.clone();
        change(&mut state, &mut dice);
        write(&tree, &before, &state);
        tree.name_snapshot(&format!("v{version}")).unwrap();
        states.push(state.clone());
        if version % 3 == 0 {
            tree.make_passages(None, |_| true).unwrap(); // others are made by the search that needs them
        }
        if version == 4 {
            db.optimize().unwrap(); // some passages in segments, others fresh
        }
    }
    let conditions = [
        None,
        Some("path like 'd1/%'"),
        Some("lang = 'markdown'"),
        Some("name != 'f3.md' and not heading = 'Part 0'"),
        Some("path like 'd0/%' or heading = 'Part 2'"),
        Some("(path like 'd2/%' and lang = 'text') or (name = 'f1.txt' and start_line = 1)"),
        Some("mode = 420 and mtime < '2000-01-01' and passage >= 0"),
    ];
    for (version, state) in states.iter().enumerate() {
        let as_of = format!("v{version}");
        let alone = Database::in_memory(quiet()).unwrap();
        let only = alone.tree("t").unwrap().with_embedder(embedder());
        write(&only, &State::new(), state);
        for condition in conditions {
            let with = |search: Search| condition.map_or(search.clone(), |text| search.filter(text).unwrap());
            for word in ["seed", "bird", "winter"] {
                let note = format!("seed {seed}, {as_of}, {word} where {condition:?}");
                let search = with(words(word));
                assert_eq!(found(&tree, Some(&as_of), &search), found(&only, None, &search), "{note}");
                let nearest = with(Search::text(word).mode(Mode::Vector).accuracy(Accuracy::Exact).limit(1_000));
                assert_eq!(found(&tree, Some(&as_of), &nearest), found(&only, None, &nearest), "{note}");
                // A filter never shortens the answer.
                let few = nearest.clone().limit(3);
                let (ours, theirs) =
                    (tree.search(Some(&as_of), "", &few).unwrap(), only.search(None, "", &few).unwrap());
                assert_eq!(ours.hits.len(), theirs.hits.len(), "{note}");
                let scores = |answer: &Answer| answer.hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
                assert_eq!(scores(&ours), scores(&theirs), "{note}");
            }
        }
        let below = tree.search(Some(&as_of), "d1", &words("seed bird winter")).unwrap();
        let expected =
            tree.search(Some(&as_of), "", &words("seed bird winter").filter("path like 'd1/%'").unwrap()).unwrap();
        let ids = |answer: &Answer| answer.hits.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&below), ids(&expected));
    }
}

#[test]
fn a_copy_a_rename_and_a_step_back_cost_no_passage() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = by_words(&db, "t");
    put(&tree, &[("a.md", "The osprey dives."), ("b.md", "The pike hides.")], &[]);
    assert_eq!(tree.make_passages(None, |_| true).unwrap().passages, 2);
    put(&tree, &[("c/copy.md", "The osprey dives."), ("moved.md", "The pike hides.")], &["b.md"]);
    put(&by_words(&db, "other"), &[("x.md", "The osprey dives.")], &[]);
    assert_eq!(tree.make_passages(None, |_| true).unwrap().contents, 0);
    assert_eq!(by_words(&db, "other").make_passages(None, |_| true).unwrap().contents, 0);
    let hits = tree.search(None, "", &words("osprey")).unwrap().hits;
    assert_eq!((hits.len(), hits[0].id.as_str()), (1, "a.md#0"));
    assert_eq!(paths(&hits[0]), ["a.md".to_string(), "c/copy.md".into()].into());
    assert_eq!(hits[0].payload["sequence"], Value::Int(1));
    assert_eq!(by_words(&db, "other").search(None, "", &words("osprey")).unwrap().hits[0].id, "x.md#0");
    // The same bytes under another extension are read in another way.
    put(&tree, &[("d.txt", "The pike hides.")], &[]);
    assert_eq!(tree.make_passages(None, |_| true).unwrap().contents, 1);
    let similar = tree.search(None, "", &Search { like: Some("a.md#0".into()), ..Search::default() });
    assert!(similar.unwrap_err().message.contains("no vector"), "the id is that of a hit");
}

#[test]
fn what_gives_no_passages_is_told_once_and_stays_where_it_is() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = by_words(&db, "t");
    put(
        &tree,
        &[("a.md", "The osprey dives."), ("b.pdf", "%PDF-1.7 and nothing else"), ("c.png", "\u{89}PNG\0\0\0")],
        &[],
    );
    let made = tree.make_passages(None, |_| true).unwrap();
    let unread: Vec<&str> = made.unread.iter().map(|unread| unread.path.as_str()).collect();
    assert_eq!((made.contents, unread), (3, vec!["b.pdf", "c.png"]));
    assert!(made.unread[0].why.starts_with("b.pdf "), "{:?}", made.unread);
    let again = tree.make_passages(None, |_| true).unwrap();
    assert_eq!((again.contents, again.unread.len()), (0, 0));
    assert_eq!(tree.read(None, "b.pdf", 0, 100).unwrap().unwrap().bytes, b"%PDF-1.7 and nothing else");
}

#[test]
fn a_changed_file_keeps_the_vectors_of_passages_that_it_had() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap().with_embedder(EmbedderChoice::Given(Arc::new(Counting)));
    let part = |name: &str| format!("# {name}\n\n{}\n\n", format!("{name} goes on and on. ").repeat(20));
    let text = ["seed", "bird", "river"].map(part).concat();
    put(&tree, &[("a.md", &text)], &[]);
    let made = tree.make_passages(None, |_| true).unwrap();
    assert_eq!(made.reused, 0);
    put(&tree, &[("a.md", &(text + &part("ship")))], &[]);
    let again = tree.make_passages(None, |_| true).unwrap();
    assert_eq!((again.contents, again.reused), (1, made.passages));
    assert!(again.passages > made.passages);
}

#[test]
fn passages_go_with_the_last_version_of_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = by_words(&db, "t");
    let mut dice = fastrand::Rng::with_seed(5);
    let secret: String = std::iter::repeat_with(|| dice.alphabetic()).take(40).collect();
    let text = format!("The word is {secret}.\n");
    put(&tree, &[("a.md", &text), ("b.md", "The pike hides.")], &[]);
    tree.name_snapshot("v1").unwrap();
    put(&tree, &[("a.md", "Nothing to see."), ("copy.md", &text)], &[]);
    assert_eq!(tree.search(Some("v1"), "", &words(&secret)).unwrap().hits.len(), 1);
    db.optimize().unwrap();
    let needle = &secret.as_bytes()[..16];
    let holding = || holding(folder.path(), needle);
    db.reclaim(None).unwrap();
    assert!(!holding().is_empty(), "what is looked for can be found");
    tree.erase("copy.md").unwrap();
    assert_eq!(tree.search(Some("v1"), "", &words(&secret)).unwrap().hits.len(), 1, "another version has it");
    tree.erase("a.md").unwrap();
    assert_eq!(tree.search(Some("v1"), "", &words(&secret)).unwrap().hits, []);
    assert_eq!(db.passages_of_trees().unwrap().unwrap().len().unwrap(), 1);
    assert!(db.reclaim(None).unwrap().is_genuine());
    assert_eq!(holding(), Vec::<PathBuf>::new());
    // With the last tree goes what was settled for all.
    assert!(db.drop_tree("t").unwrap());
    assert!(db.passages_of_trees().unwrap().is_none());
    put(&db.tree("t").unwrap(), &[("a.md", "The osprey dives.")], &[]);
    let other = db.tree("t").unwrap().with_embedder(EmbedderChoice::Given(Arc::new(Counting)));
    assert_eq!(other.search(None, "", &Search::text("bird").mode(Mode::Vector)).unwrap().hits.len(), 1);
}

/// Files of the folder that hold the needle.
fn holding(folder: &Path, needle: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&entry.path(), needle));
        } else if std::fs::read(entry.path()).unwrap_or_default().windows(needle.len()).any(|window| window == needle) {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn nobody_reaches_the_passages_but_through_a_tree() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = by_words(&db, "t");
    put(&tree, &[("a.md", "The osprey dives.")], &[]);
    tree.make_passages(None, |_| true).unwrap();
    let hidden = db.passages_of_trees().unwrap().unwrap();
    assert!(db.existing_collection(hidden.name()).err().unwrap().is_missing(What::Collection));
    assert!(db.collection(hidden.name(), no_embedder()).is_err());
    assert_eq!(db.collection_names().unwrap(), Vec::<String>::new());
    assert_eq!(db.collections().unwrap().len(), 0);
    let wrong = tree.search(None, "", &words("osprey").filter("paht = 'a.md'").unwrap()).unwrap_err();
    assert!(wrong.message.contains("path, name, mtime"), "{wrong}");
    db.create_tenant("acme").unwrap();
    let acme = db.tenant("acme").unwrap();
    put(&by_words(&acme, "t"), &[("b.md", "The osprey nests.")], &[]);
    assert_eq!(by_words(&acme, "t").search(None, "", &words("osprey")).unwrap().hits[0].id, "b.md#0");
    assert_eq!(tree.search(None, "", &words("osprey")).unwrap().hits.len(), 1);
}

#[test]
fn a_second_process_searches_the_same_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) =
        (Database::open(folder.path(), quiet()).unwrap(), Database::open(folder.path(), quiet()).unwrap());
    let (one, other) = (here.tree("t").unwrap(), there.tree("t").unwrap());
    let (one, other) = (by(one), by(other));
    put(&one, &[("a.md", "seed seed"), ("b.md", "bird river")], &[]);
    one.name_snapshot("v1").unwrap();
    put(&other, &[("c.md", "seed bird")], &["a.md"]);
    for as_of in [None, Some("v1")] {
        for search in [Search::text("seed").limit(10), words("bird")] {
            let (ours, theirs) = (one.search(as_of, "", &search).unwrap(), other.search(as_of, "", &search).unwrap());
            assert_eq!(ours.hits, theirs.hits);
            assert!(!ours.hits.is_empty());
        }
    }
    assert_eq!(there.passages_of_trees().unwrap().unwrap().len().unwrap(), 3);
    let lost = other.search(Some("v9"), "", &words("seed")).unwrap_err();
    assert!(lost.is_missing(What::TreeSnapshot), "{lost}");
    other.erase("a.md").unwrap();
    assert_eq!(one.search(Some("v1"), "", &words("seed")).unwrap().hits, []);
    // The handle goes on when its process comes to hold the folder.
    here.close().unwrap();
    assert_eq!(other.search(None, "", &words("seed")).unwrap().hits[0].id, "c.md#0");
}

/// With an embedder of this process's own.
fn by(tree: Tree) -> Tree {
    tree.with_embedder(EmbedderChoice::Given(Arc::new(Counting)))
}

#[test]
fn searches_beside_writers_see_whole_writes() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = by_words(&db, "t");
    put(&tree, &[("a.md", "round 0"), ("b.md", "round 0 too")], &[]);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..60 {
                let (one, other) = (format!("round {round}"), format!("round {round} too"));
                put(&tree, &[("a.md", &one), ("b.md", &other)], &[]);
            }
            is_done.store(true, Ordering::SeqCst);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    let hits = tree.search(None, "", &words("round")).unwrap().hits;
                    let texts: BTreeSet<String> =
                        hits.iter().map(|hit| hit.text.clone().unwrap().replace(" too", "")).collect();
                    assert_eq!((hits.len(), texts.len()), (2, 1), "{hits:?}");
                }
            });
        }
    });
}

/// The victim: writes and searches until it is killed. Before each call it says it with a `?` in front, and again when it is
/// acknowledged: `P path:word …`, `E path`.
#[test]
#[ignore = "run by the test of kills in a process of its own"]
fn child_searches_trees_until_it_is_killed() {
    let folder = std::env::var("NUTHATCH_CHILD_FOLDER").expect("set by the parent");
    let seed: u64 = std::env::var("NUTHATCH_CHILD_SEED").unwrap().parse().unwrap();
    let mut dice = fastrand::Rng::with_seed(seed);
    let db = Database::open(&folder, quiet()).unwrap();
    let tree = by_words(&db, "t");
    let mut out = std::io::stdout().lock();
    for call in 0u64.. {
        let path = format!("f{}.md", dice.u8(..12));
        let word = format!("w{}x{call}", seed % 1_000_000);
        let is_erasing = dice.u8(..5) == 0;
        let line = if is_erasing { format!("E {path}") } else { format!("P {path}:{word}") };
        out.write_all(format!("?{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
        match is_erasing {
            true => drop(tree.erase(&path)),
            false => put(&tree, &[(&path, &text_of(&word))], &[]),
        }
        out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
        if dice.bool()
            && let Err(error) = tree.search(None, "", &words(&word))
        {
            assert!(error.is_missing(What::Tree), "{error}"); // nothing was put yet
        }
        if call % 30 == 29 {
            db.reclaim(None).unwrap();
        }
    }
}

fn text_of(word: &str) -> String {
    (0..40).map(|at| format!("# Part {at}\n\n{word} is a word of part {at}.\n\n")).collect()
}

#[test]
fn after_kill_9_a_search_finds_what_the_tree_has_and_nothing_else_is_left() {
    let seed =
        std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    let mut model: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..rounds() {
        let note = format!("seed {seed} round {round}");
        let (done, under_way) =
            run_and_kill(CHILD, folder.path(), dice.u64(..), Duration::from_millis(dice.u64(100..700)), "");
        acknowledged += done.len();
        let db = Database::open(folder.path(), quiet()).unwrap_or_else(|error| panic!("{note}: {error}"));
        let tree = by_words(&db, "t");
        done.iter().for_each(|line| apply(&mut model, line));
        if tree.info().is_err_and(|error| error.is_missing(What::Tree)) {
            assert!(model.is_empty(), "{note}");
            continue;
        }
        let stored = |path: &str| tree.read(None, path, 0, 1 << 20).unwrap().map(|part| part.bytes);
        let is_same = |model: &BTreeMap<String, String>| {
            (0..12)
                .map(|at| format!("f{at}.md"))
                .all(|path| stored(&path) == model.get(&path).map(|word| text_of(word).into_bytes()))
        };
        if !is_same(&model) {
            apply(&mut model, &under_way.unwrap_or_else(|| panic!("{note}: differs from what was acknowledged")));
            assert!(is_same(&model), "{note}");
        }
        for (path, word) in &model {
            let hits = tree.search(None, "", &words(word)).unwrap().hits;
            assert!(
                !hits.is_empty() && hits.iter().all(|hit| hit.payload["path"] == Value::Text(path.clone())),
                "{note}"
            );
            let parts: BTreeSet<String> = hits.iter().map(|hit| hit.text.clone().unwrap()).collect();
            assert!(
                (0..40).all(|at| parts.iter().any(|part| part.contains(&format!("of part {at}.")))),
                "{note}: half of {path}"
            );
        }
        // Nothing is kept of what no version has; versions of before are.
        db.reclaim(None).unwrap();
        let mut kept = BTreeSet::new();
        for at in 0..12 {
            kept.extend(tree.versions(&format!("f{at}.md")).unwrap().into_iter().filter_map(|version| version.content));
        }
        let passages = db.passages_of_trees().unwrap().unwrap();
        let files = passages.files("").unwrap();
        for file in &files {
            let (content, _) = file.path.split_once('/').unwrap();
            assert!(kept.contains(&content.parse().unwrap()), "{note}: passages of {content} are left");
        }
        assert_eq!(passages.len().unwrap(), files.iter().map(|file| file.passages as u64).sum::<u64>(), "{note}");
        assert!(db.doctor().unwrap().is_well(), "{note}");
        db.close().unwrap();
    }
    println!(
        "proof: {} times kill -9 while passages of a tree were made and swept: {acknowledged} acknowledged calls",
        rounds()
    );
    assert!(acknowledged > 0);
}

fn apply(model: &mut BTreeMap<String, String>, line: &str) {
    let (verb, rest) = line.split_once(' ').unwrap();
    match (verb, rest.split_once(':')) {
        ("P", Some((path, word))) => drop(model.insert(path.into(), word.into())),
        ("E", None) => drop(model.remove(rest)),
        _ => panic!("{line:?}"),
    }
}
