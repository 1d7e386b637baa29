//! Questions and passages: words, scores, snippets.

use nuthatch_segment::BlockCache;
use nuthatch_text::{Analyzer, RowFilter, TextIndex, TextMemtable, scan, snippet};

use crate::Run;

/// A question, then a passage on each further line.
pub fn start() -> Run {
    let analyzer = Analyzer::new("english").expect("a language");
    let folder = tempfile::tempdir().expect("a folder");
    let empty = TextIndex::open_or_create(folder.path(), &BlockCache::new(1 << 20), "english").expect("an index");
    Box::new(move |bytes| {
        let _alive = &folder;
        let text = String::from_utf8_lossy(bytes);
        let (question, passages) = text.split_once('\n').unwrap_or((&text, ""));
        let mut memtable = TextMemtable::new();
        let mut rows = Vec::new();
        for (row, passage) in (1..).zip(passages.lines()) {
            let code = row % 2 == 0;
            memtable.insert(row, passage, code, &analyzer);
            rows.push((row, passage.to_owned(), code));
            for token in analyzer.tokens(passage, code) {
                assert!(passage.get(token.start..token.end).is_some(), "a word lies in its text");
            }
            for chars in [1, 20, 300] {
                within(passage, &analyzer, question, chars);
            }
        }
        let scanned =
            scan(&analyzer, question, &mut rows.into_iter().map(Ok), 10, RowFilter::All).expect("rows of our own");
        let searched = empty.search(question, 10, RowFilter::All, Some(&memtable)).expect("a healthy index");
        assert_eq!(scanned, searched, "with and without an index");
    })
}

fn within(passage: &str, analyzer: &Analyzer, question: &str, chars_max: usize) {
    let found = snippet(analyzer, passage, question, chars_max);
    let window = passage.get(found.window.clone()).expect("a window of the text");
    assert!(window.chars().count() <= chars_max, "{} of {chars_max} characters", window.chars().count());
    for highlight in found.highlights {
        assert!(passage.get(highlight.clone()).is_some(), "a part of the text");
        assert!(found.window.start <= highlight.start && highlight.end <= found.window.end, "a part of the window");
    }
}
