//! An embedder around a caller's function, for example a Python callable.

use crate::{EmbedError, Embedder, check_vectors, digest};

type Function = dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync;

/// Calls a function with a list of texts and checks what it gives back: as many vectors as texts, of the stated dimension, all
/// finite. Questions go through the same function.
pub struct FnEmbedder {
    name: String,
    dim: usize,
    fingerprint: String,
    function: Box<Function>,
}

impl FnEmbedder {
    /// `name` stands for the mapping: give another one when the function's vectors change. The function's error is text.
    pub fn new(
        name: impl Into<String>,
        dim: usize,
        function: impl Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync + 'static,
    ) -> Result<Self, EmbedError> {
        let name = name.into();
        if name.is_empty() {
            return Err(EmbedError::Config { option: "name", what: "is empty; give the function a name".into() });
        }
        if dim == 0 {
            return Err(EmbedError::Config {
                option: "dim",
                what: "is 0; state the length of the function's vectors".into(),
            });
        }
        let fingerprint = format!("function:{}", digest::of_parts(&[&name, &dim.to_string()]));
        Ok(Self { name, dim, fingerprint, function: Box::new(function) })
    }
}

impl Embedder for FnEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = (self.function)(texts).map_err(|what| EmbedError::Function { name: self.name.clone(), what })?;
        if vectors.len() != texts.len() {
            return Err(EmbedError::WrongCount {
                name: self.name.clone(),
                expected: texts.len(),
                found: vectors.len(),
            });
        }
        check_vectors(&self.name, self.dim, &vectors)?;
        Ok(vectors)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = self.embed_passages(&[text])?;
        // One text in, one vector out: the count was checked.
        Ok(vectors.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        Ok(texts.iter().map(|t| vec![t.len() as f32, 1.0]).collect())
    }

    #[test]
    fn gives_the_functions_vectors_in_order() {
        let embedder = FnEmbedder::new("lengths", 2, lengths).unwrap();
        assert_eq!(embedder.embed_passages(&["a", "bcd"]).unwrap(), [[1.0, 1.0], [3.0, 1.0]]);
        assert_eq!(embedder.embed_query("xy").unwrap(), [2.0, 1.0]);
        assert!(embedder.embed_passages(&[]).unwrap().is_empty());
    }

    #[test]
    fn refuses_a_wrong_count_dimension_or_value_and_passes_the_functions_words_on() {
        let of = |answer: Result<Vec<Vec<f32>>, String>| {
            FnEmbedder::new("f", 2, move |_| answer.clone()).unwrap().embed_query("x").unwrap_err()
        };
        assert!(matches!(of(Ok(vec![])), EmbedError::WrongCount { expected: 1, found: 0, .. }));
        assert!(matches!(of(Ok(vec![vec![1.0; 3]])), EmbedError::WrongDimension { expected: 2, found: 3, .. }));
        assert!(matches!(of(Ok(vec![vec![f32::NAN, 0.0]])), EmbedError::NotFinite { position: 0, .. }));
        assert!(of(Err("ValueError: no".into())).to_string().contains("ValueError: no"));
    }

    #[test]
    fn the_fingerprint_is_the_name_and_the_dimension() {
        let of = |name: &str, dim| FnEmbedder::new(name, dim, lengths).unwrap().fingerprint().to_owned();
        assert_eq!(of("a", 2), of("a", 2));
        assert_ne!(of("a", 2), of("b", 2));
        assert_ne!(of("a", 2), of("a", 3));
        assert!(FnEmbedder::new("", 2, lengths).is_err());
        assert!(FnEmbedder::new("a", 0, lengths).is_err());
    }
}
