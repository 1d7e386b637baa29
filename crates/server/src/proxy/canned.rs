//! A stand-in for a provider, within this process: a few fixed answers, for demonstrations and tests. It is no model, and says so.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use futures_util::stream;
use http_body_util::BodyExt;
use nuthatch_llm::{Answer, Api};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

/// Between two words of a stream.
const WORD_PAUSE: Duration = Duration::from_millis(40);

/// The answers to questions in which all of these words occur.
const ANSWERS: [(&[&str], &str); 6] = [
    (
        &["password"],
        "Open Settings, choose Security, then press Reset password. A link comes by mail and holds for an hour.",
    ),
    (&["open", "hour"], "The office is open from 9 to 17 o'clock on weekdays, and closed on weekends."),
    (&["invoice"], "Invoices are under Billing, one PDF a month. They are made on the first day of the month."),
    (&["cancel"], "Open Billing and press Cancel plan. The plan runs until the end of the month that is paid."),
    (&["dns"], "The Domain Name System turns names such as example.org into the numbers of machines."),
    (&["refund"], "Ask within 30 days after the payment: Billing, Payments, Refund. It takes some five days."),
];
const UNKNOWN: &str = "I am a canned stand-in and no model: I know about passwords, opening hours, invoices, refunds, \
    cancelling, and DNS. Start the demo with --upstream to talk to a real model.";

/// Answers a request as a provider would.
pub async fn answer(request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let asked = body.collect().await.ok().and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
    let (Some(api), Some(Value::Object(asked))) = (Api::of_path(parts.uri.path()), asked) else {
        let said = json!({ "error": { "message": "the canned stand-in knows no such call", "type": "not_found" } });
        return document(StatusCode::NOT_FOUND, &said);
    };
    if api == Api::Embeddings {
        return document(StatusCode::OK, &vectors(&asked));
    }
    let text = text_for(&question_in(&asked));
    let body = body_of(api, &asked, text);
    if asked.get("stream") != Some(&Value::Bool(true)) {
        return document(StatusCode::OK, &body);
    }
    let Value::Object(body) = body else { return document(StatusCode::OK, &body) };
    let lengths = text.split_inclusive(' ').map(|word| word.chars().count()).collect();
    let events = api.stream(&asked, &Answer { body, lengths });
    let sending = stream::unfold(events.into_iter(), async |mut events| {
        let event = events.next()?;
        sleep(WORD_PAUSE).await;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), events))
    });
    let mut response = Response::new(Body::from_stream(sending));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    response
}

fn document(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The last text of the user, wherever the API has it.
fn question_in(asked: &Map<String, Value>) -> String {
    let given = asked.get("messages").or_else(|| asked.get("input")).unwrap_or(&Value::Null);
    let last = match given {
        Value::Array(all) => all.iter().rfind(|one| one["role"] == "user").map_or(&Value::Null, |one| &one["content"]),
        text => text,
    };
    match last {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        text => text.as_str().unwrap_or_default().to_string(),
    }
}

fn text_for(question: &str) -> &'static str {
    let question = question.to_lowercase();
    let fits = |words: &&[&str]| words.iter().all(|word| question.contains(word));
    ANSWERS.iter().find(|(words, _)| fits(words)).map_or(UNKNOWN, |(_, answer)| answer)
}

fn body_of(api: Api, asked: &Map<String, Value>, text: &str) -> Value {
    let model = asked.get("model").cloned().unwrap_or_else(|| "canned".into());
    let (input, output) = (tokens(&question_in(asked)), tokens(text));
    match api {
        Api::Chat | Api::Embeddings => {
            let message = json!({ "role": "assistant", "content": text, "refusal": null });
            json!({
                "id": "chatcmpl-canned",
                "object": "chat.completion",
                "created": 0,
                "model": model,
                "choices": [{ "index": 0, "message": message, "finish_reason": "stop", "logprobs": null }],
                "usage": { "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output },
            })
        }
        Api::Responses => {
            let part = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
            let said = json!({ "id": "msg_canned", "type": "message", "role": "assistant", "status": "completed", "content": [part] });
            json!({
                "id": "resp_canned",
                "object": "response",
                "created_at": 0,
                "model": model,
                "status": "completed",
                "output": [said],
                "parallel_tool_calls": true,
                "tool_choice": "auto",
                "tools": [],
                "usage": { "input_tokens": input, "output_tokens": output, "total_tokens": input + output },
            })
        }
        Api::Messages => json!({
            "id": "msg_canned",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{ "type": "text", "text": text }],
            "stop_reason": "end_turn",
            "stop_sequence": null,
            "usage": { "input_tokens": input, "output_tokens": output },
        }),
    }
}

/// Words, for want of a tokenizer.
fn tokens(text: &str) -> usize {
    text.split_whitespace().count().max(1)
}

/// Vectors that tell texts apart by their letters, and mean nothing.
fn vectors(asked: &Map<String, Value>) -> Value {
    let inputs: Vec<Value> = match asked.get("input") {
        Some(Value::Array(all)) => all.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    let data = inputs.iter().enumerate().map(|(at, input)| {
        let mut vector = [1.0; 8];
        input.to_string().bytes().for_each(|byte| vector[usize::from(byte % 8)] += 1.0);
        json!({ "object": "embedding", "index": at, "embedding": vector })
    });
    let count: usize = inputs.iter().map(|input| tokens(&input.to_string())).sum();
    json!({
        "object": "list",
        "model": asked.get("model"),
        "data": data.collect::<Vec<_>>(),
        "usage": { "prompt_tokens": count, "total_tokens": count },
    })
}
