//! Bodies that nobody has read to their end: the connection cannot be used again, and the client is told so.
//!
//! Without the word, a client that keeps its connections would send its next request into one that is being closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Version, header};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// Marks an answer that is sent while its request is still being read.
#[derive(Clone)]
pub struct Streaming;

/// Knows whether a request's body was read to its end.
pub struct UndrainedBody {
    ended: Arc<AtomicBool>,
    version: Version,
}

/// The body, watched.
struct Watched {
    body: Body,
    ended: Arc<AtomicBool>,
}

/// Watches the body of a request.
pub fn watch(request: Request) -> (Request, UndrainedBody) {
    let (version, ended) = (request.version(), Arc::new(AtomicBool::new(request.body().is_end_stream())));
    let undrained_body = UndrainedBody { ended: ended.clone(), version };
    (request.map(|body| Body::new(Watched { body, ended })), undrained_body)
}

impl UndrainedBody {
    /// Tells the client of HTTP/1.1 when the connection ends with this answer.
    pub fn tell(&self, response: &mut Response) {
        if !self.ended.load(Ordering::Relaxed) && self.version <= Version::HTTP_11 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let is_last = matches!(&frame, Poll::Ready(None)) || self.body.is_end_stream();
        self.ended.fetch_or(is_last, Ordering::Relaxed);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
