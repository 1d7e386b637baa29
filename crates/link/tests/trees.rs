//! Trees: kill -9 at random moments, many processes, tenants, backups, snapshots of the database, and erasing.
//!
//! Ten rounds of kills, or `NUTHATCH_CRASH_ROUNDS` of them (two hundred with `NUTHATCH_LONG=1`).
#![cfg(unix)]

#[path = "support/killed.rs"]
mod killed;
mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use killed::{rounds, run_and_kill};
use nuthatch_link::*;
use support::*;

/// The victim, and the verbs of what it says.
const CHILD: (&str, &[&str]) = ("child_writes_trees_until_it_is_killed", &["P", "S", "R", "E", "K"]);

/// Path -> the version that stands there.
type State = BTreeMap<String, u64>;

/// The contents of a tree and of its snapshots, as far as acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    now: State,
    snapshots: BTreeMap<String, State>,
}

/// Bytes of a version: inline, of one chunk, or of many, of which versions of a path share most.
fn content(path: &str, version: u64) -> Vec<u8> {
    let size = match version % 5 {
        0 => 40,
        1 | 2 => 3_000,
        3 => 150_000,
        _ => 400_000,
    };
    let seed = path.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(size).collect();
    let mark = version.to_string().into_bytes();
    let at = size / 2;
    bytes[at..at + mark.len()].copy_from_slice(&mark);
    bytes
}

fn file(path: &str, what: PutWhat) -> PutFile {
    PutFile { path: path.into(), mode: 0o644, modified_ns: 5, what }
}

fn whole(path: &str, version: u64) -> PutFile {
    file(path, PutWhat::File(content(path, version)))
}

/// A field of a file that says which version it is.
fn saying(version: u64) -> FieldChange {
    FieldChange { set: [("version".to_owned(), Value::Int(version as i64))].into(), ..FieldChange::default() }
}

/// The victim: writes to a tree until it is killed. Before each call it says it with a `?` in front, and again when it is
/// acknowledged: `P path:version … -path …`, `S name`, `R name`, `E path`, `K versions`.
#[test]
#[ignore = "run by the test of kills in a process of its own"]
fn child_writes_trees_until_it_is_killed() {
    let folder = std::env::var("NUTHATCH_CHILD_FOLDER").expect("set by the parent");
    let seed: u64 = std::env::var("NUTHATCH_CHILD_SEED").unwrap().parse().unwrap();
    let mut dice = fastrand::Rng::with_seed(seed);
    let db = Database::open(&folder, Options::default()).unwrap();
    let tree = db.tree("t").unwrap();
    let mut out = std::io::stdout().lock();
    for call in 0u64.. {
        let version = seed % 1_000_000 * 10_000 + call;
        let some = |dice: &mut fastrand::Rng| format!("d{}/f{}", dice.u8(..3), dice.u8(..6));
        let mut act = |line: String, done: &dyn Fn()| {
            out.write_all(format!("?{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
            done();
            out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
        };
        match dice.u8(..13) {
            0 => act(format!("S s{version}"), &|| drop(tree.name_snapshot(&format!("s{version}")).unwrap())),
            1 => {
                let Some(oldest) = tree.snapshots().unwrap_or_default().into_iter().next() else { continue };
                act(format!("R {}", oldest.name), &|| assert!(tree.drop_snapshot(&oldest.name).unwrap()));
            }
            2 => {
                let path = some(&mut dice);
                act(format!("E {path}"), &|| drop(tree.erase(&path)));
            }
            3 => {
                let versions = dice.u32(1..4);
                let keep = Retention { versions: Some(versions), seconds: Some(0) };
                act(format!("K {versions}"), &|| tree.set_retention(keep).unwrap());
            }
            4 => {
                // In parts, as large files come.
                let (path, version) = (some(&mut dice), version - version % 5 + 4);
                let bytes = content(&path, version);
                act(format!("P {path}:{version}"), &|| {
                    let upload = tree.begin_upload().unwrap();
                    let (first, rest) = bytes.split_at(bytes.len() / 3);
                    tree.upload(upload, 0, first.to_vec(), false).unwrap();
                    tree.upload(upload, first.len() as u64, rest.to_vec(), true).unwrap();
                    let files = vec![file(&path, PutWhat::Uploaded(upload))];
                    tree.put(PutFiles { files, change: saying(version), ..PutFiles::default() }).unwrap();
                });
            }
            // It is derived, and in step with whatever is killed.
            5 => drop(tree.index(true)),
            _ => {
                let mut paths: Vec<String> = (0..dice.usize(1..6)).map(|_| some(&mut dice)).collect();
                paths.sort_unstable();
                paths.dedup();
                let gone = if dice.u8(..3) == 0 { paths.split_off(paths.len() / 2) } else { Vec::new() };
                let words = paths.iter().map(|path| format!(" {path}:{version}"));
                let line = words.chain(gone.iter().map(|path| format!(" -{path}"))).collect::<String>();
                let put = PutFiles {
                    files: paths.iter().map(|path| whole(path, version)).collect(),
                    gone: gone.clone(),
                    change: saying(version),
                    ..PutFiles::default()
                };
                act(format!("P{line}"), &|| {
                    tree.put(put.clone()).unwrap();
                });
            }
        }
        if call % 40 == 39 {
            db.reclaim(None).unwrap();
        }
    }
}

impl Model {
    fn apply(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap();
        match verb {
            "P" => {
                for word in rest.split(' ') {
                    match (word.strip_prefix('-'), word.split_once(':')) {
                        (Some(path), _) => drop(self.now.remove(path)),
                        (None, Some((path, version))) => drop(self.now.insert(path.into(), version.parse().unwrap())),
                        _ => panic!("{line:?}"),
                    }
                }
            }
            "S" => drop(self.snapshots.insert(rest.into(), self.now.clone())),
            "R" => drop(self.snapshots.remove(rest)),
            "E" => {
                self.now.remove(rest);
                for state in self.snapshots.values_mut() {
                    state.remove(rest);
                }
            }
            "K" => {}
            _ => panic!("{line:?}"),
        }
    }

    /// Reads the stored state, every byte of it.
    fn stored(tree: &Tree) -> Self {
        let state = |as_of: Option<&str>| {
            let mut state = State::new();
            tree.each_entry(as_of, "", |entry| {
                let found = read_whole(tree, as_of, &entry);
                let middle = &found[found.len() / 2..];
                let digits = middle.iter().take_while(|byte| byte.is_ascii_digit()).count();
                // The digits of a version are followed by noise, which may be a digit, too.
                let version =
                    (1..=digits).rev().map(|count| std::str::from_utf8(&middle[..count]).unwrap().parse().unwrap());
                let version = version.into_iter().find(|version| content(&entry.path, *version) == found);
                let version = version.unwrap_or_else(|| panic!("{entry:?} is half of something"));
                let said = entry.fields.get("version");
                assert!(said.is_none_or(|said| *said == Value::Int(version as i64)), "{entry:?} has foreign fields");
                state.insert(entry.path, version);
                Ok::<(), Error>(())
            })
            .unwrap();
            state
        };
        let snapshots =
            tree.snapshots().unwrap().into_iter().map(|snapshot| (snapshot.name.clone(), state(Some(&snapshot.name))));
        Self { now: state(None), snapshots: snapshots.collect() }
    }
}

fn read_whole(tree: &Files, as_of: Option<&str>, entry: &TreeEntry) -> Vec<u8> {
    let mut found = Vec::new();
    while (found.len() as u64) < entry.bytes {
        found.extend(tree.read(as_of, &entry.path, found.len() as u64, 100_000).unwrap().unwrap().bytes);
    }
    found
}

#[test]
fn after_kill_9_a_tree_has_every_acknowledged_write_and_exact_counts() {
    let seed =
        std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::default();
    let (mut acknowledged, mut cut_short) = (0, 0);
    for round in 0..rounds() {
        let note = format!("seed {seed} round {round}");
        let (done, under_way) =
            run_and_kill(CHILD, folder.path(), dice.u64(..), Duration::from_millis(dice.u64(100..900)), "");
        acknowledged += done.len();
        cut_short += usize::from(under_way.is_some());
        done.iter().for_each(|line| model.apply(line));
        let db = Database::open(folder.path(), quiet()).unwrap_or_else(|error| panic!("{note}: {error}"));
        let tree = db.tree("t").unwrap();
        if tree.info().is_err_and(|error| error.is_missing(What::Tree)) {
            assert_eq!(model, Model::default(), "{note}");
            continue;
        }
        let found = Model::stored(&tree);
        if found != model {
            let line = under_way.unwrap_or_else(|| panic!("{note}: differs from what was acknowledged"));
            model.apply(&line);
            assert!(found == model, "{note}: half of {line:?}");
        }
        let check = tree.check(true).unwrap();
        assert_eq!(check.findings, Vec::<String>::new(), "{note}");
        assert!(db.doctor().unwrap().is_well(), "{note}");
        db.close().unwrap();
    }
    println!(
        "proof: {} times kill -9 under a tree's writer: {acknowledged} acknowledged calls, {cut_short} cut short",
        rounds()
    );
    assert!(acknowledged > 0 && cut_short > 0);
}

#[test]
fn a_second_process_reads_and_writes_the_same_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) =
        (Database::open(folder.path(), quiet()).unwrap(), Database::open(folder.path(), quiet()).unwrap());
    assert_eq!(there.tree_names().unwrap(), Vec::<String>::new());
    assert!(there.existing_tree("t").err().unwrap().is_missing(What::Tree));
    let (one, other) = (here.tree("t").unwrap(), there.tree("t").unwrap());
    for tree in [&one, &other] {
        assert!(tree.info().unwrap_err().is_missing(What::Tree), "the first file makes it");
    }
    other.put(PutFiles { files: vec![whole("a", 3), whole("b", 4)], ..PutFiles::default() }).unwrap();
    assert_eq!(one.read(None, "a", 0, 1 << 20).unwrap().unwrap().bytes, content("a", 3));
    one.name_snapshot("v1").unwrap();
    assert_eq!(other.snapshots().unwrap(), one.snapshots().unwrap());
    let upload = other.begin_upload().unwrap();
    other.upload(upload, 0, content("c", 9), true).unwrap();
    other
        .put(PutFiles {
            files: vec![file("c", PutWhat::Uploaded(upload))],
            gone: vec!["a".into()],
            ..PutFiles::default()
        })
        .unwrap();
    assert_eq!(one.info().unwrap(), other.info().unwrap());
    let ask = || DiffTrees { from: other.at(Some("v1")), to: other.at(None), ..DiffTrees::default() };
    assert_eq!(other.diff(ask()).unwrap(), one.diff(ask()).unwrap());
    assert_eq!(other.diff(ask()).unwrap().len(), 2);
    let mut printed = Vec::new();
    let request = GrepRequest {
        patterns: vec!["9".into()],
        text: true,
        output: GrepOutput::FilesWithMatches,
        ..GrepRequest::default()
    };
    let ask = GrepTree {
        at: other.at(None),
        below: String::new(),
        request,
        history: false,
        cursor: None,
        bytes_max: 1,
        index: GrepIndex::Auto,
        filter: None,
    };
    let report = other
        .grep(ask, |page| {
            printed.extend_from_slice(page);
            Ok::<(), Error>(())
        })
        .unwrap();
    assert!(report.matched && report.searched == 2 && printed.ends_with(b"c\n"), "{report:?}");
    let question = CodeQuestion::Callers("c".into());
    let ask = AskCode { at: other.at(None), below: String::new(), question, limit: 10 };
    assert_eq!(other.code(&ask, |_| ()).unwrap(), one.code(&ask, |_| ()).unwrap());
    // A snapshot of the database has the tree, as it was.
    let kept = there.snapshot().unwrap();
    assert_eq!(other.remove("").unwrap(), 2);
    assert_eq!(kept.tree("t").unwrap().list(None, "", None, 10).unwrap().entries.len(), 2);
    assert_eq!(one.list(None, "", None, 10).unwrap().entries, []);
    assert_eq!(other.erase("b").unwrap(), TreeErased { paths: 1, versions: 1 });
    assert!(there.drop_tree("t").unwrap() && !there.drop_tree("t").unwrap());
    assert_eq!(here.tree_names().unwrap(), Vec::<String>::new());
}

#[test]
fn tenants_have_trees_of_their_own() {
    let db = Database::in_memory(quiet()).unwrap();
    db.create_tenant("acme").unwrap();
    let acme = db.tenant("acme").unwrap();
    let put = |db: &Database, version| {
        db.tree("t").unwrap().put(PutFiles { files: vec![whole("a", version)], ..PutFiles::default() }).unwrap();
    };
    put(&db, 3);
    assert_eq!(acme.tree_names().unwrap(), Vec::<String>::new());
    put(&acme, 4);
    assert_eq!(db.tree("t").unwrap().info().unwrap().bytes, 150_000);
    assert_eq!(acme.tree("t").unwrap().info().unwrap().bytes, 400_000);
    acme.drop_tree("t").unwrap();
    assert_eq!(db.tree("t").unwrap().read(None, "a", 0, 1 << 20).unwrap().unwrap().bytes, content("a", 3));
}

#[test]
fn a_backup_brings_back_trees_with_versions_and_snapshots() {
    let home = tempfile::tempdir().unwrap();
    let db = Database::open(home.path().join("data"), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    tree.put(PutFiles { files: vec![whole("a", 3), whole("b", 4)], ..PutFiles::default() }).unwrap();
    tree.name_snapshot("v1").unwrap();
    tree.put(PutFiles { files: vec![whole("a", 13)], ..PutFiles::default() }).unwrap();
    db.backup(home.path().join("backup"), BackupOptions::default()).unwrap();
    let options = RestoreOptions { options: quiet(), ..RestoreOptions::default() };
    Backups::at(home.path().join("backup")).restore(home.path().join("again"), options).unwrap();
    let again = Database::open(home.path().join("again"), quiet()).unwrap().tree("t").unwrap();
    assert_eq!(Model::stored(&again), Model::stored(&tree));
    assert_eq!(again.check(true).unwrap().findings, Vec::<String>::new());
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Files of the folder that hold one of the needles.
fn holding(folder: &Path, needles: &[&[u8]]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        needles.iter().any(|needle| bytes.windows(needle.len()).any(|window| window == *needle))
    };
    files_below(folder).into_iter().filter(holds).collect()
}

#[test]
fn what_is_known_of_source_code_goes_with_what_was_erased() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    let mut dice = fastrand::Rng::with_seed(7);
    let name: String = std::iter::repeat_with(|| dice.alphabetic()).take(48).collect();
    // The file itself is in chunks that are compressed, and its name is spelt in no other place.
    let text = format!("def {name}():\n    pass\n{}", "# nothing\n".repeat(50));
    let what = PutWhat::File(text.into_bytes());
    tree.put(PutFiles { files: vec![file("secret.py", what)], ..PutFiles::default() }).unwrap();
    let question = CodeQuestion::Definitions(name.clone());
    let ask = AskCode { at: tree.at(None), below: String::new(), question, limit: 10 };
    assert_eq!(tree.code(&ask, |_| ()).unwrap().definitions.len(), 1);
    db.reclaim(None).unwrap();
    assert!(!holding(folder.path(), &[&name.as_bytes()[..16]]).is_empty(), "what is looked for can be found");
    tree.erase("secret.py").unwrap();
    assert!(db.reclaim(None).unwrap().is_genuine());
    assert_eq!(holding(folder.path(), &[&name.as_bytes()[..16]]), Vec::<PathBuf>::new());
    assert!(tree.code(&ask, |_| ()).unwrap().definitions.is_empty());
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
}

#[test]
fn what_was_erased_is_in_no_byte_of_the_folder_and_what_shared_with_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    // Noise, which no compression writes in any other way; its own and shared chunks, and a file that lies in its row.
    let (shared, own) = (content("shared", 4), content("own", 4));
    let marked = [&shared[..], &own[..]].concat();
    let small = &content("small", 0)[..40];
    let put = |path: &str, bytes: &[u8]| {
        tree.put(PutFiles { files: vec![file(path, PutWhat::File(bytes.to_vec()))], ..PutFiles::default() }).unwrap();
    };
    put("sharing", &shared);
    for (round, name) in ["v1", "v2"].iter().enumerate() {
        put("marked", &[&marked[..], &[round as u8]].concat());
        put("small", &[small, &[round as u8]].concat());
        tree.name_snapshot(name).unwrap();
    }
    put("marked", &marked);
    db.tree("another").unwrap().put(PutFiles { files: vec![whole("a", 3)], ..PutFiles::default() }).unwrap();
    let windows: Vec<&[u8]> = own[70_000..330_000].chunks(16).step_by(400).chain(small.chunks(16)).take(700).collect();
    db.reclaim(None).unwrap();
    assert!(!holding(folder.path(), &windows).is_empty(), "what is looked for can be found");

    assert_eq!(tree.erase("marked").unwrap(), TreeErased { paths: 1, versions: 3 });
    assert_eq!(tree.erase("small").unwrap(), TreeErased { paths: 1, versions: 2 });
    let receipt = db.reclaim(None).unwrap();
    assert!(receipt.is_genuine());
    assert_eq!(holding(folder.path(), &windows), Vec::<PathBuf>::new());
    let ids: Vec<[u8; 32]> = [&marked[..], small].map(|bytes| ContentId::of(bytes).0).to_vec();
    let ids: Vec<&[u8]> = ids.iter().map(|id| &id[..16]).collect();
    assert_eq!(holding(folder.path(), &ids), Vec::<PathBuf>::new());
    assert_eq!(read_whole(&tree, None, &tree.entry(None, "sharing").unwrap().unwrap()), shared);
    assert_eq!(tree.list(Some("v1"), "", None, 10).unwrap().entries.len(), 1, "the snapshot shows the rest");
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
}
