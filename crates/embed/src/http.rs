//! Any OpenAI-compatible endpoint: `POST {base_url}/embeddings`, as spoken by Ollama, vLLM, llama.cpp and the hosted services.

mod attempt;
mod options;
mod wire;

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

pub use options::HttpOptions;

use crate::{EmbedError, Embedder, check_vectors};
use attempt::Attempt;

/// First pause before a retry; doubles from there, with jitter so that many clients do not return at once.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Embeds through an endpoint, in batches, with bounded retries. Vectors are passed on as the endpoint gives them: whether they have
/// length 1 is the model's choice.
pub struct HttpEmbedder {
    options: HttpOptions,
    attempt: Attempt,
    dim: usize,
    fingerprint: String,
}

impl HttpEmbedder {
    /// Checks the options and, when they state no dimension, asks the endpoint for the vector of one word to learn it.
    pub fn new(options: HttpOptions) -> Result<Self, EmbedError> {
        options.check()?;
        let attempt = Attempt::new(&options)?;
        let mut embedder = Self { options, attempt, dim: 0, fingerprint: String::new() };
        embedder.dim = match embedder.options.dim {
            Some(dim) => dim,
            None => embedder.request(&["dimension"])?[0].len(),
        };
        // The host is left out: the same model may move to another machine or port, and its vectors stay comparable.
        embedder.fingerprint = format!("openai:{}:{}", embedder.options.model, embedder.dim);
        for prefix in [&embedder.options.passage_prefix, &embedder.options.query_prefix] {
            if !prefix.is_empty() {
                embedder.fingerprint.push_str(&format!(":{prefix:?}"));
            }
        }
        Ok(embedder)
    }

    fn embed(&self, prefix: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.options.batch_items_max) {
            let prefixed: Vec<String> = batch.iter().map(|text| wire::input(prefix, text)).collect();
            let inputs: Vec<&str> = prefixed.iter().map(String::as_str).collect();
            vectors.append(&mut self.request(&inputs)?);
        }
        check_vectors(&self.options.model, self.dim, &vectors)?;
        Ok(vectors)
    }

    /// One batch, with retries: as many vectors as inputs, in their order; dimensions not yet checked.
    fn request(&self, inputs: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(PAUSE_FIRST)
            .with_max_delay(PAUSE_MAX)
            .with_max_times(self.options.retries_max)
            .with_jitter()
            .build();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failure = match self.attempt.run(inputs) {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            let ours = if failure.retry { pauses.next() } else { None };
            match ours.and_then(|ours| pause(ours, failure.retry_after, self.options.retry_after_max)) {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(failure.into_error(self.attempt.url(), attempts)),
            }
        }
    }
}

impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        &self.options.model
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed(&self.options.passage_prefix, texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = self.embed(&self.options.query_prefix, &[text])?;
        // One text in, one vector out: the count was checked.
        Ok(vectors.swap_remove(0))
    }
}

/// How long to wait before the next try: our own pause, or the server's if it asks for more; none when it asks for more patience
/// than the caller has.
fn pause(ours: Duration, asked: Option<Duration>, asked_max: Duration) -> Option<Duration> {
    match asked {
        None => Some(ours),
        Some(asked) if asked <= asked_max => Some(ours.max(asked)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_pause_counts_when_it_is_longer_than_ours_and_within_the_callers_patience() {
        let seconds = Duration::from_secs;
        assert_eq!(pause(seconds(2), None, seconds(60)), Some(seconds(2)));
        assert_eq!(pause(seconds(2), Some(seconds(7)), seconds(60)), Some(seconds(7)));
        assert_eq!(pause(seconds(2), Some(seconds(1)), seconds(60)), Some(seconds(2)));
        assert_eq!(pause(seconds(2), Some(seconds(61)), seconds(60)), None);
    }
}
