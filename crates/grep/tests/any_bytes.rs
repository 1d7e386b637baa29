//! No request and no content makes a search panic, and the two forms of an answer agree.

use nuthatch_grep::{Grep, Output, Request};
use proptest::prelude::*;

fn pattern() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "a",
        "^",
        "$",
        "^$",
        r"\b",
        r"\B",
        r"\w+",
        ".",
        ".*",
        "(?s).*",
        r"\s",
        r"\n",
        "a|b",
        "(a)(b)?",
        r"[^a]",
        r"(?-u:\xff)",
        r"\x00",
        "é",
        "(?i)k",
    ]);
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"aabbk \n\r\t".to_vec()),
        1 => any::<u8>(),
    ];
    let mark = prop::sample::select(vec![&b""[..], b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]);
    (mark, prop::collection::vec(byte, 0..300)).prop_map(|(mark, bytes)| [mark, &bytes].concat())
}

fn output() -> impl Strategy<Value = Output> {
    prop::sample::select(vec![
        Output::Lines,
        Output::Count,
        Output::CountMatches,
        Output::FilesWithMatches,
        Output::FilesWithoutMatch,
        Output::Json,
    ])
}

prop_compose! {
    fn request()(
        patterns in prop::collection::vec(pattern(), 1..3),
        output in output(),
        flags in any::<[bool; 24]>(),
        likely in 0..8u8,
        max_count in prop::option::of(0..4u64),
        (before_context, after_context) in (0..3u32, 0..3u32),
        max_columns in prop::option::of(0..20u64),
        replace in prop::option::of(prop::sample::select(vec!["", "<$0>", "$1\n", "$x"])),
        encoding in prop::sample::select(vec![None, None, Some("none"), Some("utf-16be"), Some("shift_jis")]),
    ) -> Request {
        Request {
            patterns,
            output,
            max_count,
            before_context,
            after_context,
            max_columns,
            replace: replace.map(str::to_owned),
            encoding: encoding.map(str::to_owned),
            fixed_strings: flags[0] && likely == 0,
            ignore_case: flags[1],
            smart_case: flags[2],
            word: flags[3],
            line_regexp: flags[4],
            invert: flags[5],
            multiline: flags[6],
            multiline_dotall: flags[7],
            crlf: flags[8] && likely < 4,
            null_data: flags[9] && likely >= 6,
            no_unicode: flags[10],
            stop_on_nonmatch: flags[11] && likely < 2,
            text: flags[12],
            binary: flags[13],
            quiet: flags[14] && likely == 1,
            only_matching: flags[15],
            vimgrep: flags[16],
            passthru: flags[17],
            column: Some(flags[18]),
            byte_offset: flags[19],
            heading: flags[20],
            trim: flags[21],
            color: flags[22],
            stats: flags[23],
            ..Request::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(request in request(), contents in prop::collection::vec(content(), 1..4), limit in 0..400usize) {
        let Ok(mut grep) = Grep::new(&request) else { return Ok(()) };
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        for content in &contents {
            if grep.search("a/b", content, &mut expected).is_err() {
                return Ok(());
            }
        }
        grep.finish(&mut Vec::new()).unwrap();

        let mut grep = Grep::new(&request).unwrap();
        grep.set_output_bytes_max(limit);
        for content in &contents {
            if grep.search("a/b", content, &mut out).unwrap().truncated {
                break;
            }
            prop_assert!(out.len() <= limit);
        }
        // The times that JSON and statistics tell differ from run to run.
        if request.output != Output::Json {
            prop_assert!(expected.starts_with(&out));
        }
    }

    #[test]
    fn pieces_of_what_a_content_prints_join_to_all_of_it(request in request(), content in content(), limit in 1_usize..200) {
        // JSON tells times. Over lines, the library may lose the last bytes of a text that it decodes, once and not again.
        let output = if request.output == Output::Json { Output::Lines } else { request.output };
        let request = Request { output, multiline: false, ..request };
        let Ok(mut grep) = Grep::new(&request) else { return Ok(()) };
        let Ok(whole) = grep.search_apart("a/b", &content, 0) else { return Ok(()) };
        grep.set_output_bytes_max(limit);
        let mut joined = Vec::new();
        loop {
            let piece = grep.search_apart("a/b", &content, joined.len()).unwrap();
            prop_assert!(piece.out.len() <= limit);
            prop_assert!(!piece.found.truncated || !piece.out.is_empty());
            joined.extend_from_slice(&piece.out);
            if !piece.found.truncated {
                break;
            }
        }
        prop_assert_eq!(joined, whole.out);
    }

    #[test]
    fn any_glob_and_path_gives_an_answer(glob in any::<String>(), path in any::<String>()) {
        let request = Request { patterns: vec!["a".into()], globs: vec![glob], ..Request::default() };
        if let Ok(grep) = Grep::new(&request) {
            grep.wants(&path);
        }
    }
}

#[test]
fn what_stands_between_contents_counts_among_the_bytes() {
    let request = Request { patterns: vec!["a".into()], before_context: 1, with_filename: true, ..Request::default() };
    let print = |limit: usize| {
        let mut grep = Grep::new(&request).unwrap();
        grep.set_output_bytes_max(limit);
        let mut out = Vec::new();
        let truncated = [b"a\n", b"a\n"].map(|content| grep.search("a/b", content, &mut out).unwrap().truncated);
        (String::from_utf8(out).unwrap(), truncated)
    };
    let whole = "a/b:a\n--\na/b:a\n";
    assert_eq!(print(whole.len()), (whole.to_string(), [false, false]));
    for limit in 7..whole.len() {
        let (out, truncated) = print(limit);
        assert!(out.len() <= limit && whole.starts_with(&out) && truncated == [false, true], "{limit}: {out:?}");
    }
}
