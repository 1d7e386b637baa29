//! The shared vectors come out as in the Python package, and no part of a stream is an answer.

use nuthatch_llm::{Allowed, Answer, Api, Bypass, Event, Reader, Recorder};
use serde_json::{Map, Value, json};

fn vectors(kind: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/llm/vectors.json");
    let mut vectors: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = vectors[kind].as_array_mut().map(std::mem::take).unwrap();
    assert!(cases.len() > 20, "{kind}");
    cases
}

fn api(case: &Value) -> Api {
    Api::ALL.into_iter().find(|api| case["api"] == api.name()).unwrap()
}

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    Reader::default().feed(bytes, &mut events);
    events
}

/// Returns the answer in a stream, heard in pieces of that size.
fn heard(api: Api, bytes: &[u8], size: usize) -> Option<Answer> {
    let mut recorder = Recorder::new(api, usize::MAX);
    bytes.chunks(size).find_map(|piece| recorder.hear(piece))
}

#[test]
fn requests_ask_what_they_ask_in_python() {
    for case in vectors("questions") {
        let headers = fields(case.get("headers").unwrap_or(&json!({})));
        let header = |name: &str| headers.get(name).and_then(Value::as_str);
        let allowed = Allowed { media: case["media"] == true, ..Allowed::default() };
        let outcome = &case["outcome"];
        match api(&case).question(&fields(&case["request"]), &header, allowed) {
            Err(Bypass(why)) => assert_eq!(outcome["bypass"], why, "{case}"),
            Ok(question) => {
                assert_eq!(outcome["by_meaning"], question.by_meaning, "{case}");
                if !outcome["text"].is_null() {
                    assert_eq!((&outcome["text"], &outcome["rest"]), (&question.text.clone().into(), &question.rest));
                }
                let (prompt, scope) = question.key("https://x/v1".into());
                assert_eq!((&outcome["prompt"], &outcome["scope"]), (&prompt.into(), &scope.into()), "{case}");
            }
        }
    }
}

#[test]
fn answers_are_kept_that_are_kept_in_python() {
    for case in vectors("objections") {
        let allowed = Allowed { tool_calls: case["tool_calls"] == true, ..Allowed::default() };
        let objection = api(&case).objection(&fields(&case["request"]), &fields(&case["answer"]), allowed);
        assert_eq!(case["outcome"], json!(objection), "{case}");
    }
}

#[test]
fn streams_are_the_answers_that_they_are_in_python_and_come_again_as_there() {
    for case in vectors("streams") {
        let (api, request) = (api(&case), fields(&case["request"]));
        let bytes = case["events"].as_str().unwrap().as_bytes();
        for size in [1, 7, bytes.len()] {
            let Some(answer) = heard(api, bytes, size) else {
                assert!(case["outcome"].is_null(), "{case}");
                continue;
            };
            let replayed = api.stream(&request, &answer).concat();
            let data = |event: &Event| if event.data == "[DONE]" { json!("[DONE]") } else { event.json() };
            let told: Vec<Value> = events(&replayed).iter().map(|event| json!([event.name, data(event)])).collect();
            let outcome = json!({
                "answer": answer.body,
                "pieces": answer.lengths,
                "can_give": api.can_give(&request, &answer.body),
                "replayed": told,
            });
            assert_eq!(outcome, case["outcome"], "{case}");
            assert_eq!(Answer::read(&answer.stored()), Some(answer));
        }
    }
}

#[test]
fn a_stream_that_is_cut_at_any_byte_is_no_answer() {
    let mut whole = 0;
    for case in vectors("streams").into_iter().filter(|case| !case["outcome"].is_null()) {
        let (api, request) = (api(&case), fields(&case["request"]));
        let sent = case["events"].as_str().unwrap().as_bytes();
        let answer = heard(api, sent, sent.len()).unwrap();
        // As it came, and as it comes again.
        for bytes in [sent.to_vec(), api.stream(&request, &answer).concat()] {
            let ends = (0..=bytes.len()).find(|end| heard(api, &bytes[..*end], bytes.len()).is_some()).unwrap();
            let text = std::str::from_utf8(&bytes[..ends]).unwrap();
            let last = ["[DONE]\n\n", "\"response.completed\"", "\"message_stop\""].map(|end| text.contains(end));
            assert!(last.contains(&true) && text.ends_with("\n\n"), "{text}");
            for end in 0..ends {
                assert!(heard(api, &bytes[..end], 5).is_none(), "cut after {end} of {ends} bytes: {case}");
            }
            whole += 1;
        }
    }
    assert!(whole > 20);
}

#[test]
fn streams_with_bytes_changed_are_read_or_not_and_nothing_panics() {
    let mut dice = fastrand::Rng::with_seed(7);
    let cases: Vec<Value> = vectors("streams");
    for _ in 0..5_000 {
        let case = &cases[dice.usize(..cases.len())];
        let mut bytes = case["events"].as_str().unwrap().as_bytes().to_vec();
        for _ in 0..dice.usize(1..4) {
            let at = dice.usize(..bytes.len());
            match dice.u8(..3) {
                0 => bytes[at] = dice.u8(..),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, *dice.choice(b"{}[]\":,\n0").unwrap()),
            }
        }
        let (api, request) = (api(case), fields(&case["request"]));
        if let Some(answer) = heard(api, &bytes, dice.usize(1..bytes.len())) {
            api.objection(&request, &answer.body, Allowed::default());
            api.stream(&request, &answer);
            answer.tokens();
        }
    }
}

#[test]
fn requests_with_values_changed_are_read_or_not_and_nothing_panics() {
    let odd = [json!(null), json!(0), json!(-1.5), json!("x"), json!([]), json!([1, "a", null]), json!({"type": 1})];
    for case in vectors("questions") {
        for name in fields(&case["request"]).keys() {
            for value in &odd {
                let mut request = fields(&case["request"]);
                request.insert(name.clone(), value.clone());
                if let Ok(question) = api(&case).question(&request, &|_| None, Allowed::default()) {
                    question.key("url".into());
                }
            }
        }
    }
}
