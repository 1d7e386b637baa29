//! The recorded output of ripgrep 15.2 for these files. `python -m bench.grep_equality` compares many thousand searches
//! with an installed ripgrep.

use nuthatch_grep::{Found, Grep, Output, Request, path_order};

/// In the order of `--sort path`.
const FILES: &[(&str, &[u8])] = &[
    ("a/x.txt", b"one\ntwo foo\nthree\nfour\nfive foo\n"),
    ("a-b/x.txt", b"foo\nno end foo"),
    ("b.bin", b"foo\nbar \0 foo\n"),
    ("empty.txt", b""),
    ("latin.txt", b"caf\xe9 foo\n"),
    ("src/l.rs", b"fn foo() {}\r\n// bar\r\n"),
    ("u.txt", b"\xff\xfef\0o\0o\0 \0\xe9\0\n\0"),
];

fn request(pattern: &str) -> Request {
    Request { patterns: vec![pattern.to_owned()], ..Request::default() }
}

fn printed(request: &Request) -> Vec<u8> {
    let mut grep = Grep::new(request).unwrap();
    let mut out = Vec::new();
    for (path, content) in FILES.iter().filter(|(path, _)| grep_wants(request, path)) {
        grep.search(path, content, &mut out).unwrap();
    }
    grep.finish(&mut out).unwrap();
    out
}

fn grep_wants(request: &Request, path: &str) -> bool {
    Grep::new(request).unwrap().wants(path)
}

#[track_caller]
fn prints(request: &Request, expected: &str) {
    assert_eq!(String::from_utf8_lossy(&printed(request)), expected);
}

#[test]
fn lines_come_with_their_path_and_other_encodings_are_read() {
    let expected = "a/x.txt:two foo\na/x.txt:five foo\na-b/x.txt:foo\na-b/x.txt:no end foo\nlatin.txt:caf\u{fffd} foo\n\
                    src/l.rs:fn foo() {}\r\nu.txt:foo é\n";
    prints(&request("foo"), expected);
}

#[test]
fn groups_of_context_and_files_are_set_apart() {
    let request = Request { line_number: Some(true), after_context: 1, globs: vec!["*x.txt".into()], ..request("foo") };
    let expected =
        "a/x.txt:2:two foo\na/x.txt-3-three\n--\na/x.txt:5:five foo\n--\na-b/x.txt:1:foo\na-b/x.txt:2:no end foo\n";
    prints(&request, expected);
}

#[test]
fn headings_are_set_apart_by_empty_lines() {
    let request = Request { line_number: Some(true), heading: true, globs: vec!["*x.txt".into()], ..request("foo") };
    prints(&request, "a/x.txt\n2:two foo\n5:five foo\n\na-b/x.txt\n1:foo\n2:no end foo\n");
}

#[test]
fn counts_and_lists_name_each_path_once() {
    let with = |output| Request { output, ..request("o") };
    prints(&with(Output::Count), "a/x.txt:4\na-b/x.txt:2\nlatin.txt:1\nsrc/l.rs:1\nu.txt:1\n");
    prints(&with(Output::CountMatches), "a/x.txt:7\na-b/x.txt:5\nlatin.txt:2\nsrc/l.rs:2\nu.txt:2\n");
    prints(&with(Output::FilesWithMatches), "a/x.txt\na-b/x.txt\nlatin.txt\nsrc/l.rs\nu.txt\n");
    prints(&with(Output::FilesWithoutMatch), "empty.txt\n");
    prints(&Request { quiet: true, ..request("o") }, "");
}

#[test]
fn a_dollar_matches_before_crlf_only_where_asked() {
    prints(&request(r"\{\}$"), "");
    prints(&Request { crlf: true, ..request(r"\{\}$") }, "src/l.rs:fn foo() {}\r\n");
}

#[test]
fn replacements_stand_for_matches() {
    let request = Request { only_matching: true, replace: Some("<$1>".into()), ..request(r"(\w+) foo") };
    prints(&request, "a/x.txt:<two>\na/x.txt:<five>\na-b/x.txt:<end>\nsrc/l.rs:<fn>\n");
}

#[test]
fn a_match_spans_lines_only_where_asked() {
    assert!(request(r"two foo\nthree").check().unwrap_err().to_string().contains("-U/--multiline"));
    let request = Request { multiline: true, ..request(r"two foo\nthree") };
    prints(&request, "a/x.txt:two foo\na/x.txt:three\n");
}

#[test]
fn a_nul_ends_the_search_of_a_content_and_matches_before_it_are_announced() {
    let mut content = b"needle\n".repeat(20_000);
    content.extend_from_slice(b"\0needle\n");
    let mut grep = Grep::new(&Request { max_count: Some(20_001), ..request("needle") }).unwrap();
    let mut out = Vec::new();
    let found = grep.search("b.bin", &content, &mut out).unwrap();
    let shown = String::from_utf8(out).unwrap();
    assert_eq!(found.binary_at, Some(140_000));
    let warning =
        "b.bin: WARNING: stopped searching binary file after match (found \"\\0\" byte around offset 140000)\n";
    assert!(shown.ends_with(warning), "{}", &shown[shown.len() - 200..]);

    let mut out = Vec::new();
    let found =
        Grep::new(&Request { text: true, ..request("needle") }).unwrap().search("b.bin", &content, &mut out).unwrap();
    assert_eq!((found.matched_lines, found.binary_at), (20_001, None));
}

#[test]
fn json_is_ripgreps_json() {
    let request = Request { output: Output::Json, globs: vec!["latin.txt".into()], ..request("foo") };
    let out = String::from_utf8(printed(&request)).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], r#"{"type":"begin","data":{"path":{"text":"latin.txt"}}}"#);
    assert_eq!(
        lines[1],
        r#"{"type":"match","data":{"path":{"text":"latin.txt"},"lines":{"bytes":"Y2Fm6SBmb28K"},"line_number":1,"absolute_offset":0,"submatches":[{"match":{"text":"foo"},"start":5,"end":8}]}}"#
    );
    assert!(
        lines[2].starts_with(r#"{"type":"end","data":{"path":{"text":"latin.txt"},"binary_offset":null,"stats":{"#)
    );
    let summary: serde_json::Value = serde_json::from_str(lines[3]).unwrap();
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["data"]["stats"]["bytes_printed"], 235);
    assert_eq!(lines.len(), 4);
}

#[test]
fn statistics_come_last() {
    let request = Request { stats: true, output: Output::FilesWithMatches, ..request("foo") };
    let out = String::from_utf8(printed(&request)).unwrap();
    let (_, stats) = out.split_once("\n\n").unwrap();
    let expected = "7 matches\n7 matched lines\n5 files contained matches\n7 files searched\n0 bytes printed\n";
    assert!(stats.starts_with(expected), "{stats}");
}

#[test]
fn globs_and_types_choose_paths_as_in_a_walk_of_the_root() {
    let wants = |request: Request, path: &str| grep_wants(&Request { patterns: vec!["x".into()], ..request }, path);
    let globs =
        |globs: &[&str]| Request { globs: globs.iter().map(|&glob| glob.into()).collect(), ..Request::default() };
    assert!(wants(globs(&["*.rs"]), "src/deep/l.rs") && !wants(globs(&["*.rs"]), "src/l.py"));
    assert!(!wants(globs(&["!target"]), "target/debug/l.rs") && wants(globs(&["!target"]), "src/target.rs"));
    assert!(wants(globs(&["!*.txt", "a.txt"]), "a.txt") && !wants(globs(&["a.txt", "!*.txt"]), "a.txt"));
    assert!(wants(globs(&["/src/*.rs"]), "src/l.rs") && !wants(globs(&["/src/*.rs"]), "a/src/l.rs"));
    assert!(!wants(globs(&["*.RS"]), "l.rs"));
    assert!(wants(Request { iglobs: vec!["*.RS".into()], ..Request::default() }, "l.rs"));
    let rust = || Request { types: vec!["rust".into()], ..Request::default() };
    assert!(wants(rust(), "src/l.rs") && !wants(rust(), "l.py"));
    assert!(!wants(Request { types_not: vec!["rust".into()], ..Request::default() }, "src/l.rs"));
    // A glob goes before a type.
    assert!(wants(Request { globs: vec!["*.py".into()], ..rust() }, "l.py"));
}

#[test]
fn paths_are_ordered_name_by_name() {
    let mut paths = ["b", "a-b/x", "a/x", "a.b", "a/b/c", "a0", "a"];
    paths.sort_by(|a, b| path_order(a, b));
    assert_eq!(paths, ["a", "a/b/c", "a/x", "a-b/x", "a.b", "a0", "b"]);
}

#[test]
fn what_cannot_be_searched_for_is_refused_with_the_place_or_the_remedy() {
    let message = |request: Request| request.check().unwrap_err().to_string();
    assert_eq!(message(request("a(b")), "regex parse error:\n    (?:a(b)\n    ^\nerror: unclosed group");
    assert!(message(request("(?<=a)b")).contains("-P/--pcre2 is not supported"));
    assert!(message(Request { pcre2: true, ..request("a") }).contains("Use -w"));
    assert!(message(request(r"a\x00b")).contains("-a/--text"));
    assert!(message(Request::default()).contains("at least one"));
    assert_eq!(
        message(Request { types: vec!["rusty".into()], ..request("a") }),
        "unrecognized file type: rusty; `rg --type-list` names those that there are"
    );
    assert!(message(Request { globs: vec!["a{b".into()], ..request("a") }).starts_with("glob `a{b`: "));
    assert!(message(Request { encoding: Some("utf-99".into()), ..request("a") }).contains("`utf-99`"));
    assert!(message(request(&"a".repeat(2 << 20))).contains("over the limit of 1048576"));
    assert!(message(request(r"(?:\w{100}){100}")).contains("size limit"));
}

#[test]
fn output_over_its_limit_ends_with_a_whole_line_and_says_so() {
    let content = b"needle\n".repeat(100);
    let mut grep = Grep::new(&request("needle")).unwrap();
    let mut out = b"before".to_vec();
    grep.set_output_bytes_max(100);
    let found = grep.search("f", &content, &mut out).unwrap();
    assert_eq!((found.matched, found.truncated), (true, true));
    assert_eq!(out, [b"before".as_slice(), &b"f:needle\n".repeat(10)].concat());
    grep.set_output_bytes_max(usize::MAX);
    out.clear();
    assert!(!grep.search("f", &content, &mut out).unwrap().truncated);
    assert_eq!(out, b"f:needle\n".repeat(100));
}

#[test]
fn a_search_that_nothing_can_change_asks_for_no_more() {
    let mut quiet = Grep::new(&Request { quiet: true, ..request("a") }).unwrap();
    assert!(quiet.wants_more() && !quiet.matched());
    quiet.search("f", b"a", &mut Vec::new()).unwrap();
    assert!(!quiet.wants_more() && quiet.matched());
    let mut none = Grep::new(&Request { max_count: Some(0), stats: true, ..request("a") }).unwrap();
    let mut out = Vec::new();
    assert_eq!(none.search("f", b"a", &mut out).unwrap(), Found::default());
    none.finish(&mut out).unwrap();
    assert!(out.is_empty() && !none.wants("f") && !none.wants_more());
}

#[test]
fn where_ripgrep_panics_only_that_content_fails() {
    let request = Request {
        multiline: true,
        invert: true,
        line_regexp: true,
        after_context: 1,
        max_count: Some(2),
        ..request(r"\s")
    };
    let mut grep = Grep::new(&request).unwrap();
    let mut out = Vec::new();
    let error = grep.search("blank", b"a\n\n\n ", &mut out).unwrap_err().to_string();
    assert!(error.starts_with("blank: the search library gave up on this content"), "{error}");
    out.clear();
    grep.search("f", b"b\n", &mut out).unwrap();
    assert_eq!(out, b"--\nf:b\n");
}

#[test]
fn a_match_beyond_the_printed_lines_is_clipped_in_json() {
    let request =
        Request { multiline: true, multiline_dotall: true, max_count: Some(1), output: Output::Json, ..request(".*") };
    let mut out = Vec::new();
    Grep::new(&request).unwrap().search("f", b"\x80\na", &mut out).unwrap();
    let message: serde_json::Value = serde_json::from_slice(out.split(|&byte| byte == b'\n').nth(1).unwrap()).unwrap();
    let ends: Vec<_> = message["data"]["submatches"].as_array().unwrap().iter().map(|one| one["end"].clone()).collect();
    assert_eq!(ends, [0, 2]);
}

#[test]
fn found_tells_what_was_counted() {
    let mut grep = Grep::new(&Request { stats: true, ..request("o") }).unwrap();
    let found = grep.search("f", b"foo\nbar\noo\n", &mut Vec::new()).unwrap();
    let expected = Found { matched: true, matched_lines: 2, matches: Some(4), bytes_searched: 11, ..Found::default() };
    assert_eq!(found, expected);
}

#[test]
fn a_request_crosses_a_socket_and_json_whole() {
    let request = Request {
        output: Output::FilesWithMatches,
        globs: vec!["*.rs".into()],
        replace: Some(String::new()),
        max_count: Some(3),
        ..request("a")
    };
    assert_eq!(postcard::from_bytes::<Request>(&postcard::to_stdvec(&request).unwrap()).unwrap(), request);
    assert_eq!(serde_json::from_value::<Request>(serde_json::to_value(&request).unwrap()).unwrap(), request);
    let short: Request = serde_json::from_str(r#"{"patterns": ["a"], "output": "files_with_matches"}"#).unwrap();
    assert_eq!(short, Request { output: Output::FilesWithMatches, ..self::request("a") });
    let error = serde_json::from_str::<Request>(r#"{"pattern": "a"}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `pattern`"), "{error}");
}
