//! Searching.

use serde_json::{Value, json};

use crate::client::Client;
use crate::place::Place;

/// Records on a line: `p0` at the origin, the others further and further away, with the text `bird`.
fn filled(place: &Place) -> Client {
    let client = place.client();
    client.put("/v1/collections/points", json!({"embedder": "none", "metric": "l2", "dim": 2})).is(201);
    let records: Vec<Value> = (0..20)
        .map(|at| json!({"id": format!("p{at}"), "text": format!("bird number{at}"), "vector": [at, 0], "payload": {"at": at}}))
        .collect();
    client.post("/v1/collections/points/records", json!({"records": records})).is(200);
    client
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn every_way_of_asking_finds_what_it_should() {
    let place = Place::new();
    let client = filled(&place);
    let search = |question| client.post("/v1/collections/points/search", question).is(200);
    assert_eq!(ids(&search(json!({"vector": [0, 0], "limit": 3}))), ["p0", "p1", "p2"]);
    assert_eq!(ids(&search(json!({"text": "number7"}))), ["p7"]);
    assert_eq!(ids(&search(json!({"like": "p5", "limit": 2, "exact": true}))), ["p4", "p6"]);
    let both = search(json!({"text": "number3", "vector": [0, 0], "limit": 2, "fusion": "rrf"}));
    assert!(ids(&both).contains(&"p3") && both["hits"][0]["legs"]["vector"]["rank"].is_u64(), "{both}");
    let filtered = search(json!({"vector": [0, 0], "where": "at >= 10 and at < 12"}));
    assert_eq!(ids(&filtered), ["p10", "p11"]);
    let page = search(json!({"vector": [0, 0], "limit": 2, "offset": 2}));
    assert_eq!((ids(&page), &page["next_offset"]), (vec!["p2", "p3"], &json!(4)));
    for way in [json!({"recall": 0.9}), json!({"ef": 100}), json!({"effort": 100}), json!({"exact": true})] {
        let mut question = json!({"vector": [0, 0], "limit": 1});
        question.as_object_mut().unwrap().extend(way.as_object().unwrap().clone());
        assert_eq!(ids(&search(question)), ["p0"]);
    }
    place.stop();
}

#[test]
fn hits_carry_what_was_asked_for_and_the_plan_is_told() {
    let place = Place::new();
    let client = filled(&place);
    let search = |question| client.post("/v1/collections/points/search", question).is(200);
    let plain = search(json!({"vector": [0, 0], "limit": 1}));
    assert_eq!((&plain["hits"][0]["payload"], plain.get("explain")), (&json!({"at": 0}), None));
    assert!(plain["hits"][0].get("vector").is_none());
    let vector = search(json!({"vector": [0, 0], "limit": 1, "include": ["vector"], "explain": true}));
    assert_eq!(vector["hits"][0]["vector"], json!([0.0, 0.0]));
    assert_eq!((&vector["hits"][0]["text"], &vector["hits"][0]["payload"]), (&json!(null), &json!({})));
    assert_eq!(vector["explain"]["mode"], "vector");
    place.stop();
}

#[test]
fn named_vectors_are_stored_searched_and_come_back() {
    let place = Place::new();
    let client = place.client();
    let fields = json!({"title": {"dim": 2}, "image": {"dim": 3, "metric": "l2"}});
    let made = client.put("/v1/collections/docs", json!({"embedder": "none", "vectors": fields})).is(201);
    assert_eq!(made["vector_fields"]["image"]["metric"], "l2");
    let records = json!({"records": [
        {"id": "a", "text": "red bird", "vectors": {"title": [1, 0], "image": [0, 2, 0]}},
        {"id": "b", "text": "blue boat", "vectors": {"title": [0, 1]}},
    ]});
    client.post("/v1/collections/docs/records", records).is(200);
    let search = |question| client.post("/v1/collections/docs/search", question).is(200);
    assert_eq!(ids(&search(json!({"vector": [0, 1], "using": "title", "limit": 1}))), ["b"]);
    let all = search(json!({"text": "red", "vectors": {"title": [1, 0], "image": [0, 1, 0]}, "include": ["vector"]}));
    assert_eq!((&all["hits"][0]["id"], &all["hits"][0]["legs"]["vectors"]["image"]["rank"]), (&json!("a"), &json!(1)));
    assert_eq!(all["hits"][0]["vectors"]["image"], json!([0.0, 2.0, 0.0]));
    let one = client.get("/v1/collections/docs/records/b?vectors=true").is(200);
    assert_eq!(one["vectors"], json!({"title": [0.0, 1.0]}));
    place.stop();
}

#[test]
fn many_questions_are_answered_in_their_order() {
    let place = Place::new();
    let client = filled(&place);
    let searches = json!({"searches": [{"vector": [19, 0], "limit": 1}, {"text": "number2", "explain": true}]});
    let answers = client.post("/v1/collections/points/search-many", searches).is(200);
    assert_eq!((ids(&answers["answers"][0]), ids(&answers["answers"][1])), (vec!["p19"], vec!["p2"]));
    assert!(answers["answers"][0].get("explain").is_none() && answers["answers"][1]["explain"].is_object());
    assert_eq!(
        client.post("/v1/collections/points/search-many", json!({"searches": []})).is(200),
        json!({"answers": []})
    );
    place.stop();
}

#[test]
fn a_question_that_makes_no_sense_is_told_why() {
    let place = Place::new();
    let client = filled(&place);
    for (question, said) in [
        (json!({}), "text"),
        (json!({"vector": [1]}), "1"),
        (json!({"vector": [0, 0], "limit": 0}), "limit"),
        (json!({"vector": [0, 0], "limit": 20000}), "10000"),
        (json!({"vector": [0, 0], "where": "at >"}), "at >"),
        (json!({"vector": [0, 0], "exact": true, "recall": 0.9}), "exact"),
        (json!({"vector": [0, 0], "recall": 2}), "recall"),
        (json!({"vector": [0, 0], "mode": "magic"}), "magic"),
        (json!({"vektor": [0, 0]}), "vektor"),
        (json!({"vector": [0, 0], "text_weight": -1}), "-1"),
    ] {
        let detail = client.post("/v1/collections/points/search", question.clone()).fails(400, "invalid");
        assert!(detail.contains(said), "{question}: {detail}");
    }
    let answered = client.post("/v1/collections/points/search", json!({"like": "nobody"}));
    assert!(answered.fails(answered.status, answered.json()["kind"].as_str().unwrap()).contains("nobody"));
    place.stop();
}
