//! Requests to providers of models, under the names of OpenTelemetry's conventions for generative AI.
//!
//! An answer from the cache is no request to a provider: [`super::proxy`] counts it. The models' names are left out:
//! clients write them.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use nuthatch_llm::Api;

/// The bounds that the conventions give.
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Operation {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: &'static str,
    /// Empty, which is as good as absent, where there is none.
    error_type: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Used {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: &'static str,
    gen_ai_token_type: &'static str,
}

/// The figures of requests to providers.
pub struct ModelFigures {
    seconds: Family<Operation, Histogram, fn() -> Histogram>,
    tokens: Family<Used, Histogram, fn() -> Histogram>,
}

impl Default for ModelFigures {
    fn default() -> Self {
        Self {
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            tokens: Family::new_with_constructor(|| Histogram::new(TOKENS)),
        }
    }
}

impl ModelFigures {
    pub fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "gen_ai_client_operation_duration",
            "Time until a provider's answer had ended",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register(
            "gen_ai_client_token_usage",
            "Tokens of requests to providers, where they say",
            self.tokens.clone(),
        );
    }

    /// A request has ended. `error`: the status, or why there is no answer.
    pub fn ended(&self, api: Api, seconds: f64, error: Option<String>) {
        let (gen_ai_operation_name, gen_ai_provider_name) = names(api);
        let error_type = error.unwrap_or_default();
        let operation = Operation { gen_ai_operation_name, gen_ai_provider_name, error_type };
        self.seconds.get_or_create(&operation).observe(seconds);
    }

    /// An answer has told the tokens of its request and its own.
    pub fn used(&self, api: Api, [asked, answered, _]: [u64; 3]) {
        let (gen_ai_operation_name, gen_ai_provider_name) = names(api);
        for (gen_ai_token_type, tokens) in [("input", asked), ("output", answered)] {
            let used = Used { gen_ai_operation_name, gen_ai_provider_name, gen_ai_token_type };
            if tokens > 0 {
                self.tokens.get_or_create(&used).observe(tokens as f64);
            }
        }
    }
}

/// Returns the names that the conventions give an API's operation and its provider.
pub fn names(api: Api) -> (&'static str, &'static str) {
    match api {
        Api::Chat | Api::Responses => ("chat", "openai"),
        Api::Messages => ("chat", "anthropic"),
        Api::Embeddings => ("embeddings", "openai"),
    }
}
