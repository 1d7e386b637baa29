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
