//! Errors as answers: RFC 9457 problem documents. The one table from the engine's kinds to status codes is here.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nuthatch_link::{Error, ErrorKind, What};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Seconds after which trying again makes sense.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Where a status of gRPC says which kind of error it is.
pub const KIND_METADATA: &str = "nuthatch-kind";

/// An error, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// The name of the status.
    pub title: String,
    /// The kind of error, which tells the caller what to do: `conflict` (try again), `unavailable` (try later),
    /// `invalid` (fix the call), `not_found`, `corrupt` (restore or repair), `closed`, `exhausted`, `internal`,
    /// `unauthenticated`, `forbidden`.
    pub kind: String,
    /// A sentence for people: what is wrong with what. Its words may change; do not parse it.
    pub detail: String,
    /// The subject of the problem, if it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub subject: Option<Box<Subject>>,
    /// The action to take.
    pub remedy: String,
    /// Nothing was done, and trying again in a moment makes sense: the answer says so in its head.
    #[serde(skip)]
    #[schema(ignore)]
    again_soon: bool,
}

/// The subject of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Subject {
    /// Its kind: `api_key`, `backup`, `collection`, `file`, `graph`, `key`, `keyspace`, `path`, `receipt`, `record`,
    /// `snapshot`, `tenant`, `tree` or `tree_snapshot`; later versions may add others.
    pub what: String,
    /// Its name, id, key or path.
    pub name: String,
}

impl Problem {
    fn new(status: StatusCode, kind: &str, detail: impl Into<String>, remedy: &str) -> Self {
        Self {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or_default().into(),
            kind: kind.into(),
            detail: detail.into(),
            subject: None,
            remedy: remedy.into(),
            again_soon: false,
        }
    }

    /// 400: the request cannot be done as it stands.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Error::invalid(detail).into()
    }

    /// 503: not now; the client may repeat it.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self { again_soon: true, ..Error::new(ErrorKind::Unavailable, detail).into() }
    }

    /// 401: no key, or none that holds.
    pub(crate) fn unauthenticated() -> Self {
        let detail = "missing or invalid API key";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail, "send `Authorization: Bearer KEY`")
    }

    /// 401: the code of a console that was opened before, or never.
    pub(crate) fn code_is_void() -> Self {
        let detail = "this link was used, is older than ten minutes, or is not whole";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail, "run `nuthatch ui` again")
    }

    /// 403: the key does not allow it.
    pub(crate) fn forbidden(detail: impl Into<String>, remedy: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail, remedy)
    }

    /// 429: too many at once.
    pub(crate) fn too_many(detail: impl Into<String>) -> Self {
        Self::too_much_open(detail, "send fewer, or try again in a moment")
    }

    /// There may be room in a moment, or when the caller makes some.
    pub fn too_much_open(detail: impl Into<String>, remedy: &str) -> Self {
        Self { again_soon: true, ..Self::new(StatusCode::TOO_MANY_REQUESTS, "exhausted", detail, remedy) }
    }

    /// 413: more bytes than a body may have.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "exhausted", detail, "split it, or raise `body_max`")
    }

    /// 415: the body must be of another media type.
    pub(crate) fn wrong_media_type(wanted: &str) -> Self {
        let detail = format!("the body must be {wanted}, and `Content-Type` must say so");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", detail, &format!("send `Content-Type: {wanted}`"))
    }

    /// 415: the body is compressed.
    pub(crate) fn compressed() -> Self {
        let detail = "the body is compressed (`Content-Encoding`), but this server accepts only uncompressed bodies";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", detail, "send it uncompressed, without that header")
    }

    /// 405: the address has other methods.
    pub(crate) fn wrong_method() -> Self {
        let detail = "this endpoint does not support the method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", detail, "use one of those in the header `Allow`")
    }

    /// 404: no endpoint has this address.
    pub(crate) fn no_such_address() -> Self {
        let detail = "no such endpoint";
        Self::new(StatusCode::NOT_FOUND, "not_found", detail, "see /openapi.json for all endpoints")
    }

    /// 412: a condition in the request's head does not hold of this file.
    pub(crate) fn condition_failed(file: &str, detail: impl Into<String>) -> Self {
        let remedy = "read the current state, then ask again with its `ETag`";
        let subject = Some(Box::new(Subject { what: What::File.name().into(), name: file.into() }));
        Self { subject, ..Self::new(StatusCode::PRECONDITION_FAILED, "conflict", detail, remedy) }
    }

    /// 416: the range has none of the file's bytes.
    pub(crate) fn no_such_range(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::RANGE_NOT_SATISFIABLE, "invalid", detail, "ask for bytes that the file has")
    }

    /// 408: the client was too slow.
    pub(crate) fn timed_out(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "unavailable", detail, "send the request again, without pauses")
    }

    /// 502: the server behind this one cannot be asked.
    pub(crate) fn bad_gateway(detail: impl Into<String>) -> Self {
        let remedy = "try again later; if it stays so, the server's operator can check `cache_upstream`";
        Self::new(StatusCode::BAD_GATEWAY, "unavailable", detail, remedy)
    }

    /// 504: the server behind this one is too slow.
    pub(crate) fn gateway_timeout(detail: impl Into<String>) -> Self {
        let remedy = "try again later, or have the server's operator raise `cache_timeout`";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "unavailable", detail, remedy)
    }

    /// The same where the usual remedy would mislead.
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// The HTTP status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The same for somebody who does not run the server: paths and inner workings stay in the log.
    pub fn without_inner_workings(mut self) -> Self {
        if matches!(self.kind.as_str(), "corrupt" | "internal") {
            self.detail = "the server could not do this; its log says why".into();
            self.subject = None;
        }
        self
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, remedy) = match &error.kind {
            ErrorKind::Conflict => (StatusCode::CONFLICT, "read the current state, then try again"),
            ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "try again later"),
            ErrorKind::Invalid => (StatusCode::BAD_REQUEST, "fix the request; nothing was changed"),
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "check the name, or create it first"),
            ErrorKind::Corrupt { .. } => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "run `nuthatch doctor` on the server: it names the file and the remedy",
            ),
            ErrorKind::Closed => (StatusCode::SERVICE_UNAVAILABLE, "the server is stopping; try again when it is back"),
            // Of a tenant's limit, a full disk, or too much at a time: the message says which.
            ErrorKind::Exhausted => (
                StatusCode::INSUFFICIENT_STORAGE,
                "send less at a time, or delete something; if the disk or a tenant's limit is full, the server's \
                operator can make room",
            ),
            ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "see the server's log"),
        };
        let boxed = |subject: nuthatch_link::Subject| Subject { what: subject.what.name().into(), name: subject.name };
        let subject = error.subject.map(|subject| Box::new(boxed(subject)));
        Self { subject, ..Self::new(status, error.kind.name(), error.message, remedy) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_vec(&self).expect("strings and numbers are JSON");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.again_soon {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The middleware writes what was wrong with the server into the log.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_status() {
        let status = |kind| Problem::from(Error::new(kind, "why")).status;
        assert_eq!(status(ErrorKind::Conflict), 409);
        assert_eq!(status(ErrorKind::Unavailable), 503);
        assert_eq!(status(ErrorKind::Invalid), 400);
        assert_eq!(status(ErrorKind::NotFound), 404);
        assert_eq!(status(ErrorKind::Corrupt { path: "a".into() }), 500);
        assert_eq!(status(ErrorKind::Closed), 503);
        assert_eq!(status(ErrorKind::Exhausted), 507);
        assert_eq!(status(ErrorKind::Internal), 500);
    }

    #[test]
    fn a_problem_names_the_thing_that_it_is_about() {
        let json = |error: Error| serde_json::to_value(Problem::from(error)).unwrap();
        let missing = json(Error::not_found("no key \"k\"").about(What::Key, "k"));
        assert_eq!(missing["subject"], serde_json::json!({"what": "key", "name": "k"}));
        assert!(json(Error::invalid("no")).get("subject").is_none());
    }

    #[test]
    fn paths_of_the_server_are_not_for_everybody() {
        let problem = Problem::from(Error::corrupt(std::path::Path::new("/data/x"), "/data/x is damaged"));
        assert!(problem.detail.contains("/data/x"));
        assert!(!problem.clone().without_inner_workings().detail.contains("/data/x"));
        assert!(problem.subject.is_some() && problem.clone().without_inner_workings().subject.is_none());
        let problem = Problem::from(Error::not_found("no collection \"a\"").about(What::Collection, "a"));
        assert_eq!(problem.clone().without_inner_workings(), problem);
    }
}
