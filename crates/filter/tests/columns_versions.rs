//! Columns files of earlier versions open and answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use nuthatch_filter::{Columns, Payload, Value, parse};
use tantivy_common::OwnedBytes;

/// The payloads in the fixture: every kind, several kinds in one field, arrays, maps, a text too long for version 1's
/// dictionaries.
fn payload(row: i64) -> Payload {
    let mixed = match row % 5 {
        0 => Value::Int(row / 10),
        1 => Value::Text(format!("m{}", row % 9)),
        2 => Value::Bool(row % 4 == 0),
        3 => Value::Float(row as f64 / 10.0),
        _ => Value::Null,
    };
    let tags: Vec<String> = (0..row % 4).map(|n| format!("tag {}", (row * 7 + n) % 20)).collect();
    let mut payload = Payload::from([
        ("id".to_owned(), Value::Text(format!("doc-{row}"))),
        ("mixed".to_owned(), mixed),
        ("tags".to_owned(), tags.into()),
        ("at".to_owned(), Value::Datetime(row * 1_000_000)),
        ("meta".to_owned(), Value::Map(BTreeMap::from([("x".to_owned(), Value::Float(row as f64 / 3.0))]))),
    ]);
    if row == 77 {
        payload.insert("long".to_owned(), Value::Text("ab".repeat(16_400)));
    }
    payload
}

const FIXTURE_ROWS: i64 = 300;

#[test]
fn version_1_opens_and_answers() {
    let bytes = include_bytes!("fixtures/columns-1");
    let columns = Columns::open(Arc::new(OwnedBytes::new(&bytes[..]))).unwrap();
    assert_eq!(i64::from(columns.rows()), FIXTURE_ROWS);
    for text in [
        "true",
        "id = 'doc-123' or id like 'doc-2%' and not id like '%9'",
        "mixed = 5 or mixed = 'm3' or mixed = true",
        "mixed >= 7 and mixed < 20.5",
        "mixed in (1, 2.3, 'm1', 'm2', false, 8, 9)",
        "tags contains 'tag 7' and tags != 'tag 8'",
        "exists(meta) and meta.x between 10 and 50.5",
        "at >= '1970-01-01T00:01:00' and not at > '1970-01-01T00:02:00'",
        "mixed is null",
        "long like 'ab%ab'",
        "exists(long)",
    ] {
        let filter = parse(text).unwrap();
        let by_row: Vec<u32> =
            (0..FIXTURE_ROWS).filter(|row| filter.matches(&payload(*row))).map(|row| row as u32).collect();
        assert!(!by_row.is_empty(), "{text} should find something");
        assert_eq!(columns.evaluate(&filter).unwrap().iter().collect::<Vec<_>>(), by_row, "{text}");
    }
}
