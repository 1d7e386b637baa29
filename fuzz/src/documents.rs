//! Documents to passages.

use std::path::Path;

use nuthatch_extract::{Kind, Passage, PassageOptions, extract};

use crate::Run;

const PROGRAMS: [&str; 10] = ["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp", "a.json"];

pub fn text() -> Run {
    Box::new(|bytes| check("a.txt", bytes))
}

pub fn markdown() -> Run {
    Box::new(|bytes| check("a.md", bytes))
}

pub fn html() -> Run {
    Box::new(|bytes| check("a.html", bytes))
}

pub fn pdf() -> Run {
    Box::new(|bytes| check("a.pdf", bytes))
}

/// The first byte chooses the language.
pub fn code() -> Run {
    Box::new(|bytes| {
        if let Some((language, bytes)) = bytes.split_first() {
            check(PROGRAMS[usize::from(*language) % PROGRAMS.len()], bytes);
        }
    })
}

fn check(name: &str, source: &[u8]) {
    for (target_chars, overlap_chars) in [(900, 0), (64, 20)] {
        let options = PassageOptions { target_chars, overlap_chars };
        let Ok(document) = extract(Path::new(name), source, &options) else { return };
        for passage in &document.passages {
            assert!(!passage.text.trim().is_empty(), "an empty passage");
            assert!(passage.text.chars().count() <= target_chars, "{} characters", passage.text.chars().count());
            assert!(passage.start_line >= 1 && passage.start_line <= passage.end_line);
            assert!(passage.start_byte < passage.end_byte, "{}..{}", passage.start_byte, passage.end_byte);
            // In another encoding, offsets refer to the decoded text.
            if document.kind != Kind::Pdf && std::str::from_utf8(source).is_ok() {
                lies_in(source, passage, document.kind);
            }
        }
        if matches!(document.kind, Kind::Markdown | Kind::Text | Kind::Code) && std::str::from_utf8(source).is_ok() {
            leaves_nothing_out(source, &document.passages);
        }
    }
}

fn lies_in(source: &[u8], passage: &Passage, kind: Kind) {
    let (start, end) = (passage.start_byte as usize, passage.end_byte as usize);
    assert!(end <= source.len(), "{start}..{end} of {}", source.len());
    let line = |at: usize| 1 + source[..at].iter().filter(|byte| **byte == b'\n').count() as u32;
    assert_eq!((passage.start_line, passage.end_line), (line(start), line(end - 1)), "lines of {start}..{end}");
    if kind != Kind::Html {
        assert_eq!(passage.text.as_bytes(), &source[start..end], "a passage is its source");
    }
}

fn leaves_nothing_out(source: &[u8], passages: &[Passage]) {
    let mut covered = 0;
    let blank = |from: usize, to: usize| {
        let gap = std::str::from_utf8(&source[from..to]).expect("passages end between characters");
        assert!(gap.trim_start_matches('\u{feff}').trim().is_empty(), "left out: {gap:?}");
    };
    for passage in passages {
        let start = passage.start_byte as usize;
        if start > covered {
            blank(covered, start);
        }
        covered = covered.max(passage.end_byte as usize);
    }
    blank(covered, source.len());
}
