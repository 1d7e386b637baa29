//! `facts`.

use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record};

use crate::support::Place;

fn place() -> Place {
    let place = Place::new();
    let options = Options { background: false, ..Options::default() };
    let database = Database::open(place.data(), options).unwrap();
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = database.collection("notes", options).unwrap();
    notes.upsert(vec![Record::new("a").text("Anna works at Initech. See #12 and anna@example.org.")]).unwrap();
    database.close().unwrap();
    place
}

#[test]
fn facts_are_recorded_found_and_explained() {
    let place = place();
    let run = |arguments: &[&str]| place.run(&[&["facts"][..], arguments].concat()).succeeds().out;
    assert_eq!(run(&["declare", "works_at", "--functional"]), "Noted.\n");
    assert_eq!(run(&["declare", "works_at", "--functional"]), "That was known.\n");
    assert_eq!(run(&["add", "Anna", "works_at", "Acme", "--valid-from", "2020-01-01"]), "Recorded as fact 1.\n");
    let later = ["add", "Anna", "works_at", "Initech", "--valid-from", "2024-05-01", "--source", "notes/a"];
    assert_eq!(run(&later), "Recorded as fact 2.\n");
    assert_eq!(run(&later), "Known as fact 2.\n");
    assert_eq!(
        run(&["find", "Anna", "--valid-at", "2022-01-01"]),
        "     3  Anna  works_at  Acme  2020-01-01..2024-05-01\n"
    );
    let history = run(&["history", "Anna"]);
    assert!(history.contains("1  Anna  works_at  Acme  2020-01-01..  ended: rule"), "{history}");
    let why = run(&["why", "2"]);
    assert!(why.contains("notes/a:0-52") && why.contains("Anna works at Initech"), "{why}");
    assert_eq!(run(&["add", "Anna", "age", "--value", "40"]), "Recorded as fact 4.\n");
    let found = run(&["find", "--value", "40", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["facts"][0]["value"], &found["facts"][0]["object"]), (&40.into(), &serde_json::Value::Null));
    assert_eq!(run(&["end", "4", "2026-01-01"]), "Noted, as fact 5.\n");
    assert_eq!(run(&["retract", "5"]), "Retracted 1 fact.\n");
    assert_eq!(run(&["alias", "Annie", "Anna"]), "Noted.\n");
    assert!(run(&["find", "Annie", "--limit", "1"]).ends_with("--after 2\n"));
    assert_eq!(run(&["paths", "Annie", "Initech"]), "1.000  Annie -works_at-> Initech\n");
    assert_eq!(run(&["predicates"]), "       2  age\n       3  works_at  one value at a time\n");
    assert!(run(&["stats"]).starts_with("5 facts, 3 of them ended"));
    let wrong = place.run(&["facts", "add", "Anna", "works_at"]).ends(2).err;
    assert!(wrong.contains("OBJECT"), "{wrong}");
}

#[test]
fn facts_are_recorded_from_lines() {
    let place = place();
    let lines = (0..2_500).map(|at| format!("{{\"subject\": \"s{at}\", \"predicate\": \"is\", \"value\": {at}}}\n"));
    let more = "\n{\"subject\": \"Anna\", \"predicate\": \"works_at\", \"object\": \"Initech\", \"sources\": [{\"collection\": \"notes\", \"id\": \"a\"}]}";
    let input: String = lines.chain([more.to_string()]).collect();
    let run = |input: &str| place.run_with(&["facts", "record"], input);
    assert_eq!(run(&input).succeeds().out, "Read 2,501 facts; 2,501 added, 0 ended.\n");
    assert_eq!(run(&input).succeeds().out, "Read 2,501 facts; 0 added, 0 ended.\n");
    let found = place.run(&["facts", "find", "Anna"]).succeeds().out;
    assert_eq!(found, "  2501  Anna  works_at  Initech\n");
    let wrong =
        run("{\"subject\": \"a\", \"predicate\": \"is\", \"value\": 1}\n{\"subject\": \"b\", \"predicat\": \"is\"}\n")
            .ends(2);
    assert!(wrong.err.contains("line 2") && wrong.err.contains("predicat"), "{}", wrong.err);
}

#[test]
fn what_stands_on_records_is_extracted_traced_and_erased() {
    let place = place();
    let run = |arguments: &[&str]| place.run(&[&["facts"][..], arguments].concat()).succeeds().out;
    let out = run(&["extract", "--collection", "notes", "-f", "web"]);
    assert_eq!(out, "Read 1 text, knew 0; 2 facts added, 0 ended.\n");
    run(&["extract", "--collection", "notes", "-f", "web", "--extractor", "mentions"]);
    let trace = run(&["trace", "a", "--collection", "notes", "-f", "web"]);
    assert!(trace.contains("mentions_issue  #12") && trace.contains("Entities: #12 (2), a (2)"), "{trace}");
    assert!(run(&["entities", "-f", "web"]).contains("anna@example.org"));
    assert!(run(&["rank", "-f", "web"]).lines().count() == 3);
    assert!(run(&["groups", "-f", "web"]).contains("#12, a, anna@example.org"));
    assert!(place.run(&["facts", "erase", "a", "--collection", "notes", "-f", "web"]).ends(2).err.contains("--yes"));
    let out = run(&["erase", "a", "--collection", "notes", "-f", "web", "--yes"]);
    assert!(out.starts_with("Erased 3 facts, 0 sources of others, and what extractors found in 2 texts."), "{out}");
    assert_eq!(run(&["ls"]), "web\n");
    assert!(place.run(&["facts", "drop", "-f", "web"]).ends(2).err.contains("--yes"));
    assert_eq!(run(&["drop", "-f", "web", "--yes"]), "Dropped facts web.\n");
    assert_eq!(run(&["ls"]), "");
}
