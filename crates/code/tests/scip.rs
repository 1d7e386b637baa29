//! SCIP data is accepted where it matches the text, and no input bytes cause a panic.

#[path = "support/index.rs"]
mod index;

use index::{Occurrence, index};
use nuthatch_code::{Document, Documents, Language, Symbols, facts_of};

const TEXT: &str = "def run():\n    pass\n\nü = [\"\u{1F426}\", run()]\n";
const RUN: &str = "scip-python python p 1 `a`/run().";
const RUN_OF_2: &str = "scip-python python p 2 `a`/run().";

fn names() -> Vec<Occurrence<'static>> {
    vec![
        (&[0, 4, 7], RUN, 1),
        (&[3, 11, 14], RUN_OF_2, 8),
        (&[0, 0, 0], "scip-python python p 1 `a`/__init__:", 1),
        (&[0, 0, 1, 3], "scip-python python p 1 `a`/over_lines.", 0),
        (&[0, 100, 1, 103], "", 0),
    ]
}

fn read(bytes: &[u8]) -> Document {
    let documents: Vec<Document> = Documents::of(bytes).map(Result::unwrap).collect();
    assert_eq!(documents.len(), 1);
    documents[0].clone()
}

#[test]
fn names_stand_where_an_index_says_and_versions_do_not_count() {
    let facts = facts_of(Language::Python, TEXT.as_bytes());
    let call = facts.references.iter().find(|it| it.name == "run").unwrap();
    let run = facts.definitions.iter().find(|it| it.name == "run").unwrap();
    // Units of 16 bits where nothing is said, bytes, characters.
    for (columns, start) in [(0, 11), (2, 11), (1, 14), (3, 10)] {
        let mut names = names();
        let range = [3, start, start + 3];
        names[1].0 = &range;
        let document = read(&index("a.py", &names, "", columns));
        assert_eq!(document.path, "a.py");
        let symbols = document.placed(TEXT.as_bytes()).unwrap();
        assert_eq!(symbols.len(), 2, "columns {columns}");
        assert!(symbols.meant(call).is_some(), "columns {columns}");
        assert_eq!(symbols.meant(call), symbols.defined(run));
        assert_eq!(Symbols::decode(&symbols.encode()).unwrap(), symbols);
    }
}

#[test]
fn a_document_of_another_text_is_not_taken() {
    let document = read(&index("a.py", &names(), "", 0));
    assert!(document.placed(format!("\n{TEXT}").as_bytes()).is_none());
    assert!(document.placed(TEXT.replace("run", "go").as_bytes()).is_none());
    assert!(document.placed(b"").is_none());
    // Where the index has the text, every byte of it counts.
    let document = read(&index("a.py", &names(), TEXT, 0));
    assert!(document.placed(TEXT.as_bytes()).is_some());
    assert!(document.placed(format!("{TEXT} ").as_bytes()).is_none());
}

#[test]
fn names_are_the_last_of_a_symbol() {
    for (symbol, name) in [
        ("s m p v `a.b`/get().", Some("get")),
        ("s m p v a/C#get(+1).", Some("get")),
        ("s m p v a/C#", Some("C")),
        ("s m p v a/größe.", Some("größe")),
        ("s m p v a/m!", Some("m")),
        ("s m p v a/f().(x)", None),
        ("s m p v a/`<constructor>`().", None),
        ("s m p v a/__init__:", None),
        ("local 3", None),
    ] {
        let document = read(&index("a", &[(&[0, 0, 3], symbol, 1)], "", 0));
        assert_eq!(document.occurrences[0].name.as_deref(), name, "{symbol}");
        assert_eq!(document.occurrences[0].symbol.is_local(), symbol.starts_with("local"));
    }
}

#[test]
fn an_index_that_is_cut_or_none_is_said_to_be_so() {
    let whole = index("a.py", &names(), TEXT, 0);
    for end in 1..whole.len() {
        let read = Documents::of(&whole[..end]).collect::<Result<Vec<_>, _>>();
        // Between two fields nothing tells that there should be more.
        assert!(read.is_err() || read.unwrap().len() <= 1, "cut after {end}");
    }
    assert!(Documents::of(&b"{\"documents\": []}"[..]).any(|read| read.is_err()));
}

#[test]
fn no_bytes_cause_a_panic() {
    let mut dice = fastrand::Rng::with_seed(4);
    let whole = index("a.py", &names(), "", 0);
    let symbols = read(&whole).placed(TEXT.as_bytes()).unwrap().encode();
    let facts = facts_of(Language::Python, TEXT.as_bytes());
    for _ in 0..20_000 {
        let mut damaged = whole.clone();
        for _ in 0..dice.usize(1..4) {
            let at = dice.usize(..damaged.len());
            damaged[at] = dice.u8(..);
        }
        damaged.truncate(dice.usize(..=damaged.len()));
        for document in Documents::of(&damaged[..]).take(10).map_while(Result::ok) {
            document.placed(TEXT.as_bytes());
        }
        let mut kept = symbols.clone();
        let at = dice.usize(..kept.len());
        kept[at] ^= 1 << dice.u8(..8);
        if let Some(symbols) = Symbols::decode(&kept) {
            facts.references.iter().for_each(|it| _ = symbols.meant(it));
            facts.definitions.iter().for_each(|it| _ = symbols.defined(it));
        }
    }
}
