//! Anthropic's messages.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::events::{Event, pieces, spelt};
use crate::json::{Fields, has_only, hashed, is_truthy, items, of, text};
use crate::parts::{last_question, last_words, messages, without_content};
use crate::question::{Allowed, Bypass, Question};

const HASHED: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "output_config",
    "speed",
    "inference_geo",
];
const IGNORED: &[&str] = &["stream", "metadata", "service_tier", "cache_control"];
/// Headers that change what the API is.
const HEADERS: [&str; 2] = ["anthropic-version", "anthropic-beta"];
/// Blocks of an answer that only a reader of the whole conversation could use again.
const KEPT: [&str; 3] = ["text", "thinking", "redacted_thinking"];

pub fn question<'h>(
    request: &Fields,
    header: &dyn Fn(&str) -> Option<&'h str>,
    allowed: Allowed,
) -> Result<Question, Bypass> {
    let given = of(request, "messages");
    if !given.as_array().is_some_and(|all| all.iter().all(Value::is_object)) {
        return Err(Bypass("unreadable"));
    }
    let tools = items(of(request, "tools"));
    let is_own = |tool: &Value| tool["type"].is_null() || tool["type"] == "custom";
    if !of(request, "container").is_null() || is_truthy(of(request, "mcp_servers")) || !tools.iter().all(is_own) {
        return Err(Bypass("server tools"));
    }
    let (given, texts) = messages(given, allowed)?;
    let mut rest = hashed(request, IGNORED);
    rest.values_mut().for_each(unmark);
    let by_meaning = !is_truthy(of(request, "tools")) && has_only(&rest, HASHED) && !given.iter().any(is_step);
    let said = HEADERS.into_iter().filter_map(|name| Some((name.to_string(), Value::from(header(name)?))));
    rest.insert("headers".into(), said.collect::<Map<_, _>>().into());
    let Some((at, text)) = last_question(given, &texts) else {
        return Ok(Question { text: last_words(&texts), rest: rest.into(), by_meaning: false });
    };
    let mut unmarked = Value::Array(given.to_vec());
    unmark(&mut unmarked);
    rest.insert("messages".into(), without_content(items(&unmarked), at));
    Ok(Question { text, rest: rest.into(), by_meaning })
}

/// Whether a message is a step of an agent.
fn is_step(message: &Value) -> bool {
    items(&message["content"]).iter().any(|part| matches!(part["type"].as_str(), Some("tool_use" | "tool_result")))
}

/// Takes away the marks of the provider's own caching, which change no answer.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

pub fn objection(answer: &Fields, allowed: Allowed) -> Option<&'static str> {
    let Some(content) = of(answer, "content").as_array().filter(|_| *of(answer, "type") == "message") else {
        return Some("unreadable");
    };
    let reason = of(answer, "stop_reason").as_str();
    let is_kept = |block: &Value| KEPT.contains(&text(block, "type"));
    let is_call = |block: &Value| block["type"] == "tool_use";
    if reason == Some("refusal") {
        return Some("refusal");
    }
    if reason == Some("tool_use") || content.iter().any(is_call) {
        let is_whole = content.iter().all(|block| is_kept(block) || is_call(block));
        return if allowed.tool_calls && is_whole { None } else { Some("tools") };
    }
    if !matches!(reason, Some("end_turn" | "stop_sequence")) || !content.iter().all(is_kept) {
        return Some("unfinished");
    }
    let said: String =
        content.iter().filter(|block| block["type"] == "text").map(|block| text(block, "text")).collect();
    if said.trim().is_empty() { Some("empty") } else { None }
}

pub fn assembled(events: &[Event]) -> Option<Answer> {
    let mut growing = Growing::default();
    for event in events {
        growing.hear(&event.json())?;
    }
    let Growing { mut body, blocks, lengths } = growing;
    let content: Option<Vec<Value>> = blocks.into_iter().map(Block::whole).collect();
    body.insert("content".into(), content?.into());
    Some(Answer { body, lengths })
}

/// An answer whose events are coming.
#[derive(Default)]
struct Growing {
    body: Fields,
    blocks: Vec<Block>,
    lengths: Vec<usize>,
}

struct Block {
    fields: Fields,
    /// The JSON of a call's input, as far as it has come.
    input: Option<String>,
}

impl Growing {
    /// Adds what an event brings; none for what cannot be added.
    fn hear(&mut self, told: &Value) -> Option<()> {
        match told.as_object()?.get("type")?.as_str()? {
            "error" => return None,
            "message_start" => {
                self.body = told["message"].as_object()?.clone();
                self.blocks.clear();
            }
            "content_block_start" => {
                self.blocks.push(Block { fields: told["content_block"].as_object()?.clone(), input: None });
            }
            "content_block_delta" => self.grow(told)?,
            "message_delta" => {
                self.body.extend(told["delta"].as_object().cloned().unwrap_or_default());
                let mut usage = of(&self.body, "usage").as_object().cloned().unwrap_or_default();
                usage.extend(told["usage"].as_object().cloned().unwrap_or_default());
                self.body.insert("usage".into(), usage.into());
            }
            _ => {}
        }
        Some(())
    }

    fn grow(&mut self, told: &Value) -> Option<()> {
        let texts = self.blocks.iter().filter(|block| *of(&block.fields, "type") == "text").count();
        let block = self.blocks.get_mut(usize::try_from(told["index"].as_u64()?).ok()?)?;
        let delta = &told["delta"];
        match delta["type"].as_str()? {
            "text_delta" => {
                let more = delta["text"].as_str()?;
                block.append("text", more)?;
                self.lengths.extend((texts == 1).then(|| more.chars().count()));
            }
            "thinking_delta" => block.append("thinking", delta["thinking"].as_str()?)?,
            "signature_delta" => drop(block.fields.insert("signature".into(), delta["signature"].clone())),
            "input_json_delta" => {
                block.input.get_or_insert_default().push_str(delta["partial_json"].as_str()?);
            }
            _ => return None,
        }
        Some(())
    }
}

impl Block {
    fn append(&mut self, name: &str, more: &str) -> Option<()> {
        match self.fields.get_mut(name)? {
            Value::String(text) => text.push_str(more),
            _ => return None,
        }
        Some(())
    }

    /// The block with the input of its call; none where that is no JSON.
    fn whole(self) -> Option<Value> {
        let Self { mut fields, input } = self;
        if let Some(input) = input {
            let read = if input.is_empty() { Some(json!({})) } else { serde_json::from_str(&input).ok() };
            fields.insert("input".into(), read?);
        }
        Some(fields.into())
    }
}

pub fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let body = &answer.body;
    let usage = of(body, "usage").as_object().cloned().unwrap_or_default();
    let tokens = usage.get("output_tokens").cloned().unwrap_or_else(|| 0.into());
    let mut begun = body.clone();
    begun.insert("content".into(), json!([]));
    begun.insert("stop_reason".into(), Value::Null);
    begun.insert("stop_sequence".into(), Value::Null);
    let mut none_yet = usage;
    none_yet.insert("output_tokens".into(), 0.into());
    begun.insert("usage".into(), none_yet.into());
    let mut events = vec![event("message_start", json!({ "message": begun }))];
    let mut lengths = answer.lengths.clone();
    for (at, block) in items(of(body, "content")).iter().enumerate() {
        tell(at, block, &mut lengths, &mut events);
    }
    let ended = json!({ "stop_reason": of(body, "stop_reason"), "stop_sequence": of(body, "stop_sequence") });
    events.push(event("message_delta", json!({ "delta": ended, "usage": { "output_tokens": tokens } })));
    events.push(event("message_stop", json!({})));
    events
}

fn event(kind: &str, data: Value) -> Vec<u8> {
    let mut data = data.as_object().cloned().unwrap_or_default();
    data.insert("type".into(), kind.into());
    spelt(&Value::Object(data), kind)
}

/// The events of a block.
fn tell(at: usize, block: &Value, lengths: &mut Vec<usize>, events: &mut Vec<Vec<u8>>) {
    let delta = |kind: &str, name: &str, value: &str| {
        event("content_block_delta", json!({ "index": at, "delta": { "type": kind, name: value } }))
    };
    let mut empty = block.as_object().cloned().unwrap_or_default();
    let kind = text(block, "type");
    match kind {
        "text" => drop(empty.insert("text".into(), "".into())),
        "thinking" => {
            empty.insert("thinking".into(), "".into());
            empty.insert("signature".into(), "".into());
        }
        "tool_use" => drop(empty.insert("input".into(), json!({}))),
        _ => {}
    }
    events.push(event("content_block_start", json!({ "index": at, "content_block": empty })));
    match kind {
        "text" => {
            let lengths = std::mem::take(lengths);
            events.extend(
                pieces(text(block, "text"), &lengths).into_iter().map(|piece| delta("text_delta", "text", piece)),
            );
        }
        "thinking" => {
            events.push(delta("thinking_delta", "thinking", text(block, "thinking")));
            events.push(delta("signature_delta", "signature", text(block, "signature")));
        }
        "tool_use" => events.push(delta("input_json_delta", "partial_json", &block["input"].to_string())),
        _ => {}
    }
    events.push(event("content_block_stop", json!({ "index": at })));
}
