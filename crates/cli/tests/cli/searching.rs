//! `search` and `get`.

use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Metric, Options, Record, VectorFieldOptions};
use serde_json::json;

use crate::support::Place;

#[test]
fn a_hit_has_source_lines_heading_score_leg_and_id() {
    let place = Place::with_documents();
    let out = place.run(&["search", "nest", "branches"]).succeeds().out;
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("1. alpha.md:") && lines[0].contains("text #1 "), "{out}");
    assert!(lines[1].contains("Nest") && lines[1].contains("alpha.md#"), "{out}");
    assert!(out.contains("Its nest is a heap of branches."), "{out}");
    // Without vectors there is no vector leg to show.
    assert!(!out.contains("vector #"), "{out}");
}

#[test]
fn a_hit_in_a_table_is_cited_by_its_rows() {
    let place = Place::with_documents();
    place.write("prices.csv", "name,price\nbolt,3\nwasher,4\n");
    place.run(&["add", "prices.csv", "--embedder", "none"]).succeeds();
    let out = place.run(&["search", "washer"]).succeeds().out;
    assert!(out.starts_with("1. prices.csv rows 1-3  ") && out.contains("name | price"), "{out}");
    let answer = place.run(&["search", "washer", "--where", "place = 'rows 1-3'", "--json"]).json();
    assert_eq!(answer["hits"][0]["payload"]["place"], "rows 1-3");
}

#[test]
fn filters_ask_for_language_and_time() {
    let place = Place::with_documents();
    let hits = |condition: &str| {
        let answer = place.run(&["search", "fish osprey heron herons", "--where", condition, "--json"]).json();
        answer["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["payload"]["name"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(hits("lang = 'rust'"), ["code.rs"]);
    assert_eq!(hits("lang = 'rust' and mtime > '2020-01-01'"), ["code.rs"]);
    assert_eq!(hits("lang = 'rust' and mtime < '2020-01-01'"), [""; 0]);
    assert_eq!(hits("kind = 'markdown'"), ["alpha.md"]);
    assert_eq!(hits("path like '%/sub/%'"), ["note.txt"]);
}

#[test]
fn a_malformed_filter_is_pointed_at_and_is_the_callers_fault() {
    let place = Place::with_documents();
    let ran = place.run(&["search", "fish", "--where", "lang = 'rust' andd bytes > 3"]).ends(2);
    assert!(ran.err.contains("line 1 column 15") && ran.err.contains("andd"), "{}", ran.err);
    let caret = ran.err.lines().find(|line| line.trim() == "^").expect("a caret under the word");
    let filter = ran.err.lines().find(|line| line.trim().starts_with("lang")).unwrap();
    assert_eq!(caret.find('^'), filter.find("andd"), "{}", ran.err);
    let ran = place.run(&["search", "fish", "--where", "languge = 'rust'"]).ends(2);
    assert!(ran.err.contains("languge") && ran.err.contains("lang"), "{}", ran.err);
}

#[test]
fn what_is_no_number_is_told_in_words_of_the_shell() {
    let place = Place::with_documents();
    for (given, said) in [
        ("--limit=x", "invalid value 'x' for '--limit <N>': expected a whole number"),
        ("--limit=-1", "invalid value '-1' for '--limit <N>': expected a whole number"),
        ("--ef=99999999999999999999999", "the number is too large"),
        ("--recall=high", "expected a number"),
    ] {
        let ran = place.run(&["search", "fish", given]).ends(2);
        assert!(ran.err.contains(said), "{given}: {}", ran.err);
    }
}

#[test]
fn pages_follow_each_other_without_a_gap() {
    let place = Place::with_many(60);
    place.run(&["add", "many", "--embedder", "none", "-q"]).succeeds();
    let ids = |limit: &str, offset: &str| {
        let answer = place.json(&["search", "passage", "--limit", limit, "--offset", offset, "--json"]);
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let all = ids("20", "0");
    assert_eq!(all.len(), 20);
    assert_eq!([ids("10", "0"), ids("10", "10")].concat(), all);
    let shown = place.run(&["search", "passage", "--limit", "2", "--offset", "4"]).succeeds();
    assert!(shown.out.starts_with("5. ") && shown.err.contains("--offset 6"), "{}\n{}", shown.out, shown.err);
}

#[test]
fn nothing_found_is_exit_code_1_and_still_valid_json() {
    let place = Place::with_documents();
    assert!(place.run(&["search", "xylophone"]).ends(1).err.contains("Nothing found"));
    assert_eq!(place.run(&["search", "xylophone", "--json"]).ends(1).json()["hits"], serde_json::json!([]));
}

#[test]
fn explain_says_how_the_answer_was_found() {
    let place = Place::with_documents();
    let answer = place.json(&["search", "osprey", "--explain", "--where", "kind = 'markdown'", "--json"]);
    assert_eq!(answer["mode"], "text");
    assert_eq!(answer["explain"]["filter_matches"], answer["hits"].as_array().unwrap().len().max(1));
    assert!(place.run(&["search", "osprey", "--explain"]).succeeds().out.contains("How it was found"));
}

#[test]
fn full_shows_what_a_snippet_cuts() {
    let place = Place::new();
    let filler = "Water runs under the bridge and the day goes by. ".repeat(16);
    place.write("long.txt", format!("Beginning marker. {filler} The bittern booms. Ending marker.\n"));
    place.run(&["add", "long.txt", "--embedder", "none"]).succeeds();
    let short = place.run(&["search", "bittern"]).succeeds().out;
    assert!(short.contains("bittern") && short.contains('…') && !short.contains("Beginning marker"), "{short}");
    let full = place.run(&["search", "bittern", "--full"]).succeeds().out;
    assert!(full.contains("Beginning marker") && full.contains("Ending marker") && !full.contains('…'), "{full}");
}

#[test]
fn vector_mode_without_vectors_says_what_to_do() {
    let place = Place::with_documents();
    let ran = place.run(&["search", "osprey", "--mode", "vector"]);
    assert!(ran.code == 1 || ran.code == 2, "{} {}", ran.code, ran.err);
    place.run(&["search", "osprey", "--limit", "0"]).ends(2);
    place.run(&["search", "osprey", "--text-weight", "nan"]).ends(2);
}

#[test]
fn get_takes_the_ids_that_search_shows() {
    let place = Place::with_documents();
    let out = place.run(&["get", "sub/note.txt#0"]).succeeds().out;
    assert!(out.contains("A kingfisher needs clear water"), "{out}");
    let absolute = format!("{}/sub/note.txt#0", place.path().display());
    let records = place.json(&["get", &absolute, "alpha.md#0", "--json"]);
    assert_eq!(records[0]["id"], absolute.as_str());
    assert_eq!(records.as_array().unwrap().len(), 2);
    let ran = place.run(&["get", "sub/note.txt#0", "nothing#9"]).ends(1);
    assert!(ran.err.contains("nothing#9") && ran.out.contains("kingfisher"), "{}", ran.err);
}

fn ids(answer: &serde_json::Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn passages_like_one_are_its_neighbours_and_not_itself() {
    let place = Place::with_vectors();
    let answer = place.json(&["search", "--like", "a", "--json"]);
    assert_eq!(ids(&answer), ["b", "c", "d"]);
    assert_eq!((&answer["query"], &answer["like"], &answer["mode"]), (&json!(null), &json!("a"), &json!("vector")));
    let both = place.json(&["search", "bird", "--like", "a", "--embedder", "none", "--json"]);
    assert_eq!(both["mode"], "hybrid");
    assert!(!ids(&both).contains(&"a"));
    assert!(place.run(&["search", "--like", "a", "-n", "1"]).succeeds().out.starts_with("1. b  1.0000  vector #"));
    assert!(place.run(&["search", "--like", "ghost"]).ends(3).err.contains("names record \"ghost\""));
    assert!(place.run(&["search", "--like", "mute"]).ends(2).err.contains("no vector"));
    place.run(&["search", "--like", "a", "--mode", "text"]).ends(2);
    // A passage of a file is named as it is shown.
    let ran = Place::with_documents().run(&["search", "--like", "alpha.md#0"]).ends(2);
    assert!(ran.err.contains("alpha.md#0") && ran.err.contains("has no vector"), "{}", ran.err);
}

#[test]
fn accuracy_is_one_of_recall_ef_and_exact() {
    let place = Place::with_vectors();
    for accuracy in [&["--recall", "0.95"][..], &["--ef", "64"], &["--effort", "64"], &["--exact"]] {
        let answer = place.json(&[&["search", "--like", "a", "--json", "--explain"], accuracy].concat());
        assert_eq!(ids(&answer), ["b", "c", "d"]);
        let plan = &answer["explain"]["vector"]["plan"];
        assert!(accuracy != ["--exact"] || plan == "exact comparison", "{plan}");
    }
    for wrong in [
        &["--recall", "1.5"][..],
        &["--recall", "high"],
        &["--ef", "0"],
        &["--ef", "100001"],
        &["--exact", "--recall", "0.9"],
        &["--ef", "5", "--recall", "0.9"],
        &["--timeout", "0"],
        &["--timeout", "soon"],
    ] {
        place.run(&[&["search", "--like", "a"], wrong].concat()).ends(2);
    }
}

#[test]
fn a_search_whose_time_is_up_is_unavailable_and_not_the_embedders_fault() {
    let place = Place::with_vectors();
    let ran = place.run(&["search", "--like", "a", "--timeout", "0.000000001"]).ends(5);
    assert!(ran.err.contains("its time was up") && !ran.err.contains("--mode text"), "{}", ran.err);
    place.run(&["search", "--like", "a", "--timeout", "60"]).succeeds();
}

#[test]
fn named_vectors_are_searched_listed_and_shown() {
    let place = Place::new();
    let database = Database::open(place.data(), Options { background: false, ..Options::default() }).unwrap();
    let title = VectorFieldOptions { dim: Some(2), metric: Some(Metric::L2), ..Default::default() };
    let options = CollectionOptions {
        embedder: EmbedderChoice::None,
        vectors: [("title".to_string(), title)].into(),
        ..CollectionOptions::default()
    };
    let documents = database.collection("documents", options).unwrap();
    let record = |id: &str, x: f32| Record::new(id).text(id).named_vector("title", vec![x, 0.0]);
    documents
        .upsert(vec![record("a", 0.0), record("b", 5.0), record("c", 3.0), Record::new("mute").text("m")])
        .unwrap();
    database.close().unwrap();

    let answer = place.json(&["search", "--like", "a", "--using", "title", "--json"]);
    let ids: Vec<&str> = answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["c", "b"]);
    assert_eq!(place.json(&["get", "a", "--vectors", "--json"])[0]["vectors"]["title"], json!([0.0, 0.0]));
    let listed = place.json(&["ls", "--collections", "--json"]);
    let field = json!({ "kind": "dense", "dim": 2, "metric": "l2", "elements": "f32", "vectors": 3 });
    assert_eq!(listed[0]["vector_fields"]["title"], field);
    assert!(place.run(&["stats"]).succeeds().out.contains("3 vectors title of 2 dimensions (f32, l2)"));
    let refused = place.run(&["search", "--like", "a", "--using", "titel"]).ends(2);
    assert!(refused.err.contains("\"titel\"") && refused.err.contains("\"title\""), "{}", refused.err);
    place.run(&["search", "words", "--using", "title"]).ends(2);
}
