//! `model.json` of the static model's folder.
//!
//! ```text
//! wordllama-256/
//!   model.json       this manifest
//!   table.f16        [rows, dim] f16, little-endian: the vector of each token
//!   tokenizer.json   vocabulary and rules
//! ```

use std::path::Path;

use serde::Deserialize;

use crate::file::ModelFile;
use crate::manifest::{FORMAT, damaged, look, read_json};
use crate::{EmbedError, Model, digest};

const MODEL: Model = Model::Static;
const KIND: &str = "static";
const COMPONENT_BYTES: u64 = 2;
/// Bounds that no static model comes near; a manifest beyond them is damaged, and its products cannot overflow.
const DIM_MAX: usize = 4096;
const ROWS_MAX: u32 = 10_000_000;

/// The manifest of a static model's folder.
#[derive(Debug, Clone, Deserialize)]
pub struct StaticManifest {
    /// Layout version of the folder.
    pub format: u32,
    /// Always `static`.
    pub kind: String,
    /// The model's name.
    pub name: String,
    /// Components of a vector.
    pub dim: usize,
    /// Tokens that have a vector.
    pub rows: u32,
    /// Longest input in tokens; what is longer is cut.
    pub max_tokens: usize,
    /// The token that stands for a text without tokens.
    pub empty_token: u32,
    /// The vectors of the tokens.
    pub table: ModelFile,
    /// The tokenizer.
    pub tokenizer: ModelFile,
}

impl StaticManifest {
    /// Reads a folder's manifest and checks that each file is there with its length. Cheap: [`verify`](Self::verify) checks contents.
    ///
    /// # Errors
    /// `DamagedModel` names the file and what is wrong with it.
    pub fn read(dir: &Path) -> Result<Self, EmbedError> {
        let manifest: Self = read_json(dir, MODEL)?;
        let damaged = |what: String| Err(damaged(dir, MODEL, what));
        if manifest.format != FORMAT || manifest.kind != KIND {
            return damaged(format!(
                "has format {} and kind {:?}; this build reads format {FORMAT} and kind {KIND:?}",
                manifest.format, manifest.kind
            ));
        }
        let fits = (1..=DIM_MAX).contains(&manifest.dim)
            && (1..=ROWS_MAX).contains(&manifest.rows)
            && manifest.max_tokens > 0
            && manifest.empty_token < manifest.rows;
        if !fits {
            return damaged(format!(
                "needs dim of 1 to {DIM_MAX}, rows of 1 to {ROWS_MAX}, max_tokens > 0 and empty_token < rows"
            ));
        }
        let expected = u64::from(manifest.rows) * manifest.dim as u64 * COMPONENT_BYTES;
        if manifest.table.bytes != expected {
            let (rows, dim, bytes) = (manifest.rows, manifest.dim, manifest.table.bytes);
            return damaged(format!(
                "records {bytes} bytes for a table of {rows} rows of {dim}, which takes {expected}"
            ));
        }
        look(dir, MODEL, &manifest.files())?;
        Ok(manifest)
    }

    /// Reads every file and compares its hash with the recorded one.
    ///
    /// # Errors
    /// `DamagedModel` names the first file that differs.
    pub fn verify(&self, dir: &Path) -> Result<(), EmbedError> {
        self.files().iter().try_for_each(|file| file.verify(dir, MODEL))
    }

    /// Returns a fingerprint of everything that determines the mapping from text to vector.
    pub fn fingerprint(&self) -> String {
        let (dim, max_tokens) = (self.dim.to_string(), self.max_tokens.to_string());
        let empty = self.empty_token.to_string();
        let parts = [&self.table.sha256, &self.tokenizer.sha256, &dim, &max_tokens, &empty];
        format!("static:{}", digest::of_parts(&parts.map(String::as_str)))
    }

    /// Bytes of the folder's files.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.bytes).sum()
    }

    fn files(&self) -> [&ModelFile; 2] {
        [&self.table, &self.tokenizer]
    }
}
