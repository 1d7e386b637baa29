//! Passing a request of HTTP on to the node that owns the data, and waiting while no node does.
//!
//! **Invariant:** a request is sent again only if nobody took it, or if it changes nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header, request::Parts};
use axum::response::{IntoResponse, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a request waits for an owner.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);
const CONNECT: Duration = Duration::from_secs(1);
/// How long an owner before the present one has to answer.
const GRACE: Duration = Duration::from_secs(1);
/// A longer body is not kept to be sent on.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Says that a node has passed the request on: the next one answers it or refuses it, and does not pass it on again.
const FORWARDED: HeaderName = HeaderName::from_static("nuthatch-forwarded");
/// Says that nothing was done, since the node owns nothing.
const STANDBY: HeaderName = HeaderName::from_static("nuthatch-standby");
const PROBES: [&str; 2] = ["/readyz", "/metrics"];

/// See the module.
#[derive(Clone)]
pub struct Forward {
    client: Client<HttpConnector, Body>,
    owner: watch::Receiver<String>,
    /// This node's address, as others have it, and where it listens.
    own: Arc<(String, String)>,
    /// The nodes speak TLS, which this does not.
    is_encrypted: bool,
}

/// The outcome of one attempt.
enum Came {
    Answer(Response),
    /// Nobody took it.
    Refused,
    /// Nobody knows whether it was done.
    Unknown(String),
}

impl Forward {
    /// `owner`: where the owner answers; empty while nobody knows.
    pub fn new(owner: watch::Receiver<String>, advertise: &str, listen: &str, is_encrypted: bool) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        // No connection is kept: one that its server has closed meanwhile would leave open whether a request was taken.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Self { client, owner, own: Arc::new((advertise.into(), listen.into())), is_encrypted }
    }

    /// The owner's answer.
    pub async fn pass(&self, request: Request) -> Response {
        let is_call = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/grpc");
        let headers = request.headers();
        let is_grpc = headers.get(header::CONTENT_TYPE).is_some_and(is_call);
        let is_probe = PROBES.contains(&request.uri().path());
        if self.is_encrypted || is_grpc || is_probe || headers.contains_key(&FORWARDED) {
            return self.refuse();
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else { return self.refuse() };
        let until = Instant::now() + PATIENCE;
        let changes_nothing = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let mut owner = self.owner.clone();
        let mut last = None;
        while let Some(address) = known(&mut owner, until).await {
            match self.send(&address, &parts, body.clone()).await {
                Came::Answer(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE && changes_nothing => {
                    last = Some(answer);
                }
                Came::Answer(answer) => return answer,
                Came::Unknown(why) if !changes_nothing => return unknown(&address, &why),
                Came::Refused | Came::Unknown(_) => {}
            }
            sleep(PAUSE).await;
        }
        last.unwrap_or_else(|| self.refuse())
    }

    async fn send(&self, address: &str, parts: &Parts, body: Bytes) -> Came {
        let (own, listen) = &*self.own;
        let at = if address == own { listen } else { address };
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let Ok(uri) = format!("http://{at}{path}").parse::<Uri>() else { return Came::Refused };
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = parts.headers.clone();
        if let (None, Some(authority)) = (parts.headers.get(header::HOST), parts.uri.authority())
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            request.headers_mut().insert(header::HOST, host); // HTTP/2 has it in the address
        }
        drop_hops(request.headers_mut());
        request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
        let answered = tokio::select! {
            answered = self.client.request(request) => answered,
            () = superseded(self.owner.clone(), address) => return Came::Unknown("another node owns the data now".into()),
        };
        match answered {
            Ok(answer) if answer.headers().contains_key(&STANDBY) => Came::Refused,
            Ok(answer) => {
                let mut answer = answer.map(Body::new);
                drop_hops(answer.headers_mut());
                Came::Answer(answer)
            }
            Err(error) if error.is_connect() => Came::Refused,
            Err(error) => Came::Unknown(error.to_string()),
        }
    }

    /// 503, and where the owner is.
    fn refuse(&self) -> Response {
        let owner = self.owner.borrow().clone();
        let (detail, remedy) = match owner.is_empty() {
            true => {
                ("this node is a standby, and no node owns the data yet".into(), "try again in a moment".to_string())
            }
            false => (format!("this node is a standby; {owner} owns the data"), format!("ask {owner}, or try again")),
        };
        let mut answer = problem(&detail, &remedy, &owner);
        answer.headers_mut().insert(STANDBY, HeaderValue::from_static("1"));
        answer
    }
}

/// Where the owner answers, once somebody knows; `None` when the time is over, or nobody will know any more.
pub async fn known(owner: &mut watch::Receiver<String>, until: Instant) -> Option<String> {
    if Instant::now() >= until {
        return None;
    }
    let known = timeout_at(until, owner.wait_for(|address| !address.is_empty())).await.ok()?.ok()?;
    Some(known.clone())
}

/// Over a while after another node than this owns the data: an owner that hands over answers before that, and one that hangs never.
pub async fn superseded(mut owner: watch::Receiver<String>, address: &str) {
    let is_other = |now: &String| !now.is_empty() && now != address;
    match owner.wait_for(is_other).await.map(drop) {
        Ok(()) => sleep(GRACE).await,
        // The node ends.
        Err(_) => std::future::pending().await,
    }
}

fn unknown(owner: &str, why: &str) -> Response {
    let detail = format!("{owner} ended before it answered ({why}), so nobody knows whether this was done");
    problem(&detail, "look whether it was done, or send it again if that does no harm", owner)
}

fn problem(detail: &str, remedy: &str, owner: &str) -> Response {
    let problem = json!({
        "type": "about:blank", "title": "Unavailable", "status": 503, "kind": "unavailable",
        "detail": detail, "remedy": remedy, "owner": owner,
    });
    let headers = [(header::CONTENT_TYPE, "application/problem+json"), (header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, headers, problem.to_string()).into_response()
}

/// Removes the hop-by-hop headers, which apply to a single connection only.
fn drop_hops(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::TE, header::UPGRADE, header::CONTENT_LENGTH] {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}
