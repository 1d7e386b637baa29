//! The extractors of the handlers. They answer a request that does not fit with a problem document that names the
//! place.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use nuthatch_link::wording;
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, Deserializer};

use crate::admission::BodyReservation;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::strict::Strict;

const QUERY_STEPS: [&str; 2] = ["Failed to deserialize query string: ", "Invalid URL: "];

/// A body of JSON.
pub struct Json<T> {
    pub value: T,
    /// The body's share of memory, kept while its request is worked on.
    pub held: BodyReservation,
}

/// A body of bytes.
pub struct Raw {
    pub bytes: Bytes,
    pub held: BodyReservation,
}

/// Parameters after the question mark; unknown ones are refused.
pub struct Parameters<T>(pub T);

/// Parts of the path, percent-decoded.
pub struct Segments<T>(pub T);

/// `/v1/keyspaces/{keyspace}/keys/{key}`: the key is whatever bytes the last part encodes, UTF-8 or not.
pub struct KeyPlace {
    pub keyspace: String,
    pub key: Vec<u8>,
}

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::wrong_media_type("application/json"));
        }
        refuse_compressed(request.headers())?;
        let (bytes, held) = shared.admission.read(request.into_body()).await?;
        let value = parse(&bytes).map_err(|why| Problem::invalid(format!("the body: {why}")))?;
        Ok(Self { value, held })
    }
}

/// One JSON document, whose errors name the field.
///
/// # Errors
/// A sentence with the place.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = parse_from(&mut deserializer)?;
    deserializer.end().map_err(wording::plain)?;
    Ok(value)
}

/// The same of a document that came some other way.
///
/// # Errors
/// As [`parse`].
pub fn parse_from<'de, T: DeserializeOwned>(
    source: impl Deserializer<'de, Error = serde_json::Error>,
) -> Result<T, String> {
    wording::from(Strict(source))
}

/// Returns axum's message without the step that found the error.
fn said(error: &str) -> String {
    let why = QUERY_STEPS.iter().find_map(|step| error.strip_prefix(step)).unwrap_or(error);
    wording::plain(why)
}

/// # Errors
/// 415 for a body that is compressed: it would be stored as it is, or taken for broken JSON.
pub fn refuse_compressed(headers: &HeaderMap) -> Result<(), Problem> {
    let is_plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    match headers.get(header::CONTENT_ENCODING).filter(|value| !is_plain(value)) {
        Some(_) => Err(Problem::compressed()),
        None => Ok(()),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|media| media.eq_ignore_ascii_case("application/json"))
}

/// Without its parameters.
pub fn media_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()?.split(';').next().map(str::trim)
}

impl FromRequest<Arc<Shared>> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        refuse_compressed(request.headers())?;
        let (bytes, held) = shared.admission.read(request.into_body()).await?;
        Ok(Self { bytes, held })
    }
}

impl<T: DeserializeOwned> FromRequestParts<Arc<Shared>> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shared>) -> Result<Self, Problem> {
        let Query(value) = Query::try_from_uri(&parts.uri)
            .map_err(|error| Problem::invalid(format!("the parameters: {}", said(&error.body_text()))))?;
        Ok(Self(value))
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Shared>> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let found = Path::from_request_parts(parts, shared).await;
        let Path(value) = found
            .map_err(|error: PathRejection| Problem::invalid(format!("the path: {}", said(&error.body_text()))))?;
        Ok(Self(value))
    }
}

impl FromRequestParts<Arc<Shared>> for KeyPlace {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shared>) -> Result<Self, Problem> {
        let mut segments = parts.uri.path().rsplit('/');
        let key = percent_decode_str(segments.next().unwrap_or_default()).collect();
        let keyspace = percent_decode_str(segments.nth(1).unwrap_or_default()).decode_utf8();
        let keyspace = keyspace.map_err(|_| Problem::invalid("the path: the keyspace's name is not UTF-8"))?;
        Ok(Self { keyspace: keyspace.into_owned(), key })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[allow(dead_code, reason = "only its reading is looked at")]
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[allow(dead_code, reason = "only its reading is looked at")]
        limit: u32,
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let error = |text: &str| parse::<Outer>(text.as_bytes()).unwrap_err();
        assert!(error("{\"inner\": [{\"limit\": 1}, {\"limit\": -1}]}").starts_with("inner[1].limit: "));
        assert!(error("{\"inner\": [{\"limitt\": 1}]}").contains("limitt"));
        assert!(error("{\"inner\": []} x").contains("trailing"));
        assert!(error("").contains("EOF"));
        assert!(error("{\"inner\": [[1]]}").starts_with("inner[0]: expected an object, got an array"));
        assert!(error("[[]]").starts_with("expected an object, got an array"));
    }
}
