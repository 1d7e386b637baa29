//! Errors on the way from a text to its vector. Each message names the thing and the next step.

use std::path::PathBuf;

use crate::Model;

/// An embedder's error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// No model folder was found at any of the usual places.
    #[error(
        "the embedding model {} is not installed (looked in {}); run `{}`, or set {} to a model folder",
        model.name(), list(.looked_in), model.install_command(), model.dir_variable()
    )]
    MissingModel {
        /// The model looked for.
        model: Model,
        /// Every folder that was tried, in order.
        looked_in: Vec<PathBuf>,
    },

    /// A file of the model folder is absent, unreadable or not what `model.json` recorded.
    #[error("model file {}: {what}; run `{}` to repair it", path.display(), model.install_command())]
    DamagedModel {
        /// The model that the file belongs to.
        model: Model,
        /// The file.
        path: PathBuf,
        /// The problem with it.
        what: String,
    },

    /// The model's runtime refused to load or to run.
    #[error("the model {name} failed to run: {what}")]
    Runtime {
        /// The model.
        name: String,
        /// The runtime's words.
        what: String,
    },

    /// An option has a value that cannot work.
    #[error("embedder option {option}: {what}")]
    Config {
        /// The option.
        option: &'static str,
        /// The problem with its value, and the remedy.
        what: String,
    },

    /// The endpoint could not be reached, or did not answer in time, in any attempt.
    #[error(
        "the embedding endpoint {url} did not answer in {attempts} attempt(s): {what}; check that it is running, or raise the time-out"
    )]
    Unreachable {
        /// The address asked.
        url: String,
        /// How often it was asked.
        attempts: usize,
        /// The last attempt's failure.
        what: String,
    },

    /// The endpoint answered with an error status.
    #[error("the embedding endpoint {url} answered {status} in {attempts} attempt(s): {body}")]
    Http {
        /// The address asked.
        url: String,
        /// The HTTP status.
        status: u16,
        /// How often it was asked.
        attempts: usize,
        /// The beginning of the body.
        body: String,
    },

    /// The endpoint answered 200 with something that is not a list of embeddings.
    #[error(
        "the embedding endpoint {url} returned an unusable answer: {what}; is it OpenAI-compatible (POST /embeddings)?"
    )]
    Response {
        /// The address asked.
        url: String,
        /// The problem with the answer.
        what: String,
    },

    /// A vector has another dimension than the embedder states.
    #[error(
        "embedder {name} returned a vector of dimension {found}, but {expected} was expected; is it still the same model?"
    )]
    WrongDimension {
        /// The embedder.
        name: String,
        /// The embedder's stated dimension.
        expected: usize,
        /// The vector's.
        found: usize,
    },

    /// There are not as many vectors as texts.
    #[error("embedder {name} returned {found} vector(s) for {expected} text(s); it must return one for each, in order")]
    WrongCount {
        /// The embedder.
        name: String,
        /// Texts.
        expected: usize,
        /// Vectors.
        found: usize,
    },

    /// A vector holds a NaN or an infinity.
    #[error(
        "embedder {name} returned a NaN or infinite component in the vector of text {position}; the vector was refused"
    )]
    NotFinite {
        /// The embedder.
        name: String,
        /// The text's position in the batch.
        position: usize,
    },

    /// An embedder in another process failed; these are its words.
    #[error("{0}")]
    Elsewhere(String),

    /// The caller's function failed.
    #[error("embedder {name}: the given function failed: {what}")]
    Function {
        /// The embedder.
        name: String,
        /// The function's words.
        what: String,
    },
}

impl EmbedError {
    /// Whether the same call may succeed later without a change by the caller.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Http { status, .. } => *status == 408 || *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "no folder".to_owned();
    }
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
