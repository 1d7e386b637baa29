//! Which embedder makes the vectors of texts that come without one: as a caller chooses it, and as it is stored.

use std::sync::Arc;

use nuthatch_embed::{Embedder, Model};
use serde::{Deserialize, Serialize};

/// How a collection gets its vectors. Fixed by the first `collection()` call that needs it.
#[derive(Clone, Default)]
pub enum EmbedderChoice {
    /// The stored one; for a new collection the built-in default, when texts without vectors are stored or asked for.
    #[default]
    Auto,
    /// The caller brings every vector.
    None,
    /// An installed model, opened on first use and shared by every collection that has it.
    BuiltIn(Model),
    /// This one.
    Given(Arc<dyn Embedder>),
}

/// The embedder that made a collection's vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderMeta {
    /// The model, for people.
    pub name: String,
    /// Components of its vectors.
    pub dim: usize,
    /// Equal for embedders that make the same vectors.
    pub fingerprint: String,
}
