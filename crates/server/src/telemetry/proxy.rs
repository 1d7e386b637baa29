//! The counters of the caching proxy: answers by how they were found, and their savings.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::{Atomic, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use nuthatch_llm::Api;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    api: &'static str,
    outcome: &'static str,
    /// The tier of a hit; why there is none.
    detail: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Result {
    api: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Tokens {
    api: &'static str,
    kind: &'static str,
}

/// The figures of a proxy. Labels are words of this program.
#[derive(Default)]
pub struct ProxyFigures {
    requests: Family<Answered, Counter>,
    stored: Family<Result, Counter>,
    failures: Family<Result, Counter>,
    tokens: Family<Tokens, Counter>,
    tokens_total: Counter,
    usd: Counter<f64, NanoUsd>,
}

/// US dollars, added up as whole billionths: a sum of fractions would drift, and show it in its last digits.
#[derive(Debug, Default)]
struct NanoUsd(AtomicU64);

impl Atomic<f64> for NanoUsd {
    fn inc(&self) -> f64 {
        self.inc_by(1.0)
    }

    fn inc_by(&self, usd: f64) -> f64 {
        self.0.fetch_add((usd * 1e9).round() as u64, Ordering::Relaxed) as f64 / 1e9
    }

    fn get(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64 / 1e9
    }
}

/// The savings since the start.
pub struct Saved {
    pub tokens: u64,
    /// Of the models that have a price.
    pub usd: f64,
}

impl ProxyFigures {
    /// Requests and failures of each API are counted from 0, so that a scrape names the series before the first of them.
    pub fn register(&self, registry: &mut Registry) {
        for api in Api::ALL {
            let missed = Answered { api: api.name(), outcome: "miss", detail: "absent" };
            drop(self.requests.get_or_create(&missed));
            drop(self.failures.get_or_create(&Result { api: api.name(), result: "status" }));
        }
        registry.register(
            "cache_proxy_requests",
            "Requests to models, by the tier that answered them or why none did",
            self.requests.clone(),
        );
        registry.register(
            "cache_proxy_answers",
            "Answers of the provider, by whether and why not they are kept",
            self.stored.clone(),
        );
        registry.register(
            "cache_proxy_upstream_failures",
            "Requests that the provider did not answer",
            self.failures.clone(),
        );
        registry.register("cache_proxy_tokens_saved", "Tokens of answers out of the cache", self.tokens.clone());
        registry.register(
            "cache_proxy_saved_usd",
            "What these answers would have cost, where a price is known",
            self.usd.clone(),
        );
    }

    pub fn answered(&self, api: &'static str, outcome: &'static str, detail: &'static str) {
        self.requests.get_or_create(&Answered { api, outcome, detail }).inc();
    }

    pub fn kept(&self, api: &'static str, result: &'static str) {
        self.stored.get_or_create(&Result { api, result }).inc();
    }

    pub fn upstream_failed(&self, api: &'static str, result: &'static str) {
        self.failures.get_or_create(&Result { api, result }).inc();
    }

    /// An answer was given that would have taken these tokens of the request and of the answer.
    pub fn saved(&self, api: &'static str, [asked, answered, _]: [u64; 3], usd: Option<f64>) {
        for (kind, tokens) in [("input", asked), ("output", answered)] {
            self.tokens.get_or_create(&Tokens { api, kind }).inc_by(tokens);
            self.tokens_total.inc_by(tokens);
        }
        self.usd.inc_by(usd.unwrap_or_default());
    }

    pub fn total(&self) -> Saved {
        Saved { tokens: self.tokens_total.get(), usd: self.usd.get() }
    }
}
