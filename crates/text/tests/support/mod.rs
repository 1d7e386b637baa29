//! Small passages for tests, and the benchmark data where it is.
#![allow(dead_code)] // each test file uses its part

use std::io::Read;
use std::path::PathBuf;

use nuthatch_text::TextRow;

const WORDS: [&str; 16] = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "readAt",
    "read_at",
    "block_cache",
    "the",
    "running",
    "HTTPServer",
];

/// A passage of common words (low numbers) and rare ones.
pub fn passage(words: &[u8]) -> String {
    let words = words.iter().map(|&word| match WORDS.get(word as usize % 40) {
        Some(word) => word.to_string(),
        None => format!("word{word}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

pub fn row(row_id: u64, text: &str, code: bool) -> TextRow {
    TextRow { row_id, text: text.into(), code }
}

/// A file of the benchmark data, unpacked; `None`, with a word, where the data is absent.
pub fn data(file: &str) -> Option<String> {
    let folder = std::env::var_os("NUTHATCH_TEST_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(file);
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: there is no {} (set NUTHATCH_TEST_DATA)", path.display());
        return None;
    };
    let mut text = String::new();
    if file.ends_with(".gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    Some(text)
}
