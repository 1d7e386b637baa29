//! `model.json`: what a model folder holds, written by the installer and checked here.
//!
//! ```text
//! all-minilm-l6-v2-int8/
//!   model.json               this manifest
//!   model.onnx               graph: input_ids [1, tokens] i64 -> embedding [1, dim] f32, pooled, not yet normalised
//!   weights.bin              the graph's large constants, mapped by the runtime
//!   tokenizer.json           vocabulary and rules, without padding and truncation
//!   libonnxruntime.so …      the runtime's library (name differs by platform)
//! ```

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::file::ModelFile;
use crate::{EmbedError, Model, digest};

/// The manifest's only format so far.
pub(crate) const FORMAT: u32 = 1;
const FILE_NAME: &str = "model.json";
const MODEL: Model = Model::Default;

/// A model folder's manifest.
#[derive(Debug, Clone, Deserialize)]
pub struct ModelManifest {
    /// Layout version of the folder.
    pub format: u32,
    /// The model's name.
    pub name: String,
    /// Components of a vector.
    pub dim: usize,
    /// Longest input in tokens, the two marks included; what is longer is cut.
    pub max_tokens: usize,
    /// How token vectors become one (`mean`); done inside the graph, recorded because it is part of the mapping.
    pub pooling: String,
    /// Token id put before each text.
    pub start_token: u32,
    /// Token id put after each text.
    pub end_token: u32,
    /// Text put before a question (empty for MiniLM).
    #[serde(default)]
    pub query_prefix: String,
    /// Text put before a passage.
    #[serde(default)]
    pub passage_prefix: String,
    /// The graph.
    pub model: ModelFile,
    /// The graph's large constants.
    pub weights: ModelFile,
    /// The tokenizer.
    pub tokenizer: ModelFile,
    /// The runtime's shared library. Not part of the fingerprint: platforms differ in it, vectors (but for rounding) do not.
    pub runtime: ModelFile,
}

impl ModelManifest {
    /// Reads a folder's manifest and checks that each file is there with its length. Cheap: contents are checked by [`verify`](Self::verify).
    pub fn read(dir: &Path) -> Result<Self, EmbedError> {
        let manifest: Self = read_json(dir, MODEL)?;
        let damaged = |what: &str| Err(damaged(dir, MODEL, what.into()));
        if manifest.format != FORMAT {
            return damaged(&format!("has format {}; this build reads format {FORMAT}", manifest.format));
        }
        if manifest.dim == 0 || manifest.max_tokens < 3 || manifest.pooling != "mean" {
            return damaged("needs dim > 0, max_tokens > 2 and pooling \"mean\"");
        }
        look(dir, MODEL, &manifest.files())?;
        Ok(manifest)
    }

    /// Reads every file and compares its hash with the recorded one.
    pub fn verify(&self, dir: &Path) -> Result<(), EmbedError> {
        for file in self.files() {
            file.verify(dir, MODEL)?;
        }
        Ok(())
    }

    /// Returns a fingerprint of everything that determines the mapping from text to vector.
    pub fn fingerprint(&self) -> String {
        let (dim, max_tokens) = (self.dim.to_string(), self.max_tokens.to_string());
        let (start, end) = (self.start_token.to_string(), self.end_token.to_string());
        let parts = [
            &self.model.sha256,
            &self.weights.sha256,
            &self.tokenizer.sha256,
            &dim,
            &max_tokens,
            &self.pooling,
            &start,
            &end,
            &self.query_prefix,
            &self.passage_prefix,
        ];
        format!("onnx:{}", digest::of_parts(&parts.map(String::as_str)))
    }

    /// Bytes of the folder's files.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.bytes).sum()
    }

    fn files(&self) -> [&ModelFile; 4] {
        [&self.model, &self.weights, &self.tokenizer, &self.runtime]
    }
}

/// Whether a folder holds a manifest at all.
pub(crate) fn is_in(dir: &Path) -> bool {
    dir.join(FILE_NAME).is_file()
}

/// Reads a folder's manifest from JSON. The caller must check its values.
pub(crate) fn read_json<M: DeserializeOwned>(dir: &Path, model: Model) -> Result<M, EmbedError> {
    #[allow(clippy::disallowed_methods, reason = "the manifest is what the files are checked by")]
    let text = std::fs::read(dir.join(FILE_NAME)).map_err(|e| damaged(dir, model, format!("cannot be read ({e})")))?;
    serde_json::from_slice(&text).map_err(|e| damaged(dir, model, format!("is not a model manifest ({e})")))
}

/// Checks that every file has a plain name and is there with its length.
pub(crate) fn look(dir: &Path, model: Model, files: &[&ModelFile]) -> Result<(), EmbedError> {
    for file in files {
        if !file.is_plain() {
            return Err(damaged(dir, model, format!("names {:?}, which is not a plain file name", file.name)));
        }
        file.look(dir, model)?;
    }
    Ok(())
}

/// Something is wrong with the manifest itself.
pub(crate) fn damaged(dir: &Path, model: Model, what: String) -> EmbedError {
    EmbedError::DamagedModel { model, path: dir.join(FILE_NAME), what }
}
