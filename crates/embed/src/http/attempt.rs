//! One request to the endpoint, and whether its failure is worth another.

use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderValue, Response};

use super::{HttpOptions, wire};
use crate::EmbedError;

/// Largest answer that is read: 64 vectors of 4,096 components in decimal are about 6 MiB.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

pub struct Attempt {
    agent: Agent,
    url: String,
    model: String,
    authorization: Option<HeaderValue>,
}

/// Why one request gave no vectors.
pub struct Failure {
    pub retry: bool,
    /// The delay that the server requested, in whole seconds (the form with a date is ignored: it needs a clock that
    /// both agree on).
    pub retry_after: Option<Duration>,
    cause: Cause,
}

enum Cause {
    Transport(String),
    Status { status: u16, body: String },
    Answer(String),
    Setup(String),
}

impl Attempt {
    pub fn new(options: &HttpOptions) -> Result<Self, EmbedError> {
        let url = format!("{}/embeddings", options.base_url.trim_end_matches('/'));
        url.parse::<ureq::http::Uri>().map_err(|e| EmbedError::Config {
            option: "base_url",
            what: format!("{:?} is not an address ({e})", options.base_url),
        })?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would send the texts, and perhaps the key, where the caller did not point.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(options.connect_timeout))
            .timeout_connect(Some(options.connect_timeout))
            .timeout_send_body(Some(options.read_timeout))
            .timeout_recv_response(Some(options.read_timeout))
            .timeout_recv_body(Some(options.read_timeout))
            .build();
        let authorization = match &options.api_key {
            Some(key) => Some(bearer(key)?),
            None => None,
        };
        Ok(Self { agent: config.into(), url, model: options.model.clone(), authorization })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// As many vectors as inputs, in their order.
    pub fn run(&self, inputs: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
        let request = wire::Request { model: &self.model, input: inputs, encoding_format: "float" };
        let body = serde_json::to_vec(&request).map_err(|e| Failure::of(Cause::Setup(e.to_string()), false))?;
        let mut post = self.agent.post(&self.url).content_type("application/json");
        if let Some(authorization) = &self.authorization {
            post = post.header("authorization", authorization);
        }
        let mut response = post.send(&body[..]).map_err(Failure::transport)?;
        let status = response.status().as_u16();
        let retry_after = retry_after(&response);
        let body =
            response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec().map_err(Failure::transport)?;
        if !(200..300).contains(&status) {
            let retry = status == 408 || status == 429 || status >= 500;
            return Err(Failure { retry, retry_after, cause: Cause::Status { status, body: wire::excerpt(&body) } });
        }
        wire::vectors(&body, inputs.len()).map_err(|what| Failure::of(Cause::Answer(what), false))
    }
}

impl Failure {
    fn of(cause: Cause, retry: bool) -> Self {
        Self { retry, retry_after: None, cause }
    }

    fn transport(error: ureq::Error) -> Self {
        use ureq::Error;
        // A name that does not resolve, a certificate that is refused: another try finds the same.
        let retry = matches!(error, Error::Io(_) | Error::Timeout(_) | Error::ConnectionFailed | Error::Protocol(_));
        Self::of(Cause::Transport(error.to_string()), retry)
    }

    pub fn into_error(self, url: &str, attempts: usize) -> EmbedError {
        let url = url.to_owned();
        match self.cause {
            Cause::Transport(what) => EmbedError::Unreachable { url, attempts, what },
            Cause::Status { status, body } => EmbedError::Http { url, status, attempts, body },
            Cause::Answer(what) | Cause::Setup(what) => EmbedError::Response { url, what },
        }
    }
}

/// The header that carries the key; never shown in logs.
fn bearer(key: &str) -> Result<HeaderValue, EmbedError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| EmbedError::Config {
        option: "api_key",
        what: "holds characters that a header cannot carry (a line break, perhaps)".into(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn retry_after<T>(response: &Response<T>) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
