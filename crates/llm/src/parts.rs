//! The texts of messages.

use serde_json::Value;

use crate::json::{items, text};
use crate::question::{Allowed, Bypass};

/// Parts of messages that are steps of an agent.
const STEPS: [&str; 4] = ["tool_use", "tool_result", "thinking", "redacted_thinking"];
const TEXTS: [&str; 4] = ["text", "input_text", "output_text", "refusal"];

/// The text of a message that is one text; none for several parts.
///
/// # Errors
/// The bypass, for media that are not allowed.
pub fn text_of(content: &Value, allowed: Allowed) -> Result<Option<String>, Bypass> {
    if let Some(text) = content.as_str() {
        return Ok(Some(text.to_string()));
    }
    let parts = items(content);
    let is_text = |part: &Value| TEXTS.contains(&text(part, "type")) || STEPS.contains(&text(part, "type"));
    if !allowed.media && !parts.iter().all(is_text) {
        return Err(Bypass("media"));
    }
    let [one] = parts else { return Ok(None) };
    let kind = text(one, "type");
    Ok(one["text"].as_str().filter(|_| matches!(kind, "text" | "input_text")).map(str::to_string))
}

/// The messages, and the text of each.
///
/// # Errors
/// The bypass, for what are no messages.
pub fn messages(value: &Value, allowed: Allowed) -> Result<(&[Value], Vec<Option<String>>), Bypass> {
    let messages = value.as_array().filter(|all| all.iter().all(Value::is_object)).ok_or(Bypass("unreadable"))?;
    let texts = messages.iter().map(|message| text_of(&message["content"], allowed)).collect::<Result<_, _>>()?;
    Ok((messages, texts))
}

/// The place of the last message of the user, and its text where it is one text.
pub fn last_question(messages: &[Value], texts: &[Option<String>]) -> Option<(usize, String)> {
    let at = messages.iter().rposition(|message| message["role"] == "user")?;
    Some((at, texts[at].clone()?))
}

/// The last text that there is; it stands for a request that has no question.
pub fn last_words(texts: &[Option<String>]) -> String {
    texts.iter().rev().flatten().find(|text| !text.is_empty()).cloned().unwrap_or_default()
}

/// The messages without the content of the one that asks.
pub fn without_content(messages: &[Value], asking: usize) -> Value {
    let mut messages = messages.to_vec();
    if let Some(message) = messages[asking].as_object_mut() {
        message.insert("content".into(), Value::Null);
    }
    Value::Array(messages)
}
