//! Which embedder a request means, where the embedder itself stays in another process.

use nuthatch_embed::Model;
use serde::{Deserialize, Serialize};

use crate::embedder::{EmbedderChoice, EmbedderMeta};

/// [`EmbedderChoice`] without the embedder itself, which stays with the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// The one that the collection has.
    Auto,
    /// No embedder: the caller brings every vector.
    None,
    /// An installed model.
    BuiltIn(Model),
    /// One that stays with the caller; this tells it from others.
    Given(EmbedderMeta),
}

impl From<&EmbedderChoice> for Choice {
    fn from(choice: &EmbedderChoice) -> Self {
        match choice {
            EmbedderChoice::Auto => Self::Auto,
            EmbedderChoice::None => Self::None,
            EmbedderChoice::BuiltIn(model) => Self::BuiltIn(*model),
            EmbedderChoice::Given(embedder) => Self::Given(EmbedderMeta {
                name: embedder.name().to_string(),
                dim: embedder.dim(),
                fingerprint: embedder.fingerprint().to_string(),
            }),
        }
    }
}

impl Choice {
    /// Returns the chosen embedder. `own`: the caller's own embedder, where that was chosen.
    pub fn chosen(&self, own: Option<EmbedderChoice>) -> EmbedderChoice {
        match self {
            Self::Auto => EmbedderChoice::Auto,
            Self::None => EmbedderChoice::None,
            Self::BuiltIn(model) => EmbedderChoice::BuiltIn(*model),
            Self::Given(_) => own.unwrap_or_default(),
        }
    }
}
