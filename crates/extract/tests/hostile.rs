//! Inputs made to hurt: none may panic, exhaust the stack or take the square of their length. Sizes are such that
//! quadratic work would not end; nothing is timed.

use std::path::Path;

use nuthatch_extract::{PassageOptions, extract};

const MIB: usize = 1 << 20;

fn count(name: &str, text: &str) -> usize {
    extract(Path::new(name), text.as_bytes(), &PassageOptions::default()).unwrap().passages.len()
}

#[test]
fn one_line_of_many_megabytes_is_cut() {
    for (name, text) in [
        ("a.txt", "word ".repeat(16 * MIB / 5)),
        ("a.txt", "x".repeat(16 * MIB)),
        ("a.json", "[{\"a\":1},".repeat(16 * MIB / 9)),
        ("a.md", "word ".repeat(4 * MIB / 5)),
        ("a.js", "var a=1;".repeat(4 * MIB / 8)),
        ("a.html", format!("<p>{}", "word ".repeat(4 * MIB / 5))),
        ("a.txt", format!("a{}", "\u{301}".repeat(2 * MIB))),
    ] {
        let passages = count(name, &text);
        let chars = text.chars().count();
        assert!(
            passages >= chars / 900 && passages <= chars / 300,
            "{name}: {passages} passages of {chars} characters"
        );
    }
}

#[test]
fn deep_nesting_does_not_reach_the_stack() {
    assert_eq!(count("a.html", &format!("{}x{}", "<div>".repeat(100_000), "</div>".repeat(100_000))), 1);
    assert!(count("a.html", &"<svg>".repeat(100_000)) == 0);
    for text in [
        "[".repeat(MIB),
        "![".repeat(MIB / 2),
        ">".repeat(MIB),
        "- ".repeat(MIB / 2),
        "[a](".repeat(MIB / 4),
        "*a_b ".repeat(MIB / 5),
    ] {
        assert!(count("a.md", &text) > 1000);
    }
    assert!(count("a.md", &format!("{}a\n{}", "- ".repeat(200), "\n".repeat(MIB))) > 0);
    for extension in ["rs", "py", "js", "ts", "tsx", "go", "java", "c", "cpp"] {
        for unit in ["(", "{", "[", "a<", "fn a() {", "class A { ", "\"", "a + ", "if (a) {} else "] {
            let text = unit.repeat(MIB / 8 / unit.len());
            assert!(count(&format!("a.{extension}"), &text) > 100, "{unit:?} as {extension}");
        }
    }
}

/// Found by feeding operator soup: 8 kB took the parser 7 s, and four times as much for twice the length.
#[test]
fn operator_soup_is_given_up_by_the_parser_and_cut_by_lines() {
    assert!(count("a.c", &"+)++)".repeat(12_000)) > 60);
}

const FORMATS: [&str; 13] = ["md", "html", "pdf", "txt", "rs", "py", "js", "ts", "tsx", "go", "java", "c", "cpp"];

#[test]
fn random_bytes_never_panic() {
    let mut dice = fastrand::Rng::with_seed(7);
    for round in 0..400 {
        let mut bytes: Vec<u8> = (0..dice.usize(0..2000)).map(|_| dice.u8(..)).collect();
        if round % 2 == 0 {
            bytes.iter_mut().for_each(|b| *b = b' ' + *b % 95);
        }
        for extension in FORMATS {
            if extension == "pdf" {
                bytes.splice(0..0, *b"%PDF-1.4\n");
            }
            let _either_is_fine =
                extract(Path::new("any").with_extension(extension).as_path(), &bytes, &PassageOptions::default());
        }
    }
}

/// Real files with bytes changed, lost, repeated or moved.
#[test]
fn mutated_files_never_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/corpus");
    let files = [
        "birds/owls.html",
        "voyages/tides.pdf",
        "networking/dns.md",
        "code/trie.rs",
        "code/retry.py",
        "code/debounce.js",
        "code/topological_sort.go",
    ];
    let mut dice = fastrand::Rng::with_seed(11);
    for name in files {
        let path = corpus.join(name);
        let original = std::fs::read(&path).unwrap();
        for _ in 0..150 {
            let mut bytes = original.clone();
            for _ in 0..dice.usize(1..8) {
                let (at, other) = (dice.usize(..bytes.len()), dice.usize(..bytes.len()));
                match dice.u8(..4) {
                    0 => bytes[at] = dice.u8(..),
                    1 => bytes.swap(at, other),
                    2 => drop(bytes.drain(at..(at + dice.usize(..60)).min(bytes.len()))),
                    _ => {
                        let part = bytes[at..(at + dice.usize(..60)).min(bytes.len())].to_vec();
                        bytes.splice(other..other, part);
                    }
                }
                if bytes.is_empty() {
                    bytes.push(b'x');
                }
            }
            let _either_is_fine = extract(&path, &bytes, &PassageOptions::default());
        }
    }
}
