//! The provider behind the proxy: one address, reached through connections that are kept.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use nuthatch_link::{Error, Result as EngineResult};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

use super::canned;
use crate::config::{ProxyConfig, UpstreamConfig};
use crate::problem::Problem;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that nobody uses are closed after that long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Headers that are about one connection, and end at it.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The upstream for requests that no cache answers.
pub struct Upstream {
    reached: Reached,
    key: Option<HeaderValue>,
    timeout: Duration,
}

enum Reached {
    At(Uri, Box<Client<HttpsConnector<HttpConnector>, Body>>),
    Canned,
}

impl Upstream {
    /// # Errors
    /// `Invalid` for files that hold no key or no certificates; those of reading them.
    pub fn new(config: &ProxyConfig) -> EngineResult<Self> {
        let reached = match &config.upstream {
            UpstreamConfig::Canned => Reached::Canned,
            UpstreamConfig::Address(address) => Reached::At(address.clone(), Box::new(client(config)?)),
        };
        let key = config.upstream_key.as_deref().map(key_in).transpose()?;
        Ok(Self { reached, key, timeout: config.timeout })
    }

    /// The key that the upstream gets in place of the clients'.
    pub fn key(&self) -> Option<HeaderValue> {
        self.key.clone()
    }

    /// Returns what answers depend on besides their requests: where they come from.
    pub fn place(&self, parts: &Parts) -> String {
        match &self.reached {
            Reached::At(base, _) => target(base, &parts.uri).to_string(),
            Reached::Canned => format!("canned:{}", parts.uri.path()),
        }
    }

    /// The request as the upstream gets it.
    pub fn request(&self, parts: &Parts, mut headers: HeaderMap, body: Body) -> Request<Body> {
        end_hop(&mut headers);
        // They are those of another host, and of a body that may be another.
        headers.remove(header::HOST);
        headers.remove(header::CONTENT_LENGTH);
        headers.remove(header::EXPECT);
        let mut request = Request::new(body);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = match &self.reached {
            Reached::At(base, _) => target(base, &parts.uri),
            Reached::Canned => parts.uri.clone(),
        };
        *request.headers_mut() = headers;
        request
    }

    /// Asks, once.
    ///
    /// # Errors
    /// 502 when the upstream cannot be reached, 504 when it does not begin to answer in time.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Problem> {
        let (base, client) = match &self.reached {
            Reached::At(base, client) => (base, client),
            Reached::Canned => return Ok(canned::answer(request).await),
        };
        let host = base.host().unwrap_or_default();
        match timeout(self.timeout, client.request(request)).await {
            Ok(Ok(answer)) => {
                let (mut parts, body) = answer.into_parts();
                end_hop(&mut parts.headers);
                Ok(Response::from_parts(parts, Body::new(body)))
            }
            Ok(Err(error)) => {
                let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                Err(Problem::bad_gateway(format!("the provider at {host} cannot be reached: {why}")))
            }
            Err(_) => {
                let seconds = self.timeout.as_secs_f64();
                Err(Problem::gateway_timeout(format!("the provider at {host} did not answer within {seconds} s")))
            }
        }
    }
}

fn key_in(path: &Path) -> EngineResult<HeaderValue> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, &error))?;
    let key = HeaderValue::from_str(text.trim()).ok().filter(|key| !key.is_empty());
    let mut key = key.ok_or_else(|| Error::invalid(format!("{}: there is no key in it", path.display())))?;
    key.set_sensitive(true);
    Ok(key)
}

fn client(config: &ProxyConfig) -> EngineResult<Client<HttpsConnector<HttpConnector>, Body>> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = &config.upstream_ca {
        let refused = |why: &dyn std::fmt::Display| Error::invalid(format!("{}: {why}", path.display()));
        let before = roots.len();
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| refused(&error))? {
            roots.add(certificate.map_err(|error| refused(&error))?).map_err(|error| refused(&error))?;
        }
        if roots.len() == before {
            return Err(refused(&"there is no certificate in it"));
        }
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.set_nodelay(true);
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(http);
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
    Ok(builder.build(connector))
}

/// Where a request goes. `/v1` at the end of the upstream's address and at the beginning of the path is there once.
fn target(base: &Uri, asked: &Uri) -> Uri {
    let before = base.path().trim_end_matches('/');
    let mut path = asked.path_and_query().map_or("/", PathAndQuery::as_str);
    if let Some((_, last)) = before.rsplit_once('/')
        && let Some(rest) = path.strip_prefix('/').and_then(|path| path.strip_prefix(last))
        && (rest.is_empty() || rest.starts_with(['/', '?']))
        && !last.is_empty()
    {
        path = rest;
    }
    let whole = format!("{before}{path}").parse::<PathAndQuery>();
    let mut parts = base.clone().into_parts();
    parts.path_and_query = whole.ok().or_else(|| asked.path_and_query().cloned());
    Uri::from_parts(parts).unwrap_or_else(|_| base.clone())
}

/// Takes away what is about this connection alone.
fn end_hop(headers: &mut HeaderMap) {
    let listed = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        listed.flat_map(|list| list.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    named.iter().for_each(|name| drop(headers.remove(name)));
    HOP_BY_HOP.iter().for_each(|name| drop(headers.remove(*name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_in_both_addresses_is_there_once() {
        for (base, asked, whole) in [
            ("https://api.openai.com/v1", "/v1/models?limit=2", "https://api.openai.com/v1/models?limit=2"),
            ("https://api.openai.com/v1", "/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("http://127.0.0.1:8080", "/", "http://127.0.0.1:8080/"),
            ("http://host/api/v1/", "/v1/embeddings", "http://host/api/v1/embeddings"),
            ("http://host/api/v1", "/v10/x", "http://host/api/v1/v10/x"),
            ("http://host/api", "/v1/x%20y", "http://host/api/v1/x%20y"),
        ] {
            assert_eq!(target(&base.parse().unwrap(), &asked.parse().unwrap()), whole);
        }
    }

    #[test]
    fn what_is_about_a_connection_ends_at_it() {
        let pairs = [("connection", "close, x-odd"), ("x-odd", "1"), ("te", "trailers"), ("accept", "a")];
        let mut headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        end_hop(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }
}
