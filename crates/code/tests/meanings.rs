//! The meaning of calls among several files, and its certainty.

use nuthatch_code::{Candidate, Class, Facts, Language, Place, facts_of, resolve};

struct Tree(Vec<(&'static str, Facts)>);

impl Tree {
    fn of(files: &[(&'static str, &str)]) -> Self {
        let facts = |path, text: &str| facts_of(Language::of_path(path).unwrap(), text.as_bytes());
        Self(files.iter().map(|(path, text)| (*path, facts(path, text))).collect())
    }

    fn candidates(&self, name: &str) -> Vec<Candidate> {
        let mut found = Vec::new();
        for (path, facts) in &self.0 {
            for (index, definition) in facts.definitions.iter().enumerate().filter(|(_, one)| one.name == name) {
                let (qualified, definition) = (facts.qualified_name(index), definition.clone());
                let (path, language, index) = ((*path).to_owned(), facts.language, index as u32);
                found.push(Candidate { path, language, index, qualified, definition, symbol: None });
            }
        }
        found
    }

    /// Returns the meaning of the reference with this name in this line: the class, and `path qualified` of each
    /// target.
    fn meaning(&self, path: &str, line: u32, name: &str) -> (Class, Vec<String>) {
        let (path, facts) = self.0.iter().find(|(known, _)| *known == path).unwrap();
        let reference = facts.references.iter().find(|one| one.line == line && one.name == name);
        let reference = reference.unwrap_or_else(|| panic!("line {line} of {path} names no {name}: {facts:?}"));
        let candidates = self.candidates(facts.name_meant(reference));
        let meaning = resolve(Place { path, facts }, reference, &candidates);
        let target = |at: &usize| format!("{} {}", candidates[*at].path, candidates[*at].qualified);
        (meaning.class, meaning.targets.iter().map(target).collect())
    }
}

fn is(meaning: &(Class, Vec<String>), class: Class, targets: &[&str]) {
    assert_eq!((meaning.0, meaning.1.iter().map(String::as_str).collect::<Vec<_>>()), (class, targets.to_vec()));
}

#[test]
fn python_follows_scopes_imports_and_classes() {
    let tree = Tree::of(&[
        (
            "app/main.py",
            "from .util import helper as h, Store\nimport app.util\nimport json\nfrom lib import outside\n\
             def run(callback):\n    callback()\n    h()\n    app.util.helper()\n    Store.open()\n    json.helper()\n    \
             outside()\n    len()\n    run(1)\n    x = h()\n    x.save()\n    x.only_here()\n    x.get()\n\
             class Main(Store):\n    def go(self):\n        self.helper()\n        self.save()\n        self.nothing()\n    def save(self):\n        super().save()\n        str.save()\n",
        ),
        (
            "app/util.py",
            "def helper(): pass\nclass Store:\n    def save(self): pass\n    def open(self): pass\n    def get(self): pass\n",
        ),
        (
            "other.py",
            "def len(): pass\ndef outside(): pass\nclass B:\n    def save(self): pass\n    def only_here(self): pass\n",
        ),
    ]);
    let of = |line, name| tree.meaning("app/main.py", line, name);
    is(&of(6, "callback"), Class::Outside, &[]);
    is(&of(7, "h"), Class::Certain, &["app/util.py helper"]);
    is(&of(8, "helper"), Class::Certain, &["app/util.py helper"]);
    is(&of(9, "open"), Class::Certain, &["app/util.py Store.open"]);
    is(&of(10, "helper"), Class::Outside, &[]);
    is(&of(11, "outside"), Class::Outside, &[]);
    is(&of(12, "len"), Class::Outside, &[]);
    is(&of(13, "run"), Class::Certain, &["app/main.py run"]);
    is(&of(25, "save"), Class::Outside, &[]);
    is(&of(15, "save"), Class::Ambiguous, &["app/main.py Main.save", "app/util.py Store.save", "other.py B.save"]);
    is(&of(16, "only_here"), Class::Unique, &["other.py B.only_here"]);
    is(&of(17, "get"), Class::Ambiguous, &["app/util.py Store.get"]);
    is(&of(20, "helper"), Class::Outside, &[]);
    is(&of(21, "save"), Class::Certain, &["app/main.py Main.save"]);
    is(&of(24, "save"), Class::Certain, &["app/util.py Store.save"]);
}

#[test]
fn rust_follows_paths_and_types() {
    let tree = Tree::of(&[
        (
            "crates/a/src/lib.rs",
            "mod inner;\nuse crate::inner::{helper, Index};\nuse serde::Thing;\nfn run(f: F) {\n    helper();\n    \
             Index::new();\n    inner::helper();\n    f();\n    Thing::new();\n    Vec::new();\n    x.rank();\n    \
             crate::inner::deep();\n    std::mem::swap();\n    other();\n}\nimpl Index { fn more(&self) { self.rank() } }\n\
             #[cfg(test)]\nmod tests { use super::*;\nfn t() { assert!(run(1)); } }\n",
        ),
        (
            "crates/a/src/inner.rs",
            "pub fn helper() {}\npub struct Index;\nimpl Index { pub fn new() {} fn rank(&self) {} }\npub fn deep() {}\n",
        ),
        ("crates/b/src/lib.rs", "use a::inner::helper;\nfn go() { helper(); }\nfn other() {}\nfn swap() {}\n"),
    ]);
    let of = |line, name| tree.meaning("crates/a/src/lib.rs", line, name);
    is(&of(5, "helper"), Class::Certain, &["crates/a/src/inner.rs helper"]);
    is(&of(6, "new"), Class::Certain, &["crates/a/src/inner.rs Index.new"]);
    is(&of(7, "helper"), Class::Certain, &["crates/a/src/inner.rs helper"]);
    is(&of(8, "f"), Class::Outside, &[]);
    is(&of(9, "new"), Class::Outside, &[]);
    is(&of(10, "new"), Class::Outside, &[]);
    is(&of(11, "rank"), Class::Unique, &["crates/a/src/inner.rs Index.rank"]);
    is(&of(12, "deep"), Class::Certain, &["crates/a/src/inner.rs deep"]);
    is(&of(13, "swap"), Class::Outside, &[]);
    is(&of(16, "rank"), Class::Certain, &["crates/a/src/inner.rs Index.rank"]);
    is(&of(19, "run"), Class::Certain, &["crates/a/src/lib.rs run"]);
    is(&tree.meaning("crates/b/src/lib.rs", 2, "helper"), Class::Certain, &["crates/a/src/inner.rs helper"]);
}

#[test]
fn scripts_follow_imports() {
    let tree = Tree::of(&[
        (
            "src/a.ts",
            "import run, { one as uno } from './lib/b';\nimport * as b from './lib/b';\nimport x from 'react';\n\
             function f(cb: F) { run(); uno(); b.two(); x.two(); cb(); two(); new Store().save(); this.g(); }\n\
             class Main extends Store { g() { this.save(); } }\nit('x', () => { const two = () => 1; two(); });\nconst table = { run() {}, uno: () => 1 };\n",
        ),
        (
            "src/lib/b.tsx",
            "export default function run() {}\nexport const one = () => 1;\nexport function two() {}\n\
             export class Store { save() {} }\n",
        ),
    ]);
    let of = |name| tree.meaning("src/a.ts", 4, name);
    is(&of("run"), Class::Certain, &["src/lib/b.tsx run"]);
    is(&of("uno"), Class::Certain, &["src/lib/b.tsx one"]);
    is(&of("two"), Class::Certain, &["src/lib/b.tsx two"]);
    is(&of("cb"), Class::Outside, &[]);
    is(&tree.meaning("src/a.ts", 6, "two"), Class::Certain, &["src/a.ts two"]);
    is(&of("save"), Class::Unique, &["src/lib/b.tsx Store.save"]);
    is(&tree.meaning("src/a.ts", 5, "save"), Class::Certain, &["src/lib/b.tsx Store.save"]);
}

#[test]
fn go_and_java_know_their_packages() {
    let tree = Tree::of(&[
        (
            "pkg/a/x.go",
            "package a\nimport \"example.com/app/pkg/b\"\nfunc Run(s S) {\n\thelp()\n\tb.Help()\n\ts.Only()\n\tfmt()\n}\n\
             func (s *S) M() { s.N() }\n",
        ),
        ("pkg/a/y.go", "package a\nfunc help() {}\nfunc (s *S) N() {}\nfunc (s *S) Only() {}\n"),
        ("pkg/b/z.go", "package b\nfunc Help() {}\nfunc help() {}\nfunc fmt() {}\n"),
        (
            "src/q/One.java",
            "package q;\nimport r.Two;\nimport static r.Two.free;\nclass One extends Two {\n  void m(Other o) {\n    n();\n    \
             Two.make();\n    free();\n    inherited();\n    o.far();\n    System.exit(1);\n  }\n  void n() {}\n}\n",
        ),
        (
            "src/r/Two.java",
            "package r;\nclass Two { static void make() {} static void free() {} void inherited() {} }\n",
        ),
        ("src/s/Three.java", "package s;\nclass Three { void far() {} void make() {} void exit() {} }\n"),
    ]);
    let go = |line, name| tree.meaning("pkg/a/x.go", line, name);
    is(&go(4, "help"), Class::Certain, &["pkg/a/y.go help"]);
    is(&go(5, "Help"), Class::Certain, &["pkg/b/z.go Help"]);
    is(&go(6, "Only"), Class::Unique, &["pkg/a/y.go S.Only"]);
    is(&go(7, "fmt"), Class::Outside, &[]);
    is(&go(9, "N"), Class::Certain, &["pkg/a/y.go S.N"]);
    let java = |line, name| tree.meaning("src/q/One.java", line, name);
    is(&java(6, "n"), Class::Certain, &["src/q/One.java One.n"]);
    is(&java(7, "make"), Class::Certain, &["src/r/Two.java Two.make"]);
    is(&java(8, "free"), Class::Certain, &["src/r/Two.java Two.free"]);
    is(&java(9, "inherited"), Class::Certain, &["src/r/Two.java Two.inherited"]);
    is(&java(10, "far"), Class::Unique, &["src/s/Three.java Three.far"]);
}

#[test]
fn c_knows_what_is_static_and_what_is_a_prototype() {
    let tree = Tree::of(&[
        (
            "a.c",
            "#include \"b.h\"\nstatic void own(void) {}\nvoid run(struct ops *o) {\n  own();\n  shared();\n  far();\n  \
             two();\n  o->shared();\n  printf();\n}\n",
        ),
        ("b.h", "void shared(void);\n"),
        ("b.c", "void shared(void) {}\nstatic void own(void) {}\nvoid two(void) {}\n"),
        ("c.c", "void far(void) {}\nvoid two(void) {}\nstatic void printf(void) {}\n"),
    ]);
    let of = |line, name| tree.meaning("a.c", line, name);
    is(&of(4, "own"), Class::Certain, &["a.c own"]);
    is(&of(5, "shared"), Class::Certain, &["b.c shared"]);
    is(&of(6, "far"), Class::Unique, &["c.c far"]);
    is(&of(7, "two"), Class::Ambiguous, &["b.c two", "c.c two"]);
    is(&of(8, "shared"), Class::Outside, &[]);
    is(&of(9, "printf"), Class::Outside, &[]);
}
