//! What every document comes to: an error, or passages with spans within the source, in its order where it is text.

use std::path::Path;

use nuthatch_extract::{Kind, PassageOptions, extract};

pub fn check(name: &str, bytes: &[u8]) {
    let Ok(document) = extract(Path::new(name), bytes, &PassageOptions::default()) else { return };
    for passage in &document.passages {
        assert!(!passage.text.is_empty() && passage.start_byte <= passage.end_byte);
        assert!(passage.start_line >= 1 && passage.start_line <= passage.end_line);
        if document.kind != Kind::Pdf && std::str::from_utf8(bytes).is_ok() {
            assert!(passage.end_byte <= bytes.len() as u64);
        }
    }
}
