//! What a cache knows of its answers when it is opened again.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;

use nuthatch_link::*;

fn ask(prompt: &str) -> AskCache {
    AskCache { prompt: prompt.into(), ..AskCache::default() }
}

fn answer(prompt: &str) -> StoreAnswer {
    let cost = CacheCost { tokens: 10, nano_usd: 5 };
    StoreAnswer { prompt: prompt.into(), response: "1".into(), cost, ..StoreAnswer::default() }
}

fn open(folder: &Path) -> (Database, Cache) {
    let db = Database::open(folder, Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    (db, cache)
}

#[test]
fn what_was_counted_since_the_last_write_survives_closing() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    cache.store(answer("What is DNS?")).unwrap();
    let elsewhere = BTreeMap::from([("user".into(), "x".into())]);
    for question in [ask("What is DNS?"), ask("what's DNS"), ask("What is BGP?"), AskCache { scope: elsewhere, ..ask("a") }]
    {
        cache.lookup(&question).unwrap();
    }
    let owner = |owner: &str| LeaseAnswer {
        ask: ask("What is DNS?"),
        owner: owner.into(),
        lease_ms: 1_000,
        ..LeaseAnswer::default()
    };
    assert!(matches!(cache.lease(&owner("a")).unwrap(), CacheLease::Answered(_)));
    let told = cache.stats().unwrap().counts;
    assert_eq!((told.exact, told.canonical, told.misses, told.awaited, told.saved_tokens), (1, 1, 2, 1, 30));
    db.close().unwrap();
    db.close().unwrap();
    let (db, cache) = open(folder.path());
    assert_eq!(cache.stats().unwrap().counts, told);
    // Nothing waits for a write any more: it is not counted twice.
    db.close().unwrap();
    let (db, cache) = open(folder.path());
    assert_eq!(cache.stats().unwrap().counts, told);
    drop((db, cache));
}

#[test]
fn which_answers_were_used_last_survives_closing() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    cache.configure(&CacheChange { max_entries: Some(2), ..CacheChange::default() }).unwrap();
    cache.store(answer("first")).unwrap();
    cache.store(answer("second")).unwrap();
    assert!(cache.lookup(&ask("first")).unwrap().hit.is_some());
    db.close().unwrap();
    let (_db, cache) = open(folder.path());
    cache.store(answer("third")).unwrap();
    assert!(cache.lookup(&ask("first")).unwrap().hit.is_some());
    assert!(cache.lookup(&ask("second")).unwrap().hit.is_none());
}

#[test]
fn a_database_closes_after_its_caches_were_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (db, cache) = open(folder.path());
    cache.lookup(&ask("a")).unwrap();
    db.drop_cache("answers").unwrap();
    db.close().unwrap();
}
