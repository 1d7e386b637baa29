//! The facts found in a short file of each language.

use nuthatch_code::{Facts, Kind, Language, Reading, Receiver, Use, facts_of};

fn facts(language: Language, text: &str) -> Facts {
    let facts = facts_of(language, text.as_bytes());
    assert_eq!(Facts::decode(&facts.encode()).as_ref(), Some(&facts), "what is kept is what was found");
    assert_eq!(facts.reading, Reading::Whole, "{facts:?}");
    facts
}

/// `line kind qualified name`, in the order of the file.
fn definitions(facts: &Facts) -> Vec<String> {
    let all = facts.definitions.iter().enumerate();
    all.map(|(at, one)| format!("{} {:?} {}", one.line, one.kind, facts.qualified_name(at))).collect()
}

/// `line receiver name`, in the order of the file; `*` before what a variable of a function is.
fn calls(facts: &Facts) -> Vec<String> {
    let calls = facts.references.iter().filter(|one| matches!(one.how, Use::Call | Use::Macro));
    let spelt = calls.map(|one| {
        let before = match &one.receiver {
            Receiver::None => String::new(),
            Receiver::Own => "self.".into(),
            Receiver::Base => "base.".into(),
            Receiver::Name(name) => format!("{name}."),
            Receiver::Expression => "?.".into(),
        };
        format!("{} {}{before}{}", one.line, if one.is_local { "*" } else { "" }, one.name)
    });
    spelt.collect()
}

/// `module name as alias`; `*` for everything.
fn imports(facts: &Facts) -> Vec<String> {
    let spelt = facts.imports.iter().map(|one| {
        let name = if one.is_wildcard { "*" } else { one.name.as_deref().unwrap_or("-") };
        let alias = one.alias.as_deref().map(|alias| format!(" as {alias}")).unwrap_or_default();
        format!("{} {name}{alias}", one.module)
    });
    spelt.collect()
}

fn references(facts: &Facts, how: Use) -> Vec<&str> {
    facts.references.iter().filter(|one| one.how == how).map(|one| one.name.as_str()).collect()
}

#[test]
fn rust() {
    let text = r#"use std::collections::{BTreeMap as Map, btree_map::*};
mod inner;
pub(crate) mod outer { pub const LIMIT: usize = 1; }
/// Adds.
pub fn add<T>(left: T, run: impl Fn()) -> Map<T, T> {
    let sum = helper(left);
    run();
    println!("{}", sum.size() + helper(2));
    crate::outer::go(Index::new(), |f| f(1));
    sum
}
struct Index { size: u32 }
enum Shape { Round(f32), Flat }
trait Draw { fn draw(&self); fn twice(&self) { self.draw() } }
impl Draw for Index {
    fn draw(&self) { Self::draw_all(self.size); self.items.iter().map(Index::one).collect::<Vec<_>>(); }
}
macro_rules! shout { () => {} }
fn never() { shout!(); match x { Shape::Round(r) => r, _ => vec![make()] } }
"#;
    let facts = facts(Language::Rust, text);
    assert_eq!(
        definitions(&facts),
        [
            "3 Module outer",
            "3 Constant outer.LIMIT",
            "5 Function add",
            "12 Struct Index",
            "13 Enum Shape",
            "13 Variant Shape.Round",
            "13 Variant Shape.Flat",
            "14 Interface Draw",
            "14 Declaration Draw.draw",
            "14 Method Draw.twice",
            "16 Method Index.draw",
            "18 Macro shout",
            "19 Function never",
        ]
    );
    assert_eq!(
        calls(&facts),
        [
            "6 helper",
            "7 *run",
            "8 println",
            "8 ?.size",
            "8 helper",
            "9 crate::outer.go",
            "9 Index.new",
            "9 *f",
            "14 self.draw",
            "16 self.draw_all",
            "16 ?.iter",
            "16 ?.map",
            "16 ?.collect",
            "19 shout",
            "19 vec",
            "19 make",
        ]
    );
    assert_eq!(imports(&facts), ["std::collections::btree_map *", "std::collections BTreeMap as Map", "self inner"]);
    assert_eq!(references(&facts, Use::Inherit), ["Draw"]);
    let head = facts.definitions[2].head_range();
    let head = &text.as_bytes()[head.start as usize..head.end as usize];
    assert_eq!(facts.definitions[2].signature(head), "pub fn add<T>(left: T, run: impl Fn()) -> Map<T, T>");
}

#[test]
fn python() {
    let facts = facts(
        Language::Python,
        r#"import os.path, json as j
from .util import helper as h, other
from m import *
LIMIT = 3
class Index(Base, abc.ABC):
    size = 0
    def search(self, query, *words, key=None):
        def score(word):
            return query(word)
        global state
        state = h(query)
        best = max(score(w) for w in words)
        return self.rank(best, j.dumps(1), os.path.join("a"), state.run(), super().search())
    @property
    def one(self): return self.items[0].get(Index())
async def main(x: Index) -> None:
    await other(x)
"#,
    );
    assert_eq!(
        definitions(&facts),
        [
            "4 Variable LIMIT",
            "5 Class Index",
            "6 Field Index.size",
            "7 Method Index.search",
            "8 Function Index.search.score",
            "15 Method Index.one",
            "16 Function main",
        ]
    );
    assert_eq!(
        calls(&facts),
        [
            "9 *query",
            "11 h",
            "12 max",
            "12 score",
            "13 self.rank",
            "13 j.dumps",
            "13 os.path.join",
            "13 state.run",
            "13 super",
            "13 base.search",
            "15 ?.get",
            "15 Index",
            "17 other",
        ]
    );
    assert_eq!(imports(&facts), ["os.path -", "json - as j", ".util helper as h", ".util other", "m *"]);
    assert_eq!(references(&facts, Use::Inherit), ["Base", "ABC"]);
    assert_eq!(references(&facts, Use::Type), ["Index"]);
    assert_eq!(facts.definitions[1].bases, ["Base", "ABC"]);
}

#[test]
fn javascript() {
    let facts = facts(
        Language::JavaScript,
        r#"import d, { a as b } from './m';
import * as ns from 'pkg';
export { x } from './x.js';
const { one, two: deux } = require('./cjs');
export default class Index extends Base {
  #secret = 1;
  search(query, { limit }) { return this.rank(query, limit(b(1))); }
  run = () => { ns.go(); };
}
const arrow = async (f) => f(new Index());
function outer() { const inner = () => 1; return inner(); }
exports.publish = function (x) { return deux(x); };
Index.prototype.late = function () {};
const table = { handle: function () { return d(); } };
"#,
    );
    assert_eq!(
        definitions(&facts),
        [
            "5 Class Index",
            "6 Field Index.#secret",
            "7 Method Index.search",
            "8 Method Index.run",
            "10 Function arrow",
            "11 Function outer",
            "11 Function outer.inner",
            "12 Function publish",
            "13 Method Index.late",
            "14 Variable table",
            "14 Method handle",
        ]
    );
    assert_eq!(
        calls(&facts),
        ["4 require", "7 self.rank", "7 *limit", "7 b", "8 ns.go", "10 *f", "10 Index", "11 inner", "12 deux", "14 d"]
    );
    assert_eq!(
        imports(&facts),
        ["./m default as d", "./m a as b", "pkg - as ns", "./x.js x", "./cjs one", "./cjs two as deux"]
    );
}

#[test]
fn typescript_and_tsx() {
    let text = r#"import type { T } from "./t";
interface Draw extends Shape { draw(scale: number): void }
type Pair = [T, T];
enum Color { Red }
abstract class Base<T> implements Draw { abstract size(): number; draw(s: number) { this.size(); } }
namespace Inner { export function deep(x: Pair): T { return x.map((y) => make<T>(y)); } }
declare function outside(a: string): void;
"#;
    for language in [Language::TypeScript, Language::Tsx] {
        let facts = facts(language, text);
        assert_eq!(
            definitions(&facts),
            [
                "2 Interface Draw",
                "2 Declaration Draw.draw",
                "3 Type Pair",
                "4 Enum Color",
                "5 Class Base",
                "5 Declaration Base.size",
                "5 Method Base.draw",
                "6 Module Inner",
                "6 Function Inner.deep",
                "7 Declaration outside",
            ]
        );
        assert_eq!(calls(&facts), ["5 self.size", "6 *x.map", "6 make"]);
        assert_eq!(references(&facts, Use::Inherit), ["Shape", "Draw"]);
    }
    let page = facts(Language::Tsx, "const Page = () => <Button onClick={go}><b/></Button>;\n");
    assert_eq!(calls(&page), ["1 Button"]);
}

#[test]
fn go() {
    let facts = facts(
        Language::Go,
        r#"package store
import (
	"fmt"
	io "example.com/x/ioutil"
	. "strings"
)
const Limit = 3
var table = map[string]int{}
type Index struct { size int; Other }
type Draw interface { Draw(x int) error }
func New(size int) *Index { return &Index{size: size} }
func (i *Index) Search(q func()) (n int, err error) {
	found := i.rank(io.Read(q))
	q()
	for _, f := range found { f.Close() }
	fmt.Println(found.Len(), Limit)
	go func() { New(1) }()
	return
}
func (s Stack[T]) Push(v T) {}
"#,
    );
    assert_eq!(
        definitions(&facts),
        [
            "7 Constant Limit",
            "8 Variable table",
            "9 Struct Index",
            "9 Field Index.size",
            "10 Interface Draw",
            "10 Declaration Draw.Draw",
            "11 Function New",
            "12 Method Index.Search",
            "20 Method Stack.Push",
        ]
    );
    assert_eq!(
        calls(&facts),
        ["13 self.rank", "13 io.Read", "14 *q", "15 *f.Close", "16 fmt.Println", "16 *found.Len", "17 New"]
    );
    assert_eq!(imports(&facts), ["fmt -", "example.com/x/ioutil - as io", "strings *"]);
}

#[test]
fn java() {
    let facts = facts(
        Language::Java,
        r#"package a.b;
import java.util.List;
import static a.b.Util.help;
import a.c.*;
public class Index extends Base implements Draw<String> {
    private final List<String> items = new ArrayList<>();
    enum Color { RED, BLUE }
    Index(int size) { super(size); help(size); }
    int search(Query query, int... more) {
        Runnable r = () -> query.run();
        r.run();
        return this.rank(query) + Util.count(items) + items.size() + super.size() + new Query().go();
    }
    interface Inner { void go(); }
}
"#,
    );
    assert_eq!(
        definitions(&facts),
        [
            "5 Class Index",
            "6 Field Index.items",
            "7 Enum Index.Color",
            "7 Variant Index.Color.RED",
            "7 Variant Index.Color.BLUE",
            "8 Method Index.Index",
            "9 Method Index.search",
            "14 Interface Index.Inner",
            "14 Declaration Index.Inner.go",
        ]
    );
    assert_eq!(
        calls(&facts),
        [
            "6 ArrayList",
            "8 help",
            "10 *query.run",
            "11 *r.run",
            "12 self.rank",
            "12 Util.count",
            "12 items.size",
            "12 base.size",
            "12 Query",
            "12 ?.go",
        ]
    );
    assert_eq!(imports(&facts), ["java.util List", "a.b.Util help", "a.c *"]);
    assert_eq!(references(&facts, Use::Inherit), ["Base", "Draw"]);
}

#[test]
fn c() {
    let facts = facts(
        Language::C,
        r#"#include <stdio.h>
#include "store/index.h"
#define LIMIT 3
#define CALL(x) helper(x)
typedef struct index { int size; void (*close)(void); } index_t;
enum color { RED, BLUE };
int declared(int a);
static int *table[3];
static int helper(int (*f)(int), struct index *i) { return f(1) + i->close(); }
int (*odd(void))[3] { int x = helper(0, 0); return CALL(x); }
"#,
    );
    assert_eq!(
        definitions(&facts),
        [
            "3 Macro LIMIT",
            "4 Macro CALL",
            "5 Type index_t",
            "5 Struct index",
            "5 Field index.size",
            "5 Field index.close",
            "6 Enum color",
            "6 Variant color.RED",
            "6 Variant color.BLUE",
            "7 Declaration declared",
            "8 Variable table",
            "9 Function helper",
            "10 Function odd",
        ]
    );
    assert_eq!(calls(&facts), ["4 helper", "9 *f", "9 *i.close", "10 helper", "10 CALL"]);
    assert_eq!(imports(&facts), ["stdio.h *", "store/index.h *"]);
    assert!(facts.definitions.iter().filter(|one| one.is_private).map(|one| &*one.name).eq(["table", "helper"]));
}

#[test]
fn cpp() {
    let facts = facts(
        Language::Cpp,
        r#"#include <vector>
namespace store {
template <class T> class Index : public Base<T> {
public:
  Index(int n) : size(n) {}
  int search(T q) const { return rank(q) + this->more() + q.go(); }
  virtual void late() = 0;
private:
  int size;
};
int Index<int>::rank(int q) { auto v = std::max(q, 1); return helper<int>(v); }
using Pair = std::pair<int, int>;
}
int main() { store::Index<int> i(3); return i.search(1) + store::run(new Other()); }
"#,
    );
    assert_eq!(
        definitions(&facts),
        [
            "2 Module store",
            "3 Class store.Index",
            "5 Method store.Index.Index",
            "6 Method store.Index.search",
            "7 Declaration store.Index.late",
            "9 Field store.Index.size",
            "11 Method store.Index.rank",
            "12 Type store.Pair",
            "14 Function main",
        ]
    );
    assert_eq!(
        calls(&facts),
        ["6 rank", "6 self.more", "6 *q.go", "11 std.max", "11 helper", "14 *i.search", "14 store.run", "14 Other",]
    );
    assert_eq!(references(&facts, Use::Inherit), ["Base"]);
    let methods = facts.definitions.iter().filter(|one| one.kind == Kind::Method);
    assert!(methods.clone().count() == 3 && methods.clone().all(|one| one.owner.as_deref() == Some("Index")));
}

#[test]
fn comparisons_and_shifts_open_no_type_arguments() {
    let text = "def f(a):\n    a < 1\n".repeat(60);
    assert_eq!(facts(Language::Python, &text).definitions.len(), 60);
    let text: String = (0..60).map(|at| format!("#define BIT{at} (1 << {at})\n")).collect();
    assert_eq!(facts(Language::C, &text).definitions.len(), 60);
}
