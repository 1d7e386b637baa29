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

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{EmbedError, digest};

/// The manifest's only format so far.
const FORMAT: u32 = 1;
const FILE_NAME: &str = "model.json";

/// One file of a model folder, as the installer recorded it.
#[derive(Debug, Clone, Deserialize)]
pub struct ModelFile {
    /// Name inside the folder; never a path.
    pub name: String,
    /// Length.
    pub bytes: u64,
    /// Hash in lower-case hex.
    pub sha256: String,
}

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
        let path = dir.join(FILE_NAME);
        let damaged = |what: String| EmbedError::DamagedModel { path: path.clone(), what };
        let text = std::fs::read(&path).map_err(|e| damaged(format!("cannot be read ({e})")))?;
        let manifest: Self =
            serde_json::from_slice(&text).map_err(|e| damaged(format!("is not a model manifest ({e})")))?;
        if manifest.format != FORMAT {
            return Err(damaged(format!("has format {}; this build reads format {FORMAT}", manifest.format)));
        }
        if manifest.dim == 0 || manifest.max_tokens < 3 || manifest.pooling != "mean" {
            return Err(damaged("needs dim > 0, max_tokens > 2 and pooling \"mean\"".into()));
        }
        for file in manifest.files() {
            if Path::new(&file.name).file_name().is_none_or(|name| name != file.name.as_str()) {
                return Err(damaged(format!("names {:?}, which is not a plain file name", file.name)));
            }
            let path = dir.join(&file.name);
            match std::fs::metadata(&path) {
                Ok(meta) if meta.len() == file.bytes => {}
                Ok(meta) => {
                    let what = format!("has {} bytes where {} were recorded", meta.len(), file.bytes);
                    return Err(EmbedError::DamagedModel { path, what });
                }
                Err(e) => return Err(EmbedError::DamagedModel { path, what: format!("cannot be read ({e})") }),
            }
        }
        Ok(manifest)
    }

    /// Reads every file and compares its hash with the recorded one.
    pub fn verify(&self, dir: &Path) -> Result<(), EmbedError> {
        for file in self.files() {
            let path = dir.join(&file.name);
            if digest::file_sha256(&path)? != file.sha256 {
                let what = "has other contents than were installed (its SHA-256 differs)".into();
                return Err(EmbedError::DamagedModel { path, what });
            }
        }
        Ok(())
    }

    /// What decides the mapping from text to vector, in one string.
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

    /// Whether a folder holds a manifest at all.
    pub(crate) fn is_in(dir: &Path) -> bool {
        Self::path_in(dir).is_file()
    }

    fn path_in(dir: &Path) -> PathBuf {
        dir.join(FILE_NAME)
    }

    fn files(&self) -> [&ModelFile; 4] {
        [&self.model, &self.weights, &self.tokenizer, &self.runtime]
    }
}
