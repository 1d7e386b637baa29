//! Facts as Python sees them, as they are or in a snapshot: their calls by name, JSON in and JSON out.

use nuthatch_dialect::facts;
use nuthatch_link as core;
use nuthatch_link::Error;
use pyo3::prelude::*;

use crate::error::engine;
use crate::forked::Forked;
use crate::handle::Handle;

/// Facts to record, from the JSON of the call `record`.
pub fn to_record(question: &str) -> core::Result<Vec<core::NewFact>> {
    let question = serde_json::from_str(question).map_err(|error| Error::invalid(format!("record: {error}")))?;
    facts::asked_to_record(question)
}

/// Refuses facts that no batch takes, before they travel.
#[pyfunction]
pub fn check_facts(py: Python<'_>, question: &str) -> PyResult<()> {
    engine(py, || core::WriteBatch::new().facts("").record(to_record(question)?).map(drop))
}

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Facts {
    at: At,
    name: String,
    handle: Handle,
}

enum At {
    Live(core::Facts),
    Kept(Forked<core::SnapshotFacts>),
}

impl Facts {
    pub fn live(facts: core::Facts, handle: Handle) -> Self {
        Self { name: facts.name().into(), at: At::Live(facts), handle }
    }

    pub fn kept(facts: core::SnapshotFacts, name: String, handle: Handle) -> Self {
        Self { at: At::Kept(Forked::new(facts)), name, handle }
    }
}

#[pymethods]
impl Facts {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, py: Python<'_>, call: &str, question: &str) -> PyResult<String> {
        self.handle.get(py)?;
        engine(py, || {
            let question =
                serde_json::from_str(question).map_err(|error| Error::invalid(format!("{call}: {error}")))?;
            let answer = match &self.at {
                At::Live(live) => facts::ask(live, call, question)?,
                At::Kept(kept) => facts::read(kept.get(), call, question)?,
            };
            Ok(answer.to_string())
        })
    }
}
