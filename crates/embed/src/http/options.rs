//! The options of the HTTP embedder.

use std::fmt;
use std::time::Duration;

use crate::EmbedError;

/// Settings of an [`HttpEmbedder`](crate::HttpEmbedder). Start from [`HttpOptions::new`] and change what differs.
#[derive(Clone)]
pub struct HttpOptions {
    /// Address up to, not including, `/embeddings`; for example `http://localhost:11434/v1`.
    pub base_url: String,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// Sent as a bearer token. [`HttpOptions::new`] takes it from the environment variable [`HttpOptions::API_KEY_ENV`], if that is set.
    pub api_key: Option<String>,
    /// Components of a vector; none given: the endpoint is asked once.
    pub dim: Option<usize>,
    /// Most texts in one request.
    pub batch_items_max: usize,
    /// Put before each passage (`"passage: "` for the E5 family).
    pub passage_prefix: String,
    /// Put before each question.
    pub query_prefix: String,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for an answer to one request, once connected.
    pub read_timeout: Duration,
    /// Tries after the first one, on 408, 429, 5xx, broken connections and time-outs.
    pub retries_max: usize,
    /// Longest `Retry-After` that is obeyed; a longer one is an error at once.
    pub retry_after_max: Duration,
}

impl HttpOptions {
    /// A variable of our own, not another product's: a key must not travel to an address that its owner did not mean.
    pub const API_KEY_ENV: &str = "NUTHATCH_EMBED_API_KEY";

    /// An endpoint and a model, with defaults that suit a local server.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: std::env::var(Self::API_KEY_ENV).ok().filter(|key| !key.is_empty()),
            dim: None,
            batch_items_max: 64,
            passage_prefix: String::new(),
            query_prefix: String::new(),
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(120),
            retries_max: 4,
            retry_after_max: Duration::from_secs(60),
        }
    }

    pub(super) fn check(&self) -> Result<(), EmbedError> {
        let wrong = |option, what: &str| Err(EmbedError::Config { option, what: what.to_owned() });
        if !(self.base_url.starts_with("http://") || self.base_url.starts_with("https://")) {
            return wrong("base_url", "must begin with http:// or https://, for example http://localhost:11434/v1");
        }
        if self.model.is_empty() {
            return wrong("model", "is empty; give the model's name as the endpoint knows it");
        }
        if self.batch_items_max == 0 {
            return wrong("batch_items_max", "is 0; give at least 1");
        }
        if self.dim == Some(0) {
            return wrong("dim", "is 0; leave it out to ask the endpoint");
        }
        Ok(())
    }
}

/// Shows whether there is a key, never the key.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "***"))
            .field("dim", &self.dim)
            .field("batch_items_max", &self.batch_items_max)
            .field("passage_prefix", &self.passage_prefix)
            .field("query_prefix", &self.query_prefix)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .field("retries_max", &self.retries_max)
            .field("retry_after_max", &self.retry_after_max)
            .finish()
    }
}
