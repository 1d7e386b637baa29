//! `NH.CACHE.` commands: the calls of caches in words and in JSON.

mod support;

use nuthatch_resp::Settings;
use support::{Client, Said, bulk, bulks, served};

/// The fact of that name in a map.
fn fact(said: &Said, name: &str) -> Said {
    let Said::Map(facts) = said else { panic!("no map: {said:?}") };
    let found = facts.iter().find(|(known, _)| *known == bulk(name));
    found.unwrap_or_else(|| panic!("no {name} in {said:?}")).1.clone()
}

fn lookup(client: &mut Client, words: &[&[u8]]) -> Said {
    let words: Vec<&[u8]> = [&[&b"NH.CACHE.LOOKUP"[..], b"answers"][..], words].concat();
    client.ask_words(&words)
}

#[test]
fn answers_are_stored_found_and_removed() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("HELLO 3");
    assert!(matches!(client.ask("NH.CACHE.LOOKUP answers x"), Said::Error(said) if said.contains("answers")));
    let settings = client.ask("NH.CACHE.CREATE answers TTL 60 SCOPE [\"user\"]");
    assert_eq!((fact(&settings, "ttl"), fact(&settings, "scope")), (Said::Double(60.0), bulks(&["user"])));
    assert_eq!(client.ask("NH.CACHES"), bulks(&["answers"]));
    let prompt = b"What is DNS?";
    let stored = client.ask_words(&[
        b"NH.CACHE.STORE",
        b"answers",
        prompt,
        b"12",
        b"SCOPE",
        b"user",
        b"anna",
        b"TAGS",
        b"net",
        b"COST",
        b"{\"tokens\": 7, \"usd\": 0.5}",
    ]);
    assert_eq!(fact(&stored, "entry"), Said::Int(0));
    let found = lookup(&mut client, &[b"what's  DNS", b"SCOPE", b"user", b"anna"]);
    let hit = fact(&found, "hit");
    assert_eq!((fact(&hit, "tier"), fact(&hit, "response")), (bulk("canonical"), bulk("12")), "a text stays one");
    assert_eq!(fact(&fact(&hit, "saved"), "tokens"), Said::Int(7));
    let found = lookup(&mut client, &[prompt, b"SCOPE", b"user", b"ben"]);
    assert_eq!((fact(&found, "hit"), fact(&found, "miss")), (Said::Null, bulk("absent")));
    let json = br#"{"prompt": "What is BGP?", "response": {"a": [1]}, "scope": {"user": "ben"}}"#;
    client.ask_words(&[b"NH.CACHE.STORE", b"answers", json]);
    let found = lookup(&mut client, &[br#"{"prompt": "what's BGP", "scope": {"user": "ben"}}"#]);
    assert!(matches!(fact(&fact(&found, "hit"), "response"), Said::Map(_)));
    let stats = client.ask("NH.CACHE.STATS answers");
    assert_eq!((fact(&stats, "entries"), fact(&fact(&stats, "counts"), "canonical")), (Said::Int(2), Said::Int(2)));
    assert_eq!(fact(&client.ask("NH.CACHE.INVALIDATE answers TAG net"), "removed"), Said::Int(1));
    assert_eq!(fact(&client.ask("NH.CACHE.INVALIDATE answers SCOPE user ben"), "removed"), Said::Int(1));
    assert!(matches!(client.ask("NH.CACHE.INVALIDATE answers ALL maybe"), Said::Error(_)));
}

#[test]
fn a_lease_waits_for_nothing_and_a_transaction_refuses_it() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("HELLO 3");
    client.ask("NH.CACHE.CREATE answers");
    assert_eq!(fact(&client.ask("NH.CACHE.LEASE answers a one LEASE 60 WAIT 30"), "state"), bulk("granted"));
    assert_eq!(fact(&client.ask("NH.CACHE.LEASE answers a two WAIT 30"), "state"), bulk("held"));
    assert_eq!(fact(&client.ask("NH.CACHE.RELEASE answers a one"), "ended"), Said::Bool(true));
    assert_eq!(fact(&client.ask("NH.CACHE.LEASE answers a two"), "state"), bulk("granted"));
    client.ask("NH.CACHE.STORE answers a done");
    assert_eq!(fact(&client.ask("NH.CACHE.LEASE answers a three"), "state"), bulk("answered"));
    client.ask("MULTI");
    assert!(matches!(client.ask("NH.CACHE.STORE answers b 1"), Said::Error(_)));
}

#[test]
fn an_answer_by_meaning_is_explained_and_judged() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("HELLO 3");
    client.ask("NH.CACHE.CREATE answers BUDGET 0.1");
    let near = |angle: f32| [1.0, angle].iter().flat_map(|x: &f32| x.to_le_bytes()).collect::<Vec<u8>>();
    client.ask_words(&[
        b"NH.CACHE.STORE",
        b"answers",
        b"How do I reset my password?",
        b"settings",
        b"VECTOR",
        b"FP32",
        &near(0.0),
    ]);
    let found = lookup(&mut client, &[b"How can I reset the password?", b"VECTOR", b"FP32", &near(0.02)]);
    assert_eq!(fact(&fact(&found, "hit"), "tier"), bulk("semantic"));
    let Said::Array(waiting) = fact(&client.ask("NH.CACHE.AUDITS answers LIMIT 5"), "waiting") else { panic!() };
    assert_eq!((waiting.len(), fact(&waiting[0], "asked")), (1, bulk("How can I reset the password?")));
    assert_eq!(fact(&client.ask("NH.CACHE.REPORT answers ENTRY 0 HIT 0 WRONG false"), "new"), Said::Bool(true));
    let explained = client.ask_words(&[b"NH.CACHE.EXPLAIN", b"answers", b"how can i reset password"]);
    assert_eq!(fact(&explained, "tier"), bulk("alias"));
}
