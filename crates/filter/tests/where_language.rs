//! The meaning of the filter language, and its errors for text outside of it.

use std::time::Instant;

use nuthatch_filter::{CompareOp, Filter, FilterError, NESTING_MAX, SyntaxError, Value, parse, payload_from_json};
use serde_json::json;

fn holds(filter: &str, payload: serde_json::Value) -> bool {
    parse(filter).unwrap_or_else(|error| panic!("{error}")).matches(&payload_from_json(payload).unwrap())
}

fn fault(text: &str) -> SyntaxError {
    match parse(text) {
        Err(FilterError::Syntax(error)) => error,
        other => panic!("{text} gave {other:?}"),
    }
}

fn compare(field: &str, op: CompareOp, value: impl Into<Value>) -> Filter {
    Filter::Compare { field: field.into(), op, value: value.into() }
}

#[test]
fn and_binds_tighter_than_or_and_not_tightest() {
    let (a, b, c) =
        (|| compare("a", CompareOp::Eq, 1), || compare("b", CompareOp::Eq, 2), || compare("c", CompareOp::Eq, 3));
    assert_eq!(
        parse("a = 1 or b = 2 and not c = 3").unwrap(),
        Filter::Or(vec![a(), Filter::And(vec![b(), Filter::Not(Box::new(c()))])])
    );
    assert_eq!(parse("(a = 1 OR b = 2) AND c = 3").unwrap(), Filter::And(vec![Filter::Or(vec![a(), b()]), c()]));
    assert_eq!(parse("not not a = 1").unwrap(), a());
}

#[test]
fn every_spelling_of_an_operator_is_read() {
    for (symbol, op) in [
        ("=", CompareOp::Eq),
        ("==", CompareOp::Eq),
        ("!=", CompareOp::Ne),
        ("<>", CompareOp::Ne),
        ("<", CompareOp::Lt),
        ("<=", CompareOp::Le),
        (">", CompareOp::Gt),
        (">=", CompareOp::Ge),
    ] {
        assert_eq!(parse(&format!("x {symbol} 5")).unwrap(), compare("x", op, 5));
    }
    assert_eq!(parse("5 <= x").unwrap(), compare("x", CompareOp::Ge, 5), "the value may come first");
}

#[test]
fn literals_keep_their_kind_and_every_bit() {
    for (text, value) in [
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("+7", Value::Int(7)),
        ("-1.5e-3", Value::Float(-0.0015)),
        ("1e3", Value::Float(1000.0)),
        ("'it''s \"so\"'", Value::from("it's \"so\"")),
        ("''", Value::from("")),
        ("TRUE", Value::Bool(true)),
        ("timestamp '2025-01-01'", Value::Datetime(1_735_689_600_000_000)),
    ] {
        assert_eq!(parse(&format!("x = {text}")).unwrap(), compare("x", CompareOp::Eq, value), "{text}");
    }
}

#[test]
fn fields_are_words_quoted_names_and_dotted_paths() {
    for (text, path) in [
        ("meta.author", "meta.author"),
        ("\"odd name\"", "odd name"),
        ("größe", "größe"),
        ("a.\"b c\".d", "a.b c.d"),
        ("\"in\"", "in"),
        ("\"say \"\"hi\"\"\"", "say \"hi\""),
        ("timestamp", "timestamp"),
        ("contains", "contains"),
        ("Exists", "Exists"),
    ] {
        assert_eq!(parse(&format!("{text} = 1")).unwrap(), compare(path, CompareOp::Eq, 1));
    }
}

#[test]
fn fields_names_each_path_once() {
    let filter = parse("a = 1 and (b.c like 'x%' or not exists(a)) and d in (1) and e between 1 and 2 and f").unwrap();
    assert_eq!(filter.fields().into_iter().collect::<Vec<_>>(), ["a", "b.c", "d", "e", "f"]);
}

#[test]
fn missing_and_null_are_the_same_and_not_makes_them_true() {
    for payload in [json!({}), json!({"x": null})] {
        for text in [
            "x = 1",
            "x < 1",
            "x in (1)",
            "x between 0 and 2",
            "x like '%'",
            "exists(x)",
            "x is not null",
            "x",
            "starts_with(x, '')",
        ] {
            assert!(!holds(text, payload.clone()), "{text}");
            assert!(holds(&format!("not ({text})"), payload.clone()), "{text}");
        }
        assert!(
            holds("x != 1", payload.clone())
                && holds("x not in (1)", payload.clone())
                && holds("x is null", payload.clone())
        );
    }
    assert!(holds("exists(x)", json!({"x": []})) && holds("x is not null", json!({"x": {}})));
}

#[test]
fn arrays_ask_for_any_element() {
    let payload =
        || json!({"tags": ["a", "b"], "n": [1, 10], "authors": [{"name": "Ann"}, {"name": "Bob"}], "deep": [[1, [2]]]});
    for text in [
        "tags = 'b'",
        "tags contains 'b'",
        "contains(tags, 'b')",
        "'b' in tags",
        "authors.name = 'Bob'",
        "deep = 2",
        "tags != 'c'",
    ] {
        assert!(holds(text, payload()), "{text}");
    }
    assert!(!holds("tags != 'a'", payload()), "!= is not =, so one equal element is enough to fail");
    assert!(!holds("n between 2 and 9", payload()), "one and the same element is between");
    assert!(holds("n >= 2 and n <= 9", payload()), "while two tests may be met by two elements");
}

#[test]
fn numbers_compare_by_value_and_other_kinds_never() {
    assert!(
        holds("x = 1.0", json!({"x": 1})) && holds("x < 2", json!({"x": 1.5})) && holds("x = 0", json!({"x": -0.0}))
    );
    assert!(!holds("x = 9007199254740992.0", json!({"x": 9007199254740993i64})), "exactly, also past 2^53");
    for text in ["x = '1'", "x = true", "x < 'a'", "x >= timestamp '1970-01-01'"] {
        assert!(!holds(text, json!({"x": 1})), "{text}");
    }
}

#[test]
fn text_is_compared_by_bytes_and_case() {
    assert!(
        holds("x < 'a'", json!({"x": "Z"}))
            && holds("x > 'z'", json!({"x": "é"}))
            && !holds("x = 'A'", json!({"x": "a"}))
    );
    assert!(holds("x like 'a%' and x like '%_c' and not x like 'b%'", json!({"x": "abc"})));
    assert!(holds("x like '100!%' escape '!'", json!({"x": "100%"})));
    assert!(holds("starts_with(path, 'docs/')", json!({"path": "docs/x_y.md"})));
}

#[test]
fn a_datetime_compares_with_text_that_says_one() {
    let payload = nuthatch_filter::Payload::from([("at".to_owned(), Value::Datetime(1_735_732_800_000_000))]);
    for (text, expected) in [
        ("at = '2025-01-01T12:00:00Z'", true),
        ("at = '2025-01-01 13:00:00+01:00'", true),
        ("at > '2025-01-01'", true),
        ("at between '2025-01-01' and '2025-01-02'", true),
        ("at = timestamp '2025-01-01 12:00'", true),
        ("at in ('x', '2025-01-01T12:00')", true),
        ("at > 'a'", false),
        ("at like '2025%'", false),
    ] {
        assert_eq!(parse(text).unwrap().matches(&payload), expected, "{text}");
    }
}

#[test]
fn errors_point_at_the_character_and_say_what_to_write() {
    for (text, column, says) in [
        ("", 1, "empty"),
        ("year >=", 8, "expected a value"),
        ("year >= and x = 1", 9, "`and`"),
        ("year => 3", 7, "expected a value"),
        ("team = core", 8, "single quotes: 'core'"),
        ("team = \"core\"", 8, "single quotes: 'core'"),
        ("team = 'core", 8, "no closing quote"),
        ("team in ()", 10, "expected a value"),
        ("team in ('a' 'b')", 14, "`,` or `)`"),
        ("team in ['a']", 9, "IN ('a', 'b')"),
        ("x = null", 5, "IS NULL"),
        ("x is 5", 6, "NULL or NOT NULL"),
        ("x between 1 or 2", 13, "BETWEEN low AND high"),
        ("x not 5", 7, "IN, BETWEEN, LIKE or CONTAINS"),
        ("(a = 1", 7, "`)`"),
        ("a = 1)", 6, "no matching"),
        ("a = 1 b = 2", 7, "AND, OR or the end"),
        ("a = 1 && b = 2", 7, "write AND"),
        ("a = 99999999999999999999", 5, "too large"),
        ("a = 1e999", 5, "too large"),
        ("a = 12abc", 5, "neither a number nor a name"),
        ("a = b + 1", 5, "expected a value"),
        ("5 = 5", 5, "expected a field"),
        // Found by fuzzing: dots in quotes make a path, and such a path could not be written out again.
        ("\"a..b\" = 1", 1, "cannot be empty"),
        ("a.\"b.\" = 1", 3, "cannot be empty"),
        ("'x'", 4, "comparison"),
        ("lower(x) = 'a'", 6, "no such function"),
        ("x ilike 'a'", 3, "ILIKE"),
        ("x like 5", 8, "single quotes"),
        ("x like 'a' escape '%'", 19, "one character"),
        ("at > timestamp 'soon'", 16, "2025-01-31"),
        ("a = ‘x’", 5, "'single' quotes"),
        ("and = 1", 1, "double quotes"),
        ("meta. = 1", 7, "after the dot"),
        ("größe ! 3", 7, "NOT"),
    ] {
        let error = fault(text);
        assert_eq!((error.line, error.column, error.offset), (1, column, column - 1), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
    assert_eq!(fault("a = 1\n  and b ? 2").line, 2);
}

#[test]
fn hostile_texts_are_refused_without_harm() {
    let deep = "(".repeat(100_000) + "a = 1" + &")".repeat(100_000);
    assert_eq!(fault(&deep).column, NESTING_MAX + 1);
    assert!(parse(&("(".repeat(NESTING_MAX) + "a = 1" + &")".repeat(NESTING_MAX))).is_ok());
    assert!(parse(&("not ".repeat(100_000) + "a")).is_ok());
    let error = fault(&format!("a = '{}'", "x".repeat(2 << 20)));
    assert!(error.message.contains("bytes") && error.to_string().len() < 500);
}

/// Run in a small stack: neither a long chain nor deep parentheses may need a large one.
#[test]
fn long_chains_and_lists_fit_a_small_stack() {
    let work = || {
        let chain = vec!["a = 1 and b = 2"; 30_000].join(" or ");
        let filter = parse(&chain).unwrap();
        assert!(holds_empty(&filter));
        let list = (0..100_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        assert!(parse(&format!("a in ({list})")).is_ok());
        let deep = "not (".repeat(NESTING_MAX) + "a = 1" + &")".repeat(NESTING_MAX);
        assert!(!parse(&deep).unwrap().matches(&Default::default()));
    };
    let started = Instant::now();
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
    println!("took {:?}", started.elapsed());
}

fn holds_empty(filter: &Filter) -> bool {
    !filter.matches(&Default::default())
}
