//! gRPC on the same listener: who asks, how much of it is in memory, and what problems are called there.
//!
//! **Invariant:** a Flight call is let in by the same keys, limits and bounds as a request of HTTP.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http_body::{Body as HttpBody, Frame, SizeHint};
use nuthatch_flight::{Begun, Health, Scope as Wanted};
use nuthatch_link::{
    CollectionInfo, CollectionOptions, Database, KeptSnapshots, Owner, Result as EngineResult, Search, Stats,
};
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::{Sleep, sleep};
use tonic::metadata::AsciiMetadataValue;
use tonic::{Code, Status};

use crate::access::Scope;
use crate::admission::Admitted;
use crate::api;
use crate::audit::Notes;
use crate::caller::Caller;
use crate::messages::Messages;
use crate::problem::{KIND_METADATA, Problem};
use crate::shared::Shared;
use crate::snapshots;

/// Longest name of a thing in the metadata of a status.
const NAME_BYTES_MAX: usize = 1024;
/// The calls that may administer: which of them do is in their messages, which are not read without a key.
const ACTIONS: &str = "/arrow.flight.protocol.FlightService/DoAction";

/// Everything that speaks gRPC.
pub fn routes(shared: &Arc<Shared>, health: &Health) -> Router<Arc<Shared>> {
    let message_bytes_max = usize::try_from(shared.config.body_max_bytes).unwrap_or(usize::MAX);
    let flight = nuthatch_flight::routes::<Guest>(message_bytes_max)
        .layer(middleware::from_fn_with_state(shared.clone(), let_in));
    flight.merge(nuthatch_flight::open_routes(health)).with_state(())
}

/// Finds out who asks, and counts what they send.
async fn let_in(
    State(shared): State<Arc<Shared>>,
    admitted: Option<Extension<Arc<Admitted>>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match Caller::identify(&parts, &shared, None) {
        Ok(caller) => caller.waiting(timeout_of(&parts.headers)),
        Err(problem) => {
            if let Some(notes) = parts.extensions.get::<Notes>().filter(|_| parts.uri.path() == ACTIONS) {
                notes.administers();
            }
            return refused(problem);
        }
    };
    let memory = Arc::new(Mutex::new(Messages::new(shared.admission.hold())));
    let admitted = admitted.map(|Extension(admitted)| admitted);
    parts.extensions.insert(Guest { caller, memory: memory.clone(), _admitted: admitted });
    let body = Counted { body, memory, stall: None, shared };
    next.run(Request::from_parts(parts, Body::new(body))).await
}

/// Returns the client's timeout in gRPC's format: up to eight digits and a unit. Anything else means no limit.
fn timeout_of(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok().filter(|_| number.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

fn refused(problem: Problem) -> Response {
    let mut response = Status::from(problem.clone()).into_http::<Body>().into_response();
    response.extensions_mut().insert(problem);
    response
}

/// A caller of Flight. While there is one, its request is under way.
#[derive(Clone)]
struct Guest {
    caller: Caller,
    memory: Arc<Mutex<Messages>>,
    _admitted: Option<Arc<Admitted>>,
}

impl nuthatch_flight::Caller for Guest {
    fn owner(&self) -> Owner {
        snapshots::owner(&self.caller)
    }

    fn key_name(&self) -> Option<String> {
        snapshots::label(&self.caller)
    }

    fn kept_snapshots(&self) -> Result<Arc<KeptSnapshots>, Status> {
        Ok(self.caller.shared.database()?.kept_snapshots().clone())
    }

    fn allowed(&self, scope: Wanted) -> Result<Self, Status> {
        let caller = match scope {
            Wanted::Read => self.caller.allowed(Scope::Read)?,
            Wanted::Write => self.caller.allowed(Scope::Write)?,
            Wanted::Operate => {
                let caller = self.caller.allowed(Scope::Admin)?;
                caller.allow_operating()?;
                caller
            }
        };
        Ok(Self { caller, ..self.clone() })
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Status> {
        Ok(self.caller.run(call).await?)
    }

    async fn act(&self, action: &str, target: &str) -> Result<(), Status> {
        Ok(self.caller.act(action, target).await?)
    }

    async fn begin(&self) -> Result<Begun, Status> {
        let (database, turn, wanted) = self.caller.begin().await?;
        Ok(Begun { database, turn: Box::new((turn, wanted)) })
    }

    async fn step<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Status> {
        Ok(self.caller.step(call).await?)
    }

    fn release(&self) {
        self.memory.lock().release();
    }

    fn stopping(&self) -> impl Future<Output = ()> + Send {
        self.caller.shared.stopping()
    }

    fn search(&self, question: Value) -> Result<Search, Status> {
        Ok(api::search::read(&self.caller, question)?)
    }

    fn options(&self, options: Value) -> Result<CollectionOptions, Status> {
        Ok(api::collections::read(options)?)
    }

    fn describe(&self, info: CollectionInfo) -> Value {
        api::collections::describe_as_json(info)
    }

    fn statistics(&self, stats: Stats) -> Value {
        api::stats::as_json(stats)
    }
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let code = match (problem.kind.as_str(), problem.status) {
            ("unauthenticated", _) => Code::Unauthenticated,
            ("forbidden", _) => Code::PermissionDenied,
            ("conflict", _) => Code::Aborted,
            ("unavailable", 408) => Code::DeadlineExceeded,
            ("unavailable" | "closed", _) => Code::Unavailable,
            ("invalid", _) => Code::InvalidArgument,
            ("not_found", _) => Code::NotFound,
            ("exhausted", _) => Code::ResourceExhausted,
            ("corrupt", _) => Code::DataLoss,
            _ => Code::Internal,
        };
        let mut status = Self::new(code, format!("{}; {}", problem.detail, problem.remedy));
        let mut say = |name: &'static str, value: &str| {
            if let Ok(value) = AsciiMetadataValue::try_from(value) {
                status.metadata_mut().insert(name, value);
            }
        };
        say(KIND_METADATA, &problem.kind);
        say("nuthatch-remedy", &problem.remedy);
        // Metadata is ASCII, and the head of an answer has little room.
        if let Some(subject) = problem.subject.filter(|subject| subject.name.len() <= NAME_BYTES_MAX) {
            say("nuthatch-what", &subject.what);
            say("nuthatch-name", &utf8_percent_encode(&subject.name, NON_ALPHANUMERIC).to_string());
        }
        status
    }
}

/// A body whose messages are counted until their reader is done with them, and that ends when it stops in the middle of one.
struct Counted {
    body: Body,
    memory: Arc<Mutex<Messages>>,
    stall: Option<Pin<Box<Sleep>>>,
    shared: Arc<Shared>,
}

impl Counted {
    fn count(&mut self, frame: &Frame<Bytes>) -> Result<(), Status> {
        let data = frame.data_ref().map_or(&[][..], |data| data);
        self.memory.lock().receive(data).map_err(Status::from)
    }

    /// An error when a part of a message has come and no more does.
    fn poll_stall(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        if !self.memory.lock().is_amid() {
            self.stall = None;
            return Poll::Pending;
        }
        let wait = self.shared.config.body_timeout;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(wait)));
        stall.as_mut().poll(context).map(|()| Problem::timed_out("the client stopped sending a message").into())
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.stall = None;
                let counted = this.count(&frame).map(|()| frame);
                Poll::Ready(Some(counted.map_err(Into::into)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => this.poll_stall(context).map(|status| Some(Err(status.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_link::{Error, ErrorKind, What};

    use super::*;

    #[test]
    fn a_deadline_is_a_number_and_a_unit() {
        let of = |value: &str| {
            timeout_of(&HeaderMap::from_iter([("grpc-timeout".parse().unwrap(), value.parse().unwrap())]))
        };
        assert_eq!(of("250m"), Some(Duration::from_millis(250)));
        assert_eq!(of("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(of("99999999n"), Some(Duration::from_nanos(99_999_999)));
        for none in ["", "m", "1", "1s", "-1S", "123456789S", "1\u{a0}"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(timeout_of(&HeaderMap::new()), None);
    }

    #[test]
    fn every_problem_has_its_code_and_says_what_to_do() {
        let code = |kind| Status::from(Problem::from(Error::new(kind, "why"))).code();
        assert_eq!(code(ErrorKind::Conflict), Code::Aborted);
        assert_eq!(code(ErrorKind::Unavailable), Code::Unavailable);
        assert_eq!(code(ErrorKind::Invalid), Code::InvalidArgument);
        assert_eq!(code(ErrorKind::NotFound), Code::NotFound);
        assert_eq!(code(ErrorKind::Corrupt { path: "a".into() }), Code::DataLoss);
        assert_eq!(code(ErrorKind::Closed), Code::Unavailable);
        assert_eq!(code(ErrorKind::Exhausted), Code::ResourceExhausted);
        assert_eq!(code(ErrorKind::Internal), Code::Internal);
        assert_eq!(Status::from(Problem::unauthenticated()).code(), Code::Unauthenticated);
        assert_eq!(Status::from(Problem::too_many("")).code(), Code::ResourceExhausted);
        let missing = Error::not_found("no collection \"grün\"").about(What::Collection, "grün");
        let status = Status::from(Problem::from(missing));
        assert_eq!(status.metadata().get("nuthatch-what").unwrap(), "collection");
        assert_eq!(status.metadata().get("nuthatch-name").unwrap(), "gr%C3%BCn");
        assert!(status.message().contains("grün") && status.message().contains("create it first"));
        assert_eq!(status.metadata().get("nuthatch-kind").unwrap(), "not_found");
        assert_eq!(status.metadata().get("nuthatch-remedy").unwrap(), "check the name, or create it first");
    }
}
