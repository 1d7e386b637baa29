//! Grams never rule out a content that matches.

use nuthatch_grep::{GramSet, Grep, Needed, Output, Request, no_bits};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Parts of patterns, next to which letters stand that have other cases outside of ASCII.
const PIECES: [&str; 34] = [
    "ab",
    "abc",
    "K",
    "k",
    "s",
    "ss",
    "task",
    "\u{e9}",
    "\u{df}",
    "\u{130}",
    "[a-c]",
    "[kK]",
    "[^x]",
    "x?",
    "(ab|cd)",
    "(abc|de)+",
    ".*",
    ".",
    "\\w",
    "\\w+",
    "a{2,3}",
    "(?:bc){2}",
    "(?i:Ks)",
    "(?i)",
    "\\b",
    "^",
    "$",
    "(?-u:\\xff)",
    " ",
    "_",
    "1",
    "\\s",
    "cd*",
    "(?:ab)*",
];
const TEXTS: [&[u8]; 28] = [
    b"ab",
    b"abc",
    b"ABC",
    b"K",
    b"k",
    "\u{212a}".as_bytes(),
    b"s",
    "\u{17f}".as_bytes(),
    b"ss",
    b"task",
    b"TASK",
    "\u{e9}".as_bytes(),
    "\u{c9}".as_bytes(),
    "\u{df}".as_bytes(),
    "\u{1e9e}".as_bytes(),
    "i\u{307}".as_bytes(),
    b"x",
    b"cd",
    b"de",
    b"bcbc",
    b"aa",
    b"\xff",
    b"\xc3",
    b"\n",
    b"\r\n",
    b" ",
    b"_",
    b"1",
];

prop_compose! {
    fn requests()(
        patterns in vec(vec(select(&PIECES[..]), 1..7), 1..3),
        flags in any::<[bool; 9]>(),
        word in 0..4_u8,
    ) -> Request {
        let [fixed_strings, ignore_case, smart_case, multiline, dotall, crlf, no_unicode, text, json] = flags;
        Request {
            patterns: patterns.into_iter().map(|pieces| pieces.concat()).collect(),
            fixed_strings: fixed_strings && json,
            ignore_case,
            smart_case,
            multiline: multiline && json,
            multiline_dotall: dotall,
            crlf,
            no_unicode,
            text,
            word: word == 0,
            line_regexp: word == 1,
            output: Output::Lines,
            ..Request::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_content_that_matches_has_the_grams_that_are_needed(
        request in requests(),
        contents in vec(vec(select(&TEXTS[..]), 0..12), 1..4),
    ) {
        let Ok(mut grep) = Grep::new(&request) else { return Ok(()) };
        let needed = Needed::of(&request);
        let mut set = GramSet::default();
        for content in contents {
            let content = content.concat();
            let mut out = Vec::new();
            let Ok(found) = grep.search("a", &content, &mut out) else { continue };
            set.begin();
            if !set.add(&content) {
                continue;
            }
            let grams = set.grams();
            let having = |gram| if grams.contains(&gram) { no_bits().map(|_| u64::MAX) } else { no_bits() };
            let can_match = needed.of_block(&having) != no_bits();
            prop_assert!(can_match || !found.matched, "{:?} matches {:?}: {:?}", content.escape_ascii().to_string(), request, needed);
        }
    }
}

/// A pattern of a megabyte, or of repetitions in repetitions, is told about as quickly as it is read.
#[test]
fn large_patterns_need_no_more_than_can_be_looked_up() {
    let of = |pattern: String| Needed::of(&Request { patterns: vec![pattern], ..Request::default() });
    assert!(!of("abcdefghij".repeat(100_000)).grams().is_empty());
    assert!(of("[ab]cd".repeat(3_000)).grams().len() <= 512);
    assert_eq!(of((0..20_000).map(|n| format!("w{n}_{n}")).collect::<Vec<_>>().join("|")), Needed::Nothing);
    let nested = (0..8).fold("ab[cd]".to_string(), |inner, _| format!("(?:{inner}){{3}}"));
    assert!(!of(nested).grams().is_empty());
}
