//! Answers that come as one document: read to their end, kept if they may be, and sent on.

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use nuthatch_llm::{Answer, Api};

use super::call::Call;
use super::embeddings::{self, Partly};
use super::gunzip::Decoder;
use super::relay::{self, Coming, Place};
use super::told::Fate;
use crate::problem::Problem;

/// A longer document is sent on unread. Caches take 4 MiB; batches of vectors are longer.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;

/// The kind of an upstream's answer.
pub enum Kind {
    /// An error.
    Failed,
    Events(Decoder),
    Document(Decoder),
    /// Something that no cache keeps.
    Other,
}

pub fn kind_of(answer: &Response<Body>) -> Kind {
    if !answer.status().is_success() {
        return Kind::Failed;
    }
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let media = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match (Decoder::of(answer.headers()), media.as_str()) {
        (Some(decoder), "text/event-stream") if answer.status() == StatusCode::OK => Kind::Events(decoder),
        (Some(decoder), "application/json") if answer.status() == StatusCode::OK => Kind::Document(decoder),
        _ => Kind::Other,
    }
}

/// Reads an answer, and keeps it.
///
/// # Errors
/// 502 and 504 for an upstream that breaks off or pauses for too long; 502 for vectors that are not those that were asked for, where some
/// were known.
pub async fn kept(
    answer: Response<Body>,
    decoder: Decoder,
    mut call: Call,
    place: Place,
    partly: Option<Partly>,
    fate: Fate,
) -> Result<(Response<Body>, Fate), Problem> {
    let keeper = call.keeper.clone();
    let (mut parts, body) = answer.into_parts();
    relay::decoded(&mut parts.headers);
    let mut coming = Coming::new(body, decoder, keeper.proxy.config.timeout);
    let mut held = keeper.proxy.shared.admission.hold();
    let mut whole = Vec::new();
    while let Some(bytes) = coming.next().await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return Err(broken(call, &error)),
        };
        whole.extend_from_slice(&bytes);
        let is_too_much = held.grow(bytes.len() as u64).is_err() || whole.len() > DOCUMENT_BYTES_MAX;
        if is_too_much && partly.is_none() {
            drop(held);
            call.end(false).await;
            return Ok((
                Response::from_parts(parts, relay::sent(coming, place, whole.into())),
                fate.stored("too large"),
            ));
        } else if is_too_much {
            return Err(Problem::bad_gateway(
                "the provider's answer is too long to be put together with what is cached",
            ));
        }
    }
    let is_part = partly.is_some();
    let said = Answer::whole(&whole);
    if let Some(answer) = &said {
        call.answered(answer).await;
    }
    let (joined, stored) = match (keeper.exchange.api, said) {
        (Api::Embeddings, Some(said)) => {
            embeddings::kept(&keeper, &said.body, partly).await.unwrap_or((None, "unreadable"))
        }
        (_, Some(answer)) => (None, keeper.keep(answer).await),
        (_, None) => (None, "unreadable"),
    };
    call.end(stored == "yes").await;
    if is_part && joined.is_none() {
        return Err(Problem::bad_gateway("the provider did not answer with the vectors that it was asked for"));
    }
    Ok((Response::from_parts(parts, Body::from(joined.map_or(Bytes::from(whole), Bytes::from))), fate.stored(stored)))
}

fn broken(call: Call, error: &std::io::Error) -> Problem {
    let is_late = error.kind() == std::io::ErrorKind::TimedOut;
    let why = if is_late { "timeout" } else { "cut off" };
    call.keeper.proxy.shared.metrics.proxy.upstream_failed(call.keeper.exchange.api.name(), why);
    call.break_off(why);
    let detail = format!("the provider's answer ended early: {error}");
    if is_late { Problem::gateway_timeout(detail) } else { Problem::bad_gateway(detail) }
}
