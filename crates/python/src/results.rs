//! The answer of a search as Python sees it. Parts that are never looked at never become Python objects.
//!
//! **What it is.** Classes that hold values and make Python's of them. `nuthatch.results` gives them what a dataclass and
//! a sequence have besides.
//! **Not for** the search itself: `searching` asks it.
//!
//! **Invariant:** an attribute is made once, so a payload that a caller changes stays changed.

use std::mem;
use std::sync::{Mutex, PoisonError};

use nuthatch_dialect::operations::Facet;
use nuthatch_link::{self as core, Answer, Explain};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator, PyList};
use pyo3::{IntoPyObjectExt, intern};
use serde::Serialize;

use crate::error::invalid;
use crate::records::values_to_python;
use crate::value::{json_to_python, payload_to_python};

/// The prefix of a cursor of results; the offset of the page follows.
pub const CURSOR: &str = "after:";

/// A hit's rank and score in one leg of a search.
#[pyclass(frozen, get_all, module = "nuthatch.results")]
pub struct Leg {
    rank: Py<PyAny>,
    score: Py<PyAny>,
}

#[pymethods]
impl Leg {
    #[new]
    fn new(rank: Py<PyAny>, score: Py<PyAny>) -> Self {
        Self { rank, score }
    }
}

fn leg(py: Python<'_>, found: core::Leg) -> PyResult<Py<PyAny>> {
    Leg { rank: found.rank.into_py_any(py)?, score: found.score.into_py_any(py)? }.into_py_any(py)
}

/// A hit's rank and score in each leg that found it.
#[pyclass(frozen, get_all, module = "nuthatch.results")]
pub struct Legs {
    text: Option<Py<PyAny>>,
    vector: Option<Py<PyAny>>,
    vectors: Py<PyAny>,
    rerank: Option<Py<PyAny>>,
}

#[pymethods]
impl Legs {
    #[new]
    #[pyo3(signature = (text=None, vector=None, vectors=None, rerank=None))]
    fn new(
        py: Python<'_>,
        text: Option<Py<PyAny>>,
        vector: Option<Py<PyAny>>,
        vectors: Option<Py<PyAny>>,
        rerank: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self { text, vector, vectors: or_empty(py, vectors)?, rerank })
    }
}

fn legs(py: Python<'_>, found: &core::Legs) -> PyResult<Py<PyAny>> {
    let one = |found: Option<core::Leg>| found.map(|found| leg(py, found)).transpose();
    let vectors = PyDict::new(py);
    for (field, found) in &found.vectors {
        vectors.set_item(field, leg(py, *found)?)?;
    }
    let (text, vector, rerank) = (one(found.text)?, one(found.vector)?, one(found.rerank)?);
    Legs { text, vector, vectors: vectors.into_py_any(py)?, rerank }.into_py_any(py)
}

fn or_empty(py: Python<'_>, given: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    given.map_or_else(|| PyDict::new(py).into_py_any(py), Ok)
}

/// One hit of a search.
#[pyclass(frozen, module = "nuthatch.results")]
pub struct Hit {
    of: Of,
    carried: PyOnceLock<Carried>,
    legs: PyOnceLock<Py<PyAny>>,
}

/// Where a hit comes from.
#[allow(clippy::large_enum_variant, reason = "nearly every hit is the engine's, and a box for each costs more")]
enum Of {
    Engine(core::Hit),
    /// A server's answer, as Python's `json` reads it.
    Server {
        told: Py<PyAny>,
        id: Py<PyAny>,
        score: Py<PyAny>,
    },
    /// A caller, who gave all of its values.
    Caller {
        id: Py<PyAny>,
        score: Py<PyAny>,
    },
}

/// The contents of a hit besides its id, its score and its places in the legs.
struct Carried {
    text: Py<PyAny>,
    payload: Py<PyAny>,
    context: Py<PyAny>,
    vector: Py<PyAny>,
    vectors: Py<PyAny>,
}

#[pymethods]
impl Hit {
    #[new]
    #[pyo3(signature = (id, score, text, payload, legs, context=None, vector=None, vectors=None))]
    #[expect(clippy::too_many_arguments, reason = "a class with so many fields")]
    fn new(
        py: Python<'_>,
        id: Py<PyAny>,
        score: Py<PyAny>,
        text: Py<PyAny>,
        payload: Py<PyAny>,
        legs: Py<PyAny>,
        context: Option<Py<PyAny>>,
        vector: Option<Py<PyAny>>,
        vectors: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (context, vector) = (context.into_py_any(py)?, vector.into_py_any(py)?);
        let carried = Carried { text, payload, context, vector, vectors: or_empty(py, vectors)? };
        Ok(Self { of: Of::Caller { id, score }, carried: made(py, carried), legs: made(py, legs) })
    }

    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.of {
            Of::Engine(hit) => hit.id.as_str().into_py_any(py),
            Of::Server { id, .. } | Of::Caller { id, .. } => Ok(id.clone_ref(py)),
        }
    }

    #[getter]
    fn score(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.of {
            Of::Engine(hit) => hit.score.into_py_any(py),
            Of::Server { score, .. } | Of::Caller { score, .. } => Ok(score.clone_ref(py)),
        }
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.carried(py)?.text.clone_ref(py))
    }

    #[getter]
    fn payload(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.carried(py)?.payload.clone_ref(py))
    }

    #[getter]
    fn context(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.carried(py)?.context.clone_ref(py))
    }

    #[getter]
    fn vector(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.carried(py)?.vector.clone_ref(py))
    }

    #[getter]
    fn vectors(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.carried(py)?.vectors.clone_ref(py))
    }

    #[getter]
    fn legs(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || match &self.of {
            Of::Engine(hit) => legs(py, &hit.legs),
            Of::Server { told, .. } => of_server(py, "legs", told).map(Bound::unbind),
            Of::Caller { .. } => Err(given_whole()),
        };
        Ok(self.legs.get_or_try_init(py, make)?.clone_ref(py))
    }
}

impl Hit {
    fn of(of: Of) -> Self {
        Self { of, carried: PyOnceLock::new(), legs: PyOnceLock::new() }
    }

    fn carried(&self, py: Python<'_>) -> PyResult<&Carried> {
        let make = || match &self.of {
            Of::Engine(hit) => Ok(Carried {
                text: hit.text.as_deref().into_py_any(py)?,
                payload: payload_to_python(py, &hit.payload)?.into_py_any(py)?,
                context: hit.context.as_deref().into_py_any(py)?,
                vector: hit.vector.as_deref().map(|vector| PyList::new(py, vector)).transpose()?.into_py_any(py)?,
                vectors: values_to_python(py, &hit.vectors)?.into_py_any(py)?,
            }),
            Of::Server { told, .. } => {
                let (text, payload, context, vector, vectors) = of_server(py, "carried", told)?.extract()?;
                Ok(Carried { text, payload, context, vector, vectors })
            }
            Of::Caller { .. } => Err(given_whole()),
        };
        self.carried.get_or_try_init(py, make)
    }
}

fn made<T>(py: Python<'_>, value: T) -> PyOnceLock<T> {
    let lock = PyOnceLock::new();
    // Nobody else has the lock yet.
    let _ = lock.set(py, value);
    lock
}

fn given_whole() -> PyErr {
    PyRuntimeError::new_err("a hit that a caller made has all its parts")
}

/// A part of a hit from the server's JSON of it.
fn of_server<'py>(py: Python<'py>, part: &str, told: &Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
    py.import("nuthatch.remote.values")?.getattr(part)?.call1((told,))
}

/// Hits of a server's answer, of which each part is read when it is first looked at.
#[pyfunction]
pub fn hits_of_server<'py>(py: Python<'py>, told: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
    let one = |told: Bound<'py, PyAny>| {
        // 32 bits: JSON has a score's shortest digits, which as 64 bits are another number.
        let score: f32 = told.get_item(intern!(py, "score"))?.extract()?;
        let (id, score) = (told.get_item(intern!(py, "id"))?.unbind(), score.into_py_any(py)?);
        Bound::new(py, Hit::of(Of::Server { told: told.unbind(), id, score }))
    };
    PyList::new(py, told.iter().map(one).collect::<PyResult<Vec<_>>>()?)
}

/// Hits, best first.
#[pyclass(frozen, module = "nuthatch.results")]
pub struct Results {
    /// Becomes `hits` when they are first looked at.
    found: Mutex<Vec<core::Hit>>,
    count: usize,
    hits: PyOnceLock<Py<PyList>>,
    told: Told,
    cursor: PyOnceLock<Py<PyAny>>,
    degraded: PyOnceLock<Py<PyAny>>,
    explain: PyOnceLock<Py<PyAny>>,
    facets: PyOnceLock<Py<PyAny>>,
    pending: PyOnceLock<Py<PyAny>>,
}

/// Further information that the engine returns with the hits.
#[derive(Default)]
struct Told {
    next_offset: Option<usize>,
    degraded: Vec<String>,
    explain: Option<Explain>,
    facets: Vec<Facet>,
    pending: Option<(u64, u64)>,
}

impl Results {
    pub fn of<'py>(py: Python<'py>, answer: Answer, explain: bool) -> PyResult<Bound<'py, Self>> {
        let Answer { hits, degraded, facets, next_offset, pending, explain: explained } = answer;
        let pending = pending.map(|pending| (pending.vectors, pending.records));
        let facets = facets.into_iter().map(Facet::from).collect();
        let told = Told { next_offset, degraded, explain: explain.then_some(explained), facets, pending };
        Bound::new(py, Self::with(hits, told))
    }

    fn with(found: Vec<core::Hit>, told: Told) -> Self {
        Self {
            count: found.len(),
            found: Mutex::new(found),
            hits: PyOnceLock::new(),
            told,
            cursor: PyOnceLock::new(),
            degraded: PyOnceLock::new(),
            explain: PyOnceLock::new(),
            facets: PyOnceLock::new(),
            pending: PyOnceLock::new(),
        }
    }

    /// Python may run anything while objects are made, so no lock is held then.
    fn take_found(&self) -> Vec<core::Hit> {
        mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn hits<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyList>> {
        let make = || {
            let hits = self.take_found().into_iter().map(|hit| Bound::new(py, Hit::of(Of::Engine(hit))));
            Ok::<_, PyErr>(PyList::new(py, hits.collect::<PyResult<Vec<_>>>()?)?.unbind())
        };
        Ok(self.hits.get_or_try_init(py, make)?.bind(py))
    }
}

#[pymethods]
impl Results {
    #[new]
    #[pyo3(signature = (hits, cursor=None, degraded=None, explain=None, facets=None, pending=None))]
    fn new(
        py: Python<'_>,
        hits: Bound<'_, PyList>,
        cursor: Option<Py<PyAny>>,
        degraded: Option<Bound<'_, PyAny>>,
        explain: Option<Py<PyAny>>,
        facets: Option<Py<PyAny>>,
        pending: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let degraded = match degraded {
            Some(degraded) => PyList::new(py, degraded.try_iter()?.collect::<PyResult<Vec<_>>>()?)?,
            None => PyList::empty(py),
        };
        Ok(Self {
            hits: made(py, hits.unbind()),
            cursor: made(py, cursor.into_py_any(py)?),
            degraded: made(py, degraded.into_py_any(py)?),
            explain: made(py, explain.into_py_any(py)?),
            facets: made(py, or_empty(py, facets)?),
            pending: made(py, pending.into_py_any(py)?),
            ..Self::with(Vec::new(), Told::default())
        })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.hits.get(py).map_or(self.count, |hits| hits.bind(py).len())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.hits(py)?.as_any().get_item(at)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.hits(py)?.as_any().try_iter()
    }

    #[getter]
    fn cursor(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || self.told.next_offset.map(|offset| format!("{CURSOR}{offset}")).into_py_any(py);
        Ok(self.cursor.get_or_try_init(py, make)?.clone_ref(py))
    }

    #[getter]
    fn degraded(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || PyList::new(py, &self.told.degraded)?.into_py_any(py);
        Ok(self.degraded.get_or_try_init(py, make)?.clone_ref(py))
    }

    #[getter]
    fn explain(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || self.told.explain.as_ref().map(|explain| report(py, explain)).transpose()?.into_py_any(py);
        Ok(self.explain.get_or_try_init(py, make)?.clone_ref(py))
    }

    #[getter]
    fn facets(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || match &self.told.facets[..] {
            [] => PyDict::new(py).into_py_any(py),
            counted => ours(py, "facets")?.call1((report(py, &counted)?,))?.into_py_any(py),
        };
        Ok(self.facets.get_or_try_init(py, make)?.clone_ref(py))
    }

    #[getter]
    fn pending(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || match self.told.pending {
            Some(pending) => ours(py, "Pending")?.call1(pending)?.into_py_any(py),
            None => Ok(py.None()),
        };
        Ok(self.pending.get_or_try_init(py, make)?.clone_ref(py))
    }
}

/// ids, scores
type IdsAndScores<'py> = (Vec<Bound<'py, PyList>>, Vec<Bound<'py, PyList>>);

/// The ids and the scores of the hits of several answers. Answers that nobody has looked at are used up.
#[pyfunction]
pub fn ids_and_scores<'py>(py: Python<'py>, answers: Vec<Bound<'py, Results>>) -> PyResult<IdsAndScores<'py>> {
    let (mut ids, mut scores) = (Vec::with_capacity(answers.len()), Vec::with_capacity(answers.len()));
    for answer in &answers {
        let answer = answer.get();
        if let Some(hits) = answer.hits.get(py) {
            let each = |name: &str| hits.bind(py).iter().map(|hit| hit.getattr(name)).collect::<PyResult<Vec<_>>>();
            ids.push(PyList::new(py, each("id")?)?);
            scores.push(PyList::new(py, each("score")?)?);
        } else {
            let found = answer.take_found();
            ids.push(PyList::new(py, found.iter().map(|hit| &hit.id))?);
            scores.push(PyList::new(py, found.iter().map(|hit| hit.score))?);
        }
    }
    Ok((ids, scores))
}

/// Something of the module that these classes belong to.
fn ours<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("nuthatch.results")?.getattr(name)
}

fn report<'py>(py: Python<'py>, told: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_value(told).map_err(|error| invalid(py, error.to_string()))?;
    json_to_python(py, json)
}
