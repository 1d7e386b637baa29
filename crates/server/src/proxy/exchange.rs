//! One request on its way through a cache, without the network: what it asks, what answers it, what is kept of the answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::HeaderMap;
use nuthatch_link::{
    AskCache, Cache, CacheCost, CacheHit, CacheTier, Durability, Error, MissReason, Result as EngineResult, StoreAnswer,
};
use nuthatch_llm::{Allowed, Answer, Api, Bypass, Inputs, digest};
use serde_json::{Map, Value};

use super::Proxy;
use super::control::Control;
use super::embeddings::Partly;
use crate::caller::Caller;
use crate::config::Prices;

/// The parts of the scope that are the proxy's own.
const REQUEST: &str = "request";
const CALLER: &str = "caller";
/// Why an answer that is there cannot be given.
const TOO_OLD: &str = "too old";
const WITHOUT_USAGE: &str = "without usage";
/// The longest answer that a cache keeps.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// A request that a cache may answer.
pub struct Exchange {
    pub api: Api,
    pub request: Map<String, Value>,
    pub control: Control,
    allowed: Allowed,
    scope: BTreeMap<String, String>,
    pub asked: Asked,
}

/// The prompts that it asks, each with the hash of the parts that must be the same.
pub enum Asked {
    One(Key),
    Each(Inputs, Vec<Key>),
}

pub type Key = (String, String);

/// The answer or event that several requests wait for.
#[derive(Clone)]
pub struct Sought {
    pub ask: AskCache,
    /// Whether they wait for an answer to this prompt. If not, the request that computes the answer says when to look
    /// again.
    pub is_prompt: bool,
}

/// The result of a lookup.
pub enum Found {
    Hit(Box<Given>),
    /// Some inputs of several.
    Partly(Partly),
    Miss(&'static str),
}

/// An answer out of the cache.
pub struct Given {
    pub answer: Answer,
    pub tier: &'static str,
    pub entry: Option<u64>,
    pub hit: Option<u64>,
    pub age_ms: u64,
    pub similarity: Option<f64>,
    pub risk: Option<f64>,
    pub audit: bool,
    /// Of the request, of the answer, and of the request as far as the provider had cached it.
    pub tokens: [u64; 3],
}

impl Exchange {
    /// # Errors
    /// The bypass, for a request that no cache answers.
    pub fn new(
        proxy: &Proxy,
        api: Api,
        place: String,
        request: Map<String, Value>,
        caller: Option<String>,
        headers: &HeaderMap,
        control: Control,
    ) -> Result<Self, Bypass> {
        let allowed = Allowed { tool_calls: proxy.config.tool_calls, media: proxy.config.media };
        let place = Value::String(place);
        let asked = match api {
            Api::Embeddings => {
                let inputs = Api::inputs(&request)?;
                let keys = inputs.questions().map(|question| question.key(place.clone())).collect();
                Asked::Each(inputs, keys)
            }
            _ => {
                let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
                let mut question = api.question(&request, &header, allowed)?;
                question.by_meaning &= control.by_meaning;
                Asked::One(question.key(place))
            }
        };
        let mut scope = control.scope.clone();
        if let Some(caller) = caller {
            scope.insert(CALLER.into(), caller);
        }
        Ok(Self { api, request, control, allowed, scope, asked })
    }

    /// Returns what to wait for after a lookup that found nothing for this reason.
    pub fn sought(&self, missed: &str) -> Sought {
        match &self.asked {
            Asked::One(key) if !matches!(missed, TOO_OLD | WITHOUT_USAGE) => {
                Sought { ask: self.ask(key), is_prompt: true }
            }
            Asked::One(key) => self.whole(std::slice::from_ref(key), missed),
            Asked::Each(_, keys) => self.whole(keys, "inputs"),
        }
    }

    /// The request itself, under a name that no prompt has.
    fn whole(&self, keys: &[Key], kind: &str) -> Sought {
        let keys = keys.iter().map(|(prompt, hash)| Value::from(vec![prompt.as_str(), hash.as_str()]));
        let name = digest(&Value::Array(vec!["request".into(), kind.into(), keys.collect::<Value>()]));
        Sought { ask: self.ask(&(name.clone(), name)), is_prompt: false }
    }

    pub fn wants_stream(&self) -> bool {
        self.api != Api::Embeddings && self.request.get("stream").is_some_and(|stream| *stream == Value::Bool(true))
    }

    /// # Errors
    /// Those of the cache.
    pub fn look(&self, cache: &Cache) -> EngineResult<Found> {
        match &self.asked {
            Asked::One(key) => self.look_for(cache, key),
            Asked::Each(inputs, keys) => {
                let found = keys.iter().map(|key| self.look_for(cache, key)).collect::<EngineResult<Vec<_>>>()?;
                Ok(Partly::of(inputs, found))
            }
        }
    }

    fn look_for(&self, cache: &Cache, key: &Key) -> EngineResult<Found> {
        let found = cache.lookup(&self.ask(key))?;
        match found.hit {
            Some(hit) => self.usable(hit),
            None => Ok(Found::Miss(found.miss.map_or("absent", reason))),
        }
    }

    /// An answer of the cache, if this request can have it.
    ///
    /// # Errors
    /// `Invalid` for one that was not stored by a proxy.
    pub fn usable(&self, hit: CacheHit) -> EngineResult<Found> {
        if self.control.max_age.is_some_and(|seconds| hit.age_ms as f64 >= seconds * 1e3) {
            return Ok(Found::Miss(TOO_OLD));
        }
        let given = Given::of(hit)?;
        match self.api.can_give(&self.request, &given.answer.body) {
            true => Ok(Found::Hit(Box::new(given))),
            false => Ok(Found::Miss(WITHOUT_USAGE)),
        }
    }

    fn ask(&self, (prompt, hash): &Key) -> AskCache {
        AskCache {
            prompt: prompt.clone(),
            scope: self.scope_of(hash),
            user: self.scope.get(CALLER).cloned(),
            ..AskCache::default()
        }
    }

    fn scope_of(&self, hash: &str) -> BTreeMap<String, String> {
        let mut scope = self.scope.clone();
        scope.insert(REQUEST.into(), hash.into());
        scope
    }

    /// Returns the result that a lookup would give, without counting one.
    ///
    /// # Errors
    /// Those of the cache.
    pub fn would_give(&self, cache: &Cache) -> EngineResult<&'static str> {
        let Asked::One(key) = &self.asked else { return Ok("nothing") };
        let found = cache.explain(&self.ask(key))?;
        let is_near = |near: &nuthatch_link::CacheCandidate| near.worth && near.veto.is_none() && !near.stale;
        Ok(match found.known {
            Some((tier, _)) if !found.stale => tier_name(tier),
            _ if found.candidates.iter().any(is_near) => "semantic",
            _ => "nothing",
        })
    }

    /// Returns what the cache knows about the question.
    ///
    /// # Errors
    /// Those of the cache.
    pub fn explain(&self, cache: &Cache) -> EngineResult<Value> {
        let Asked::One((prompt, hash)) = &self.asked else { return Ok(Value::Null) };
        let question = serde_json::json!({ "prompt": prompt, "scope": self.scope_of(hash) });
        nuthatch_dialect::caches::ask(cache, "explain", question)
    }

    /// Keeps an answer. Says why it does not; `None` if it does.
    ///
    /// # Errors
    /// Those of the cache.
    pub fn keep(&self, cache: &Cache, answer: &Answer, prices: &Prices) -> EngineResult<Option<&'static str>> {
        if let Some(why) = self.api.objection(&self.request, &answer.body, self.allowed) {
            return Ok(Some(why));
        }
        let Asked::One(key) = &self.asked else { return Ok(Some("unreadable")) };
        self.store(cache, key, answer, prices)
    }

    /// Keeps the vector of one input. A power loss may take it: it is cheap to make again, and there are many.
    ///
    /// # Errors
    /// Those of the cache.
    pub fn keep_input(
        &self,
        cache: &Cache,
        key: &Key,
        answer: &Answer,
        prices: &Prices,
    ) -> EngineResult<Option<&'static str>> {
        self.store(&cache.with_durability(Durability::Interval), key, answer, prices)
    }

    fn store(
        &self,
        cache: &Cache,
        (prompt, hash): &Key,
        answer: &Answer,
        prices: &Prices,
    ) -> EngineResult<Option<&'static str>> {
        let response = answer.stored().to_string();
        if response.len() > ANSWER_BYTES_MAX {
            return Ok(Some("too large"));
        }
        let stored = cache.store(StoreAnswer {
            prompt: prompt.clone(),
            scope: self.scope_of(hash),
            vector: None,
            response,
            sources: self.control.sources.clone(),
            tags: self.control.tags.clone(),
            ttl_ms: self.control.ttl_ms,
            user: self.scope.get(CALLER).cloned(),
            cost: cost(answer, prices),
            ..StoreAnswer::default()
        })?;
        Ok(if stored.is_some() { None } else { Some("off") })
    }
}

impl Sought {
    /// A name for it.
    pub fn digest(&self) -> String {
        let scope = self.ask.scope.iter().map(|(part, value)| (part.clone(), value.as_str().into()));
        digest(&Value::Array(vec![Value::Object(scope.collect()), self.ask.prompt.as_str().into()]))
    }
}

/// Keeps the answers of one exchange.
#[derive(Clone)]
pub struct Keeper {
    pub proxy: Arc<Proxy>,
    pub caller: Caller,
    pub exchange: Arc<Exchange>,
}

impl Keeper {
    /// Keeps an answer. Returns `yes`, or the reason for not keeping it: the answer is paid for, and reaches the caller
    /// in any case.
    pub async fn keep(&self, answer: Answer) -> &'static str {
        self.run(move |exchange, cache, prices| exchange.keep(cache, &answer, prices)).await
    }

    pub async fn run(
        &self,
        keep: impl FnOnce(&Exchange, &Cache, &Prices) -> EngineResult<Option<&'static str>> + Send + 'static,
    ) -> &'static str {
        if !self.exchange.control.stores {
            return "no-store";
        }
        let (proxy, exchange) = (self.proxy.clone(), self.exchange.clone());
        let tenant = self.caller.tenant().to_string();
        let kept = self
            .caller
            .run(move |database| keep(&exchange, &proxy.prepared.cache(database, &tenant)?, &proxy.config.prices));
        let kept = kept.await;
        let why = kept.unwrap_or_else(|problem| {
            tracing::warn!(kind = problem.kind, detail = problem.detail, "an answer could not be stored");
            Some("error")
        });
        let said = why.unwrap_or("yes");
        self.proxy.shared.metrics.proxy.kept(self.exchange.api.name(), said);
        said
    }
}

impl Given {
    fn of(hit: CacheHit) -> EngineResult<Self> {
        let CacheHit { tier, entry, hit, response, similarity, risk, age_ms, audit, .. } = hit;
        let stored = serde_json::from_str(&response).ok().and_then(|stored| Answer::read(&stored));
        let answer = stored.ok_or_else(|| {
            let why =
                format!("answer {entry} of the cache was not stored by a proxy; give the proxy a cache of its own");
            Error::invalid(why)
        })?;
        let tokens = answer.tokens();
        Ok(Self { answer, tier: tier_name(tier), entry: Some(entry), hit, age_ms, similarity, risk, audit, tokens })
    }
}

/// Returns the cost of an answer: tokens where the provider reports them, money where its model has a price.
fn cost(answer: &Answer, prices: &Prices) -> CacheCost {
    let tokens @ [asked, answered, _] = answer.tokens();
    let model = answer.body.get("model").and_then(Value::as_str).unwrap_or_default();
    let usd = prices.usd(model, tokens).unwrap_or_default();
    CacheCost { tokens: asked + answered, nano_usd: (usd * 1e9).round() as u64 }
}

fn tier_name(tier: CacheTier) -> &'static str {
    match tier {
        CacheTier::Exact => "exact",
        CacheTier::Canonical => "canonical",
        CacheTier::Alias => "alias",
        CacheTier::Semantic => "semantic",
    }
}

fn reason(miss: MissReason) -> &'static str {
    match miss {
        MissReason::Absent => "absent",
        MissReason::Off => "off",
        MissReason::Shadow => "shadow",
        MissReason::Vetoed(_) => "vetoed",
        MissReason::Risky => "risky",
        MissReason::Unproven => "unproven",
        MissReason::Stale => "stale",
    }
}
