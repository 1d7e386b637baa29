//! Answers that are sent on as they come. Nothing is read ahead of the client, so a slow one slows its upstream down.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response, header};
use futures_util::stream;
use http_body_util::BodyExt;
use nuthatch_llm::Recorder;
use tokio::time::timeout;

use super::call::Call;
use super::exchange::Keeper;
use super::gunzip::Decoder;
use crate::admission::{Admitted, BodyReservation};

/// Bytes of a stream that are kept in memory until its end; a longer one is not stored.
const STREAM_BYTES_MAX: usize = 16 << 20;

/// Keeps a request among those under way until its answer is sent.
pub type Place = Option<Arc<Admitted>>;

/// The bytes of an answer as they come from the upstream.
pub struct Coming {
    body: Body,
    decoder: Option<Decoder>,
    limit: Duration,
}

impl Coming {
    /// `limit`: how long it may pause.
    pub fn new(body: Body, decoder: Decoder, limit: Duration) -> Self {
        Self { body, decoder: Some(decoder), limit }
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// Those of an upstream that breaks off, pauses for too long, or sends no gzip where it says so. The last thing that it says.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let mut decoder = self.decoder.take()?;
            let paused = |_| io::Error::new(io::ErrorKind::TimedOut, "the provider paused for too long");
            let bytes = match timeout(self.limit, self.body.frame()).await.map_err(paused) {
                Err(paused) => return Some(Err(paused)),
                Ok(None) => match decoder.finish() {
                    Ok(rest) if rest.is_empty() => return None,
                    last => return Some(last),
                },
                Ok(Some(Err(error))) => return Some(Err(io::Error::other(error))),
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            match decoder.decode(bytes) {
                Ok(bytes) => {
                    self.decoder = Some(decoder);
                    if !bytes.is_empty() {
                        return Some(Ok(bytes));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// An answer, sent on unchanged.
pub fn passed(answer: Response<Body>, limit: Duration, place: Place) -> Response<Body> {
    let (parts, body) = answer.into_parts();
    if http_body::Body::is_end_stream(&body) {
        return Response::from_parts(parts, body);
    }
    Response::from_parts(parts, sent(Coming::new(body, Decoder::Plain, limit), place, Bytes::new()))
}

/// Bytes that were read, and those that are still to come.
pub fn sent(coming: Coming, place: Place, first: Bytes) -> Body {
    let first = Some(first).filter(|first| !first.is_empty());
    Body::from_stream(stream::unfold((first, coming, place), async |(first, mut coming, place)| {
        let next = match first {
            Some(first) => Ok(first),
            None => coming.next().await?,
        };
        Some((next, (None, coming, place)))
    }))
}

/// The headers of an answer whose body is decoded, or another one.
pub fn decoded(headers: &mut HeaderMap) {
    headers.remove(header::CONTENT_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
}

/// A stream, sent on as it comes, and kept when its last event has come.
pub fn heard(answer: Response<Body>, decoder: Decoder, call: Call, place: Place) -> Response<Body> {
    let keeper = call.keeper.clone();
    let (mut parts, body) = answer.into_parts();
    decoded(&mut parts.headers);
    let coming = Coming::new(body, decoder, keeper.proxy.config.timeout);
    let recorder = Recorder::new(keeper.exchange.api, STREAM_BYTES_MAX);
    let held = keeper.proxy.shared.admission.hold();
    let hearing = Hearing { coming, recorder, keeper, call: Some(call), held, _place: place };
    Response::from_parts(parts, Body::from_stream(stream::unfold(hearing, Hearing::next)))
}

/// A stream that is listened to. Dropped before its last event, it leaves nothing.
struct Hearing {
    coming: Coming,
    recorder: Recorder,
    keeper: Keeper,
    /// Until the answer has come.
    call: Option<Call>,
    held: BodyReservation,
    _place: Place,
}

impl Hearing {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        let bytes = match self.coming.next().await {
            Some(Ok(bytes)) => bytes,
            broken => {
                if !self.recorder.is_over() {
                    self.count("cut off");
                }
                if let Some(call) = self.call.take() {
                    let is_late = matches!(&broken, Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut);
                    call.break_off(if is_late { "timeout" } else { "cut off" });
                }
                return broken.map(|broken| (broken, self));
            }
        };
        if !self.recorder.is_over() {
            self.hear(&bytes).await;
        }
        Some((Ok(bytes), self))
    }

    /// Listens to the next bytes, and keeps the answer that is whole with them: before its end leaves, so that who has read the end
    /// finds the answer.
    async fn hear(&mut self, bytes: &[u8]) {
        if self.held.grow(bytes.len() as u64).is_err() {
            // Others need the memory more than the cache needs this answer.
            self.recorder.give_up();
        }
        let is_stored = match self.recorder.hear(bytes) {
            Some(answer) => {
                if let Some(call) = &mut self.call {
                    call.answered(&answer).await;
                }
                self.keeper.keep(answer).await == "yes"
            }
            None if self.recorder.is_over() => {
                self.count("unreadable");
                false
            }
            None => return,
        };
        self.held.clear();
        if let Some(call) = self.call.take() {
            call.end(is_stored).await;
        }
    }

    fn count(&self, result: &'static str) {
        self.keeper.proxy.shared.metrics.proxy.kept(self.keeper.exchange.api.name(), result);
    }
}
