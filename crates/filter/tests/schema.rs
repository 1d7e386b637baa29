//! A filter that could only ever be empty by mistake is refused, and the error says how to mend it.

use nuthatch_filter::{Kind, Payload, SCHEMA_FIELDS_MAX, Schema, Value, parse, payload_from_json};
use serde_json::json;

fn schema() -> Schema {
    let mut schema = Schema::default();
    let json = json!({"year": 2024, "team": "core", "tags": ["a"], "price": 1.5, "meta": {"author": "x"}, "note": null, "ok": true});
    let mut payload = payload_from_json(json).unwrap();
    payload.insert("at".into(), Value::Datetime(0));
    assert!(schema.observe(&payload));
    assert!(!schema.observe(&payload), "the second time there is nothing new");
    schema
}

fn refusal(text: &str) -> String {
    parse(text).unwrap().check(&schema()).expect_err(text).to_string()
}

#[test]
fn misspelt_field_is_refused_with_a_suggestion_and_the_list() {
    let error = refusal("yaer > 3 and team = 'core'");
    assert!(error.contains("no field `yaer`") && error.contains("did you mean `year`?"), "{error}");
    assert!(error.contains("meta, meta.author, note"), "{error}");
    assert!(refusal("meta.autor = 'x'").contains("did you mean `meta.author`?"));
    assert!(!refusal("zzz is null").contains("did you mean"));
}

#[test]
fn literal_of_a_kind_that_never_matches_is_refused_with_a_remedy() {
    for (text, says) in [
        ("year = '2024'", "without quotes"),
        ("team = 5", "single quotes"),
        ("year in (1, 'x')", "the text 'x'"),
        ("year like '20%'", "patterns are for text"),
        ("at > 'soon'", "2025-01-31"),
        ("team < timestamp '2025-01-01'", "leave out TIMESTAMP"),
        ("meta = 'x'", "inside of it with a dot"),
        ("team contains 'or'", "LIKE '%…%'"),
        ("ok > 1", "holds bool"),
    ] {
        assert!(refusal(text).contains(says), "{text}: {}", refusal(text));
    }
}

#[test]
fn filters_that_can_match_pass() {
    for text in [
        "year > 1.5",
        "price = 1",
        "at > '2025-01-01'",
        "tags contains 'b'",
        "tags = 'b'",
        "note = 5",
        "meta is null",
        "ok",
        "true",
        "team in ('a')",
        "at between '2025-01-01' and timestamp '2026-01-01'",
    ] {
        parse(text).unwrap().check(&schema()).unwrap_or_else(|error| panic!("{error}"));
        parse(text).unwrap().check(&Schema::default()).expect("an empty collection knows no fields and refuses none");
    }
}

#[test]
fn where_no_record_has_a_payload_every_field_is_unknown() {
    let filter = parse("team = 'core'").unwrap();
    let mut schema = Schema::default();
    assert!(filter.check(&schema).is_ok(), "no record has been written");
    assert!(schema.observe(&Payload::new()), "one record changes what is known");
    assert!(!schema.observe(&Payload::new()));
    let error = filter.check(&Schema::from_bytes(&schema.to_bytes()).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "no field `team` in this collection; none of its records has had a payload field");
    assert!(parse("true").unwrap().check(&schema).is_ok());
    let mut merged = Schema::default();
    assert!(merged.merge(&schema) && !merged.merge(&schema) && filter.check(&merged).is_err());
    // Stored before the flag was: what fields there are decides.
    let older = |json: &str| Schema::from_bytes(json.as_bytes()).unwrap();
    assert!(filter.check(&older(r#"{"fields": {}}"#)).is_ok());
    assert!(filter.check(&older(r#"{"fields": {"year": ["int"]}}"#)).is_err());
}

#[test]
fn schema_survives_its_bytes_and_merges() {
    let schema = schema();
    assert_eq!(Schema::from_bytes(&schema.to_bytes()).unwrap(), schema);
    assert!(Schema::from_bytes(b"{\"fields\": 3}").unwrap_err().to_string().contains("schema"));
    let mut other = Schema::default();
    other.observe(&Payload::from([("year".into(), Value::from("old")), ("new".into(), Value::Null)]));
    let mut merged = schema.clone();
    assert!(merged.merge(&other) && !merged.merge(&other) && !merged.merge(&schema));
    let fields: Vec<_> = merged.fields().collect();
    assert!(
        fields.iter().any(|(path, kinds)| *path == "year" && kinds.contains(&Kind::Int) && kinds.contains(&Kind::Text))
    );
    assert!(fields.iter().any(|(path, kinds)| *path == "new" && kinds.is_empty()));
}

#[test]
fn data_used_as_field_names_stops_growing_the_schema_and_opens_it() {
    let mut schema = Schema::default();
    for id in 0..SCHEMA_FIELDS_MAX + 10 {
        schema.observe(&Payload::from([(format!("id{id}"), Value::Bool(true))]));
    }
    assert_eq!(schema.fields().count(), SCHEMA_FIELDS_MAX);
    let filter = parse("unheard_of = 1").unwrap();
    assert!(filter.check(&schema).is_ok());
    assert!(filter.check(&Schema::from_bytes(&schema.to_bytes()).unwrap()).is_ok());
    assert!(!schema.observe(&Payload::from([("another".into(), Value::Null)])));
}
