//! The embedders of a folder: those that callers gave, and the installed models, opened once for all collections.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use nuthatch_embed::{Embedder, Model};
use parking_lot::RwLock;

use crate::embedder::EmbedderMeta;
use crate::{Error, ErrorKind, Result};

/// By fingerprint, and installed models by name.
pub(crate) struct Embedders {
    known: RwLock<HashMap<String, Arc<dyn Embedder>>>,
    model_dirs: Vec<PathBuf>,
}

impl Embedders {
    pub fn new(model_dirs: Vec<PathBuf>) -> Self {
        Self { known: RwLock::default(), model_dirs }
    }

    /// The embedder that a collection was made with, or the built-in default for a new one.
    pub fn stored(&self, stored: Option<&EmbedderMeta>) -> Result<Arc<dyn Embedder>> {
        if let Some(stored) = stored
            && let Some(known) = self.known.read().get(&stored.fingerprint)
        {
            return Ok(known.clone());
        }
        let other = |stored: &EmbedderMeta| {
            Error::new(
                ErrorKind::Unavailable,
                format!(
                    "this collection was created with embedder {:?} (fingerprint {}), which is not built in; pass it \
                    when you open the collection",
                    stored.name, stored.fingerprint
                ),
            )
        };
        // By its name, so that a collection of the static model need not name it again.
        let named = stored.and_then(|stored| Model::named(&stored.name));
        match (self.installed(named.unwrap_or_default()), stored) {
            (Ok(installed), Some(stored)) if stored.fingerprint != installed.fingerprint() => Err(other(stored)),
            // Without the built-in model, what is missing is still the caller's embedder.
            (Err(_), Some(stored)) if named.is_none() => Err(other(stored)),
            (installed, _) => installed,
        }
    }

    /// An installed model, opened once for all collections.
    pub fn installed(&self, model: Model) -> Result<Arc<dyn Embedder>> {
        // No fingerprint is a model's name: it begins with the embedder's kind and a colon.
        if let Some(known) = self.known.read().get(model.name()) {
            return Ok(known.clone());
        }
        let mut all = self.known.write();
        if let Some(known) = all.get(model.name()) {
            return Ok(known.clone());
        }
        let embedder = model.open(&self.model_dirs)?;
        all.insert(model.name().into(), embedder.clone());
        Ok(embedder)
    }

    /// Remembers an embedder that a caller gave, so that other handles of its collections find it.
    pub fn remember(&self, embedder: &Arc<dyn Embedder>) {
        self.known.write().insert(embedder.fingerprint().to_string(), embedder.clone());
    }

    /// Bytes of loaded embedding models, outside the budget.
    pub fn bytes(&self) -> u64 {
        let known = self.known.read();
        let mut seen: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for embedder in known.values() {
            if !seen.contains(&embedder.fingerprint()) {
                seen.push(embedder.fingerprint());
                bytes += embedder.resident_bytes();
            }
        }
        bytes
    }
}
