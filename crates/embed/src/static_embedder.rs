//! The static embedder: a vector for each token, and the mean of a text's tokens. No model runs.
//!
//! Some 70 times cheaper than the default model, and weaker: a token has one vector, whatever stands next to it
//! (figures: `docs/rfcs/0031-static-embedder.md`). Sums are taken in f32 in the order of the tokens, so that every processor
//! gives the same bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::resident::Before;
use crate::tokens::Tokens;
use crate::{EmbedError, Embedder, Model, StaticManifest, check_vectors, normalise};

/// A static model's embedder. Opening is cheap; the first text loads the table and checks it against its hash, and
/// [`unload`](Embedder::unload) gives it back.
pub struct StaticEmbedder {
    dir: PathBuf,
    manifest: StaticManifest,
    fingerprint: String,
    loaded: Mutex<Option<Arc<Loaded>>>,
}

struct Loaded {
    tokens: Tokens,
    /// `[rows, dim]` f16, little-endian, as in the file: a second form of it would double the memory while it is made.
    table: Vec<u8>,
    dim: usize,
    resident_bytes: u64,
}

impl StaticEmbedder {
    /// Reads the folder's manifest and checks that its files are there with their lengths.
    ///
    /// # Errors
    /// `DamagedModel` names the file and what is wrong with it.
    pub fn open(dir: &Path) -> Result<Self, EmbedError> {
        let manifest = StaticManifest::read(dir)?;
        let fingerprint = manifest.fingerprint();
        Ok(Self { dir: dir.to_owned(), manifest, fingerprint, loaded: Mutex::default() })
    }

    /// The folder's manifest.
    pub fn manifest(&self) -> &StaticManifest {
        &self.manifest
    }

    /// The table is only locked while it is loaded: texts of several threads are embedded at the same time.
    fn loaded(&self) -> Result<Arc<Loaded>, EmbedError> {
        let mut slot = self.loaded.lock();
        if let Some(loaded) = &*slot {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(Loaded::open(&self.dir, &self.manifest)?);
        *slot = Some(loaded.clone());
        Ok(loaded)
    }

    fn embed(&self, loaded: &Loaded, text: &str) -> Result<Vec<f32>, EmbedError> {
        let ids = loaded.tokens.encode(text)?;
        loaded.mean(&ids, self.manifest.empty_token).map_err(|token| EmbedError::DamagedModel {
            model: Model::Static,
            path: self.dir.join(&self.manifest.tokenizer.name),
            what: format!("gives token {token}, but the table has {} rows", self.manifest.rows),
        })
    }
}

impl Embedder for StaticEmbedder {
    fn name(&self) -> &str {
        &self.manifest.name
    }

    fn dim(&self) -> usize {
        self.manifest.dim
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let loaded = self.loaded()?;
        let vectors = texts.iter().map(|text| self.embed(&loaded, text)).collect::<Result<Vec<_>, _>>()?;
        check_vectors(self.name(), self.dim(), &vectors)?;
        Ok(vectors)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let vector = self.embed(&*self.loaded()?, text)?;
        check_vectors(self.name(), self.dim(), std::slice::from_ref(&vector))?;
        Ok(vector)
    }

    /// The growth of the process while the model was loaded, at least the sizes of its files; 0 when it is not loaded.
    fn resident_bytes(&self) -> u64 {
        self.loaded.lock().as_ref().map_or(0, |loaded| loaded.resident_bytes)
    }

    fn unload(&self) {
        *self.loaded.lock() = None;
    }
}

impl Loaded {
    /// Hashes the very bytes that it keeps, so a file that changes later changes no vector.
    fn open(dir: &Path, manifest: &StaticManifest) -> Result<Self, EmbedError> {
        let before = Before::now();
        let rules = manifest.tokenizer.read(dir, Model::Static)?;
        let path = dir.join(&manifest.tokenizer.name);
        let tokens = Tokens::new(&rules, &path, &manifest.name, manifest.max_tokens, Model::Static)?;
        drop(rules);
        let table = manifest.table.read(dir, Model::Static)?;
        Ok(Self { tokens, table, dim: manifest.dim, resident_bytes: before.growth(manifest.bytes()) })
    }

    /// The mean of the tokens' vectors, of length 1. The error is a token without a row.
    fn mean(&self, ids: &[u32], empty: u32) -> Result<Vec<f32>, u32> {
        let mut sum = vec![0.0; self.dim];
        for id in ids {
            self.add(*id, &mut sum)?;
        }
        if sum.iter().all(|x| *x == 0.0) {
            // No token, or tokens that cancel out: a vector without direction could not be stored.
            self.add(empty, &mut sum)?;
        }
        // The length becomes 1, so the sum needs no division by the number of tokens.
        normalise(&mut sum);
        Ok(sum)
    }

    fn add(&self, id: u32, sum: &mut [f32]) -> Result<(), u32> {
        let row_bytes = self.dim * 2;
        let start = id as usize * row_bytes;
        let row = self.table.get(start..start + row_bytes).ok_or(id)?;
        for (x, half) in sum.iter_mut().zip(row.as_chunks().0) {
            *x += from_half(u16::from_le_bytes(*half));
        }
        Ok(())
    }
}

/// An f16 as f32. Shifting puts exponent and mantissa in their places, and the product corrects the exponent's bias; it is
/// exact, for subnormal numbers, too. Infinities and NaN become large numbers, which no table holds: its hash is known.
fn from_half(half: u16) -> f32 {
    const BIAS: f32 = f32::from_bits((254 - 15) << 23); // 2^112
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13) * BIAS;
    f32::from_bits(magnitude.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::from_half;

    #[test]
    fn every_finite_half_is_the_number_that_its_bits_say() {
        for half in (0..=u16::MAX).filter(|half| half & 0x7c00 != 0x7c00) {
            let (exponent, mantissa) = (i32::from(half >> 10 & 0x1f), f64::from(half & 0x3ff));
            let magnitude = match exponent {
                0 => mantissa * f64::powi(2.0, -24),
                _ => (1.0 + mantissa / 1024.0) * f64::powi(2.0, exponent - 15),
            };
            let expected = if half >> 15 == 1 { -magnitude } else { magnitude };
            assert_eq!(f64::from(from_half(half)), expected, "{half:#06x}");
        }
    }
}
