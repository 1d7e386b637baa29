//! OpenAI's chat completions, which many providers speak.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::events::{Event, pieces, spelt, spelt_text};
use crate::json::{Fields, has_only, hashed, is_json, is_truthy, items, of};
use crate::parts::{last_question, last_words, messages, without_content};
use crate::question::{Allowed, Bypass, Question};

/// Fields that change an answer.
const HASHED: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "response_format",
    "temperature",
    "top_p",
    "n",
    "seed",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "verbosity",
    "modalities",
    "audio",
    "prediction",
];
/// Fields that do not.
pub const IGNORED: &[&str] = &[
    "stream",
    "stream_options",
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
];

pub fn question(request: &Fields, allowed: Allowed) -> Result<Question, Bypass> {
    refuse(request)?;
    let (messages, texts) = messages(of(request, "messages"), allowed)?;
    let is_step = |message: &Value| {
        matches!(message["role"].as_str(), Some("tool" | "function"))
            || is_truthy(&message["tool_calls"])
            || is_truthy(&message["function_call"])
    };
    let is_acting =
        is_truthy(of(request, "tools")) || is_truthy(of(request, "functions")) || messages.iter().any(is_step);
    let mut rest = hashed(request, IGNORED);
    let Some((at, text)) = last_question(messages, &texts) else {
        return Ok(Question { text: last_words(&texts), rest: rest.into(), by_meaning: false });
    };
    let by_meaning = !is_acting && has_only(&rest, HASHED);
    rest.insert("messages".into(), without_content(messages, at));
    Ok(Question { text, rest: rest.into(), by_meaning })
}

/// Parameters with which no cache answers.
fn refuse(request: &Fields) -> Result<(), Bypass> {
    let n = of(request, "n");
    if is_truthy(n) && n.as_f64() != Some(1.0) {
        return Err(Bypass("several answers"));
    }
    if is_truthy(of(request, "logprobs")) || is_truthy(of(request, "top_logprobs")) {
        return Err(Bypass("logprobs"));
    }
    if !of(request, "web_search_options").is_null() {
        return Err(Bypass("web search"));
    }
    if !of(request, "audio").is_null() || items(of(request, "modalities")).iter().any(|one| one == "audio") {
        return Err(Bypass("media"));
    }
    refuse_heat(request)
}

/// A request with a high temperature wants another answer each time.
pub fn refuse_heat(request: &Fields) -> Result<(), Bypass> {
    match of(request, "temperature").as_f64() {
        Some(temperature) if temperature > 1.0 => Err(Bypass("temperature")),
        _ => Ok(()),
    }
}

pub fn objection(request: &Fields, answer: &Fields, allowed: Allowed) -> Option<&'static str> {
    let [choice] = items(of(answer, "choices")) else { return Some("choices") };
    if !choice.is_object() {
        return Some("choices");
    }
    let (message, finish) = (&choice["message"], choice["finish_reason"].as_str());
    if !message.is_object() {
        return Some("unreadable");
    }
    if is_truthy(&message["refusal"]) {
        return Some("refusal");
    }
    if is_truthy(&message["audio"]) {
        return Some("media");
    }
    if is_truthy(&message["tool_calls"]) || is_truthy(&message["function_call"]) {
        let is_whole = matches!(finish, Some("tool_calls" | "function_call" | "stop"));
        return if allowed.tool_calls && is_whole { None } else { Some("tools") };
    }
    if finish != Some("stop") {
        return Some("unfinished");
    }
    match message["content"].as_str().filter(|content| !content.trim().is_empty()) {
        None => Some("empty"),
        Some(content) if wants_json(of(request, "response_format")) && !is_json(content) => Some("broken"),
        Some(_) => None,
    }
}

/// Whether a format of answers is JSON.
pub fn wants_json(format: &Value) -> bool {
    matches!(format["type"].as_str(), Some("json_object" | "json_schema"))
}

pub fn can_give(request: &Fields, answer: &Fields) -> bool {
    let is_wanted = is_truthy(of(request, "stream")) && wants_usage(request);
    !is_wanted || !of(answer, "usage").is_null()
}

fn wants_usage(request: &Fields) -> bool {
    is_truthy(&of(request, "stream_options")["include_usage"])
}

pub fn assembled(events: &[Event]) -> Option<Answer> {
    let mut body = Map::new();
    let mut message =
        Map::from_iter([("role", json!("assistant")), ("content", Value::Null), ("refusal", Value::Null)].map(owned));
    let mut calls = BTreeMap::new();
    let (mut finish, mut lengths) = (Value::Null, Vec::new());
    for event in events.iter().take_while(|event| event.data != "[DONE]") {
        let Value::Object(mut chunk) = event.json() else { return None };
        let Some(Value::Array(choices)) = chunk.remove("choices") else { return None };
        if chunk.contains_key("error") {
            return None;
        }
        chunk.retain(|name, value| !value.is_null() && !matches!(name.as_str(), "obfuscation" | "object"));
        body.append(&mut chunk);
        for choice in choices {
            let is_first = choice.get("index").is_none_or(|index| *index == 0);
            if !choice.is_object() || !is_first || is_truthy(&choice["logprobs"]) {
                return None;
            }
            grow(&mut message, &mut calls, &choice["delta"])?;
            if is_truthy(&choice["finish_reason"]) {
                finish = choice["finish_reason"].clone();
            }
            if let Some(text) = choice["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
                lengths.push(text.chars().count());
            }
        }
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into_values().map(Value::Object).collect());
    }
    body.insert("object".into(), json!("chat.completion"));
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish, "logprobs": null });
    body.insert("choices".into(), json!([choice]));
    Some(Answer { body, lengths })
}

fn owned((name, value): (&str, Value)) -> (String, Value) {
    (name.to_string(), value)
}

/// Adds what a chunk brings; none for what cannot be added.
fn grow(message: &mut Fields, calls: &mut BTreeMap<u64, Fields>, delta: &Value) -> Option<()> {
    let delta = match delta {
        Value::Null => return Some(()),
        delta => delta.as_object()?,
    };
    for (name, more) in delta {
        match more {
            Value::Null => {}
            _ if name == "role" => {}
            Value::Array(more) if name == "tool_calls" => more.iter().try_for_each(|call| grow_call(calls, call))?,
            Value::String(more) => append(message, name, more),
            _ => return None,
        }
    }
    if message.get("refusal").is_some_and(|refusal| refusal == "") {
        message.insert("refusal".into(), Value::Null);
    }
    Some(())
}

/// Adds to a field that is text, or that is not there yet.
fn append(fields: &mut Fields, name: &str, more: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => drop(fields.insert(name.into(), more.into())),
    }
}

fn grow_call(calls: &mut BTreeMap<u64, Fields>, more: &Value) -> Option<()> {
    let more = more.as_object()?;
    let index = match of(more, "index") {
        Value::Null => 0,
        index => index.as_u64()?,
    };
    let call = calls.entry(index).or_insert_with(|| {
        let function = json!({ "name": "", "arguments": "" });
        Map::from_iter([("id", Value::Null), ("type", json!("function")), ("function", function)].map(owned))
    });
    for name in ["id", "type"] {
        if is_truthy(of(more, name)) {
            call.insert(name.into(), of(more, name).clone());
        }
    }
    let function = call.get_mut("function")?.as_object_mut()?;
    for (name, text) in of(more, "function").as_object().into_iter().flatten() {
        if let Some(text) = text.as_str() {
            append(function, name, text);
        }
    }
    Some(())
}

pub fn stream(request: &Fields, answer: &Answer) -> Vec<Vec<u8>> {
    let (body, wants_usage) = (&answer.body, wants_usage(request));
    let mut head = body.clone();
    head.retain(|name, _| !matches!(name.as_str(), "choices" | "usage"));
    head.insert("object".into(), json!("chat.completion.chunk"));
    let whole = &of(body, "choices")[0];
    let message = &whole["message"];
    let chunk = |delta: Value, finish: &Value| {
        let mut chunk = head.clone();
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        chunk.insert("choices".into(), json!([choice]));
        if wants_usage {
            chunk.insert("usage".into(), Value::Null);
        }
        spelt(&Value::Object(chunk), "")
    };
    let text = message["content"].as_str();
    let role = message.get("role").cloned().unwrap_or_else(|| json!("assistant"));
    let mut events = vec![chunk(json!({ "role": role, "content": text.map(|_| ""), "refusal": null }), &Value::Null)];
    for (name, value) in message.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "role" | "content" | "refusal" | "tool_calls") && is_truthy(value) {
            events.push(chunk(json!({ name: value }), &Value::Null));
        }
    }
    for piece in pieces(text.unwrap_or_default(), &answer.lengths) {
        events.push(chunk(json!({ "content": piece }), &Value::Null));
    }
    for (at, call) in items(&message["tool_calls"]).iter().enumerate() {
        let mut numbered = Map::from_iter([owned(("index", json!(at)))]);
        numbered.extend(call.as_object().cloned().unwrap_or_default());
        events.push(chunk(json!({ "tool_calls": [numbered] }), &Value::Null));
    }
    events.push(chunk(json!({}), &whole["finish_reason"]));
    if wants_usage {
        let mut last = head.clone();
        last.insert("choices".into(), json!([]));
        last.insert("usage".into(), of(body, "usage").clone());
        events.push(spelt(&Value::Object(last), ""));
    }
    events.push(spelt_text("[DONE]", ""));
    events
}
