//! How each format is read.

use std::path::Path;

use nuthatch_extract::{Document, ExtractError, Kind, PassageOptions, extract};

fn read(name: &str, text: &str) -> Document {
    extract(Path::new(name), text.as_bytes(), &PassageOptions::default()).unwrap()
}

fn headings(document: &Document) -> Vec<String> {
    document.passages.iter().map(|p| p.heading.join(" > ")).collect()
}

fn long(word: &str) -> String {
    format!("{word} ").repeat(60)
}

#[test]
fn markdown_passages_stand_under_their_heading_path() {
    let text = format!(
        "# Book\n\n{}\n\n## One\n\n{}\n\n### Deep\n\n{}\n\nTwo\n---\n\n{}",
        long("intro"),
        long("one"),
        long("deep"),
        long("two")
    );
    let document = read("book.md", &text);
    assert_eq!(document.title.as_deref(), Some("Book"));
    assert_eq!(headings(&document), ["Book", "Book > One", "Book > One > Deep", "Book > Two"]);
}

#[test]
fn markdown_heading_in_a_code_block_is_text() {
    let document = read("a.md", &format!("# Real\n\n```sh\n# not a heading\n```\n\n{}", long("x")));
    assert_eq!(headings(&document), ["Real"]);
}

#[test]
fn front_matter_title_wins_over_first_heading() {
    assert_eq!(read("a.md", "---\ntitle: \"From above\"\n---\n# Below\n").title.as_deref(), Some("From above"));
}

#[test]
fn lone_heading_joins_what_follows() {
    let document = read("a.md", &format!("# Title\n\n## Section\n\n{}", long("body")));
    assert_eq!(headings(&document), ["Title > Section"]);
    assert!(document.passages[0].text.starts_with("# Title\n\n## Section"));
}

#[test]
fn large_sections_never_share_a_passage() {
    let document = read("a.md", &format!("# A\n\n{}\n\n# B\n\n{}", long("alpha"), long("beta")));
    assert_eq!(headings(&document), ["A", "B"]);
    assert!(!document.passages[0].text.contains("beta"));
}

#[test]
fn white_space_alone_gives_no_passages() {
    for name in ["a.md", "a.txt", "a.html", "a.rs", "a"] {
        assert_eq!(read(name, " \n\t\n\u{a0}\n").passages, [], "{name}");
        assert_eq!(read(name, "").passages, [], "{name}");
    }
}

#[test]
fn html_reads_text_and_headings_but_no_scripts() {
    let html = format!(
        "<!doctype html><head><title>The &amp; title</title><style>p {{ color: red }}</style></head><body><h1>Top</h1><p>{}</p>\
         <script>var secret = '<p>hidden</p>';</script><h2>Sub&shy;section</h2><ul><li>caf&eacute;<li>second</ul>{}</body>",
        long("first"),
        long("tail")
    );
    let document = read("page.html", &html);
    assert_eq!(document.title.as_deref(), Some("The & title"));
    assert_eq!(headings(&document), ["Top", "Top > Sub\u{ad}section"]);
    let text: String = document.passages.iter().map(|p| p.text.as_str()).collect();
    assert!(!text.contains("secret") && !text.contains("hidden") && !text.contains("color"), "{text}");
    assert!(text.contains("café\n\nsecond"), "{text}");
}

#[test]
fn html_is_recognised_without_extension() {
    assert_eq!(read("download", "\n<!DOCTYPE HTML><p>x").kind, Kind::Html);
}

#[test]
fn code_passages_name_their_symbols() {
    let body = "        let x = compute_something(1, 2, 3);\n".repeat(14);
    let rust = format!(
        "/// Shape.\nimpl Display for Shape {{\n    /// Draws.\n    fn draw(&self) {{\n{body}    }}\n\n    fn erase(&self) {{\n{body}    }}\n}}\n"
    );
    let document = read("shape.rs", &rust);
    assert_eq!(headings(&document), ["impl Display for Shape > fn draw", "impl Display for Shape > fn erase"]);
    assert!(document.passages[0].text.starts_with("/// Shape."), "comments belong to what they describe");

    let cases = [
        ("a.py", "@decorated\nasync def fetch(url):\n    return url\n", "def fetch"),
        ("a.js", "export const area = (r) => r * r * 3;\n", "function area"),
        ("a.js", "export default class Index extends Base {}\n", "class Index"),
        ("a.ts", "export interface Point { x: number }\n", "interface Point"),
        ("a.tsx", "function Page() { return <p>hi</p>; }\n", "function Page"),
        ("a.go", "func (s *Store) Get(key string) string { return key }\n", "func (s *Store) Get"),
        ("A.java", "public class Main { void run() {} }\n", "class Main"),
        ("a.c", "static int *find(const char *key) { return 0; }\n", "fn find"),
        ("a.cpp", "template <typename T> T twice(T x) { return x + x; }\n", "fn twice"),
    ];
    for (name, source, label) in cases {
        assert_eq!(headings(&read(name, source)), [label], "{name}");
    }
}

#[test]
fn code_without_a_grammar_is_cut_at_blank_lines() {
    let statement = format!("SELECT {}\n  FROM t;", "a, ".repeat(150));
    let document = read("q.sql", &format!("{statement}\n\n{statement}\n\n{statement}\n"));
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Code, Some("sql")));
    assert!(document.passages.iter().all(|p| p.text == statement), "{:?}", document.passages);
}

#[test]
fn byte_order_marks_are_no_text() {
    let utf8 = extract(Path::new("a.txt"), b"\xEF\xBB\xBFhello", &PassageOptions::default()).unwrap();
    assert_eq!(
        (utf8.passages[0].text.as_str(), utf8.passages[0].start_byte, utf8.passages[0].end_byte),
        ("hello", 3, 8)
    );

    let mut utf16 = vec![0xFF, 0xFE];
    utf16.extend("één 🐦\nzwei".encode_utf16().flat_map(u16::to_le_bytes));
    let document = extract(Path::new("a.txt"), &utf16, &PassageOptions::default()).unwrap();
    let passage = &document.passages[0];
    assert_eq!(passage.text, "één 🐦\nzwei");
    assert_eq!((passage.start_byte, passage.end_byte, passage.end_line), (2, utf16.len() as u64, 2));
}

#[test]
fn refusals_say_what_was_found() {
    let refuse = |name: &str, bytes: &[u8]| extract(Path::new(name), bytes, &PassageOptions::default()).unwrap_err();
    assert!(matches!(refuse("a.txt", b"abc\xE9def"), ExtractError::NotUtf8 { offset: 3, .. }));
    assert!(matches!(refuse("a.txt", b"abc\0def"), ExtractError::Binary { why, .. } if why == "a NUL byte at 3"));
    assert!(
        matches!(refuse("a.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), ExtractError::Binary { why, .. } if why == "image/png")
    );
    assert!(matches!(refuse("a.docx", b"PK\x03\x04\x14\0\0\0"), ExtractError::Broken { .. }));
    assert!(matches!(refuse("a.pdf", b"no header"), ExtractError::Broken { .. }));
    assert!(matches!(refuse("a.pdf", b"%PDF-1.7\nnothing else"), ExtractError::Broken { .. }));
}

#[test]
fn text_that_begins_like_a_magic_number_is_text() {
    assert_eq!(read("a.txt", "BM is what a bitmap begins with").passages.len(), 1);
    assert_eq!(read("a.md", "Files that begin with %PDF- are PDF").kind, Kind::Markdown);
}
