//! Guarantees of questions about source code, tested on an in-memory engine.

use std::ops::ControlFlow;

use nuthatch_code::FACTS_VERSION;

use super::*;
use crate::Options;
use crate::database::Database;
use crate::kv::{KeyScan, Kind as SpaceKind};
use crate::ops::{Keys, Op, View};
use crate::tree::draft::change;
use crate::tree::value::{Piece, decode};
use crate::tree::{PutFile, PutFiles, PutWhat, TREES, Trees, key, upload};

struct Shed(Database);

const STORE: &str =
    "class Store:\n    def save(self, item):\n        return item\n\ndef helper():\n    return Store().save(1)\n";
const MAIN: &str =
    "from store import helper, Store\n\ndef main(x):\n    helper()\n    x.save(2)\n\ndef test_main():\n    main()\n";

impl Shed {
    fn new(files: &[(&str, &str)]) -> Self {
        let shed = Self(Database::in_memory(Options { background: false, ..Options::default() }).unwrap());
        shed.put("t", files);
        shed
    }

    fn trees(&self) -> Trees {
        Trees::of(&self.0.trees().unwrap()).unwrap()
    }

    fn put(&self, tree: &str, files: &[(&str, &str)]) {
        let file = |(path, text): &(&str, &str)| {
            let what = PutWhat::File(text.as_bytes().to_vec());
            PutFile { path: (*path).into(), mode: 0o644, modified_ns: 0, what }
        };
        let files = files.iter().map(file).collect();
        self.trees().put(PutFiles { tree: tree.into(), files, ..PutFiles::default() }).unwrap();
    }

    fn ask(&self, question: CodeQuestion) -> CodeAnswer {
        self.ask_at("t", None, question)
    }

    fn ask_at(&self, tree: &str, as_of: Option<&str>, question: CodeQuestion) -> CodeAnswer {
        let trees = self.0.trees().unwrap();
        ask(tree, as_of, question).run(&View::Keys(Keys::Live(&trees))).unwrap()
    }

    fn callers(&self, name: &str) -> CodeAnswer {
        self.ask(CodeQuestion::Callers(name.into()))
    }

    /// The rows that are kept about source code.
    fn kept(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut kept = Vec::new();
        let read = |rows: &dyn crate::kv::Rows| {
            rows.each(KeyScan::prefix(key::code()), &mut |row, value| {
                kept.push((row.to_vec(), value.to_vec()));
                Ok(ControlFlow::Continue(()))
            })
        };
        self.trees().keyspace.at_once(read).unwrap();
        kept
    }

    fn check(&self) {
        assert_eq!(self.trees().check(true).unwrap().findings, Vec::<String>::new());
    }
}

fn ask(tree: &str, as_of: Option<&str>, question: CodeQuestion) -> AskCode {
    let at = TreeAt { tree: tree.into(), as_of: as_of.map(Into::into) };
    AskCode { at, below: String::new(), question, limit: 100 }
}

fn sites(answer: &CodeAnswer) -> Vec<(String, Class)> {
    answer.sites.iter().map(|site| (format!("{}:{}", site.path, site.line), site.class)).collect()
}

#[test]
fn a_name_has_its_definitions_callers_and_callees() {
    let shed = Shed::new(&[("store.py", STORE), ("main.py", MAIN), ("readme.md", "helper()")]);
    let found = shed.ask(CodeQuestion::Definitions("save".into()));
    let described: Vec<_> = found.definitions.iter().map(|one| (&*one.path, &*one.name, &*one.signature)).collect();
    assert_eq!(described, [("store.py", "Store.save", "def save(self, item):")]);
    assert_eq!(found.files, CodeFiles { read: 2, ..CodeFiles::default() });
    let callers = shed.callers("helper");
    assert_eq!(sites(&callers), [("main.py:4".to_string(), Class::Certain)]);
    assert_eq!(callers.sites[0].within.as_deref(), Some("main"));
    let callers = shed.callers("Store.save");
    assert_eq!(sites(&callers), [("main.py:5".to_string(), Class::Unique), ("store.py:6".to_string(), Class::Unique)]);
    let callees = shed.ask(CodeQuestion::Callees("main".into()));
    assert_eq!(sites(&callees).len(), 2);
    assert_eq!(callees.sites[0].targets[0].path, "store.py");
    assert!(shed.ask(CodeQuestion::Definitions("other.py#save".into())).definitions.is_empty());
    let imports = shed.ask(CodeQuestion::Imports("main.py".into()));
    assert!(imports.imports.iter().all(|one| one.files == ["store.py"]) && imports.imports.len() == 2);
    let outline = shed.ask(CodeQuestion::Outline("store.py".into()));
    let names: Vec<_> = outline.definitions.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["Store", "Store.save", "helper"]);
}

#[test]
fn an_impact_goes_back_step_by_step_and_finds_the_tests() {
    let shed = Shed::new(&[("store.py", STORE), ("main.py", MAIN)]);
    let impact = shed.ask(CodeQuestion::Impact("helper".into(), 3));
    let steps: Vec<_> = impact.reached.iter().map(|one| (one.depth, &*one.definition.name, one.is_test)).collect();
    assert_eq!(steps, [(1, "main", false), (2, "test_main", true)]);
    assert_eq!(shed.ask(CodeQuestion::Impact("helper".into(), 1)).reached.len(), 1);
    let tests = shed.ask(CodeQuestion::Tests("Store.save".into()));
    assert_eq!(tests.reached.iter().map(|one| &*one.definition.name).collect::<Vec<_>>(), ["test_main"]);
}

#[test]
fn a_map_names_what_others_use_most_and_keeps_to_its_tokens() {
    let user = |n: usize| (format!("user_{n}.py"), "from store import helper_of_all\nhelper_of_all()\n".to_string());
    let mut files: Vec<(String, String)> = (0..5).map(user).collect();
    files.push(("store.py".into(), "def helper_of_all(): pass\ndef seldom(): pass\n".into()));
    files.push(("once.py".into(), "from store import seldom\nseldom()\n".into()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let shed = Shed::new(&files);
    let map = |tokens| {
        let answer = shed.ask(CodeQuestion::Map(tokens));
        answer.definitions.into_iter().map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(map(100), ["helper_of_all", "seldom"]);
    assert_eq!(map(13), ["helper_of_all"]);
    assert!(map(1).is_empty());
}

#[test]
fn answers_as_of_a_moment_are_those_of_a_tree_that_holds_that_moment_alone() {
    let shed = Shed::new(&[("store.py", STORE), ("main.py", MAIN)]);
    shed.trees().name_snapshot("t", "v1").unwrap();
    shed.put("t", &[("main.py", "def other():\n    pass\n"), ("store.py", "def helper(): pass\n"), ("new.py", MAIN)]);
    shed.put("alone", &[("store.py", STORE), ("main.py", MAIN)]);
    let (name, depth) = ("helper".to_string(), 3);
    for question in [
        CodeQuestion::Definitions(name.clone()),
        CodeQuestion::References(name.clone()),
        CodeQuestion::Callers(name.clone()),
        CodeQuestion::Callees("main".into()),
        CodeQuestion::Impact(name.clone(), depth),
        CodeQuestion::Tests(name),
        CodeQuestion::Imports("main.py".into()),
        CodeQuestion::Outline("store.py".into()),
        CodeQuestion::Map(100),
    ] {
        let (then, alone) =
            (shed.ask_at("t", Some("v1"), question.clone()), shed.ask_at("alone", None, question.clone()));
        assert_eq!(then, alone, "{question:?}");
        assert_ne!(then, CodeAnswer { files: then.files, ..CodeAnswer::default() }, "{question:?}: it has an answer");
    }
}

#[test]
fn every_call_of_a_name_is_counted_whatever_it_means() {
    let calls = "def run(helper, x):\n    helper()\n    x.helper()\n    y().helper()\n    other.helper()\nhelper()\n";
    let files = [
        ("calls.py", calls),
        ("imported.py", "from lib import helper\nhelper()\n"),
        ("two.py", "def helper():\n    helper()\nclass A:\n    def helper(self): self.helper()\n"),
        ("three.py", "class B:\n    def helper(self): pass\n"),
        ("broken.py", "def f(:\n  helper(1)\n"),
        ("x.rs", "fn f() { assert!(helper(2)); helper!(); a.helper() }"),
        ("x.c", "#define M(x) helper(x)\nvoid f(void) { helper(0); p->helper(0); }\n"),
        ("x.ts", "class C { m() { this.helper(); helper?.(); new helper(); } }\n"),
        ("x.go", "package p\nfunc f() { helper(); a.helper() }\n"),
        ("X.java", "class X { void f() { helper(); a.b().helper(); } }\n"),
    ];
    let shed = Shed::new(&files);
    let written: usize =
        files.iter().map(|(_, text)| text.matches("helper(").count() + text.matches("helper!(").count()).sum();
    let written = written + 1 /* helper?.( */ - 3 /* definitions */;
    for name in ["helper", "two.py#helper", "A.helper", "B.helper", "two.py#nothing.helper"] {
        let counts = shed.callers(name).counts;
        let all = counts.certain + counts.unique + counts.ambiguous + counts.elsewhere + counts.outside;
        assert_eq!(all as usize, written, "{name}: {counts:?}");
    }
    let none = shed.callers("three.py#B.helper");
    assert!(none.counts.certain + none.counts.unique == 0 && none.counts.ambiguous > 0, "it may be called: {none:?}");
    assert!(none.files.with_errors > 0);
}

#[test]
fn facts_are_kept_with_their_content_and_go_with_it() {
    let shed = Shed::new(&[("a.py", STORE), ("copy.py", STORE), ("a.rs", STORE)]);
    assert!(shed.kept().is_empty(), "nobody has asked");
    let first = shed.callers("helper");
    let kept = shed.kept();
    assert_eq!(kept.len(), 4, "names and facts of one content in two languages");
    assert_eq!(shed.callers("helper"), first);
    assert_eq!(shed.kept(), kept, "the second question found nothing new");
    shed.check();
    shed.trees().erase("t", "a.py").unwrap();
    shed.trees().erase("t", "a.rs").unwrap();
    assert_eq!(shed.kept().len(), 4, "the copy has the same content");
    shed.trees().erase("t", "copy.py").unwrap();
    assert!(shed.kept().is_empty());
    shed.put("t", &[("b.py", MAIN)]);
    shed.callers("helper");
    assert!(!shed.kept().is_empty());
    shed.trees().drop_tree("t").unwrap();
    assert!(shed.kept().is_empty());
    shed.check();
}

#[test]
fn an_earlier_program_takes_facts_for_uploads_without_chunks() {
    let shed = Shed::new(&[("a.py", STORE)]);
    shed.callers("helper");
    let (trees, kept) = (shed.trees(), shed.kept());
    for (row, value) in &kept {
        assert!(row.starts_with(&key::uploads()), "it removes these when it first looks at trees");
        assert_eq!(decode::<Vec<Piece>>(value).unwrap(), Vec::new());
    }
    upload::remove_left(&trees.keyspace.space, key::uploads()).unwrap();
    assert_eq!(shed.kept(), kept, "this one knows them");
}

#[test]
fn facts_of_another_version_are_found_again() {
    let shed = Shed::new(&[("a.py", STORE)]);
    let first = shed.callers("Store.save");
    let kept = shed.kept();
    let trees = shed.trees();
    change(&trees.keyspace.space, &crate::call::Call::default(), |draft| {
        for (row, value) in &kept {
            let mut other = value.clone();
            other[2] = FACTS_VERSION + 1;
            draft.put_spelt(row.clone(), other);
        }
        Ok(((), crate::call::Outcome::default()))
    })
    .unwrap();
    assert_eq!(shed.callers("Store.save"), first);
    assert_eq!(shed.kept(), kept);
    // One of two rows was lost.
    let facts = kept.iter().map(|(row, _)| row.clone()).next_back().unwrap();
    change(&trees.keyspace.space, &crate::call::Call::default(), |draft| {
        draft.delete(facts.clone());
        Ok(((), crate::call::Outcome::default()))
    })
    .unwrap();
    assert_eq!(shed.callers("Store.save"), first);
}

#[test]
fn a_snapshot_of_the_database_answers_and_keeps_nothing() {
    let shed = Shed::new(&[("store.py", STORE), ("main.py", MAIN)]);
    let snapshot = shed.0.snapshot().unwrap();
    let then = snapshot.keyspace(TREES, SpaceKind::Trees).unwrap();
    let question = || ask("t", None, CodeQuestion::Callers("helper".into()));
    let early = question().run(&View::Keys(Keys::At(&then))).unwrap();
    assert!(shed.kept().is_empty());
    assert_eq!(shed.callers("helper"), early);
    shed.put("t", &[("more.py", MAIN)]);
    assert_eq!(question().run(&View::Keys(Keys::At(&then))).unwrap(), early);
    assert_eq!(shed.callers("helper").sites.len(), early.sites.len() + 1);
}

#[test]
fn a_tenant_without_room_gets_its_answers_and_keeps_no_facts() {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let shed = Shed(db.create_tenant("acme").unwrap());
    shed.put("t", &[("store.py", STORE), ("main.py", MAIN)]);
    db.set_tenant_limits("acme", crate::TenantLimits { bytes: Some(1), ..Default::default() }).unwrap();
    let without_room = shed.callers("helper");
    assert!(shed.kept().is_empty());
    db.set_tenant_limits("acme", crate::TenantLimits::default()).unwrap();
    assert_eq!(shed.callers("helper"), without_room);
    assert!(!without_room.sites.is_empty() && !shed.kept().is_empty());
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    let shed = Shed::new(&[("store.py", STORE), ("notes.md", "x")]);
    let trees = shed.0.trees().unwrap();
    let run = |ask: AskCode| ask.run(&View::Keys(Keys::Live(&trees))).unwrap_err().kind;
    let with = |question| ask("t", None, question);
    assert_eq!(run(AskCode { limit: 0, ..with(CodeQuestion::Map(1)) }), crate::ErrorKind::Invalid);
    assert_eq!(run(with(CodeQuestion::Impact("a".into(), 0))), crate::ErrorKind::Invalid);
    assert_eq!(run(with(CodeQuestion::Callers("a.".into()))), crate::ErrorKind::Invalid);
    assert_eq!(run(with(CodeQuestion::Outline("notes.md".into()))), crate::ErrorKind::NotFound);
    assert_eq!(run(ask("none", None, CodeQuestion::Map(1))), crate::ErrorKind::NotFound);
}
