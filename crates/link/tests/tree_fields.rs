//! Fields of files in trees: what a version was given, conditions on it, and counts of its values.

mod support;

use std::path::Path;

use nuthatch_link::*;
use support::quiet;

fn file(path: &str, bytes: &[u8]) -> PutFile {
    PutFile { path: path.into(), mode: 0o644, modified_ns: 5, what: PutWhat::File(bytes.to_vec()) }
}

fn put(tree: &Tree, files: &[(&str, &str)]) -> PutReport {
    let files = files.iter().map(|(path, text)| file(path, text.as_bytes())).collect();
    tree.put(PutFiles { files, ..PutFiles::default() }).unwrap()
}

fn fields(json: serde_json::Value) -> Payload {
    payload_from_json(json).unwrap()
}

fn set(json: serde_json::Value) -> FieldChange {
    FieldChange { set: fields(json), ..FieldChange::default() }
}

fn tag(tag: &str) -> FieldChange {
    FieldChange { add: [("tags".to_owned(), vec![tag].into())].into(), ..FieldChange::default() }
}

fn of(tree: &Tree, as_of: Option<&str>, path: &str) -> serde_json::Value {
    payload_to_json(&tree.entry(as_of, path).unwrap().unwrap().fields).into()
}

fn listed(tree: &Tree, as_of: Option<&str>, condition: &str) -> Vec<String> {
    let mut paths = Vec::new();
    tree.each_entry_where(as_of, "", Some(condition), |entry| {
        paths.push(entry.path);
        Ok::<(), Error>(())
    })
    .unwrap();
    paths
}

fn format_of(folder: &Path) -> u64 {
    let stored = std::fs::read(folder.join("NUTHATCH")).unwrap();
    let text = String::from_utf8_lossy(&stored);
    let from = text.find("\"format\":").unwrap() + 9;
    text[from..].trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn a_version_keeps_the_fields_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    put(&tree, &[("a", "one"), ("b", "two")]);
    assert_eq!(format_of(folder.path()), 4, "as an earlier program reads it");
    tree.name_snapshot("plain").unwrap();
    assert_eq!(tree.update(vec!["a".into()], None, set(serde_json::json!({"state": "new", "n": 1.5}))).unwrap(), 1);
    assert_eq!(format_of(folder.path()), 6);
    tree.name_snapshot("new").unwrap();
    let root = tree.root(None, "").unwrap();
    let report = put(&tree, &[("a", "another text")]);
    assert_eq!(
        of(&tree, None, "a"),
        serde_json::json!({"state": "new", "n": 1.5}),
        "a file that is put again keeps them"
    );
    let change = FieldChange { unset: vec!["n".into()], ..set(serde_json::json!({"state": "read"})) };
    assert_eq!(tree.update(vec!["a".into()], None, change.clone()).unwrap(), 1);
    assert_eq!(tree.update(vec!["a".into()], None, change).unwrap(), 0, "twice is once");
    assert_eq!(put(&tree, &[("a", "another text")]).unchanged, 1);
    db.close().unwrap();

    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    assert_eq!(of(&tree, None, "a"), serde_json::json!({"state": "read"}));
    assert_eq!(of(&tree, Some(&report.sequence.to_string()), "a"), serde_json::json!({"state": "new", "n": 1.5}));
    assert_eq!(of(&tree, Some("new"), "a"), serde_json::json!({"state": "new", "n": 1.5}));
    assert_eq!(of(&tree, Some("plain"), "a"), serde_json::json!({}));
    assert_eq!(tree.root(Some("new"), "").unwrap(), tree.root(Some("plain"), "").unwrap(), "a root is about files");
    assert_eq!(tree.root(Some("new"), "").unwrap(), root);
    let ask = DiffTrees { from: tree.at(Some("plain")), to: tree.at(Some("new")), ..DiffTrees::default() };
    assert_eq!(tree.diff(ask).unwrap(), []);
    tree.remove("a").unwrap();
    put(&tree, &[("a", "one")]);
    assert_eq!(of(&tree, None, "a"), serde_json::json!({}), "what was gone begins without any");
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_put_changes_files_and_fields_together() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    put(&tree, &[("stays", "1"), ("goes", "2")]);
    let files = vec![file("comes", b"3")];
    let (kept, gone) = (vec!["stays".into(), "never was".into()], vec!["goes".into()]);
    let report = tree.put(PutFiles { files, kept, gone, change: tag("x"), ..PutFiles::default() }).unwrap();
    assert_eq!((report.added, report.changed, report.gone, report.unchanged), (1, 1, 1, 0));
    assert_eq!(listed(&tree, None, "tags contains 'x'"), ["comes", "stays"]);
    let twice = PutFiles { kept: vec!["stays".into()], gone: vec!["stays".into()], ..PutFiles::default() };
    assert!(tree.put(twice).unwrap_err().message.contains("twice"));
}

#[test]
fn conditions_choose_which_files_change_are_listed_and_are_counted() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    let files: Vec<(String, String)> = (0..2_500).map(|at| (format!("d{}/f{at:04}", at % 5), at.to_string())).collect();
    put(&tree, &files.iter().map(|(path, text)| (&path[..], &text[..])).collect::<Vec<_>>());
    put(&tree, &[("d10", "not below d1")]);
    // More than one batch, and a file within a folder that is named, too.
    assert_eq!(tree.update(vec!["d1".into(), "d2".into(), "d2/f0002".into()], None, tag("x")).unwrap(), 1_000);
    assert_eq!(tree.update(vec![], Some("tags contains 'x' and path like 'd2/%'"), tag("y")).unwrap(), 500);
    assert_eq!(tree.update(vec!["d1".into()], Some("bytes = 4"), tag("long")).unwrap(), 300);
    assert_eq!(listed(&tree, None, "tags contains 'y'").len(), 500);
    assert_eq!(listed(&tree, None, "tags contains 'long' and name = 'f1001'"), ["d1/f1001"]);
    assert_eq!(listed(&tree, None, "not exists(tags)").len(), 1_501);
    let mut ask = ListFiles { limit: 7, filter: Some("tags contains 'long'".into()), ..ListFiles::of(tree.at(None)) };
    let mut paged = Vec::new();
    loop {
        let page = tree.page(ask.clone()).unwrap();
        paged.extend(page.entries.into_iter().map(|entry| entry.path));
        ask.after = page.cursor;
        if ask.after.is_none() {
            break;
        }
    }
    assert_eq!(paged, listed(&tree, None, "tags contains 'long'"));

    let count = |as_of: Option<&str>, below: &str, filter: Option<&str>| {
        let fields = vec!["tags".into(), "mode".into()];
        let filter = filter.map(str::to_owned);
        tree.facets(CountTree { at: tree.at(as_of), below: below.into(), fields, filter, limit: 2 }).unwrap()
    };
    let all = count(None, "", None);
    let text = |text: &str| Scalar::Text(text.into());
    assert_eq!(all[0].values, [(text("x"), 1_000), (text("y"), 500)]);
    assert_eq!((all[0].distinct, all[0].missing), (3, 1_501));
    assert_eq!(all[1].values, [(Scalar::Int(0o644), 2_501)]);
    assert_eq!(count(None, "d2", Some("sequence > 0"))[0].values, [(text("x"), 500), (text("y"), 500)]);
}

#[test]
fn what_cannot_be_meant_is_refused_and_nothing_is_changed() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    put(&tree, &[("a", "1"), ("b", "2")]);
    tree.update(vec!["a".into()], None, tag("x")).unwrap();
    let before = tree.list(None, "", None, 10).unwrap();
    let refused = |done: Result<u64>| {
        let error = done.unwrap_err();
        assert_eq!(tree.list(None, "", None, 10).unwrap(), before, "{error}");
        error.message
    };
    let update = |paths: &[&str], condition: Option<&str>, change: FieldChange| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        refused(tree.update(paths, condition, change))
    };
    assert!(update(&["a", "none"], None, tag("y")).contains("has nothing at \"none\""));
    for own in ["path", "lang", "paths", "mode.x"] {
        let change = FieldChange { set: [(own.to_owned(), 1.into())].into(), ..FieldChange::default() };
        assert!(update(&["a"], None, change).contains("says"), "{own}");
    }
    assert!(update(&[], Some("tugs contains 'x'"), tag("y")).contains("these were given: tags"));
    assert!(update(&[], Some("lang = 'rust'"), tag("y")).contains("field of passages"));
    assert!(update(&["a"], None, FieldChange::default()).contains("names no field"));
    let large = "x".repeat(70_000);
    assert!(update(&["a"], None, set(serde_json::json!({ "note": large }))).contains("the limit is 65536"));
    let not_a_list = FieldChange { add: [("n".to_owned(), vec![1].into())].into(), ..FieldChange::default() };
    tree.update(vec!["b".into()], None, set(serde_json::json!({"n": 1}))).unwrap();
    assert!(tree.update(vec!["a".into(), "b".into()], None, not_a_list).unwrap_err().message.contains("list"));
}

#[test]
fn changes_from_many_threads_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) =
        (Database::open(folder.path(), quiet()).unwrap(), Database::open(folder.path(), quiet()).unwrap());
    put(&here.tree("t").unwrap(), &[("a", "1"), ("b", "2")]);
    std::thread::scope(|scope| {
        for (thread, db) in [&here, &there, &here, &there].into_iter().enumerate() {
            scope.spawn(move || {
                let tree = db.tree("t").unwrap().with_durability(Durability::Os);
                (0..25).for_each(|at| {
                    assert_eq!(tree.update(vec![], None, tag(&format!("{thread}-{at}"))).unwrap(), 2);
                });
            });
        }
    });
    let tags = of(&there.tree("t").unwrap(), None, "b")["tags"].as_array().unwrap().len();
    assert_eq!(tags, 100);
}

#[test]
fn grep_searches_only_files_that_pass_with_and_without_its_index() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    put(&tree, &[("a", "needle one\n"), ("b", "needle two\n"), ("c", "hay\n")]);
    tree.update(vec!["a".into(), "c".into()], None, tag("x")).unwrap();
    tree.name_snapshot("v1").unwrap();
    tree.update(vec!["a".into()], None, FieldChange { unset: vec!["tags".into()], ..FieldChange::default() }).unwrap();
    tree.update(vec!["b".into()], None, tag("x")).unwrap();
    tree.index(true).unwrap();
    let grep = |as_of: Option<&str>, history: bool, index: GrepIndex, bytes_max: usize| {
        let request = GrepRequest { patterns: vec!["needle".into()], with_filename: true, ..GrepRequest::default() };
        let (at, filter) = (tree.at(as_of), Some("tags contains 'x'".to_owned()));
        let ask = GrepTree { at, below: String::new(), request, history, cursor: None, bytes_max, index, filter };
        let mut printed = Vec::new();
        let done = tree.grep(ask, |page| {
            printed.extend_from_slice(page);
            Ok::<(), Error>(())
        });
        done.unwrap();
        String::from_utf8(printed).unwrap()
    };
    for (index, bytes_max) in [(GrepIndex::Never, 1_000), (GrepIndex::Always, 1_000), (GrepIndex::Never, 1)] {
        assert_eq!(grep(None, false, index, bytes_max), "b:needle two\n");
        assert_eq!(grep(Some("v1"), false, index, bytes_max), "a:needle one\n");
        let history = grep(None, true, index, bytes_max);
        let paths: Vec<&str> = history.lines().map(|line| &line[..1]).collect();
        assert_eq!(paths, ["a", "b"], "versions that had the tag: {history}");
    }
}

#[test]
fn a_search_finds_passages_by_the_fields_of_their_files_as_of_any_moment() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("t").unwrap().with_embedder(EmbedderChoice::None);
    put(&tree, &[("a.md", "ospreys eat fish"), ("b.md", "ospreys nest"), ("copy.md", "ospreys eat fish")]);
    tree.update(vec!["a.md".into()], None, tag("birds")).unwrap();
    tree.name_snapshot("v1").unwrap();
    tree.update(vec!["b.md".into()], None, set(serde_json::json!({"by": {"name": "Ann"}}))).unwrap();
    tree.update(vec!["a.md".into()], None, FieldChange { remove: tag("birds").add, ..FieldChange::default() }).unwrap();
    let found = |as_of: Option<&str>, condition: &str| {
        let search = Search::text("ospreys").mode(Mode::Text).filter(condition).unwrap();
        let answer = tree.search(as_of, "", &search).unwrap();
        let path = |hit: &Hit| match &hit.payload["path"] {
            Value::Text(path) => path.clone(),
            other => panic!("{other:?}"),
        };
        answer.hits.iter().map(path).collect::<Vec<_>>()
    };
    assert_eq!(found(Some("v1"), "tags contains 'birds'"), ["a.md"], "and not its copy, which has the same passages");
    assert_eq!(found(None, "by.name = 'Ann'"), ["b.md"]);
    assert_eq!(found(None, "by.name = 'Ann' or name = 'copy.md'").len(), 2);
    let hit = tree.search(None, "", &Search::text("nest").mode(Mode::Text)).unwrap().hits.remove(0);
    assert_eq!(hit.payload["by"], Value::Map([("name".to_owned(), "Ann".into())].into()));
    let search = Search::text("ospreys").filter("tugs = 1").unwrap();
    assert!(tree.search(None, "", &search).unwrap_err().message.contains("these were given: by"));
}

#[test]
fn erased_fields_are_in_no_byte_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.tree("t").unwrap();
    put(&tree, &[("a", "1"), ("b", "2")]);
    let mut dice = fastrand::Rng::with_seed(5);
    let marker: String = std::iter::repeat_with(|| dice.alphanumeric()).take(64).collect();
    tree.update(vec!["a".into()], None, set(serde_json::json!({ "secret": marker }))).unwrap();
    tree.name_snapshot("v1").unwrap();
    let holding = || {
        let mut found = Vec::new();
        let mut folders = vec![folder.path().to_path_buf()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => {
                        let bytes = std::fs::read(entry.path()).unwrap_or_default();
                        if bytes.windows(16).any(|window| window == &marker.as_bytes()[..16]) {
                            found.push(entry.path());
                        }
                    }
                }
            }
        }
        found
    };
    assert!(!holding().is_empty(), "what is looked for can be found");
    tree.erase("a").unwrap();
    assert!(db.reclaim(None).unwrap().is_genuine());
    assert_eq!(holding(), Vec::<std::path::PathBuf>::new());
}
