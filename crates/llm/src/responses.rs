//! OpenAI's responses, as far as they leave nothing at the provider: with `store: false`.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::chat::{IGNORED, refuse_heat, wants_json};
use crate::events::{Event, pieces, spelt};
use crate::json::{Fields, has_only, hashed, is_json, is_truthy, items, of, text};
use crate::parts::{last_question, last_words, messages, without_content};
use crate::question::{Allowed, Bypass, Question};

const HASHED: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tool_calls",
    "text",
    "reasoning",
    "truncation",
    "include",
    "max_output_tokens",
    "temperature",
    "top_p",
    "verbosity",
];
/// The types of items that are tool calls.
const CALLS: [&str; 2] = ["function_call", "custom_tool_call"];

pub fn question(request: &Fields, allowed: Allowed) -> Result<Question, Bypass> {
    refuse(request)?;
    let mut rest = hashed(request, IGNORED);
    let by_meaning = !is_truthy(of(request, "tools")) && has_only(&rest, HASHED);
    let given = of(request, "input");
    if let Some(text) = given.as_str() {
        rest.insert("input".into(), Value::Null);
        return Ok(Question { text: text.into(), rest: rest.into(), by_meaning });
    }
    let (given, texts) = messages(given, allowed)?;
    let Some((at, text)) = last_question(given, &texts) else {
        return Ok(Question { text: last_words(&texts), rest: rest.into(), by_meaning: false });
    };
    rest.insert("input".into(), without_content(given, at));
    let is_said = |item: &Value| item["type"].is_null() || item["type"] == "message" || item["type"] == "reasoning";
    Ok(Question { text, rest: rest.into(), by_meaning: by_meaning && given.iter().all(is_said) })
}

fn refuse(request: &Fields) -> Result<(), Bypass> {
    if *of(request, "store") != Value::Bool(false) {
        // The provider keeps such a response, and a later request may name it: one out of a cache, it would not know.
        return Err(Bypass("stored at the provider"));
    }
    for (name, why) in [
        ("previous_response_id", "previous response id"),
        ("conversation", "conversation"),
        ("background", "background"),
        ("prompt", "prompt"),
    ] {
        if is_truthy(of(request, name)) {
            return Err(Bypass(why));
        }
    }
    let names_odds = |one: &Value| one.as_str().is_some_and(|one| one.contains("logprobs"));
    if is_truthy(of(request, "top_logprobs")) || items(of(request, "include")).iter().any(names_odds) {
        return Err(Bypass("logprobs"));
    }
    let is_own = |tool: &Value| matches!(tool["type"].as_str(), Some("function" | "custom"));
    if !items(of(request, "tools")).iter().all(is_own) {
        return Err(Bypass("server tools"));
    }
    refuse_heat(request)
}

pub fn objection(request: &Fields, answer: &Fields, allowed: Allowed) -> Option<&'static str> {
    let Some(output) = of(answer, "output").as_array().filter(|_| *of(answer, "object") == "response") else {
        return Some("unreadable");
    };
    if *of(answer, "status") != "completed" || is_truthy(of(answer, "error")) {
        return Some("unfinished");
    }
    let said = output.iter().filter(|item| item["type"] == "message");
    let parts: Vec<&Value> = said.flat_map(|item| items(&item["content"])).collect();
    if parts.iter().any(|part| part["type"] == "refusal") {
        return Some("refusal");
    }
    let is_call = |item: &Value| CALLS.contains(&text(item, "type"));
    let is_said = |item: &Value| item["type"] == "message" || item["type"] == "reasoning";
    if output.iter().any(is_call) {
        let is_whole = output.iter().all(|item| is_said(item) || is_call(item));
        return if allowed.tool_calls && is_whole { None } else { Some("tools") };
    }
    if !output.iter().all(is_said) {
        return Some("tools");
    }
    let said: String = parts.iter().map(|part| text(part, "text")).collect();
    if said.trim().is_empty() {
        return Some("empty");
    }
    match wants_json(&of(request, "text")["format"]) && !is_json(&said) {
        true => Some("broken"),
        false => None,
    }
}

/// The last event brings the whole answer.
pub fn assembled(events: &[Event]) -> Option<Answer> {
    let (mut lengths, mut body, mut places) = (Vec::new(), None, HashSet::new());
    for event in events {
        let Value::Object(mut told) = event.json() else { return None };
        match of(&told, "type").as_str() {
            Some("error" | "response.failed" | "response.incomplete") => return None,
            Some("response.output_text.delta") => {
                places.insert((of(&told, "output_index").to_string(), of(&told, "content_index").to_string()));
                let length = of(&told, "delta").as_str()?.chars().count();
                lengths.extend((places.len() == 1).then_some(length));
            }
            Some("response.completed") => match told.remove("response") {
                Some(Value::Object(response)) => body = Some(response),
                _ => return None,
            },
            _ => {}
        }
    }
    body.map(|body| Answer { body, lengths })
}

pub fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let mut telling = Telling { events: Vec::new(), lengths: answer.lengths.clone() };
    telling.tell_all(&answer.body);
    telling.events
}

/// The events of an answer, as far as they are told.
struct Telling {
    events: Vec<Vec<u8>>,
    /// Of the first text.
    lengths: Vec<usize>,
}

impl Telling {
    fn tell(&mut self, kind: &str, told: Value) {
        let mut told = told.as_object().cloned().unwrap_or_default();
        told.insert("type".into(), kind.into());
        told.insert("sequence_number".into(), self.events.len().into());
        self.events.push(spelt(&Value::Object(told), kind));
    }

    fn tell_all(&mut self, body: &Fields) {
        let mut begun = body.clone();
        begun.insert("status".into(), "in_progress".into());
        begun.insert("output".into(), json!([]));
        begun.insert("usage".into(), Value::Null);
        self.tell("response.created", json!({ "response": begun }));
        self.tell("response.in_progress", json!({ "response": begun }));
        for (at, item) in items(of(body, "output")).iter().enumerate() {
            self.tell_item(at, item);
        }
        self.tell("response.completed", json!({ "response": body }));
    }

    fn tell_item(&mut self, at: usize, item: &Value) {
        let kind = text(item, "type");
        let mut empty = item.as_object().cloned().unwrap_or_default();
        empty.insert("status".into(), "in_progress".into());
        match kind {
            "message" => drop(empty.insert("content".into(), json!([]))),
            "function_call" => drop(empty.insert("arguments".into(), "".into())),
            "custom_tool_call" => drop(empty.insert("input".into(), "".into())),
            _ => {}
        }
        self.tell("response.output_item.added", json!({ "output_index": at, "item": empty }));
        let id = &item["id"];
        match kind {
            "message" => {
                for (within, part) in items(&item["content"]).iter().enumerate() {
                    self.tell_part(part, &json!({ "item_id": id, "output_index": at, "content_index": within }));
                }
            }
            "function_call" => {
                let (place, said) = (json!({ "item_id": id, "output_index": at }), &item["arguments"]);
                self.tell("response.function_call_arguments.delta", with(&place, json!({ "delta": said })));
                let done = json!({ "arguments": said, "name": item["name"] });
                self.tell("response.function_call_arguments.done", with(&place, done));
            }
            "custom_tool_call" => {
                let (place, said) = (json!({ "item_id": id, "output_index": at }), &item["input"]);
                self.tell("response.custom_tool_call_input.delta", with(&place, json!({ "delta": said })));
                self.tell("response.custom_tool_call_input.done", with(&place, json!({ "input": said })));
            }
            _ => {}
        }
        self.tell("response.output_item.done", json!({ "output_index": at, "item": item }));
    }

    fn tell_part(&mut self, part: &Value, place: &Value) {
        let said = text(part, "text");
        let lengths = std::mem::take(&mut self.lengths);
        self.tell("response.content_part.added", with(place, json!({ "part": with(part, json!({ "text": "" })) })));
        for piece in pieces(said, &lengths) {
            self.tell("response.output_text.delta", with(place, json!({ "delta": piece, "logprobs": [] })));
        }
        self.tell("response.output_text.done", with(place, json!({ "text": said, "logprobs": [] })));
        self.tell("response.content_part.done", with(place, json!({ "part": part })));
    }
}

/// The fields of one object, and those of another over them.
fn with(base: &Value, more: Value) -> Value {
    let mut fields = base.as_object().cloned().unwrap_or_default();
    fields.extend(more.as_object().cloned().unwrap_or_default());
    Value::Object(fields)
}
