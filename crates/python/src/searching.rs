//! A search from the arguments of a caller in Python.
//!
//! This module reads the arguments that nearly every search gives. All others go to `nuthatch.queries` and
//! `nuthatch.arguments`, which turn them into the same form, or say in words why not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nuthatch_dialect::{self as dialect, FieldVector, Part, Vector, VectorFormat};
use nuthatch_link::{Result, Search};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::adding::CancelFlag;
use crate::error::{invalid, to_python};
use crate::records::{ValueParts, floats, string};

/// A search as every face writes it, and how long it may take.
pub struct Query {
    pub asked: dialect::Search,
    pub timeout_seconds: Option<f64>,
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Query {
    /// Of the tuple that `nuthatch.queries.Asked` describes.
    pub fn of(asked: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let py = asked.py();
        let mut arguments = asked.iter_borrowed();
        let mut next = || arguments.next().ok_or_else(|| PyTypeError::new_err("a search of fewer arguments"));
        let (text, vector, like, using, vectors) = (next()?, next()?, next()?, next()?, next()?);
        let (limit, offset, cursor, condition) = (next()?, next()?, next()?, next()?);
        let (mode, fusion, weights, include, explain) = (next()?, next()?, next()?, next()?, next()?);
        let (recall, ef, exact, timeout, cancel, further) = (next()?, next()?, next()?, next()?, next()?, next()?);
        let further = further.cast::<PyDict>()?;
        let is_usual = like.is_none() && using.is_none() && mode.is_none() && weights.is_none() && further.is_empty();
        let given = match is_usual && is_text(&fusion, "rrf") {
            true => dialect::Search::default(),
            false => {
                let fields = checked(py, QUERIES, "fields", (like, using, mode, fusion, weights, further))?;
                let fields = serde_json::from_str(fields.extract()?);
                let fields = fields.map_err(|error| invalid(py, format!("the search: {error}")))?;
                dialect::Search::of(fields).map_err(|error| to_python(py, error, None))?
            }
        };
        let text = match text.is_none() {
            true => None,
            false => Some(
                string(&text).map_err(|what| invalid(py, format!("the text to search for {what}; give a string")))?,
            ),
        };
        let (recall, ef, exact) = accuracy(&recall, &ef, &exact)?;
        let asked = dialect::Search {
            text,
            vector: if vector.is_none() { None } else { Some(Vector::Numbers(components(&vector)?)) },
            vectors: if vectors.is_none() { Default::default() } else { by_field(&vectors)? },
            filter: optional_text("where", &condition)?,
            limit: whole("limit", &limit)?,
            offset: match cursor.is_none() {
                true => whole("offset", &offset)?,
                false => checked(py, QUERIES, "offset_of", (offset, cursor))?.extract()?,
            },
            recall,
            ef,
            exact,
            include: Some(parts(&include)?),
            explain: explain.is_truthy()?,
            ..given
        };
        Ok(Self {
            asked,
            timeout_seconds: match timeout.is_none() {
                true => None,
                false => checked(py, ARGUMENTS, "seconds", ("timeout", timeout))?.extract()?,
            },
            cancel: match cancel.is_none() {
                true => None,
                false => Some(cancel.cast::<CancelFlag>()?.get().shared()),
            },
        })
    }

    /// As the engine has it.
    pub fn search(self) -> Result<Search> {
        self.asked.into_engine(self.timeout_seconds.map(Duration::from_secs_f64), self.cancel)
    }
}

const QUERIES: &str = "nuthatch.queries";
const ARGUMENTS: &str = "nuthatch.arguments";
const VECTORS: &str = "nuthatch.vectors";

/// Passes unusual arguments to a function of the package, and returns its result.
fn checked<'py>(
    py: Python<'py>,
    module: &str,
    function: &str,
    given: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(module)?.getattr(function)?.call1(given)
}

fn is_text(value: &Bound<'_, PyAny>, text: &str) -> bool {
    value.cast::<PyString>().is_ok_and(|value| value.to_str().is_ok_and(|value| value == text))
}

fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if value.is_exact_instance_of::<PyInt>()
        && let Ok(number) = value.extract::<i64>()
        && let Ok(number) = usize::try_from(number)
    {
        return Ok(number);
    }
    checked(value.py(), ARGUMENTS, "whole", (name, value))?.extract()
}

fn optional_text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    match value.cast::<PyString>().ok().and_then(|text| text.to_str().ok()) {
        Some(text) => Ok(Some(text.into())),
        None => checked(value.py(), ARGUMENTS, "optional_text", (name, value))?.extract(),
    }
}

/// recall, ef, exact
fn accuracy(
    recall: &Bound<'_, PyAny>,
    ef: &Bound<'_, PyAny>,
    exact: &Bound<'_, PyAny>,
) -> PyResult<(Option<f32>, Option<usize>, bool)> {
    if ef.is_none() && exact.cast::<PyBool>().is_ok_and(|exact| !exact.is_true()) {
        if recall.is_none() {
            return Ok((None, None, false));
        }
        if let Ok(recall) = recall.cast_exact::<PyFloat>()
            && recall.value().is_finite()
        {
            return Ok((Some(recall.value() as f32), None, false));
        }
    }
    checked(recall.py(), QUERIES, "accuracy", (recall, ef, exact))?.extract()
}

/// Returns the parts that hits are to carry.
fn parts(include: &Bound<'_, PyAny>) -> PyResult<Vec<Part>> {
    let py = include.py();
    let named = match (include.cast_exact::<PyTuple>(), include.cast_exact::<PyList>()) {
        (Ok(names), _) => names.iter().map(|name| part(&name)).collect(),
        (_, Ok(names)) => names.iter().map(|name| part(&name)).collect(),
        _ => None,
    };
    match named {
        Some(parts) => Ok(parts),
        None => {
            let (text, payload, vector): (bool, bool, bool) =
                checked(py, ARGUMENTS, "include", (include,))?.extract()?;
            let parts = [(text, Part::Text), (payload, Part::Payload), (vector, Part::Vector)];
            Ok(parts.into_iter().filter_map(|(is_wanted, part)| is_wanted.then_some(part)).collect())
        }
    }
}

fn part(name: &Bound<'_, PyAny>) -> Option<Part> {
    match name.cast::<PyString>().ok()?.to_str().ok()? {
        "text" => Some(Part::Text),
        "payload" => Some(Part::Payload),
        "vector" => Some(Part::Vector),
        _ => None,
    }
}

fn components(vector: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let py = vector.py();
    let bytes = match Arrays::of(vector)? {
        Some(arrays) if arrays.is_vector(vector)? => vector.call_method0(intern!(py, "tobytes"))?,
        _ => checked(py, VECTORS, "vector_bytes", (vector, "vector"))?,
    };
    Ok(floats(&bytes.extract::<PyBackedBytes>()?))
}

fn by_field(vectors: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, FieldVector>> {
    let py = vectors.py();
    let parts = checked(py, VECTORS, "by_field", (vectors, "vectors"))?;
    let one = |(field, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let field: String = field.extract()?;
        let value = value.extract::<ValueParts>()?.value();
        let value = value.map_err(|error| invalid(py, format!("vectors {field:?}: {}", error.message)))?;
        Ok((field, VectorFormat::Numbers.write_value(value)))
    };
    parts.cast::<PyDict>()?.iter().map(one).collect()
}

/// Recognizes a vector of 32-bit floats among numpy's arrays.
struct Arrays {
    array: Py<PyType>,
    f32: Py<PyAny>,
}

impl Arrays {
    /// Absent as long as no array was seen: numpy is not imported for this.
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<&'static Self>> {
        static ARRAYS: PyOnceLock<Arrays> = PyOnceLock::new();
        let py = value.py();
        if ARRAYS.get(py).is_none() && value.get_type().module()? != "numpy" {
            return Ok(None);
        }
        let make = || {
            let numpy = py.import("numpy")?;
            let array = numpy.getattr("ndarray")?.cast_into::<PyType>()?.unbind();
            Ok::<_, PyErr>(Self { array, f32: numpy.getattr("dtype")?.call1(("<f4",))?.unbind() })
        };
        ARRAYS.get_or_try_init(py, make).map(Some)
    }

    fn is_vector(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = value.py();
        Ok(value.get_type().is(&self.array)
            && value.getattr(intern!(py, "dtype"))?.is(&self.f32)
            && value.getattr(intern!(py, "ndim"))?.extract::<usize>()? == 1)
    }
}
