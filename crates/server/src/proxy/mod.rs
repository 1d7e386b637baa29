//! The caching proxy: requests to a model provider on their way through a cache of answers.
//!
//! **What it is.** A listener in front of a provider. Chat completions, responses, messages and embeddings are answered from the tenant's
//! cache where that may be; `nuthatch-llm` says what a request asks and which answers are kept. All other paths pass untouched.
//! **Useful for** clients of any language that can be given another base address. **Not for** routing between providers, retries, or
//! keys of its own making: one upstream, one attempt.
//!
//! **Invariant:** a stream is stored after its last event and never a part of it; nothing is stored but what the upstream answered;
//! keys of the upstream go to the upstream alone: they are hashed into the scope, and neither stored nor logged.

mod call;
mod canned;
mod control;
mod demo;
mod embeddings;
mod exchange;
mod flight;
mod gunzip;
mod identity;
mod lease;
mod own;
mod prepared;
mod relay;
mod told;
mod upstream;
mod whole;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use nuthatch_link::{Result as EngineResult, embed};
use nuthatch_llm::{Api, Bypass};
use tracing::Span;

use crate::access::Scope;
use crate::admission::BodyReservation;
use crate::caller::Caller;
use crate::config::ProxyConfig;
use crate::middleware::observe;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::telemetry::names;
use call::Call;
use control::Control;
use exchange::{Exchange, Found, Keeper};
use flight::Flights;
use lease::{Lease, Turn};
use prepared::Prepared;
use told::Fate;
use upstream::Upstream;

/// The proxy of one server.
pub struct Proxy {
    pub shared: Arc<Shared>,
    config: ProxyConfig,
    upstream: Upstream,
    flights: Arc<Flights>,
    prepared: Prepared,
}

impl Proxy {
    /// # Errors
    /// `Invalid` for files of keys and certificates that cannot be used; `Unavailable` for answers by meaning without the model that
    /// compares prompts.
    pub fn new(config: ProxyConfig, shared: Arc<Shared>) -> EngineResult<Self> {
        if config.change.budget.is_some_and(|budget| budget > 0.0) && embed::Model::Default.dir().is_none() {
            // Its own error says where it was looked for, and how to install it.
            embed::Model::Default.open(&[])?;
        }
        let upstream = Upstream::new(&config)?;
        let prepared = Prepared::new(&config);
        Ok(Self { shared, config, upstream, flights: Arc::default(), prepared })
    }

    /// Counts what became of a request, and says it in the log under the names of OpenTelemetry where there are such.
    fn count(&self, api: Api, fate: &Fate) {
        let (outcome, detail) = fate.counted();
        let (operation, provider) = names(api);
        let span = Span::current();
        span.record("gen_ai.operation.name", operation);
        span.record("gen_ai.provider.name", provider);
        span.record("nuthatch.cache.outcome", outcome);
        span.record("nuthatch.cache.detail", detail);
        self.shared.metrics.proxy.answered(api.name(), outcome, detail);
    }
}

/// Everything that the proxy's listener answers: its own few addresses, and the upstream's.
pub fn routes(proxy: Proxy) -> Router {
    let shared = proxy.shared.clone();
    let own = own::routes();
    let own = if proxy.config.demo.is_some() { own.merge(demo::routes()) } else { own };
    own.fallback(answer).layer(from_fn_with_state(shared, observe)).with_state(Arc::new(proxy))
}

async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let api = Api::of_path(request.uri().path()).filter(|_| request.method() == Method::POST);
    let (parts, body) = request.into_parts();
    let answered = match api {
        Some(api) => cached(&proxy, api, parts, body).await,
        None => passed(&proxy, parts, body).await,
    };
    answered.unwrap_or_else(|problem| refusal(api, problem))
}

/// Builds a refusal of the proxy itself, as the API's clients read errors.
fn refusal(api: Option<Api>, problem: Problem) -> Response {
    let Some(api) = api else { return problem.into_response() };
    let said = api.error(&problem.kind, &format!("nuthatch: {}; {}", problem.detail, problem.remedy)).to_string();
    let mut response = problem.into_response();
    *response.body_mut() = Body::from(said);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A request that no cache is asked about.
async fn passed(proxy: &Proxy, parts: Parts, body: Body) -> Result<Response, Problem> {
    let known = identity::known(proxy, &parts)?;
    let is_read = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
    known.caller.allowed(if is_read { Scope::Read } else { Scope::Write })?;
    let request = proxy.upstream.request(&parts, known.forwarded(&parts.headers), body);
    let answer = proxy.upstream.send(request).await?;
    Ok(relay::passed(answer, proxy.config.timeout, parts.extensions.get().cloned()))
}

/// A request that a cache may answer.
async fn cached(proxy: &Arc<Proxy>, api: Api, mut parts: Parts, body: Body) -> Result<Response, Problem> {
    let known = identity::known(proxy, &parts)?;
    let caller = known.caller.allowed(Scope::Read)?.allowed(Scope::Write)?;
    let (bytes, held) = proxy.shared.admission.read(body).await?;
    let begun = begun(proxy, api, &parts, &known, &bytes);
    control::strip(&mut parts.headers);
    let headers = known.forwarded(&parts.headers);
    match begun {
        Ok(exchange) => {
            let exchange = Arc::new(exchange);
            Asking { proxy, caller, parts, headers, bytes, held, exchange }.answer().await
        }
        Err(Refused::Bypass(Bypass(why), control)) => {
            let fate = Fate::Bypass(why);
            proxy.count(api, &fate);
            let body = Body::from(control.body.clone().map_or(bytes, Into::into));
            let answer = proxy.upstream.send(proxy.upstream.request(&parts, headers, body)).await?;
            let mut response = relay::passed(answer, proxy.config.timeout, parts.extensions.get().cloned());
            fate.tell(response.headers_mut(), &control);
            Ok(response)
        }
        Err(Refused::Problem(problem)) => Err(problem),
    }
}

/// Why no cache is asked.
enum Refused {
    Bypass(Bypass, Box<Control>),
    Problem(Problem),
}

fn begun(proxy: &Proxy, api: Api, parts: &Parts, known: &identity::Known, bytes: &[u8]) -> Result<Exchange, Refused> {
    let mut request = match serde_json::from_slice(bytes) {
        Ok(serde_json::Value::Object(request)) if !parts.headers.contains_key(header::CONTENT_ENCODING) => Ok(request),
        _ => Err(Bypass("unreadable")),
    };
    let control = Control::taken(&parts.headers, request.as_mut().ok()).map_err(Refused::Problem)?;
    let bypass = match request {
        Err(why) => why,
        Ok(_) if !control.reads && !control.stores => Bypass("off"),
        Ok(request) => {
            let place = proxy.upstream.place(parts);
            let identity = identity::scope(&proxy.config.identity, known, &parts.headers, &request);
            match Exchange::new(proxy, api, place, request, identity, &parts.headers, control.clone()) {
                Ok(exchange) => return Ok(exchange),
                Err(why) => why,
            }
        }
    };
    Err(Refused::Bypass(bypass, Box::new(control)))
}

/// A request that a cache may answer, on its way.
struct Asking<'p> {
    proxy: &'p Arc<Proxy>,
    caller: Caller,
    parts: Parts,
    /// For the upstream.
    headers: HeaderMap,
    bytes: axum::body::Bytes,
    held: BodyReservation,
    exchange: Arc<Exchange>,
}

impl Asking<'_> {
    async fn answer(self) -> Result<Response, Problem> {
        let Self { proxy, exchange, .. } = &self;
        let control = exchange.control.clone();
        if control.shadow {
            let would = self.would_give().await;
            return self.forward(Fate::Miss { why: "shadow", would: Some(would), stored: None }, None, None).await;
        }
        if !control.reads {
            return self.forward(Fate::Miss { why: "refresh", would: None, stored: None }, None, None).await;
        }
        let (mut found, mut why) = self.look().await?;
        if let Found::Hit(given) = found {
            return Ok(self.given(given, false));
        }
        if !control.asks {
            proxy.count(exchange.api, &Fate::OnlyCached);
            let why = Problem::unavailable("not in the cache, and only-if-cached was asked for");
            let mut response = refusal(Some(exchange.api), why.with_remedy("ask without `only-if-cached`"));
            *response.status_mut() = axum::http::StatusCode::GATEWAY_TIMEOUT;
            Fate::OnlyCached.tell(response.headers_mut(), &control);
            return Ok(response);
        }
        let mut lease = None;
        // A cache that fails, or gives nothing, makes nobody wait.
        if control.stores && !matches!(why, "error" | "off" | "shadow") {
            match lease::turn(&self.keeper(), why).await? {
                Turn::Given(given) => return Ok(self.given(given, true)),
                Turn::Again => {
                    (found, why) = self.look().await?;
                    if let Found::Hit(given) = found {
                        return Ok(self.given(given, true));
                    }
                }
                Turn::Mine(mine) => lease = Some(*mine),
                Turn::Alone => {}
            }
        }
        let partly = if let Found::Partly(partly) = found { Some(partly) } else { None };
        self.forward(Fate::Miss { why, would: None, stored: None }, lease, partly).await
    }

    fn keeper(&self) -> Keeper {
        Keeper { proxy: self.proxy.clone(), caller: self.caller.clone(), exchange: self.exchange.clone() }
    }

    /// Looks into the cache. A cache that fails does not keep its callers from their answers.
    async fn look(&self) -> Result<(Found, &'static str), Problem> {
        let (proxy, exchange) = (self.proxy.clone(), self.exchange.clone());
        let tenant = self.caller.tenant().to_string();
        let looked = self.caller.run(move |database| exchange.look(&proxy.prepared.cache(database, &tenant)?)).await;
        match looked {
            Ok(Found::Miss(why)) => Ok((Found::Miss(why), why)),
            Ok(found) => Ok((found, "partly")),
            Err(problem) if matches!(problem.status, 401 | 403 | 404 | 429) => Err(problem),
            Err(problem) => {
                tracing::warn!(kind = problem.kind, detail = problem.detail, "a lookup failed; the provider is asked");
                Ok((Found::Miss("error"), "error"))
            }
        }
    }

    async fn would_give(&self) -> &'static str {
        let (proxy, exchange) = (self.proxy.clone(), self.exchange.clone());
        let tenant = self.caller.tenant().to_string();
        let would = self.caller.run(move |database| exchange.would_give(&proxy.prepared.cache(database, &tenant)?));
        would.await.unwrap_or("error")
    }

    fn given(&self, given: Box<exchange::Given>, collapsed: bool) -> Response {
        let (proxy, exchange) = (self.proxy, &self.exchange);
        let model = given.answer.body.get("model").and_then(serde_json::Value::as_str).unwrap_or_default();
        // A stream whose client did not ask for its usage has none.
        let usd = proxy.config.prices.usd(model, given.tokens).filter(|_| given.tokens != [0; 3]);
        proxy.shared.metrics.proxy.saved(exchange.api.name(), given.tokens, usd);
        let is_stream = exchange.wants_stream();
        let body = match is_stream {
            true => exchange.api.stream(&exchange.request, &given.answer).concat(),
            false => serde_json::Value::Object(given.answer.body.clone()).to_string().into_bytes(),
        };
        let fate = Fate::Hit { given, collapsed, usd };
        proxy.count(exchange.api, &fate);
        let mut response = Response::new(Body::from(body));
        let kind = if is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        fate.tell(response.headers_mut(), &exchange.control);
        response
    }

    /// Asks the upstream, and keeps what it answers.
    async fn forward(
        self,
        fate: Fate,
        lease: Option<Lease>,
        partly: Option<embeddings::Partly>,
    ) -> Result<Response, Problem> {
        let keeper = self.keeper();
        let Self { proxy, parts, mut headers, bytes, held, exchange, .. } = self;
        // The proxy must be able to read an answer to record it, and it sends on exactly what it reads.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let body = match &partly {
            Some(partly) => Body::from(partly.request(&exchange)),
            None => Body::from(exchange.control.body.clone().map_or(bytes, Into::into)),
        };
        let call = Call::begin(keeper, lease);
        let figures = &proxy.shared.metrics.proxy;
        let answer = match proxy.upstream.send(proxy.upstream.request(&parts, headers, body)).await {
            Ok(answer) => answer,
            Err(problem) => {
                let why = if problem.status == 504 { "timeout" } else { "unreachable" };
                figures.upstream_failed(exchange.api.name(), why);
                call.fail(why).await;
                return Err(problem);
            }
        };
        drop(held);
        let admitted = parts.extensions.get().cloned();
        let (mut response, fate) = match whole::kind_of(&answer) {
            whole::Kind::Failed => {
                figures.upstream_failed(exchange.api.name(), "status");
                call.fail(answer.status().as_str()).await;
                (relay::passed(answer, proxy.config.timeout, admitted), fate.stored("status"))
            }
            whole::Kind::Other => {
                call.end(false).await;
                (relay::passed(answer, proxy.config.timeout, admitted), fate.stored("unreadable"))
            }
            whole::Kind::Events(decoder) => (relay::heard(answer, decoder, call, admitted), fate),
            whole::Kind::Document(decoder) => whole::kept(answer, decoder, call, admitted, partly, fate).await?,
        };
        proxy.count(exchange.api, &fate);
        fate.tell(response.headers_mut(), &exchange.control);
        Ok(response)
    }
}
