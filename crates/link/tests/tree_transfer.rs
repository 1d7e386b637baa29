//! Trees in exports: everything comes back bit for bit, and what is damaged changes nothing.
#![cfg(unix)]

#[path = "support/killed.rs"]
mod killed;
mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use killed::{rounds, run_and_kill};
use nuthatch_link::*;
use support::quiet;

const CHILD: (&str, &[&str]) = ("child_imports_trees_until_it_is_killed", &["I", "D"]);

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut dice = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| dice.u8(..)).take(bytes).collect()
}

fn file(path: &str, what: PutWhat) -> PutFile {
    PutFile { path: path.into(), mode: 0o640, modified_ns: path.len() as i64, what }
}

/// Two trees that share contents of every size, with versions, snapshots, links, folders, removals and fields.
fn fill(db: &Database, large_bytes: usize) {
    let (one, other) = (db.tree("one").unwrap(), db.tree("other").unwrap());
    one.set_retention(Retention { versions: Some(7), seconds: None }).unwrap();
    let put = |tree: &Tree, files: Vec<PutFile>, gone: &[&str]| {
        let gone = gone.iter().map(|path| (*path).to_owned()).collect();
        tree.put_all(PutFiles { files, gone, ..PutFiles::default() }).unwrap();
    };
    let (many, large) = (noise(2, 300_000), noise(3, large_bytes));
    put(&one, vec![file("small", PutWhat::File(b"small".to_vec())), file("empty", PutWhat::File(vec![]))], &[]);
    put(&one, vec![file("dir", PutWhat::Folder), file("dir/link", PutWhat::Link("../small".into()))], &[]);
    one.name_snapshot("v1").unwrap();
    put(&one, vec![file("dir/many", PutWhat::File(many.clone())), file("ü/one", PutWhat::File(noise(1, 3_000)))], &[]);
    put(&other, vec![file("many", PutWhat::File(many.clone())), file("large", PutWhat::File(large))], &[]);
    let at = Value::Datetime(1_735_689_600_000_001);
    let set =
        [("at".to_owned(), at), ("n".to_owned(), 0.1.into()), ("looks".to_owned(), "2025-01-01T00:00:00Z".into())];
    one.update(vec!["small".into()], None, FieldChange { set: set.into(), ..FieldChange::default() }).unwrap();
    one.name_snapshot("v2").unwrap();
    let changed = [&many[..100_000], b"changed", &many[100_000..]].concat();
    put(&one, vec![file("dir/many", PutWhat::File(changed))], &["empty", "dir/link"]);
    db.collection("notes", support::no_embedder()).unwrap().upsert(vec![Record::new("a").text("bird")]).unwrap();
}

/// Everything that a tree tells: itself, its snapshots, its versions, its roots, and the bytes of its files.
type Told = (TreeInfo, Vec<TreeSnapshot>, Vec<TreeEntry>, Vec<TreeRoot>, Vec<Vec<u8>>);

/// All that trees say, with sequences from `base` on.
fn told(db: &Database, base: u64) -> Vec<Told> {
    let names = ["one", "other"];
    names
        .iter()
        .map(|name| {
            let tree = db.existing_tree(name).unwrap();
            let info = TreeInfo { together: Totals::default(), ..tree.info().unwrap() };
            let mut snapshots = tree.snapshots().unwrap();
            snapshots.iter_mut().for_each(|snapshot| snapshot.sequence -= base);
            let (mut versions, mut bytes) = (Vec::new(), Vec::new());
            for path in ["dir", "dir/link", "dir/many", "empty", "large", "many", "small", "ü/one"] {
                for mut entry in tree.versions(path).unwrap() {
                    if entry.kind == EntryKind::File {
                        let mut whole = Vec::new();
                        while (whole.len() as u64) < entry.bytes {
                            whole.extend(tree.read_version(None, &entry, whole.len() as u64, 8 << 20).unwrap());
                        }
                        bytes.push(whole);
                    }
                    entry.sequence -= base;
                    versions.push(entry);
                }
            }
            let moments: Vec<_> = snapshots.iter().map(|snapshot| Some(snapshot.name.clone())).chain([None]).collect();
            (info, snapshots, versions, tree.roots(&moments, "").unwrap(), bytes)
        })
        .collect()
}

fn exported(large_bytes: usize) -> (tempfile::TempDir, Database) {
    let home = tempfile::tempdir().unwrap();
    let db = Database::open(home.path().join("data"), quiet()).unwrap();
    fill(&db, large_bytes);
    db.export(home.path().join("out"), ExportOptions::default()).unwrap();
    (home, db)
}

fn import(db: &Database, folder: &Path) -> Result<ImportReport> {
    db.import(folder, ImportOptions::default())
}

#[test]
fn trees_come_back_with_every_version_snapshot_field_and_root() {
    let (home, db) = exported(17 << 20);
    let expected = told(&db, 0);
    let manifest = std::fs::read(home.path().join("out/export.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let together = db.existing_tree("one").unwrap().info().unwrap().together;
    assert_eq!(manifest["contents"]["contents"], together.contents, "each content once");
    assert_eq!(manifest["nuthatch_export"], EXPORT_FORMAT_VERSION);

    let again = Database::open(home.path().join("again"), quiet()).unwrap();
    let report = import(&again, &home.path().join("out")).unwrap();
    assert_eq!((report.trees, report.records), (vec!["one".to_owned(), "other".to_owned()], 1));
    assert!(told(&again, 0) == expected, "in an empty folder even the sequences are the same");
    assert_eq!(again.existing_tree("one").unwrap().info().unwrap().together, together, "and nothing is there twice");
    assert_eq!(again.existing_tree("one").unwrap().check(true).unwrap().findings, Vec::<String>::new());
    let search = Search::text("small").mode(Mode::Text);
    let tree = again.tree("one").unwrap().with_embedder(EmbedderChoice::None);
    assert_eq!(tree.search(Some("v1"), "", &search).unwrap().hits.len(), 1);

    // Where there are trees already, sequences follow on theirs; contents are shared.
    let beside = Database::open(home.path().join("beside"), quiet()).unwrap();
    let third = beside.tree("third").unwrap();
    for text in ["1", "2", "3"] {
        let files = vec![file("many", PutWhat::File([&noise(2, 300_000)[..], text.as_bytes()].concat()))];
        third.put(PutFiles { files, ..PutFiles::default() }).unwrap();
    }
    import(&beside, &home.path().join("out")).unwrap();
    assert!(told(&beside, 3) == expected);
    let files = vec![file("many", PutWhat::File(b"later".to_vec()))];
    let other = beside.tree("other").unwrap();
    let report = other.put(PutFiles { files, ..PutFiles::default() }).unwrap();
    assert_eq!(other.versions("many").unwrap()[0].sequence, report.sequence, "the newest write is the newest version");
    assert_eq!(other.check(true).unwrap().findings, Vec::<String>::new());
    // An export of what was imported says the same.
    again.export(home.path().join("out again"), ExportOptions::default()).unwrap();
    for file in ["trees/contents.jsonl", "trees/000-one.jsonl", "trees/001-other.jsonl"] {
        let read = |folder: &str| std::fs::read(home.path().join(folder).join(file)).unwrap();
        assert!(read("out") == read("out again"), "{file}");
    }
}

#[test]
fn a_damaged_export_is_named_and_leaves_the_database_as_it_was() {
    let (home, _db) = exported(300_000);
    let out = home.path().join("out");
    let again = Database::open(home.path().join("again"), quiet()).unwrap();
    let third = again.tree("third").unwrap();
    third.put(PutFiles { files: vec![file("a", PutWhat::File(noise(2, 1_000)))], ..PutFiles::default() }).unwrap();
    let before = (third.info().unwrap(), third.root(None, "").unwrap());
    let mut dice = fastrand::Rng::with_seed(9);
    let refused = |path: &Path, bytes: &[u8], what: &str| {
        let good = std::fs::read(path).unwrap();
        std::fs::write(path, bytes).unwrap();
        let error = import(&again, &out).err().unwrap_or_else(|| panic!("{what}: {path:?} was imported"));
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(error.message.contains(name), "{what}: {name} in {error}");
        assert_eq!(again.tree_names().unwrap(), ["third"], "{what}: {error}");
        assert_eq!(again.collection_names().unwrap(), Vec::<String>::new(), "{what}: {error}");
        assert_eq!(third.check(true).unwrap().findings, Vec::<String>::new(), "{what}: {error}");
        assert_eq!((third.info().unwrap(), third.root(None, "").unwrap()), before, "{what}");
        std::fs::write(path, good).unwrap();
    };
    for name in ["contents.jsonl", "000-one.jsonl", "001-other.jsonl"] {
        let path: PathBuf = out.join("trees").join(name);
        let good = std::fs::read(&path).unwrap();
        for _ in 0..25 {
            let at = dice.usize(..good.len());
            let mut bad = good.clone();
            bad[at] ^= 1 << dice.u8(..7);
            refused(&path, &bad, &format!("byte {at}"));
        }
        let last = good[..good.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        refused(&path, &good[..=last], "without its last line");
        refused(&path, &good[..good.len() / 2], "cut in the middle");
    }
    import(&again, &out).unwrap();
    assert_eq!(again.tree_names().unwrap(), ["one", "other", "third"]);
}

#[test]
fn a_tree_that_is_there_is_never_written_over() {
    let (home, db) = exported(1_000);
    let before = told(&db, 0);
    db.drop_tree("other").unwrap();
    let change = FieldChange { unset: vec!["n".into()], ..FieldChange::default() };
    db.tree("one").unwrap().update(vec![], None, change).unwrap();
    let merge = ImportOptions { merge: true, ..ImportOptions::default() };
    let error = db.import(home.path().join("out"), merge).err().unwrap();
    assert!(error.message.contains("tree \"one\" already exists"), "{error}");
    assert_eq!(db.tree_names().unwrap(), ["one"]);
    let files = vec![file("a", PutWhat::Folder)];
    db.tree("other").unwrap().put(PutFiles { files, ..PutFiles::default() }).unwrap();
    db.drop_tree("one").unwrap();
    assert!(import(&db, &home.path().join("out")).is_err());
    db.drop_tree("other").unwrap();
    let merge = || ImportOptions { merge: true, ..ImportOptions::default() };
    db.import(home.path().join("out"), merge()).unwrap();
    let again = db.import(home.path().join("out"), merge()).unwrap();
    assert_eq!(again.trees, Vec::<String>::new(), "an import that was interrupted goes on behind its trees");
    let base = db.existing_tree("one").unwrap().snapshots().unwrap()[0].sequence - before[0].1[0].sequence;
    assert!(told(&db, base) == before);
}

/// The victim: imports trees and drops them until it is killed.
#[test]
#[ignore = "run by the test of kills in a process of its own"]
fn child_imports_trees_until_it_is_killed() {
    let folder = PathBuf::from(std::env::var("NUTHATCH_CHILD_FOLDER").expect("set by the parent"));
    let db = Database::open(folder.join("again"), quiet()).unwrap();
    loop {
        println!("?I trees");
        import(&db, &folder.join("out")).unwrap();
        println!("I trees");
        println!("?D trees");
        db.drop_tree("one").unwrap();
        db.drop_tree("other").unwrap();
        db.drop_collection("notes").unwrap();
        println!("D trees");
    }
}

#[test]
fn after_kill_9_a_tree_was_imported_as_a_whole_or_not_at_all() {
    let seed = fastrand::u64(..);
    let mut dice = fastrand::Rng::with_seed(seed);
    let (home, db) = exported(9 << 20);
    let expected = told(&db, 0);
    let mut halves = 0;
    for round in 0..rounds() {
        let note = format!("seed {seed} round {round}");
        let life = Duration::from_millis(dice.u64(100..900));
        let (_, under_way) = run_and_kill(CHILD, home.path(), dice.u64(..), life, "");
        let again =
            Database::open(home.path().join("again"), quiet()).unwrap_or_else(|error| panic!("{note}: {error}"));
        let names = again.tree_names().unwrap();
        halves += usize::from(under_way.as_deref() == Some("I trees"));
        if under_way.as_deref() == Some("I trees")
            && names.iter().any(|name| name == "one")
            && names.iter().any(|name| name == "other")
        {
            let base = again.existing_tree("one").unwrap().snapshots().unwrap()[0].sequence - expected[0].1[0].sequence;
            assert!(told(&again, base) == expected, "{note}");
        }
        // Leftovers of an import block nothing, and counts are exact.
        let tree = again.tree("one").unwrap();
        tree.put(PutFiles { files: vec![file("a", PutWhat::Folder)], ..PutFiles::default() }).unwrap();
        assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new(), "{note}");
        for name in ["one", "other"] {
            again.drop_tree(name).unwrap();
        }
        again.drop_collection("notes").unwrap();
        let together = {
            tree.put(PutFiles { files: vec![file("a", PutWhat::Folder)], ..PutFiles::default() }).unwrap();
            let together = tree.info().unwrap().together;
            again.drop_tree("one").unwrap();
            together
        };
        assert_eq!(together, Totals::default(), "{note}: nothing of a half import stays");
        again.close().unwrap();
    }
    println!("proof: {} times kill -9 under an import of trees, {halves} of them in the middle of one", rounds());
}
