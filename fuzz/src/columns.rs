//! Attribute columns: what filters mean over them, and files with changed bytes.

use std::sync::Arc;

use nuthatch_filter::{Columns, ColumnsWriter, FilterError, Payload, Value, parse, payload_from_json, validate};
use tantivy_common::OwnedBytes;

use crate::Run;
use crate::patch::patched;

const ROWS_MAX: usize = 64;

/// A filter, then a payload in JSON on each further line.
pub fn agreement() -> Run {
    Box::new(|bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let mut lines = text.lines();
        let Some(Ok(filter)) = lines.next().map(parse) else { return };
        let payload =
            |line: &str| payload_from_json(serde_json::from_str(line).ok()?).ok().filter(|p| validate(p).is_ok());
        let payloads: Vec<Payload> = lines.filter_map(payload).take(ROWS_MAX).collect();
        let columns = open(file(&payloads)).expect("it was written here");
        let by_column: Vec<u32> = columns.evaluate(&filter).expect("a healthy file").iter().collect();
        let by_row: Vec<u32> =
            (0..).zip(&payloads).filter(|(_, payload)| filter.matches(payload)).map(|(row, _)| row).collect();
        assert_eq!(by_row, by_column, "{filter}");
    })
}

/// Changes to the file of a few hundred rows. The layer that stores the file checks it; damage that gets through is an
/// error or a wrong answer.
pub fn damaged() -> Run {
    let rows: Vec<Payload> = (0..300_i64).map(row).collect();
    let healthy = file(&rows);
    let filters = [
        "n > 100 and n < 300",
        "t like '%9%' or t = 'text 5'",
        "tags in (1, 2, 3)",
        "exists(x) or f <= 2.5",
        "at >= datetime '1970-01-01T00:01:00Z'",
    ]
    .map(|text| parse(text).expect("a filter"));
    Box::new(move |input| {
        let Ok(columns) = open(patched(&healthy, input)) else { return };
        for filter in &filters {
            if let Ok(found) = columns.evaluate(filter) {
                assert!(found.max().is_none_or(|row| row < columns.rows()), "a row that there is not");
            }
        }
    })
}

fn row(row: i64) -> Payload {
    let mut payload =
        Payload::from([("n".to_owned(), Value::Int(row)), ("t".to_owned(), Value::Text(format!("text {row}")))]);
    payload.insert("tags".into(), vec![row % 7; (row % 3) as usize].into());
    payload.insert("f".into(), Value::Float(row as f64 / 8.0));
    payload.insert("at".into(), Value::Datetime(row * 1_000_000));
    if row % 100 == 0 {
        payload.insert("x".into(), Value::Bool(true));
    }
    payload
}

fn file(payloads: &[Payload]) -> Vec<u8> {
    let (mut writer, mut bytes) = (ColumnsWriter::new(), Vec::new());
    payloads.iter().for_each(|payload| writer.push(payload));
    writer.finish(&mut bytes).expect("memory takes every byte");
    bytes
}

fn open(bytes: Vec<u8>) -> Result<Columns, FilterError> {
    Columns::open(Arc::new(OwnedBytes::new(bytes)))
}
