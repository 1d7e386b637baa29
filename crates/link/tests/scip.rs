//! A SCIP index's meanings of names take precedence where it matches the text, as of any moment, and nowhere else.

#[path = "../../code/tests/support/index.rs"]
mod index;
mod support;

use index::{Occurrence, index};
use nuthatch_link::*;
use support::quiet;

const STORE: &str =
    "class Store:\n    def get(self):\n        pass\n\nclass Other:\n    def get(self):\n        pass\n";
const USE: &str = "def use(one, other, third):\n    one.get()\n    other.get()\n    third.get()\n";
const STORE_GET: &str = "scip-python python p 1 `store`/Store#get().";
const OTHER_GET: &str = "scip-python python p 1 `store`/Other#get().";
const FOREIGN_GET: &str = "scip-python python another 1 `m`/C#get().";
const LOCAL: &str = "local 4";

fn whole_index(uses: [&str; 3]) -> Vec<u8> {
    let store: Vec<Occurrence<'_>> = vec![(&[1, 8, 11], STORE_GET, 1), (&[5, 8, 11], OTHER_GET, 1)];
    let used: Vec<Occurrence<'_>> =
        vec![(&[1, 8, 11], uses[0], 8), (&[2, 10, 13], uses[1], 8), (&[3, 10, 13], uses[2], 8)];
    [index("store.py", &store, "", 0), index("use.py", &used, "", 0)].concat()
}

fn put(tree: &Tree, files: &[(&str, &str)]) {
    let file = |(path, text): &(&str, &str)| PutFile {
        path: (*path).into(),
        mode: 0o644,
        modified_ns: 0,
        what: PutWhat::File(text.as_bytes().to_vec()),
    };
    tree.put(PutFiles { files: files.iter().map(file).collect(), ..PutFiles::default() }).unwrap();
}

/// Of the calls that may be meant: line, class and targets.
fn callers(tree: &Files, name: &str, as_of: Option<&str>) -> (Vec<String>, CodeCounts) {
    let at = TreeAt { tree: tree.name().into(), as_of: as_of.map(str::to_owned) };
    let ask = AskCode { at, below: String::new(), question: CodeQuestion::Callers(name.into()), limit: 100 };
    let answer = tree.code(&ask, |_| ()).unwrap();
    let target = |it: &CodeTarget| format!("{}:{}", it.path, it.line);
    let site = |it: &CodeSite| {
        let targets: Vec<String> = it.targets.iter().map(target).collect();
        format!("{}:{} {:?} {}", it.path, it.line, it.class, targets.join(" "))
    };
    (answer.sites.iter().map(site).collect(), answer.counts)
}

#[test]
fn an_index_makes_calls_certain_that_the_text_leaves_open() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("code").unwrap();
    put(&tree, &[("store.py", STORE), ("use.py", USE)]);
    let (_, before) = callers(&tree, "Store.get", None);
    assert_eq!((before.certain, before.unique), (0, 0), "nothing in the text says which");
    let report = tree.import_scip(&whole_index([STORE_GET, OTHER_GET, FOREIGN_GET])[..], "").unwrap();
    assert_eq!((report.files, report.names), (2, 5));
    let (sites, counts) = callers(&tree, "Store.get", None);
    assert_eq!(sites, ["use.py:2 Certain store.py:2"]);
    assert_eq!((counts.certain, counts.elsewhere, counts.outside), (1, 1, 1), "no call of the name is missing");
    assert_eq!(callers(&tree, "Other.get", None).0, ["use.py:3 Certain store.py:6"]);
    // A variable of the file is none of them, and neither is a symbol of the package that nothing defines made sure.
    let unknown = "scip-python python p 1 `elsewhere`/C#get().";
    tree.import_scip(&whole_index([LOCAL, unknown, STORE_GET])[..], "").unwrap();
    let (sites, counts) = callers(&tree, "Store.get", None);
    assert_eq!(sites, ["use.py:4 Certain store.py:2", "use.py:3 Ambiguous store.py:2 store.py:6"]);
    assert_eq!((counts.certain, counts.ambiguous, counts.outside), (1, 1, 1));
}

#[test]
fn an_index_is_of_a_text_at_a_path_of_a_tree_and_of_every_moment_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (tree, twin) = (db.tree("code").unwrap(), db.tree("twin").unwrap());
    let files = [("lib/store.py", STORE), ("lib/use.py", USE)];
    put(&tree, &files);
    put(&twin, &files);
    let whole = whole_index([STORE_GET, OTHER_GET, FOREIGN_GET]);
    let report = tree.import_scip(&whole[..], "").unwrap();
    assert_eq!((report.files, report.missing), (0, vec!["store.py".to_string(), "use.py".into()]));
    assert_eq!(tree.import_scip(&whole[..], "lib").unwrap().files, 2);
    tree.name_snapshot("v1").unwrap();
    assert_eq!(callers(&tree, "Store.get", None).1.certain, 1);
    assert_eq!(
        callers(&twin, "Store.get", None).1.certain,
        0,
        "the same bytes in another tree may mean something else"
    );
    // A file that changed is read without it; the moment before has it.
    put(&tree, &[("lib/use.py", &USE.replace("use", "used"))]);
    assert_eq!(callers(&tree, "Store.get", None).1.certain, 0);
    assert_eq!(callers(&tree, "Store.get", Some("v1")).1.certain, 1);
    let snapshot = db.snapshot().unwrap();
    assert_eq!(callers(&snapshot.tree("code").unwrap(), "Store.get", Some("v1")).1.certain, 1);
    put(&tree, &[("lib/use.py", &USE.replace("one.get", "\n    one.get"))]);
    let report = tree.import_scip(&whole[..], "lib").unwrap();
    assert_eq!((report.files, report.changed), (1, vec!["lib/use.py".to_string()]));
    put(&tree, &[("lib/store.py", &format!("# first\n{STORE}"))]);
    assert_eq!(tree.import_scip(&whole[..], "lib").unwrap().changed, ["lib/store.py", "lib/use.py"]);
    drop(snapshot);
    db.close().unwrap();
    // It lasts, goes with its content, and leaves nothing that a check finds.
    let db = Database::open(folder.path(), quiet()).unwrap();
    let tree = db.existing_tree("code").unwrap();
    assert_eq!(callers(&tree, "Store.get", Some("v1")).1.certain, 1);
    tree.erase("lib").unwrap();
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new());
    put(&tree, &files);
    assert_eq!(callers(&tree, "Store.get", None).1.certain, 0, "an erased content comes back without it");
}

#[test]
fn what_is_no_index_is_refused_and_what_came_before_stays() {
    let db = Database::in_memory(quiet()).unwrap();
    let tree = db.tree("code").unwrap();
    put(&tree, &[("store.py", STORE), ("use.py", USE)]);
    let whole = whole_index([STORE_GET, OTHER_GET, FOREIGN_GET]);
    let error = tree.import_scip(&whole[..whole.len() - 3], "").unwrap_err();
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("make it again"), "{}", error.message);
    let error = tree.import_scip(&b"{}"[..], "").unwrap_err();
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("SCIP"), "{}", error.message);
    assert_eq!(callers(&tree, "Store.get", None).1.certain, 0);
}

#[cfg(unix)]
#[test]
fn another_process_takes_an_index_in() {
    let folder = tempfile::tempdir().unwrap();
    let open = |program: &str| Database::open(folder.path(), Options { program: program.into(), ..quiet() }).unwrap();
    let (first, second) = (open("first"), open("second"));
    put(&first.tree("code").unwrap(), &[("store.py", STORE), ("use.py", USE)]);
    let whole = whole_index([STORE_GET, OTHER_GET, FOREIGN_GET]);
    assert_eq!(second.tree("code").unwrap().import_scip(&whole[..], "").unwrap().files, 2);
    assert_eq!(callers(&first.tree("code").unwrap(), "Store.get", None).1.certain, 1);
}
