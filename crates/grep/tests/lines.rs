//! Lines as values.

use nuthatch_grep::{Grep, Line, Request, Span};

fn request(pattern: &str) -> Request {
    Request { patterns: vec![pattern.to_owned()], ..Request::default() }
}

fn lines(request: &Request, content: &[u8]) -> Vec<Line> {
    Grep::new(request).unwrap().search_lines("f", content, usize::MAX).unwrap().lines
}

#[test]
fn a_line_has_its_number_place_text_and_matches() {
    let found = lines(&request("é+"), "one\nüé éé\n".as_bytes());
    let matches = vec![Span { start: 2, end: 4 }, Span { start: 5, end: 9 }];
    let line = Line { number: 2, offset: 4, text: "üé éé".into(), matches, context: false, cut: false };
    assert_eq!(found, [line]);
}

#[test]
fn context_stands_among_the_matches_and_is_marked() {
    let found = lines(&Request { before_context: 1, ..request("c") }, b"a\nb\nc\nd\n");
    let shown: Vec<_> = found.iter().map(|line| (line.number, line.text.as_str(), line.context)).collect();
    assert_eq!(shown, [(2, "b", true), (3, "c", false)]);
}

#[test]
fn what_is_no_utf8_moves_no_span() {
    let found = lines(&request("foo"), b"\xfd\xfe foo\xff foo\n");
    for span in &found[0].matches {
        assert_eq!(&found[0].text[span.start..span.end], "foo");
    }
    assert_eq!(found[0].matches.len(), 2);
}

#[test]
fn a_match_over_lines_is_one_entry() {
    let found = lines(&Request { multiline: true, ..request("b\\nc") }, b"a\nb\nc\nd\n");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].number, found[0].text.as_str()), (2, "b\nc"));
    assert_eq!(found[0].matches, [Span { start: 0, end: 3 }]);
}

#[test]
fn more_lines_than_wanted_are_left_out_and_announced() {
    let mut grep = Grep::new(&request("a")).unwrap();
    let found = grep.search_lines("f", b"a\na\na\n", 2).unwrap();
    assert_eq!((found.lines.len(), found.truncated), (2, true));
    assert!(!grep.search_lines("f", b"a\na\n", 2).unwrap().truncated);
}

#[test]
fn long_lines_are_cut_between_characters_and_marked() {
    let found = lines(&Request { max_columns: Some(4), ..request("é") }, "aéébc\n".as_bytes());
    assert_eq!((found[0].text.as_str(), found[0].cut), ("aé", true));
    assert_eq!(found[0].matches, [Span { start: 1, end: 3 }]);
}

#[test]
fn inverted_lines_have_no_matches_and_a_nul_is_announced() {
    let found = lines(&Request { invert: true, ..request("a") }, b"a\nb\n");
    assert_eq!((found.len(), found[0].text.as_str(), found[0].matches.len()), (1, "b", 0));
    let found = Grep::new(&request("a")).unwrap().search_lines("f", b"a\0", 9).unwrap();
    assert_eq!((found.lines.len(), found.binary_at), (0, Some(1)));
}
