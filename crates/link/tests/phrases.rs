//! Phrases: exactly the records that have them, wherever they lie, and as many hits as are wanted.

mod support;

use nuthatch_link::*;
use support::{no_embedder, quiet};

const WORDS: [&str; 6] = ["the", "king", "of", "birds", "sings", "loud"];

/// Whether a reader would say that the text contains the phrase.
fn has(text: &str, phrase: &str) -> bool {
    let spelled = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        format!(" {} ", words.map(str::to_lowercase).collect::<Vec<_>>().join(" "))
    };
    spelled(text).contains(&spelled(phrase))
}

fn text(dice: &mut fastrand::Rng) -> String {
    let between = [" ", " ", ", ", "-", ".\n"];
    (0..dice.usize(3..14))
        .map(|_| format!("{}{}", dice.choice(WORDS).unwrap(), dice.choice(between).unwrap()))
        .collect()
}

#[test]
fn a_search_with_phrases_finds_the_records_that_have_them_and_no_others() {
    let mut dice = fastrand::Rng::with_seed(3);
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut texts: Vec<Option<String>> = Vec::new();
    let mut add = |texts: &mut Vec<Option<String>>, count: usize| {
        let new: Vec<String> = (0..count).map(|_| text(&mut dice)).collect();
        let record = |(at, text): (usize, &String)| {
            let n = texts.len() + at;
            let payload = payload_from_json(serde_json::json!({"even": n.is_multiple_of(2)})).unwrap();
            let vector = vec![1.0, n as f32 / 100.0];
            Record::new(n.to_string()).text(text.clone()).vector(vector).payload(payload)
        };
        notes.upsert(new.iter().enumerate().map(record).collect()).unwrap();
        texts.extend(new.into_iter().map(Some));
    };
    let check = |records: &Records<'_>, texts: &[Option<String>], note: &str| {
        for phrases in
            [vec!["king of birds"], vec!["The King", "sings"], vec!["of the"], vec!["birds, birds"], vec!["no such"]]
        {
            for filter in [None, Some("even")] {
                let wanted: Vec<String> = (0..texts.len())
                    .filter(|n| filter.is_none() || n.is_multiple_of(2))
                    .filter(|n| texts[*n].as_ref().is_some_and(|text| phrases.iter().all(|phrase| has(text, phrase))))
                    .map(|n| n.to_string())
                    .collect();
                let mut search = Search::vector(vec![1.0, 0.5]).limit(1_000);
                if let Some(filter) = filter {
                    search = search.filter(filter).unwrap();
                }
                search.refine.phrases = phrases.iter().map(|phrase| phrase.to_string()).collect();
                let ids = |search: &Search| {
                    let mut ids: Vec<String> =
                        records.search(search).unwrap().hits.into_iter().map(|hit| hit.id).collect();
                    ids.sort_by_key(|id| id.parse::<usize>().unwrap());
                    ids
                };
                assert_eq!(ids(&search), wanted, "{note}: {phrases:?} {filter:?}");
                let by_words = Search { text: Some("king sings loud birds".into()), vector: None, ..search.clone() };
                let found = ids(&by_words.mode(Mode::Text));
                assert!(found.iter().all(|id| wanted.contains(id)), "{note}: {phrases:?} {filter:?}");
                let few = Search { limit: 3, ..search };
                assert_eq!(ids(&few).len(), wanted.len().min(3), "{note}: {phrases:?} {filter:?} fills the limit");
            }
        }
    };
    add(&mut texts, 300);
    check(&notes, &texts, "fresh");
    notes.wait_until_indexed(None).unwrap();
    check(&notes, &texts, "sealed");
    for n in (0..300).step_by(7) {
        texts[n] = None;
        notes.delete(&[n.to_string()]).unwrap();
    }
    add(&mut texts, 120);
    check(&notes, &texts, "sealed, deleted and fresh");
    let (then, kept) = (texts.clone(), db.snapshot().unwrap());
    notes.delete_where("even").unwrap();
    texts.iter_mut().step_by(2).for_each(|text| *text = None);
    notes.wait_until_indexed(None).unwrap();
    check(&notes, &texts, "half is gone");
    check(&kept.collection("notes").unwrap(), &then, "a snapshot");
}

#[test]
fn a_phrase_with_an_identifier_is_found_in_prose_and_in_source_code() {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let text = "It calls read_at twice.";
    let mut code = Record::new("code").text(text);
    code.code = true;
    notes.upsert(vec![Record::new("prose").text(text), code, Record::new("other").text("It reads twice.")]).unwrap();
    for note in ["fresh", "sealed"] {
        let mut search = Search::text("twice");
        search.refine.phrases = vec!["calls read_at".into()];
        let mut ids: Vec<String> = notes.search(&search).unwrap().hits.into_iter().map(|hit| hit.id).collect();
        ids.sort();
        assert_eq!(ids, ["code", "prose"], "{note}");
        notes.wait_until_indexed(None).unwrap();
    }
}

#[test]
fn phrases_that_cannot_be_meant_are_refused() {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    notes.upsert(vec![Record::new("a").text("words")]).unwrap();
    for phrases in [vec!["?!".to_string()], vec!["a".to_string(); 17], vec!["a ".repeat(65)]] {
        let mut search = Search::text("words");
        search.refine.phrases = phrases;
        assert_eq!(notes.search(&search).unwrap_err().kind, ErrorKind::Invalid);
    }
}
