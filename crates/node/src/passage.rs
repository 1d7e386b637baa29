//! The way of a request through a node that owns the data: at once, later, or on to the next owner.
//!
//! **Invariant:** once [`Passage::close`] has returned, no request that came later is handled here.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::watch;

use crate::forward::Forward;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Requests are handled.
    Open,
    /// They wait.
    Closed,
    /// They are passed on.
    Elsewhere,
}

/// See the module.
pub struct Passage {
    way: watch::Sender<Way>,
    under_way: watch::Sender<usize>,
    forward: Forward,
}

/// Answered whoever owns the data.
const ALWAYS: [&str; 2] = ["/healthz", "/readyz"];

impl Passage {
    /// A closed one.
    pub fn new(forward: Forward) -> Arc<Self> {
        Arc::new(Self { way: watch::Sender::new(Way::Closed), under_way: watch::Sender::new(0), forward })
    }

    /// Handles a request, or has it wait.
    pub async fn through(self: Arc<Self>, request: Request, next: Next) -> Response {
        if ALWAYS.contains(&request.uri().path()) {
            return next.run(request).await;
        }
        let mut way = self.way.subscribe();
        loop {
            // Counted before it looks: who closes first and counts then misses none.
            let counted = Counted::new(&self.under_way);
            let now = *way.borrow_and_update();
            match now {
                Way::Open => {
                    let answer = next.run(request).await;
                    drop(counted);
                    return answer;
                }
                Way::Closed => {
                    drop(counted);
                    // The sender is this passage's own.
                    way.changed().await.ok();
                }
                Way::Elsewhere => {
                    drop(counted);
                    return last_answer(self.forward.pass(request).await);
                }
            }
        }
    }

    /// Handles waiting and new requests.
    pub fn open(&self) {
        self.way.send_replace(Way::Open);
    }

    /// Makes new requests wait. Returns when all earlier ones are answered, or after `patience`.
    pub async fn close(&self, patience: Duration) {
        self.way.send_replace(Way::Closed);
        let mut under_way = self.under_way.subscribe();
        tokio::time::timeout(patience, under_way.wait_for(|count| *count == 0)).await.ok();
    }

    /// Passes waiting and new requests on.
    pub fn pass_on(&self) {
        self.way.send_replace(Way::Elsewhere);
    }
}

/// The client connects anew, to whatever listens here then.
pub fn last_answer(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

struct Counted<'p>(&'p watch::Sender<usize>);

impl<'p> Counted<'p> {
    fn new(under_way: &'p watch::Sender<usize>) -> Self {
        under_way.send_modify(|count| *count += 1);
        Self(under_way)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
