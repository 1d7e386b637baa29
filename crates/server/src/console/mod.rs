//! The console: pages for people, in the browser that they have.
//!
//! **What it is.** The files that `scripts/console.sh` builds from `console/`, compressed into this program, and the
//! exchange of the code of `nuthatch ui` for a key.
//! **Not for** data: the pages ask the API for it like any other client, with the key of their user.
//!
//! **Invariant:** an address answers with one of the listed files or with a problem; no file of the disk is read, and no page
//! runs or loads anything that this program does not have in it.

mod bundle;
mod session;

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use flate2::read::GzDecoder;

use crate::problem::Problem;
use crate::shared::Shared;

/// A file of the console, as it is sent to a browser.
struct File {
    /// Its name below `/ui/assets/`, which tells its content: another content has another name.
    name: &'static str,
    media_type: &'static str,
    gzip: &'static [u8],
}

/// The policy of a page: it may run and show only what comes from here, and talk only to here. Text becomes neither
/// code nor markup, whatever the pages do with it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/ui", get(async || (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "/ui/")])))
        .route("/ui/", get(async |headers: HeaderMap| answer(&bundle::INDEX, "no-store", &headers)))
        .route("/ui/licences.txt", get(async |headers: HeaderMap| answer(&bundle::LICENCES, "no-cache", &headers)))
        .route("/ui/assets/{name}", get(asset))
        .route("/ui/session", post(session::begin))
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let file = bundle::ASSETS.iter().find(|file| file.name == name).ok_or_else(Problem::no_such_address)?;
    answer(file, FOR_EVER, &headers)
}

fn answer(file: &File, caching: &'static str, headers: &HeaderMap) -> Result<Response, Problem> {
    let is_packed = takes_gzip(headers);
    let body = match is_packed {
        true => Body::from(file.gzip),
        false => Body::from(unpacked(file.gzip)?),
    };
    let fixed = [
        (header::CONTENT_TYPE, file.media_type),
        (header::CACHE_CONTROL, caching),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let mut response = (fixed, body).into_response();
    if is_packed {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// Every browser does; other programs may not.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = |part: &str| part.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()) == Some(0.0);
        is_gzip && !parts.any(is_refused)
    })
}

fn unpacked(gzip: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let read = GzDecoder::new(gzip).read_to_end(&mut bytes);
    read.map_err(|error| Problem::from(nuthatch_link::Error::internal(format!("a file of the console: {error}"))))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_gzip_when_it_takes_it() {
        let takes = |value: &str| {
            takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap())]))
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate,gzip"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("gzip; q=0.0") && !takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn every_file_is_whole() {
        for file in bundle::ASSETS.iter().chain([&bundle::INDEX, &bundle::LICENCES]) {
            assert!(!unpacked(file.gzip).unwrap().is_empty(), "{}", file.name);
        }
    }
}
