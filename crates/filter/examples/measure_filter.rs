//! How long does a filter take on a segment, what do its columns weigh, and what does writing them hold?
//!
//! Data: 1,000,000 rows of made-up payloads (or as many as the first argument says), seed 1; the bytes are in memory. Times are the median and the
//! best of 40 rounds.
//! `cargo run --release -p nuthatch-filter --example measure_filter [ROWS]`

use std::sync::Arc;
use std::time::Instant;

use nuthatch_filter::{Columns, ColumnsWriter, FilterError, Payload, Value, decode, encode, parse};
use tantivy_common::OwnedBytes;

const ROUNDS: usize = 40;

fn main() -> Result<(), FilterError> {
    let rows = std::env::args().nth(1).map_or(1_000_000, |rows| rows.parse().expect("a number of rows"));
    let started = Instant::now();
    let mut writer = ColumnsWriter::new();
    let mut bytes = Vec::new();
    let mut held = 0;
    for row in 0..rows {
        writer.push(&payload(row, rows));
        held = held.max(writer.resident_bytes());
        writer.write_ready(&mut bytes)?;
    }
    writer.finish(&mut bytes)?;
    println!(
        "{rows} rows in {:.1?}, {} bytes ({:.1} a row), the writer held {held} bytes",
        started.elapsed(),
        bytes.len(),
        bytes.len() as f64 / rows as f64
    );
    codec(rows)?;

    let started = Instant::now();
    let columns = Columns::open(Arc::new(OwnedBytes::new(bytes)))?;
    println!("open: {:.1?}", started.elapsed());
    let ids = (0..1000).map(|n| format!("'doc-{:07}'", n * rows / 1000)).collect::<Vec<_>>().join(",");
    let mut filters: Vec<String> = ["half", "tenth", "hundredth", "thousandth", "ten thousandth"]
        .iter()
        .map(|share| format!("share = '{share}'"))
        .collect();
    for share in [0.5, 0.1, 0.01, 0.001, 0.0001] {
        let end = 0.25 + share;
        filters.push(format!("n between {} and {}", (0.25 * 1e6) as i64, (end * 1e6) as i64 - 1));
        filters.push(format!("x between 0.25 and {end}"));
        let at = |part: f64| nuthatch_filter::format_datetime((part * rows as f64 * 1e6) as i64).expect("in range");
        filters.push(format!("at between '{}' and '{}'", at(0.25), at(end)));
        filters.push(format!("seen between '{}' and '{}'", at(0.25), at(end)));
    }
    filters.extend(
        [
            "share in ('half', 'tenth', 'hundredth')",
            "share != 'half'",
            "ok",
            "not ok",
            "year = 2024",
            "year >= 2020",
            "year in (2015, 2017, 2019, 2021, 2023, 2025)",
            "path like 'src/1%'",
            "starts_with(path, 'src/17/')",
            "path like '%77.rs'",
            "tags contains 'tag 7'",
            "tags contains 'rare tag'",
            "tags >= 'tag 3'",
            "exists(tags)",
            "exists(rare)",
            "rare is null",
            "exists(n)",
            "id = 'doc-0000777'",
            "id like 'doc-00077%'",
            "id like '%777'",
            "year >= 2020 and share = 'half'",
            "year = 2024 and tags contains 'tag 7'",
            "ok or n < 100000",
            "not (ok or tags contains 'tag 7') and year >= 2020",
            "n in (1, 17, 289, 4913, 83521, 99999)",
        ]
        .map(str::to_owned),
    );
    filters.push(format!("id in ({ids})"));
    let filters: Vec<_> = filters.iter().map(|text| Ok((text, parse(text)?))).collect::<Result<_, FilterError>>()?;

    let mut by_row = vec![0; filters.len()];
    for row in 0..rows {
        let payload = payload(row, rows);
        for ((_, filter), count) in filters.iter().zip(&mut by_row) {
            *count += u64::from(filter.matches(&payload));
        }
    }
    for ((text, filter), by_row) in filters.iter().zip(by_row) {
        assert_eq!(columns.evaluate(filter)?.len(), by_row, "{text}");
        let mut took = Vec::with_capacity(ROUNDS);
        let all = Instant::now();
        while took.len() < ROUNDS && (took.len() < 3 || all.elapsed().as_millis() < 500) {
            let started = Instant::now();
            columns.evaluate(filter)?;
            took.push(started.elapsed());
        }
        took.sort();
        let shown: String = text.chars().take(64).collect();
        println!("{shown:<64} {by_row:>8} rows {:>10.1?} {:>10.1?}", took[took.len() / 2], took[0]);
    }
    Ok(())
}

fn codec(rows: i64) -> Result<(), FilterError> {
    let payloads: Vec<Payload> = (0..10_000).map(|row| payload(row, rows)).collect();
    let started = Instant::now();
    let encoded: Vec<Vec<u8>> = payloads.iter().map(encode).collect();
    let encoding = started.elapsed() / 10_000;
    let started = Instant::now();
    for bytes in &encoded {
        decode(bytes)?;
    }
    let bytes = encoded.iter().map(Vec::len).sum::<usize>() / encoded.len();
    println!("codec: {bytes} bytes a payload, {encoding:?} to encode, {:?} to decode", started.elapsed() / 10_000);
    Ok(())
}

/// The payload of a row; always the same one.
fn payload(row: i64, rows: i64) -> Payload {
    let mut rng = fastrand::Rng::with_seed(1_000_003 + row as u64);
    let share = match rng.u32(..10_000) {
        0 => "ten thousandth".to_owned(),
        1..=10 => "thousandth".to_owned(),
        11..=110 => "hundredth".to_owned(),
        111..=1110 => "tenth".to_owned(),
        1111..=6110 => "half".to_owned(),
        _ => format!("other {}", rng.u32(..100)),
    };
    let mut tags = (0..rng.usize(..4)).map(|_| format!("tag {}", rng.u32(..100))).collect::<Vec<_>>();
    if rng.u32(..5000) == 0 {
        tags.push("rare tag".to_owned());
    }
    let mut payload = Payload::from([
        ("id".to_owned(), Value::Text(format!("doc-{row:07}"))),
        ("share".to_owned(), Value::Text(share)),
        ("n".to_owned(), Value::Int(rng.i64(0..1_000_000))),
        ("x".to_owned(), Value::Float(rng.f64())),
        ("at".to_owned(), Value::Datetime(row * 1_000_000 + rng.i64(0..100_000_000))),
        ("seen".to_owned(), Value::Datetime(rng.i64(0..rows * 1_000_000))),
        ("ok".to_owned(), Value::Bool(rng.bool())),
        ("year".to_owned(), Value::Int(rng.i64(2015..2027))),
        ("path".to_owned(), Value::Text(format!("src/{}/file {}.rs", rng.u32(..100), rng.u32(..300)))),
        ("tags".to_owned(), tags.into()),
    ]);
    if row % 1000 == 0 {
        payload.insert("rare".to_owned(), Value::Bool(true));
    }
    payload
}
