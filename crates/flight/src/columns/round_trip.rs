//! Round trips: data that was read is written again.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use nuthatch_link::{
    CollectionOptions, Database, EmbedderChoice, Hit, Legs, NamedVectors, Options, Payload, Record, Result, Scan, Value,
};

use super::*;

const DOCS: &str = "docs";

fn database() -> Database {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    db.collection(DOCS, options).unwrap();
    db
}

fn with(records: Vec<Record>) -> Database {
    let db = database();
    db.existing_collection(DOCS).unwrap().upsert(records).unwrap();
    db
}

fn record(id: &str, payload: &[(&str, Value)]) -> Record {
    let payload = payload.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    Record { text: Some("bird".into()), payload, ..Record::new(id) }
}

/// Each kind in a field of its own, all kinds in one, and names that columns have.
fn every_kind() -> Vec<Record> {
    let map = |name: &str, value: Value| Value::Map(Payload::from([(name.to_string(), value)]));
    let kinds = [
        ("bool", Value::Bool(true)),
        ("int", Value::Int((1 << 53) + 1)),
        ("float", Value::Float(-0.1)),
        ("whole", Value::Float(3.0)),
        ("text", Value::from("1")),
        ("like_json", Value::from("{\"a\": [1]}")),
        ("like_time", Value::from("2025-01-02T00:00:00Z")),
        ("datetime", Value::Datetime(1_735_786_800_000_001)),
        ("bools", Value::Array(vec![Value::Bool(true)])),
        ("ints", Value::Array(vec![Value::Int(1), Value::Int(i64::MAX)])),
        ("floats", Value::Array(vec![Value::Float(1.0)])),
        ("texts", Value::Array(vec![Value::from("a"), Value::from("b")])),
        ("times", Value::Array(vec![Value::Datetime(0), Value::from("1970-01-01T00:00:00Z"), Value::Null])),
        ("nothing", Value::Array(Vec::new())),
        ("map", map("inner", map("at", Value::Datetime(5)))),
        ("empty", Value::Map(Payload::new())),
        ("null", Value::Null),
        ("score", Value::Float(9.5)),
        ("query", Value::from("q")),
        ("id", Value::Int(1)),
        ("code", Value::Bool(true)),
        ("payload", map("score", Value::Int(1))),
        ("datetimes", Value::Array(vec![Value::from("text")])),
    ];
    let mut records = vec![record("all", &kinds), record("none", &[])];
    for (at, (_, value)) in kinds.iter().enumerate().filter(|(_, (name, _))| *name != "null") {
        records.push(record(&format!("mixed {at}"), &[("mixed", value.clone())]));
    }
    records
}

fn read(db: &Database, columns: Option<&[&str]>) -> Result<RecordBatch> {
    let columns: Option<Vec<String>> = columns.map(|columns| columns.iter().map(|name| name.to_string()).collect());
    let shape = Shape::of_scan(&db.existing_collection(DOCS)?.info()?, columns.as_deref())?;
    let mut batch = shape.begin(100);
    let scan = Scan { limit: 100, ..Scan::default() };
    assert_eq!(db.snapshot()?.collection(DOCS)?.visit(&scan, &shape.wanted(), &mut batch)?, None);
    batch.finish()
}

fn written(batch: &RecordBatch) -> Result<Database> {
    let db = database();
    let docs = db.existing_collection(DOCS)?;
    docs.upsert(Layout::of(&batch.schema(), (&docs.info()?).into())?.records(batch)?)?;
    Ok(db)
}

/// All payloads by id, and the kinds of the fields.
type Held = (Vec<(String, Payload)>, Vec<(String, Vec<String>)>);

fn held(db: &Database) -> Held {
    let page = db.snapshot().unwrap().collection(DOCS).unwrap().scan(&Scan { limit: 100, ..Scan::default() }).unwrap();
    let mut payloads: Vec<_> = page.records.into_iter().map(|record| (record.id, record.payload)).collect();
    payloads.sort_by(|one, other| one.0.cmp(&other.0));
    (payloads, db.existing_collection(DOCS).unwrap().info().unwrap().fields)
}

#[test]
fn whole_payloads_come_back_with_every_kind_of_value() {
    let db = with(every_kind());
    let batch = read(&db, None).unwrap();
    let names: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, [ID, TEXT, CONTEXT, PAYLOAD, DATETIMES]);
    assert_eq!(held(&written(&batch).unwrap()), held(&db));
}

#[test]
fn fields_come_back_with_every_kind_of_value() {
    let db = with(every_kind());
    let fields: Vec<String> =
        held(&db).1.into_iter().map(|(name, _)| name).filter(|name| !name.contains('.')).collect();
    let columns: Vec<String> = fields.iter().map(|name| format!("{OF_PAYLOAD}{name}")).collect();
    let columns: Vec<&str> = [ID, TEXT, DATETIMES].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let batch = read(&db, Some(&columns)).unwrap();
    assert_eq!(held(&written(&batch).unwrap()), held(&db));
    // A string that was one stays one, whatever it looks like.
    assert_eq!(
        batch.column_by_name("payload.like_json").unwrap().as_string::<i32>().null_count(),
        batch.num_rows() - 1
    );
}

#[test]
fn datetimes_that_would_become_texts_are_refused() {
    let at = |id, value| record(id, &[("at", value), ("n", Value::Int(1))]);
    let db = with(vec![at("a", Value::Datetime(1)), at("b", Value::Array(vec![Value::Datetime(2)]))]);
    for columns in [&[ID, TEXT, PAYLOAD][..], &[ID, TEXT, "at"]] {
        let refused = written(&read(&db, Some(columns)).unwrap()).map(drop).unwrap_err().message;
        assert!(refused.contains("read \"datetimes\" as well"), "{refused}");
    }
    written(&read(&db, Some(&[ID, TEXT, "n"])).unwrap()).unwrap();
    let without = with(vec![record("a", &[("n", Value::Int(1))])]);
    let batch = read(&without, Some(&[ID, TEXT, PAYLOAD])).unwrap();
    assert_eq!(held(&written(&batch).unwrap()), held(&without));
}

#[test]
fn a_search_gives_its_own_score_and_is_written_back_without_it() {
    let db = with(vec![record("a", &[("score", Value::Float(9.5)), ("query", Value::from("q"))])]);
    let info = db.existing_collection(DOCS).unwrap().info().unwrap();
    let payload = held(&db).0.remove(0).1;
    let (id, text) = ("a".to_string(), Some("bird".to_string()));
    let (vectors, legs) = (NamedVectors::new(), Legs::default());
    let hit = Hit { id, score: 0.25, text, context: None, payload, vector: None, vectors, legs };
    let columns = [ID, TEXT, SCORE, QUERY, "payload.score", "payload.query"].map(str::to_string);
    let shape = Shape::of_searches(&info, Some(&columns)).unwrap();
    let mut batch = shape.begin(1);
    batch.hit(&hit, 7).unwrap();
    let batch = batch.finish().unwrap();
    let score = batch.column_by_name(SCORE).unwrap();
    assert_eq!(score.as_primitive::<arrow_array::types::Float32Type>().value(0), 0.25);
    assert_eq!(held(&written(&batch).unwrap()), held(&db));
}
