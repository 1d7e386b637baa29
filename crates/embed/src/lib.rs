//! **What it is.** Embedders: texts in, vectors out, behind one trait. Four kinds: the offline default (a MiniLM model in
//! int8, run by ONNX Runtime), a static model (one vector a token), any OpenAI-compatible HTTP endpoint, and a caller's function.
//!
//! **What it is useful for.** Turning passages and questions into vectors, in batches, with errors that say what to do next.
//!
//! **What it is not for.** Splitting documents, storing vectors, or choosing a model for the user. It never downloads
//! anything: `python -m nuthatch.model install` puts the two models on disk, and this crate opens them.
//!
//! **Invariant.** Every vector that leaves an embedder has the dimension that the embedder states and only finite
//! components; and one fingerprint means one mapping from text to vector, so that stored and new vectors may be compared. The
//! two models embed each text by itself: its vector does not depend on which texts came with it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod digest;
mod error;
mod file;
mod function;
mod http;
mod locate;
mod manifest;
mod onnx;
mod resident;
mod runtime;
mod static_embedder;
mod static_manifest;
mod tokens;

pub use error::EmbedError;
pub use file::ModelFile;
pub use function::FnEmbedder;
pub use http::{HttpEmbedder, HttpOptions};
pub use locate::Model;
pub use manifest::ModelManifest;
pub use onnx::{OnnxEmbedder, OnnxOptions};
pub use static_embedder::StaticEmbedder;
pub use static_manifest::StaticManifest;

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

    /// True for a model in files: any process that has the files can embed, without the one that opened it, and can do
    /// so later.
    fn runs_alone(&self) -> bool {
        false
    }

    /// How many threads may [`embed_aside`](Self::embed_aside) at once to some purpose.
    fn lanes(&self) -> usize {
        1
    }

    /// As [`embed_passages`](Self::embed_passages), for work that nobody waits for: it holds up no question, and may take more memory
    /// until [`rest`](Self::rest).
    fn embed_aside(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed_passages(texts)
    }

    /// There is no more such work for now.
    fn rest(&self) {}

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

/// To length 1. A vector of zeros stays as it is.
fn normalise(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x /= norm);
    }
}
