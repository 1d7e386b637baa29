//! **What it is.** Embedders: texts in, vectors out, behind one trait. Three kinds: the offline default (a MiniLM model in
//! int8, run by ONNX Runtime), any OpenAI-compatible HTTP endpoint, and a caller's function.
//!
//! **What it is useful for.** Turning passages and questions into vectors, in batches, with errors that say what to do next.
//!
//! **What it is not for.** Splitting documents, storing vectors, or choosing a model for the user. It never downloads
//! anything: the default model is put on disk by `python -m nuthatch.model install`, and opened here.
//!
//! **Invariant.** Every vector that leaves an embedder has the dimension that the embedder states and only finite
//! components; and one fingerprint means one mapping from text to vector, so that stored and new vectors may be compared. The
//! default embedder runs each text by itself: its vector does not depend on which texts came with it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods))]

mod digest;
mod error;
mod function;
mod http;
mod locate;
mod manifest;
mod onnx;
mod runtime;
mod tokens;

pub use error::EmbedError;
pub use function::FnEmbedder;
pub use http::{HttpEmbedder, HttpOptions};
pub use locate::{DEFAULT_MODEL, MODEL_DIR_ENV, default_embedder, default_model_dir};
pub use manifest::{ModelFile, ModelManifest};
pub use onnx::{OnnxEmbedder, OnnxOptions};

/// Maps texts to vectors of one dimension. One embedder serves many threads.
pub trait Embedder: Send + Sync {
    /// The model's name, as shown to people.
    fn name(&self) -> &str;

    /// Components of every vector.
    fn dim(&self) -> usize;

    /// A stable string: two embedders with the same fingerprint give comparable vectors. Stored with a collection.
    fn fingerprint(&self) -> &str;

    /// One vector per text, in the order given. An empty slice gives an empty answer. An empty text has a vector, too.
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a question. Models that treat questions and passages differently do so here.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;

    /// Bytes of memory that the embedder holds now, as well as it can tell.
    fn resident_bytes(&self) -> u64 {
        0
    }

    /// Gives memory back until the next use: to the process's allocator, which may keep some of it. Embedders that hold nothing do nothing.
    fn unload(&self) {}
}

/// Checks what every embedder promises of its vectors: the dimension, and that each component is finite.
fn check_vectors(name: &str, dim: usize, vectors: &[Vec<f32>]) -> Result<(), EmbedError> {
    for (position, vector) in vectors.iter().enumerate() {
        if vector.len() != dim {
            return Err(EmbedError::WrongDimension { name: name.to_owned(), expected: dim, found: vector.len() });
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err(EmbedError::NotFinite { name: name.to_owned(), position });
        }
    }
    Ok(())
}
