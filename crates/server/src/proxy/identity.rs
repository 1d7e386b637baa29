//! The identity of the proxy's caller: whose data it is, whose answers it gets, and with which key the upstream is
//! asked.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Proxy;
use crate::caller::Caller;
use crate::config::{Identity, Mark};
use crate::problem::Problem;

/// Our own key, where the provider's stands in the usual places.
const KEY: HeaderName = HeaderName::from_static("x-nuthatch-key");
const TENANT: HeaderName = HeaderName::from_static("x-nuthatch-tenant");
/// Where providers look for keys, and for the account that pays.
const CREDENTIALS: [&str; 8] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "openai-organization",
    "openai-project",
    "proxy-authorization",
];

/// Somebody who may ask.
pub struct Known {
    pub caller: Caller,
    /// The key for the upstream, where it is the server's.
    upstream_key: Option<HeaderValue>,
}

/// Finds out who asks.
///
/// # Errors
/// As [`Caller::identify`].
pub fn known(proxy: &Proxy, parts: &Parts) -> Result<Known, Problem> {
    let upstream_key = proxy.upstream.key();
    let own = match (parts.headers.get(&KEY), &upstream_key) {
        (Some(own), _) => Some(bearer(own)),
        // The clients' keys go no further, so they are ours.
        (None, Some(_)) => {
            parts.headers.get(header::AUTHORIZATION).cloned().or_else(|| parts.headers.get("x-api-key").map(bearer))
        }
        (None, None) => None,
    };
    let mut asking = Request::builder().uri(parts.uri.clone()).body(()).unwrap_or_default().into_parts().0;
    for name in [header::HOST, header::ORIGIN, TENANT] {
        if let Some(value) = parts.headers.get(&name) {
            asking.headers.insert(name, value.clone());
        }
    }
    if let Some(own) = own {
        asking.headers.insert(header::AUTHORIZATION, own);
    }
    let caller = Caller::identify(&asking, &proxy.shared, None).map_err(|problem| match problem.status {
        401 => problem.with_remedy("send `x-nuthatch-key: KEY` beside the provider's key"),
        _ => problem,
    })?;
    Ok(Known { caller, upstream_key })
}

fn bearer(key: &HeaderValue) -> HeaderValue {
    let mut value = HeaderValue::from_bytes(&[b"Bearer ", key.as_bytes()].concat()).unwrap_or_else(|_| key.clone());
    value.set_sensitive(true);
    value
}

impl Known {
    /// The headers for the upstream.
    pub fn forwarded(&self, headers: &HeaderMap) -> HeaderMap {
        let mut forwarded = headers.clone();
        forwarded.remove(&KEY);
        forwarded.remove(&TENANT);
        if let Some(key) = &self.upstream_key {
            CREDENTIALS.iter().for_each(|name| drop(forwarded.remove(*name)));
            // Anthropic's, and everybody else's. Each looks at its own.
            forwarded.insert("x-api-key", key.clone());
            forwarded.insert(header::AUTHORIZATION, bearer(key));
        }
        forwarded
    }

    /// The key as the scope has it: what was sent to the provider, or which of our keys it is.
    fn mark(&self, headers: &HeaderMap) -> String {
        let mut mark = self.caller.key().map(|(id, _)| id.to_string()).unwrap_or_default();
        if self.upstream_key.is_none() {
            for name in CREDENTIALS {
                for value in headers.get_all(name) {
                    mark += &format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes()));
                }
            }
        }
        mark
    }
}

/// The part of the scope that tells callers apart; none where all share.
pub fn scope(identity: &Identity, known: &Known, headers: &HeaderMap, request: &Map<String, Value>) -> Option<String> {
    if identity.0.is_empty() {
        return None;
    }
    let mut hasher = Sha256::new();
    hasher.update(b"nuthatch proxy: caller");
    for mark in &identity.0 {
        let said = match mark {
            Mark::Key => known.mark(headers),
            Mark::User => user_of(request),
            Mark::Header(name) => {
                let values = headers.get_all(name).iter();
                values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned() + "\n").collect()
            }
        };
        for text in [mark.to_string(), said] {
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
    }
    Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The user that a request names, in the words of each API.
fn user_of(request: &Map<String, Value>) -> String {
    let named = ["user", "safety_identifier"].iter().map(|name| request.get(*name));
    let all = named.chain([request.get("metadata").and_then(|metadata| metadata.get("user_id"))]);
    all.map(|value| value.and_then(Value::as_str).unwrap_or_default().to_string() + "\n").collect()
}
