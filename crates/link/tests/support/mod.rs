//! A naive in-memory model of a collection, and random operations on both.
#![allow(dead_code)]

use std::collections::BTreeMap;

use nuthatch_link::*;

pub const DIM: usize = 12;
pub const WORDS: [&str; 24] = [
    "storage", "engine", "seed", "bird", "forest", "winter", "memory", "index", "vector", "search", "river", "stone",
    "bread", "oven", "ship", "harbour", "query", "filter", "disk", "cache", "segment", "merge", "delete", "write",
];

#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub text: Option<String>,
    pub vector: Option<Vec<f32>>,
    pub payload: Payload,
}

pub type Model = BTreeMap<String, Kept>;

pub fn quiet() -> Options {
    Options { background: false, fresh_rows_max: 64, ..Options::default() }
}

pub fn no_embedder() -> CollectionOptions {
    CollectionOptions { embedder: EmbedderChoice::None, metric: Some(Metric::L2), ..Default::default() }
}

pub fn random_kept(dice: &mut fastrand::Rng, has_vector: bool) -> Kept {
    let text = (0..dice.usize(1..12)).map(|_| WORDS[dice.usize(..WORDS.len())]).collect::<Vec<_>>().join(" ");
    let mut payload = Payload::new();
    payload.insert("year".into(), Value::Int(dice.i64(2000..2026)));
    if dice.u8(..4) > 0 {
        payload.insert("team".into(), Value::Text(["core", "ops", "web"][dice.usize(..3)].into()));
    }
    if dice.bool() {
        payload.insert("tags".into(), Value::Array(vec![Value::Text("a".into()), Value::Int(dice.i64(..3))]));
    }
    Kept {
        text: (dice.u8(..5) > 0).then_some(text),
        vector: has_vector.then(|| (0..DIM).map(|_| dice.f32() * 2.0 - 1.0).collect()),
        payload,
    }
}

pub fn record(id: &str, kept: &Kept) -> Record {
    Record {
        id: id.into(),
        text: kept.text.clone(),
        vector: kept.vector.clone(),
        vectors: Default::default(),
        payload: kept.payload.clone(),
        context: None,
        code: false,
    }
}

/// The whole of a collection equals the model: every record, every count, every exact answer.
pub fn assert_same(collection: &Collection, model: &Model, dice: &mut fastrand::Rng, note: &str) {
    assert_eq!(collection.len().unwrap(), model.len() as u64, "{note}: count");
    let mut cursor = None;
    let mut seen = 0;
    loop {
        let page = collection.scan(&Scan { cursor, limit: 97, filter: None, vectors: true }).unwrap();
        for found in page.records {
            let kept = model.get(&found.id).unwrap_or_else(|| panic!("{note}: {} should be gone", found.id));
            assert_eq!(
                (&found.text, &found.vector, &found.payload),
                (&kept.text, &kept.vector, &kept.payload),
                "{note}: {}",
                found.id
            );
            seen += 1;
        }
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, model.len(), "{note}: listed");
    for filter in [None, Some("year >= 2012 and team in ('core', 'ops')"), Some("not (tags = 1)"), Some("year < 2003")]
    {
        // A field that no record has had yet is refused by name, which has a test of its own.
        let known = collection.info().unwrap().fields;
        if filter.is_some_and(|filter| {
            ["year", "team", "tags"].iter().any(|f| filter.contains(f) && !known.iter().any(|(name, _)| name == f))
        }) {
            continue;
        }
        let parsed = filter.map(|text| Search::text("x").filter(text).unwrap().filter.unwrap());
        let passes = |kept: &Kept| parsed.as_ref().is_none_or(|parsed| parsed.matches(&kept.payload));
        let matching = model.values().filter(|kept| passes(kept)).count();
        if !model.is_empty() {
            assert_eq!(collection.count(filter).unwrap(), matching as u64, "{note}: count where {filter:?}");
        }
        if model.values().any(|kept| kept.vector.is_some()) {
            vector_search_is_exact(collection, model, &passes, filter, dice, note);
        }
        text_search_finds_the_words(collection, model, &passes, filter, dice, note);
    }
}

fn vector_search_is_exact(
    collection: &Collection,
    model: &Model,
    passes: &dyn Fn(&Kept) -> bool,
    filter: Option<&str>,
    dice: &mut fastrand::Rng,
    note: &str,
) {
    let query: Vec<f32> = (0..DIM).map(|_| dice.f32() * 2.0 - 1.0).collect();
    let distance = |v: &[f32]| v.iter().zip(&query).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    let mut store: Vec<f64> =
        model.values().filter(|k| passes(k)).filter_map(|k| k.vector.as_deref()).map(distance).collect();
    store.sort_by(f64::total_cmp);
    let mut search = Search::vector(query.clone()).limit(10);
    if let Some(filter) = filter {
        search = search.filter(filter).unwrap();
    }
    let answer = collection.search(&search).unwrap();
    assert_eq!(answer.hits.len(), store.len().min(10), "{note}: limit filled where {filter:?}");
    let mut right = 0;
    for (at, hit) in answer.hits.iter().enumerate() {
        let own = distance(model[&hit.id].vector.as_deref().unwrap());
        assert!((f64::from(hit.score) - own).abs() < 1e-3, "{note}: {} scored {} instead of {own}", hit.id, hit.score);
        assert_eq!(hit.legs.vector.unwrap().rank, at + 1);
        right += usize::from(own <= store[answer.hits.len() - 1] + 1e-5);
    }
    assert!(right * 10 >= answer.hits.len() * 9, "{note}: {right} of {} right", answer.hits.len());
}

fn text_search_finds_the_words(
    collection: &Collection,
    model: &Model,
    passes: &dyn Fn(&Kept) -> bool,
    filter: Option<&str>,
    dice: &mut fastrand::Rng,
    note: &str,
) {
    let word = WORDS[dice.usize(..WORDS.len())];
    let has = |k: &Kept| k.text.as_ref().is_some_and(|text| text.split(' ').any(|w| w == word));
    let matching = model.values().filter(|k| passes(k) && has(k)).count();
    let mut search = Search::text(word).limit(20).mode(Mode::Text);
    if let Some(filter) = filter {
        if model.is_empty() {
            return;
        }
        search = search.filter(filter).unwrap();
    }
    let answer = collection.search(&search).unwrap();
    assert_eq!(answer.hits.len(), matching.min(20), "{note}: {word:?} where {filter:?}");
    for hit in &answer.hits {
        assert!(has(&model[&hit.id]) && passes(&model[&hit.id]), "{note}: {} does not match", hit.id);
    }
    assert!(answer.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{note}: order");
}
