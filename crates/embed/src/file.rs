//! One file of a model folder: recorded by the installer, checked before its first use.

use std::path::Path;

use serde::Deserialize;

use crate::{EmbedError, Model, digest};

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

impl ModelFile {
    /// Checks that the file is there with its length. Cheap: [`verify`](Self::verify) checks the contents.
    pub(crate) fn look(&self, dir: &Path, model: Model) -> Result<(), EmbedError> {
        let path = dir.join(&self.name);
        let what = match std::fs::metadata(&path) {
            Ok(meta) if meta.len() == self.bytes => return Ok(()),
            Ok(meta) => format!("has {} bytes, but {} were recorded", meta.len(), self.bytes),
            Err(e) => format!("cannot be read ({e})"),
        };
        Err(EmbedError::DamagedModel { model, path, what })
    }

    /// Reads the file and compares its hash with the recorded one.
    pub(crate) fn verify(&self, dir: &Path, model: Model) -> Result<(), EmbedError> {
        let path = dir.join(&self.name);
        let found = digest::file_sha256(&path);
        self.compare(found, dir, model)
    }

    /// The file's bytes, which have the recorded hash.
    pub(crate) fn read(&self, dir: &Path, model: Model) -> Result<Vec<u8>, EmbedError> {
        let path = dir.join(&self.name);
        #[allow(clippy::disallowed_methods, reason = "`compare` checks the bytes")]
        let bytes = std::fs::read(&path).map_err(|e| EmbedError::DamagedModel {
            model,
            path,
            what: format!("cannot be read ({e})"),
        })?;
        self.compare(Ok(digest::sha256(&bytes)), dir, model)?;
        Ok(bytes)
    }

    /// Whether the name is a plain one: a manifest must not reach outside of its folder.
    pub(crate) fn is_plain(&self) -> bool {
        Path::new(&self.name).file_name().is_some_and(|name| name == self.name.as_str())
    }

    fn compare(&self, found: std::io::Result<String>, dir: &Path, model: Model) -> Result<(), EmbedError> {
        let what = match found {
            Ok(hash) if hash == self.sha256 => return Ok(()),
            Ok(_) => "has changed since it was installed (its SHA-256 differs)".into(),
            Err(e) => format!("cannot be read ({e})"),
        };
        Err(EmbedError::DamagedModel { model, path: dir.join(&self.name), what })
    }
}
