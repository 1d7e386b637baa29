//! `cache`.

use nuthatch_link::{AskCache, CacheChange, Database, Options, StoreAnswer};

use crate::support::Place;

/// A folder whose cache `answers` has an answer, and has given it for another prompt.
fn place() -> Place {
    let place = Place::new();
    let options = Options { background: false, ..Options::default() };
    let database = Database::open(place.data(), options).unwrap();
    let cache = database.cache("answers").unwrap();
    cache.configure(&CacheChange { budget: Some(0.1), ..CacheChange::default() }).unwrap();
    let answer = StoreAnswer {
        prompt: "How do I reset my password?".into(),
        response: "\"in the settings\"".into(),
        vector: Some(vec![1.0, 0.0]),
        tags: vec!["help".into()],
        ..StoreAnswer::default()
    };
    cache.store(answer).unwrap();
    let prompt = "How can I reset the password?".into();
    let ask = AskCache { prompt, vector: Some(vec![1.0, 0.02]), ..AskCache::default() };
    cache.lookup(&ask).unwrap().hit.unwrap();
    database.close().unwrap();
    place
}

#[test]
fn a_verdict_is_asked_for_and_reported() {
    let place = place();
    let out = place.run(&["cache", "audits", "-c", "answers"]).succeeds().out;
    assert!(out.starts_with("0 0  How can I reset the password?") && out.contains("in the settings"), "{out}");
    let stats = place.run(&["cache", "stats", "-c", "answers"]).succeeds().out;
    assert!(stats.contains("answers  1 answer") && stats.contains("1 waiting for a verdict"), "{stats}");
    assert_eq!(place.run(&["cache", "report", "0", "0", "--right", "-c", "answers"]).succeeds().out, "Noted.\n");
    assert_eq!(
        place.run(&["cache", "report", "0", "0", "--right", "-c", "answers"]).succeeds().out,
        "That was known.\n"
    );
    assert_eq!(place.run(&["cache", "audits", "-c", "answers"]).succeeds().out, "");
    place.run(&["cache", "report", "0", "0", "-c", "answers"]).ends(2);
    let out = place.run(&["cache", "explain", "how can i reset the password", "-c", "answers"]).succeeds().out;
    assert!(out.contains("form: how can i reset password") && out.contains("answer 0 (alias)"), "{out}");
}

#[test]
fn answers_and_caches_are_removed_when_that_is_confirmed() {
    let place = place();
    assert_eq!(place.run(&["cache", "ls"]).succeeds().out, "answers\n");
    assert!(place.run(&["cache", "clear", "-c", "answers"]).ends(2).err.contains("--yes"));
    let out = place.run(&["cache", "clear", "--tag", "help", "-c", "answers"]).succeeds().out;
    assert_eq!(out, "Removed 1 answer.\n");
    let json = place.run(&["cache", "stats", "-c", "answers", "--json"]).succeeds().out;
    let stats: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&stats["entries"], &stats["ledger"]["hits"]), (&0.into(), &1.into()), "the ledger stays");
    assert!(place.run(&["cache", "drop", "-c", "answers"]).ends(2).err.contains("--yes"));
    assert_eq!(place.run(&["cache", "drop", "-c", "answers", "--yes"]).succeeds().out, "Dropped cache answers.\n");
    assert_eq!(place.run(&["cache", "ls"]).succeeds().out, "");
}

#[test]
fn known_answers_are_stored_and_carried_to_another_cache() {
    let place = Place::new();
    let lines = place.path().join("faq.jsonl");
    let answers = [
        r#"{"prompt": "What is DNS?", "response": "names", "tags": ["net"], "cost": {"tokens": 40, "usd": 0.5}}"#,
        "",
        r#"{"prompt": "What is BGP?", "response": {"is": "routes"}, "scope": {"user": "anna"}}"#,
    ];
    std::fs::write(&lines, answers.join("\n")).unwrap();
    let lines = lines.to_str().unwrap();
    assert!(place.run(&["cache", "warm", lines, "-c", "faq"]).ends(3).err.contains("faq"), "it does not exist");
    assert_eq!(place.run(&["cache", "warm", lines, "-c", "faq", "--create"]).succeeds().out, "Stored 2 answers.\n");
    let exported = place.run(&["cache", "export", "-c", "faq"]).succeeds().out;
    assert_eq!(exported.lines().count(), 3, "{exported}");
    let export = place.path().join("export.jsonl");
    std::fs::write(&export, &exported).unwrap();
    let export = export.to_str().unwrap();
    place.run(&["cache", "warm", lines, "-c", "copy", "--create"]).succeeds();
    place.run(&["cache", "clear", "--yes", "-c", "copy"]).succeeds();
    assert_eq!(place.run(&["cache", "import", export, "-c", "copy"]).succeeds().out, "Kept 2 answers.\n");
    let found = ["cache", "explain", "what's BGP", "--scope", "user=anna", "-c", "copy"];
    assert!(place.run(&found).succeeds().out.contains("(canonical)"));
    assert!(place.run(&["cache", "import", lines, "-c", "copy"]).ends(2).err.contains("no export"));
    std::fs::write(export, exported.replace("names", "na\nmes")).unwrap();
    assert!(place.run(&["cache", "import", export, "-c", "copy"]).ends(2).err.contains("export.jsonl:2"));
}

#[test]
fn labelled_pairs_are_measured_without_a_cache() {
    let place = Place::new();
    let pairs = place.path().join("pairs.jsonl");
    let lines = [
        r#"{"stored": "reset my password", "asked": "reset the password", "same": true, "vectors": [[1, 0], [0.9, 0.1]]}"#,
        r#"{"stored": "reset my password", "asked": "close my account", "same": false, "vectors": [[1, 0], [0.2, 1]]}"#,
        r#"{"stored": "15% of 80?", "asked": "18% of 80?", "same": false, "vectors": [[1, 0], [1, 0.5]]}"#,
    ];
    std::fs::write(&pairs, lines.join("\n")).unwrap();
    let pairs = pairs.to_str().unwrap();
    let out = place.run(&["cache", "calibrate", pairs]).succeeds().out;
    assert!(out.contains("precision 1.000, recall 1.000") && out.contains("of 1 same and 2 different"), "{out}");
    assert!(out.contains("ruled out by numbers: 0 same, 1 different"), "{out}");
    std::fs::write(pairs, lines[1]).unwrap();
    assert!(place.run(&["cache", "calibrate", pairs]).ends(2).err.contains("no pair is the same"));
}
