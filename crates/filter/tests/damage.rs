//! Bad payloads are refused by name; bad bytes are an error and never the end of the process.

use std::collections::BTreeMap;
use std::sync::Arc;

use nuthatch_filter::{
    CODEC_VERSION, Columns, ColumnsWriter, FilterError, PAYLOAD_FIELDS_MAX, Payload, VALUE_BYTES_MAX,
    VALUE_NESTING_MAX, Value, decode, encode, parse, validate,
};
use tantivy_common::OwnedBytes;

fn one(name: &str, value: impl Into<Value>) -> Payload {
    Payload::from([(name.to_owned(), value.into())])
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Int(1), |inner, _| Value::Array(vec![inner]))
}

#[test]
fn payloads_that_cannot_be_kept_are_refused_by_name() {
    let map = |name: &str, value: Value| Value::Map(BTreeMap::from([(name.to_owned(), value)]));
    let many: Payload = (0..=PAYLOAD_FIELDS_MAX).map(|n| (format!("f{n}"), Value::Null)).collect();
    for (payload, says) in [
        (one("", 1), "empty"),
        (one("a.b", 1), "cannot contain a dot"),
        (one("a\u{0}", 1), "control character"),
        (one(&"n".repeat(300), 1), "at most 256 bytes"),
        (one("x", f64::NAN), "`x`: NaN"),
        (one("m", map("y", Value::Float(f64::INFINITY))), "`m.y`: inf"),
        (one("x", nested(VALUE_NESTING_MAX + 1)), "at most 16 deep"),
        (one("x", "y".repeat(VALUE_BYTES_MAX + 1)), "bytes"),
        (one("x", vec![1i64; VALUE_BYTES_MAX / 8 + 1]), "bytes"),
        (one("x", Value::Datetime(i64::MAX)), "years"),
        (many, "at most 1024 fields"),
    ] {
        let error = validate(&payload).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let largest = one("x", nested(VALUE_NESTING_MAX));
    validate(&largest).unwrap();
    assert_eq!(decode(&encode(&largest)).unwrap(), largest, "what validates also comes back");
}

#[test]
fn payload_bytes_that_nest_without_end_are_refused() {
    let mut hostile = vec![CODEC_VERSION, 0xa1, 0x61, b'x'];
    hostile.extend(std::iter::repeat_n(0x81, 1 << 20));
    assert!(decode(&hostile).unwrap_err().to_string().contains("nested too deep"));
    // A map that says it has 2^64 - 1 fields must not be believed.
    assert!(decode(&[CODEC_VERSION, 0xbb, 255, 255, 255, 255, 255, 255, 255, 255]).is_err());
    assert!(decode(&[]).unwrap_err().to_string().contains("empty"));
    assert!(decode(&[9, 0xa0]).unwrap_err().to_string().contains("version 9"));
    let mut trailing = encode(&one("a", 1));
    trailing.push(0);
    assert!(decode(&trailing).unwrap_err().to_string().contains("follow"));
}

fn columns_file() -> Vec<u8> {
    let mut writer = ColumnsWriter::new();
    for row in 0..500i64 {
        let mut payload = one("n", row);
        payload.insert("t".into(), Value::Text(format!("text {row}")));
        payload.insert("tags".into(), vec![row % 7; (row % 3) as usize].into());
        if row % 100 == 0 {
            payload.insert("long".into(), Value::Text("x".repeat(40_000)));
        }
        writer.push(&payload);
    }
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    bytes
}

fn open(bytes: Vec<u8>) -> Result<Columns, FilterError> {
    Columns::open(Arc::new(OwnedBytes::new(bytes)))
}

#[test]
fn columns_of_another_kind_or_version_are_named() {
    let whole = columns_file();
    let end = whole.len();
    let refusal = |bytes: Vec<u8>| open(bytes).err().expect("refused").to_string();
    assert!(refusal(Vec::new()).contains("0 bytes"));
    assert!(refusal(whole[1..].to_vec()).contains("do not add up"));
    assert!(refusal(whole[..end - 1].to_vec()).contains("footer"));
    let mut newer = whole.clone();
    newer[end - 12] = 3;
    assert!(refusal(newer).contains("version 3"));
    let mut fewer = whole;
    fewer[end - 25] = 1;
    assert!(refusal(fewer).contains("columns do not fit"));
}

/// The code that stores the file verifies it. Damage that gets this far must end in an error or a wrong answer.
#[test]
fn flipped_bytes_in_columns_do_not_end_the_process() {
    let whole = columns_file();
    let filters = [
        "n > 100 and n < 300",
        "t like '%9%' or t = 'text 5'",
        "tags in (1, 2, 3, 4, 5, 6)",
        "long like '%y' or exists(long)",
    ];
    let mut rng = fastrand::Rng::with_seed(3);
    std::panic::set_hook(Box::new(|_| {}));
    let (mut refused, mut panicked) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        let at = if rng.bool() { bytes.len() - 1 - rng.usize(..400) } else { rng.usize(..bytes.len()) };
        bytes[at] ^= 1 << rng.u8(..8);
        let outcome = std::panic::catch_unwind(|| -> Result<(), FilterError> {
            let columns = open(bytes)?;
            filters.iter().try_for_each(|filter| {
                let found = columns.evaluate(&parse(filter).unwrap())?;
                assert!(found.max().is_none_or(|row| row < columns.rows()), "a row that there is not");
                Ok(())
            })
        });
        match outcome {
            Ok(answer) => refused += usize::from(answer.is_err()),
            Err(_) => panicked += 1,
        }
    }
    drop(std::panic::take_hook());
    println!("{refused} of 3000 refused");
    assert_eq!(panicked, 0);
    assert!(refused > 0, "some of them hit what is checked");
}

#[test]
fn a_payload_that_was_not_validated_fails_the_columns_and_not_the_answer() {
    let mut writer = ColumnsWriter::new();
    writer.push(&one("fine", 1));
    writer.push(&one("a.b", 1));
    let error = writer.finish(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("a.b"), "{error}");
}
