//! A filter means the same row by row and column by column, whatever the payloads hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use nuthatch_filter::{Columns, ColumnsWriter, CompareOp, Filter, Payload, Scalar, Value, decode, encode, parse};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use tantivy_common::OwnedBytes;

/// Few names, so that fields hold several kinds, and a filter meets a scalar in one row and a map in the next.
const NAMES: [&str; 4] = ["a", "b", "größe", "odd name"];
const PATHS: [&str; 8] = ["a", "b", "größe", "odd name", "a.a", "a.b", "b.a.b", "missing"];

fn columns(payloads: &[Payload]) -> Columns {
    let mut writer = ColumnsWriter::new();
    payloads.iter().for_each(|payload| writer.push(payload));
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    Columns::open(Arc::new(OwnedBytes::new(bytes))).unwrap()
}

fn long_text(last: char) -> String {
    "ab".repeat(20_000) + &last.to_string()
}

fn int() -> impl Strategy<Value = i64> {
    let special = [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
    prop_oneof![-3..4i64, prop::sample::select(special.to_vec()), any::<i64>()]
}

fn float() -> impl Strategy<Value = f64> {
    let special = [
        -0.0,
        0.0,
        0.5,
        -1.5,
        1.0,
        2.0,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        9_223_372_036_854_775_807.0,
        -9_223_372_036_854_775_808.0,
        1e19,
        f64::MAX,
        f64::MIN,
    ];
    prop_oneof![4 => prop::sample::select(special.to_vec()), 1 => prop::num::f64::NORMAL]
}

fn text() -> impl Strategy<Value = String> {
    let special = ["", "a", "ab", "abc", "b", "é", "日本", "a\u{0}b", "\u{10ffff}", "%", "a_c", "1", "true"];
    let dates =
        ["1970-01-01", "1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.0000015Z", "2025-06-01 12:00", "9999-12-31"];
    prop_oneof![
        6 => prop::sample::select(special.to_vec()).prop_map(str::to_owned),
        3 => prop::sample::select(dates.to_vec()).prop_map(str::to_owned),
        3 => "[abé]{0,4}",
        1 => prop::sample::select(vec!['x', 'y']).prop_map(long_text),
    ]
}

fn datetime() -> impl Strategy<Value = i64> {
    let special = [0, 1, 2, -1, 1_748_779_200_000_000, 253_402_300_799_999_999, -377_705_116_800_000_000];
    prop_oneof![prop::sample::select(special.to_vec()), -3..4i64]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::Bool),
        5 => int().prop_map(Value::Int),
        5 => float().prop_map(Value::Float),
        6 => text().prop_map(Value::Text),
        3 => datetime().prop_map(Value::Datetime),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name(), inner, 0..3).prop_map(Value::Map),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned)
}

fn payload() -> impl Strategy<Value = Payload> {
    prop::collection::btree_map(name(), value(), 0..4)
}

/// Literals that the language can write, and now and then one that only code can make.
fn literal() -> impl Strategy<Value = Value> {
    prop_oneof![20 => scalar(), 1 => value()]
}

fn leaf() -> impl Strategy<Value = Filter> {
    let field = || prop::sample::select(PATHS.to_vec()).prop_map(str::to_owned);
    let ops = vec![CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];
    let escape = prop::option::of(prop::sample::select(vec!['!', 'a', 'é']));
    prop_oneof![
        6 => (field(), prop::sample::select(ops), literal())
            .prop_map(|(field, op, value)| Filter::Compare { field, op, value }),
        2 => (field(), prop::collection::vec(literal(), 0..9)).prop_map(|(field, values)| Filter::In { field, values }),
        2 => (field(), prop::collection::btree_set(int(), 0..9)).prop_map(|(field, numbers)| {
            Filter::Among { field, numbers: numbers.into_iter().collect() }
        }),
        2 => (field(), literal(), literal()).prop_map(|(field, low, high)| Filter::Between { field, low, high }),
        2 => field().prop_map(|field| Filter::Exists { field }),
        2 => (field(), "[abé%_!]{0,4}", escape)
            .prop_map(|(field, pattern, escape)| Filter::Like { field, pattern, escape }),
        1 => (field(), text()).prop_map(|(field, prefix)| Filter::Prefix { field, prefix }),
        1 => (field(), literal()).prop_map(|(field, value)| Filter::Contains { field, value }),
        1 => Just(Filter::True),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    leaf().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

fn assert_agreement(columns: &Columns, payloads: &[Payload], filter: &Filter) {
    let by_row: Vec<u32> = (0..payloads.len() as u32).filter(|row| filter.matches(&payloads[*row as usize])).collect();
    let by_column: Vec<u32> = columns.evaluate(filter).unwrap().iter().collect();
    assert_eq!(by_row, by_column, "filter {filter:?}");
}

/// Columns count the values of a field among rows as the payloads have them.
fn assert_counts(columns: &Columns, payloads: &[Payload], path: &str, rows: &RoaringBitmap) {
    let (mut expected, mut expected_rows) = (BTreeMap::new(), RoaringBitmap::new());
    for row in rows {
        let values = Scalar::all_of(&payloads[row as usize], path);
        if !values.is_empty() {
            expected_rows.insert(row);
        }
        values.into_iter().for_each(|value| *expected.entry(value).or_insert(0) += 1);
    }
    let mut found = BTreeMap::new();
    let mut count = |value: Scalar, number: u64| {
        assert!(number > 0, "{value:?}");
        *found.entry(value).or_insert(0) += number;
        true
    };
    let found_rows = columns.count_values(path, rows, &mut count).unwrap().unwrap();
    assert_eq!((found, found_rows), (expected, expected_rows), "{path}");
}

#[test]
fn large_columns_count_values_as_payloads_have_them() {
    let mut dice = fastrand::Rng::with_seed(11);
    let payload = |_| {
        let values = ["team", "tags", "n", "at"].map(|name| {
            let value = match name {
                // A block of its own for the frequent ones.
                "team" => Value::Text(["core", "ops", "web"][dice.usize(..100).min(2)].into()),
                "tags" => {
                    Value::Array((0..dice.u8(..4)).map(|_| Value::Text(format!("t{}", dice.u16(..9000)))).collect())
                }
                "n" => Value::Int(dice.i64(-20_000..20_000)),
                _ => Value::Datetime(dice.i64(..50)),
            };
            (name.to_string(), value)
        });
        Payload::from(values)
    };
    let payloads: Vec<Payload> = (0..70_000).map(payload).collect();
    let columns = columns(&payloads);
    let some: RoaringBitmap = (0..70_000).filter(|row| row % 3 != 1).collect();
    let all: RoaringBitmap = (0..70_000).collect();
    for path in ["team", "tags", "n", "at"] {
        for rows in [&some, &all, &RoaringBitmap::new()] {
            assert_counts(&columns, &payloads, path, rows);
        }
    }
}

proptest! {
    // `PROPTEST_CASES` asks for more.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: ProptestConfig::default().cases.max(1500), ..ProptestConfig::default() })]

    #[test]
    fn rows_and_columns_agree(
        payloads in prop::collection::vec(payload(), 0..40),
        filters in prop::collection::vec(filter(), 1..24),
    ) {
        let columns = columns(&payloads);
        prop_assert_eq!(columns.rows() as usize, payloads.len());
        filters.iter().for_each(|filter| assert_agreement(&columns, &payloads, filter));
    }

    #[test]
    fn columns_count_values_as_payloads_have_them(payloads in prop::collection::vec(payload(), 0..40), chosen: u64) {
        let rows: RoaringBitmap = (0..payloads.len() as u32).filter(|row| chosen >> (row % 64) & 1 == 1).collect();
        let columns = columns(&payloads);
        for path in PATHS {
            assert_counts(&columns, &payloads, path, &rows);
        }
    }

    #[test]
    fn encoded_payloads_come_back_bit_for_bit(payload in payload()) {
        let bytes = encode(&payload);
        let back = decode(&bytes).unwrap();
        prop_assert_eq!(&back, &payload);
        // Equality takes -0.0 for 0.0; the bytes do not.
        prop_assert_eq!(encode(&back), bytes);
    }

    #[test]
    fn truncated_or_random_payload_bytes_are_an_error(payload in payload(), garbage: Vec<u8>, cut: prop::sample::Index) {
        let bytes = encode(&payload);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
        let mut versioned = vec![nuthatch_filter::CODEC_VERSION];
        versioned.extend(garbage);
        // An error or, by chance, a payload: never a panic.
        let _ = decode(&versioned);
    }

    #[test]
    fn a_filter_written_out_parses_to_one_that_matches_the_same(filter in filter(), payloads in prop::collection::vec(payload(), 1..20)) {
        if !writable(&filter) {
            return Ok(());
        }
        let text = filter.to_string();
        let back = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\nof {filter:?}")))?;
        for payload in &payloads {
            prop_assert_eq!(back.matches(payload), filter.matches(payload), "{}", text);
        }
    }

    #[test]
    fn any_text_is_a_filter_or_an_error_with_a_place(text in "[ab0-9'\"().,<>=! %_\\-\n]{0,30}|\\PC{0,30}") {
        if let Err(nuthatch_filter::FilterError::Syntax(error)) = parse(&text) {
            prop_assert!(error.offset <= text.chars().count());
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }
}

/// The language has no null, array or map literals.
fn writable(filter: &Filter) -> bool {
    let literal = |value: &Value| !matches!(value, Value::Null | Value::Array(_) | Value::Map(_));
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().all(writable),
        Filter::Not(inner) => writable(inner),
        Filter::Compare { value, .. } | Filter::Contains { value, .. } => literal(value),
        Filter::In { values, .. } => values.iter().all(literal),
        Filter::Between { low, high, .. } => literal(low) && literal(high),
        Filter::Among { .. } => false,
        Filter::True | Filter::Exists { .. } | Filter::Like { .. } | Filter::Prefix { .. } => true,
    }
}

/// Segments of real size take other paths: several chunks, blocks with bitmaps and with lists, large dictionaries.
#[test]
fn rows_and_columns_agree_on_large_segments() {
    let seed = 7;
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let payloads: Vec<Payload> = (0..150_000i64).map(|row| large_payload(&mut rng, row)).collect();
    let columns = columns(&payloads);
    let mut filters = 60;
    for text in [
        "serial >= 149990 or serial < 3",
        "serial between 70000.5 and 70010",
        "year >= 2024 and team in ('a', 'c', 'e', 'g', 'i', 'nobody')",
        "rare is not null",
        "rare = 3 or rare is null and year = 2020",
        "tags = 'tag 17' and not tags contains 'tag 3'",
        "title like '%99%' and title like 'title 1%'",
        "title >= 'title 5' and title < 'title 6'",
        "mixed = 4 or mixed = 'm5' or mixed = true",
        "meta.depth.x > 0.25 and meta.depth.x <= 0.5",
        "at between '1970-01-01T00:10' and '1970-01-01T00:20'",
        "not (at > '1970-01-01T00:10:00.2' and at < '1970-01-01T00:10:00.7')",
        "serial in (1, 5, 9, 70001, 149999, 200000, -1) or price in (1.5, 2.5, 3.5, 4.5, 5.5, 6.5)",
        "serial between 65535 and 65536",
        "serial >= 65536 and serial < 131072",
        "key >= 250000 and key < 750000 and flag",
        "key between 1 and 3 or key > 999990",
        "not flag and exists(tags) and tags > 'tag 2'",
        "exists(sparse) and not sparse between 0 and 100",
        "most is null or most = 7",
        "measures between 400 and 600",
        "exists(measures)",
        "title like '%99' or title like 't_tle 77%'",
        "meta is not null and exists(meta.depth)",
    ] {
        let filter = parse(text).unwrap();
        assert_agreement(&columns, &payloads, &filter);
        assert!(!columns.evaluate(&filter).unwrap().is_empty(), "{text} should find something");
        filters += 1;
    }
    for _ in 0..60 {
        let filter = large_filter(&mut rng, &payloads, 2);
        assert_agreement(&columns, &payloads, &filter);
    }
    println!("proof: {filters} filters over {} rows mean the same row by row and column by column", payloads.len());
}

/// Ranges, lists and prefixes whose ends are values that there are, so that they fall anywhere in a block.
fn large_filter(rng: &mut fastrand::Rng, payloads: &[Payload], depth: u8) -> Filter {
    if depth > 0 && rng.u8(..3) == 0 {
        let parts = (0..rng.usize(1..4)).map(|_| large_filter(rng, payloads, depth - 1)).collect();
        return match rng.u8(..3) {
            0 => Filter::And(parts),
            1 => Filter::Or(parts),
            _ => Filter::Not(Box::new(Filter::Or(parts))),
        };
    }
    let fields = [
        "serial", "year", "team", "title", "tags", "price", "mixed", "at", "rare", "key", "flag", "sparse", "most",
        "measures",
    ];
    let field = rng.choice(fields).unwrap().to_owned();
    let mut literal = || match &payloads[rng.usize(..payloads.len())].get(&field) {
        Some(Value::Array(values)) if !values.is_empty() => values[rng.usize(..values.len())].clone(),
        Some(value) => (*value).clone(),
        None => Value::Int(rng.i64(..1000)),
    };
    let (a, b) = (literal(), literal());
    let values: Vec<Value> = (0..9).map(|_| literal()).collect();
    let ops = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];
    match rng.u8(..9) {
        8 => {
            let mut numbers: Vec<i64> = values
                .into_iter()
                .filter_map(|value| if let Value::Int(int) = value { Some(int) } else { None })
                .collect();
            let first = rng.i64(0..150_000);
            numbers.extend(first..first + rng.i64(0..20_000));
            numbers.sort_unstable();
            numbers.dedup();
            Filter::Among { field, numbers: numbers.into() }
        }
        0..3 => Filter::Compare { field, op: *rng.choice(&ops).unwrap(), value: a },
        3 | 4 => Filter::Between { field, low: a, high: b },
        5 => Filter::In { field, values },
        6 => Filter::Exists { field },
        _ => match a {
            Value::Text(text) => Filter::Prefix { field, prefix: text[..rng.usize(..=text.len())].to_owned() },
            value => Filter::Contains { field, value },
        },
    }
}

/// A chunk that grows too large for the memory ends before its container does, and finished chunks may be written early.
#[test]
fn chunks_cut_short_and_written_early_answer_the_same() {
    let mut rng = fastrand::Rng::with_seed(11);
    let text = |rng: &mut fastrand::Rng, bytes| (0..bytes).map(|_| char::from(rng.u8(b'a'..=b'z'))).collect::<String>();
    let payloads: Vec<Payload> = (0..600i64)
        .map(|row| {
            let bytes = if row % 7 == 0 { rng.usize(..300_000) } else { 60_000 };
            let mut payload = Payload::from([("body".to_owned(), Value::Text(text(&mut rng, bytes)))]);
            payload.insert("n".into(), Value::Int(row % 13));
            payload
        })
        .collect();
    let (mut early, mut bytes) = (ColumnsWriter::new(), Vec::new());
    let mut most = 0;
    for payload in &payloads {
        early.push(payload);
        early.write_ready(&mut bytes).unwrap();
        most = most.max(early.resident_bytes());
    }
    early.finish(&mut bytes).unwrap();
    let mut at_once = ColumnsWriter::new();
    payloads.iter().for_each(|payload| at_once.push(payload));
    let mut same = Vec::new();
    at_once.finish(&mut same).unwrap();
    assert!(bytes == same, "when it is written changes nothing");
    assert!(bytes.len() > 30 << 20 && most < 16 << 20, "{most} bytes held of {}", bytes.len());
    let columns = Columns::open(Arc::new(OwnedBytes::new(bytes))).unwrap();
    for text in [
        "n = 5",
        "n between 3 and 7",
        "exists(body)",
        "body > 'k'",
        "starts_with(body, 'ab')",
        "body like '%ab%ba%abc%'",
    ] {
        assert_agreement(&columns, &payloads, &parse(text).unwrap());
    }
    for row in [0, 299, 599] {
        let value = payloads[row]["body"].clone();
        let filter = Filter::Compare { field: "body".into(), op: CompareOp::Eq, value };
        assert_eq!(columns.evaluate(&filter).unwrap().iter().collect::<Vec<_>>(), [row as u32]);
    }
}

fn large_payload(rng: &mut fastrand::Rng, row: i64) -> Payload {
    let tags = (0..rng.usize(..4)).map(|_| format!("tag {}", rng.u32(..40))).collect::<Vec<_>>();
    let mixed = match rng.u8(..4) {
        0 => Value::Int(rng.i64(0..9)),
        1 => Value::Text(format!("m{}", rng.u8(..9))),
        2 => Value::Bool(rng.bool()),
        _ => Value::Null,
    };
    let depth = Value::Map(BTreeMap::from([("x".to_owned(), Value::Float(rng.f64()))]));
    let mut payload = Payload::from([
        ("serial".to_owned(), Value::Int(row)),
        ("year".to_owned(), Value::Int(rng.i64(2015..2027))),
        ("team".to_owned(), Value::Text(char::from(rng.u8(b'a'..b'k')).to_string())),
        ("title".to_owned(), Value::Text(format!("title {}", rng.u32(..1_000_000)))),
        ("tags".to_owned(), tags.into()),
        ("price".to_owned(), Value::Float(f64::from(rng.u16(..2000)) / 2.0)),
        ("mixed".to_owned(), mixed),
        ("at".to_owned(), Value::Datetime(row * 1_000_000)),
        ("meta".to_owned(), Value::Map(BTreeMap::from([("depth".to_owned(), depth)]))),
    ]);
    if row % 5000 == 17 {
        payload.insert("rare".to_owned(), Value::Int(rng.i64(0..5)));
    }
    payload.insert("key".to_owned(), Value::Int(rng.i64(0..1_000_000)));
    payload.insert("flag".to_owned(), Value::Bool(rng.u8(..10) == 0));
    if rng.u8(..9) > 0 {
        payload.insert("most".to_owned(), Value::Int(rng.i64(0..9)));
    }
    // One chunk has none of them.
    if rng.u8(..9) == 0 && !(65_536..131_072).contains(&row) {
        payload.insert("sparse".to_owned(), Value::Float(f64::from(rng.i16(..)) / 4.0));
    }
    // Many different values, several a row, of two kinds; some twice.
    let measures = (0..rng.usize(..5)).map(|n| match n {
        2 => Value::Int(rng.i64(0..1000)),
        _ => Value::Float(f64::from(rng.u16(..2000)) / 2.0),
    });
    payload.insert("measures".to_owned(), Value::Array(measures.collect()));
    payload
}
