//! The guarantees of every passage, on the sample corpus and on generated text.

use std::path::{Path, PathBuf};

use nuthatch_extract::{Document, Kind, PassageOptions, WalkOptions, extract, walk};
use proptest::prelude::*;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/corpus")
}

fn line_of(source: &[u8], offset: u64) -> u32 {
    1 + source[..offset as usize].iter().filter(|b| **b == b'\n').count() as u32
}

/// Checks one UTF-8 document against its source.
fn check(source: &[u8], document: &Document, options: &PassageOptions) {
    let mut covered = 0;
    let mut last_start = None;
    for passage in &document.passages {
        let (start, end) = (passage.start_byte, passage.end_byte);
        assert!(!passage.text.trim().is_empty(), "an empty passage at {start}");
        assert!(
            passage.text.chars().count() <= options.target_chars.max(64),
            "{} characters",
            passage.text.chars().count()
        );
        assert!(start < end && end <= source.len() as u64, "{start}..{end} of {}", source.len());
        assert!(last_start < Some(start), "passages out of order at {start}");
        last_start = Some(start);
        if document.kind != Kind::Pdf {
            assert_eq!(passage.start_line, line_of(source, start), "start line of {:?}", passage.text);
            assert_eq!(passage.end_line, line_of(source, end - 1), "end line of {:?}", passage.text);
        }
        if matches!(document.kind, Kind::Markdown | Kind::Text | Kind::Code) {
            assert_eq!(passage.text.as_bytes(), &source[start as usize..end as usize]);
            if start > covered {
                let gap = std::str::from_utf8(&source[covered as usize..start as usize]).unwrap();
                assert!(gap.trim_start_matches('\u{FEFF}').trim().is_empty(), "left out: {gap:?}");
            }
            covered = covered.max(end);
        }
    }
    if matches!(document.kind, Kind::Markdown | Kind::Text | Kind::Code) {
        let rest = std::str::from_utf8(&source[covered as usize..]).unwrap();
        assert!(rest.trim_start_matches('\u{FEFF}').trim().is_empty(), "left out at the end: {rest:?}");
    }
}

#[test]
fn corpus_passages_are_slices_of_their_files_and_leave_nothing_out() {
    let mut seen = Vec::new();
    for entry in walk(&corpus(), &WalkOptions::default()) {
        let file = entry.unwrap();
        let bytes = std::fs::read(&file.path).unwrap();
        for (target_chars, overlap_chars) in [(900, 0), (120, 0), (300, 100), (50_000, 0)] {
            let options = PassageOptions { target_chars, overlap_chars };
            let Ok(document) = extract(&file.path, &bytes, &options) else { continue };
            assert!(!document.passages.is_empty(), "{} gave nothing", file.path.display());
            if document.kind != Kind::Pdf {
                check(&bytes, &document, &options);
            }
            seen.push(document.kind);
        }
    }
    for kind in [Kind::Markdown, Kind::Text, Kind::Html, Kind::Pdf, Kind::Code] {
        assert!(seen.contains(&kind), "the corpus has no {}", kind.as_str());
    }
}

#[test]
fn corpus_reports_what_it_cannot_read_and_why() {
    let mut errors = Vec::new();
    for entry in walk(&corpus().join("odd"), &WalkOptions::default()) {
        let file = entry.unwrap();
        let bytes = std::fs::read(&file.path).unwrap();
        errors.push(extract(&file.path, &bytes, &PassageOptions::default()).unwrap_err().to_string());
    }
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors[0].contains("not UTF-8 at byte 2"), "{}", errors[0]);
    assert!(errors[1].contains("image/png"), "{}", errors[1]);
    assert!(errors[2].contains("truncated.pdf is broken"), "{}", errors[2]);
}

#[test]
fn html_spans_cover_the_words_of_their_passages() {
    let path = corpus().join("birds/owls.html");
    let bytes = std::fs::read(&path).unwrap();
    let document = extract(&path, &bytes, &PassageOptions { target_chars: 200, overlap_chars: 0 }).unwrap();
    assert!(document.passages.len() > 5);
    for passage in &document.passages {
        let span = std::str::from_utf8(&bytes[passage.start_byte as usize..passage.end_byte as usize]).unwrap();
        let mut rest = span;
        for word in passage.text.split_whitespace().filter(|word| !word.contains('&')) {
            let at = rest.find(word).unwrap_or_else(|| panic!("{word:?} of {:?} not in {span:?}", passage.text));
            rest = &rest[at + word.len()..];
        }
    }
}

#[test]
fn equal_input_gives_equal_passages() {
    for entry in walk(&corpus(), &WalkOptions::default()) {
        let file = entry.unwrap();
        let bytes = std::fs::read(&file.path).unwrap();
        let options = PassageOptions::default();
        if let Ok(first) = extract(&file.path, &bytes, &options) {
            assert_eq!(first, extract(&file.path, &bytes, &options).unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_splits_into_slices_of_itself(
        text in r"([ \t]{0,4}[#>*`=\-|<a-zé🐦.!?(){};:,\x22]{0,12}[ \n]{0,3}){0,60}",
        extension in prop::sample::select(vec!["md", "txt", "rs", "py", "js", "ts", "tsx", "go", "java", "c", "cpp", "sql", "html", "csv", "tsv"]),
        target_chars in 1_usize..400,
        overlap_chars in 0_usize..300,
    ) {
        let options = PassageOptions { target_chars, overlap_chars };
        let document = extract(Path::new("any").with_extension(extension).as_path(), text.as_bytes(), &options).unwrap();
        check(text.as_bytes(), &document, &options);
    }
}
