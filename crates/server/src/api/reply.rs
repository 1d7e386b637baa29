//! Answers of JSON.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// 200 with a document.
pub fn json(value: &impl Serialize) -> Response {
    json_with(StatusCode::OK, value)
}

pub fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
    let body = serde_json::to_vec(value).expect("the types of answers have only keys of text");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// 204: done, and nothing to say.
pub fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
