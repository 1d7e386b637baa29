//! How long does a filter take on a segment, and what does it hold?
//!
//! Data: 200,000 rows of made-up payloads, seed 1. `cargo run --release -p nuthatch-filter --example measure_filter`

use std::sync::Arc;
use std::time::Instant;

use nuthatch_filter::{Columns, ColumnsWriter, Payload, Value, decode, encode, parse};
use tantivy_common::OwnedBytes;

const ROWS: i64 = 200_000;
const ROUNDS: u32 = 50;

fn main() -> Result<(), nuthatch_filter::FilterError> {
    let mut rng = fastrand::Rng::with_seed(1);
    let payloads: Vec<Payload> = (0..ROWS).map(|row| payload(&mut rng, row)).collect();

    let mut started = Instant::now();
    let mut writer = ColumnsWriter::new();
    payloads.iter().for_each(|payload| writer.push(payload));
    let resident = writer.resident_bytes();
    let mut bytes = Vec::new();
    writer.finish(&mut bytes)?;
    println!("columns: {ROWS} rows in {:?}, {} bytes, writer held {resident} bytes", started.elapsed(), bytes.len());

    started = Instant::now();
    let encoded: Vec<Vec<u8>> = payloads.iter().map(encode).collect();
    let encoding = started.elapsed();
    started = Instant::now();
    for bytes in &encoded {
        decode(bytes)?;
    }
    let total: usize = encoded.iter().map(Vec::len).sum();
    println!(
        "codec: {} bytes a payload, {:?} to encode and {:?} to decode all",
        total / encoded.len(),
        encoding,
        started.elapsed()
    );

    started = Instant::now();
    let columns = Columns::open(Arc::new(OwnedBytes::new(bytes)))?;
    println!("open: {:?}", started.elapsed());
    let ids = (0..1000).map(|n| format!("'doc-{}'", n * 150)).collect::<Vec<_>>().join(",");
    let lookup = format!("id in ({ids})");
    for text in [
        "year >= 2024 and team in ('a', 'b')",
        "year = 2024",
        "price > 500.5",
        "tags contains 'tag 7'",
        "team in ('a', 'b', 'c', 'd', 'e', 'f') and not year < 2020",
        "id = 'doc-777'",
        "id like 'doc-77%'",
        "id like '%777'",
        "exists(rare)",
        &lookup,
    ] {
        let filter = parse(text)?;
        let found = columns.evaluate(&filter)?.len();
        started = Instant::now();
        for _ in 0..ROUNDS {
            columns.evaluate(&filter)?;
        }
        let by_column = started.elapsed() / ROUNDS;
        started = Instant::now();
        let by_row = payloads.iter().filter(|payload| filter.matches(payload)).count();
        assert_eq!(by_row as u64, found);
        let shown: String = text.chars().take(60).collect();
        println!("{shown:<62} {found:>7} rows  columns {by_column:>10.1?}  rows {:>10.1?}", started.elapsed());
    }
    Ok(())
}

fn payload(rng: &mut fastrand::Rng, row: i64) -> Payload {
    let tags = (0..rng.usize(..4)).map(|_| format!("tag {}", rng.u32(..100))).collect::<Vec<_>>();
    let mut payload = Payload::from([
        ("id".to_owned(), Value::Text(format!("doc-{row}"))),
        ("year".to_owned(), Value::Int(rng.i64(2015..2027))),
        ("team".to_owned(), Value::Text(char::from(rng.u8(b'a'..b'k')).to_string())),
        ("tags".to_owned(), tags.into()),
        ("price".to_owned(), Value::Float(rng.f64() * 1000.0)),
    ]);
    if row % 1000 == 0 {
        payload.insert("rare".to_owned(), Value::Bool(true));
    }
    payload
}
