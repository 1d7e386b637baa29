//! A cache of answers as Python sees it: its calls by name, JSON in and JSON out.

use nuthatch_dialect::caches;
use nuthatch_link as core;
use nuthatch_link::Error;
use pyo3::prelude::*;

use crate::error::engine;
use crate::handle::Handle;

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Cache {
    cache: core::Cache,
    handle: Handle,
}

impl Cache {
    pub fn new(cache: core::Cache, handle: Handle) -> Self {
        Self { cache, handle }
    }
}

#[pymethods]
impl Cache {
    #[getter]
    fn name(&self) -> &str {
        self.cache.name()
    }

    fn ask(&self, py: Python<'_>, call: &str, question: &str) -> PyResult<String> {
        self.handle.get(py)?;
        engine(py, || {
            let question =
                serde_json::from_str(question).map_err(|error| Error::invalid(format!("{call}: {error}")))?;
            Ok(caches::ask(&self.cache, call, question)?.to_string())
        })
    }
}
