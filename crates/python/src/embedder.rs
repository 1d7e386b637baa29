//! Embedders from Python: an endpoint, or a function.

use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::embed::{self, EmbedError, FnEmbedder, HttpEmbedder, HttpOptions, Model};
use nuthatch_link::{EmbedderChoice, Error, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error::{engine, keep_raised};
use crate::records::floats;

/// Makes vectors of texts. Made by the functions of `nuthatch.embedders`.
#[pyclass(frozen, module = "nuthatch.embedders")]
pub struct Embedder {
    inner: Arc<dyn embed::Embedder>,
}

#[pymethods]
impl Embedder {
    #[staticmethod]
    #[pyo3(signature = (base_url, model, api_key, dim, timeout_seconds, batch, retries, passage_prefix, query_prefix))]
    #[expect(clippy::too_many_arguments, reason = "the package names them")]
    fn openai(
        py: Python<'_>,
        base_url: String,
        model: String,
        api_key: Option<String>,
        dim: Option<usize>,
        timeout_seconds: f64,
        batch: usize,
        retries: usize,
        passage_prefix: String,
        query_prefix: String,
    ) -> PyResult<Self> {
        let defaults = HttpOptions::new(base_url, model);
        let make = move || {
            let read_timeout =
                Duration::try_from_secs_f64(timeout_seconds).ok().filter(|timeout| !timeout.is_zero()).ok_or_else(
                    || Error::invalid(format!("a timeout of {timeout_seconds} seconds; give a number above 0")),
                )?;
            let options = HttpOptions {
                api_key: api_key.or_else(|| defaults.api_key.clone()),
                dim,
                batch_items_max: batch,
                retries_max: retries,
                read_timeout,
                connect_timeout: defaults.connect_timeout.min(read_timeout),
                passage_prefix,
                query_prefix,
                ..defaults
            };
            HttpEmbedder::new(options).map_err(made)
        };
        Ok(Self { inner: Arc::new(engine(py, make)?) })
    }

    /// `function` maps a list of strings to a list of bytes, little-endian f32.
    #[staticmethod]
    fn function(py: Python<'_>, function: Py<PyAny>, name: String, dim: usize) -> PyResult<Self> {
        let call = move |texts: &[&str]| {
            Python::attach(|py| {
                let vectors: PyResult<Vec<PyBackedBytes>> =
                    function.call1(py, (texts.to_vec(),)).and_then(|vectors| vectors.extract(py));
                match vectors {
                    Ok(vectors) => Ok(vectors.iter().map(|vector| floats(vector)).collect()),
                    Err(error) => {
                        let words = error.to_string();
                        keep_raised(error);
                        Err(words)
                    }
                }
            })
        };
        let embedder = engine(py, move || FnEmbedder::new(name, dim, call).map_err(made))?;
        Ok(Self { inner: Arc::new(embedder) })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        self.inner.fingerprint()
    }

    /// One vector per text, as passages are embedded.
    fn embed(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<Vec<f32>>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        engine(py, || Ok(self.inner.embed_passages(&texts)?))
    }

    /// The vector of a question.
    fn embed_query(&self, py: Python<'_>, text: &str) -> PyResult<Vec<f32>> {
        engine(py, || Ok(self.inner.embed_query(text)?))
    }

    fn __repr__(&self) -> String {
        format!("Embedder({:?}, dim={})", self.inner.name(), self.inner.dim())
    }
}

/// An option that cannot work is the caller's to fix, not a thing to wait for.
fn made(error: EmbedError) -> Error {
    match error {
        EmbedError::Config { .. } => Error::invalid(error.to_string()),
        other => other.into(),
    }
}

/// The forms of `embedder=` of `Database.collection` once the package has checked it.
#[derive(FromPyObject)]
pub enum Choice<'py> {
    Given(Bound<'py, Embedder>),
    Named(String),
}

impl Choice<'_> {
    pub fn choose(&self) -> Result<EmbedderChoice> {
        match self {
            Self::Given(embedder) => Ok(EmbedderChoice::Given(embedder.get().inner.clone())),
            Self::Named(name) if name == "none" => Ok(EmbedderChoice::None),
            Self::Named(name) if name == "default" => Ok(EmbedderChoice::BuiltIn(Model::Default)),
            Self::Named(name) if name == "static" => Ok(EmbedderChoice::BuiltIn(Model::Static)),
            Self::Named(name) => Err(Error::invalid(format!(
                "unknown embedder {name:?}; use \"default\", \"static\", \"none\", nuthatch.embedders.openai(...) or nuthatch.embedders.function(...)"
            ))),
        }
    }
}
