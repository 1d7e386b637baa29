//! Payload values to and from Python. Datetimes are aware and in UTC on the way out; on the way in a naive one is taken as UTC.

use std::fmt;

use nuthatch_link::{Payload, Value, format_datetime};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use serde::Serialize;

use crate::error::invalid;

/// Deeper nesting is refused before the engine's own, lower limit, so that a list that contains itself ends.
const NESTING_MAX: usize = 256;

/// Where a value stands, for messages: `meta.tags[2]`.
struct ValuePath<'a> {
    parent: Option<&'a ValuePath<'a>>,
    step: Step<'a>,
    depth: usize,
}

enum Step<'a> {
    Field(&'a str),
    Item(usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(out)?;
        }
        match (&self.step, self.parent) {
            (Step::Field(name), None) => out.write_str(name),
            (Step::Field(name), Some(_)) => write!(out, ".{name}"),
            (Step::Item(at), _) => write!(out, "[{at}]"),
        }
    }
}

/// Bytes of JSON.
pub fn json<'py>(py: Python<'py>, body: &(impl Serialize + Sync)) -> PyResult<Bound<'py, PyBytes>> {
    let written = py.detach(|| serde_json::to_vec(body));
    Ok(PyBytes::new(py, &written.map_err(|error| invalid(py, error.to_string()))?))
}

/// A dict as a payload. `record` names the record in messages.
pub fn payload_from_python(record: &dyn Fn() -> String, payload: &Bound<'_, PyAny>) -> PyResult<Payload> {
    let py = payload.py();
    let Ok(dict) = payload.cast::<PyDict>() else {
        return Err(invalid(py, format!("{}: its payload is {}; give a dict", record(), article(payload))));
    };
    let mut fields = Payload::new();
    for (name, value) in dict.iter() {
        let Some(name) = field_name(&name) else {
            return Err(invalid(
                py,
                format!("{}: payload field {name} is named by {}; names are strings", record(), article(&name)),
            ));
        };
        let place = ValuePath { parent: None, step: Step::Field(&name), depth: 1 };
        let value = value_from_python(&place, &value)
            .map_err(|wrong| invalid(py, format!("{}: payload field {:?} {}", record(), wrong.place, wrong.what)))?;
        fields.insert(name.clone(), value);
    }
    Ok(fields)
}

/// An invalid value: what is wrong, and where inside the field.
struct Wrong {
    place: String,
    what: String,
}

fn value_from_python(place: &ValuePath<'_>, value: &Bound<'_, PyAny>) -> Result<Value, Wrong> {
    let wrong = |what: String| Wrong { place: place.to_string(), what };
    let internal = |error: PyErr| wrong(format!("cannot be read: {error}"));
    if place.depth > NESTING_MAX {
        return Err(wrong(format!("is nested more than {NESTING_MAX} deep")));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return value
            .extract()
            .map(Value::Int)
            .map_err(|_| wrong("is an integer outside of 64 bits; store it as text or as a float".into()));
    }
    if value.is_instance_of::<PyFloat>() {
        let value: f64 = value.extract().map_err(internal)?;
        return match value.is_finite() {
            true => Ok(Value::Float(value)),
            false => Err(wrong(format!("is {value}; store None, or leave the field out"))),
        };
    }
    if let Ok(value) = value.cast::<PyString>() {
        return match value.to_str() {
            Ok(value) => Ok(Value::Text(value.into())),
            Err(_) => Err(wrong("is text with lone surrogates, which is not valid Unicode".into())),
        };
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter().map_err(internal)?;
        let values = items.enumerate().map(|(at, item)| {
            let place = ValuePath { parent: Some(place), step: Step::Item(at), depth: place.depth + 1 };
            value_from_python(&place, &item.map_err(internal)?)
        });
        return values.collect::<Result<_, _>>().map(Value::Array);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let fields = dict.iter().map(|(name, value)| {
            let Some(name) = field_name(&name) else {
                return Err(wrong(format!("has a name that is {}; names are strings", article(&name))));
            };
            let place = ValuePath { parent: Some(place), step: Step::Field(&name), depth: place.depth + 1 };
            let value = value_from_python(&place, &value)?;
            Ok((name, value))
        });
        return fields.collect::<Result<_, _>>().map(Value::Map);
    }
    if let Some(micros) = Calendar::get(value.py()).and_then(|calendar| calendar.micros(value)).map_err(internal)? {
        return Ok(Value::Datetime(micros));
    }
    match numpy_value(value).map_err(internal)? {
        Some(plain) => value_from_python(
            &ValuePath { parent: place.parent, depth: place.depth + 1, step: place.step.again() },
            &plain,
        ),
        None => Err(wrong(format!(
            "is {}; a payload holds None, bool, int, float, str, datetime, date, and lists and dicts of these",
            article(value)
        ))),
    }
}

impl Step<'_> {
    fn again(&self) -> Self {
        match *self {
            Self::Field(name) => Self::Field(name),
            Self::Item(at) => Self::Item(at),
        }
    }
}

fn field_name(name: &Bound<'_, PyAny>) -> Option<String> {
    Some(name.cast::<PyString>().ok()?.to_str().ok()?.to_owned())
}

/// A numpy scalar or array as Python's own numbers and lists. numpy is not imported for this.
fn numpy_value<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = value.get_type().module()?;
    let plain = match module.to_str()? {
        "numpy" => value.call_method0("tolist")?,
        _ => return Ok(None),
    };
    Ok((!plain.get_type().is(value.get_type())).then_some(plain))
}

/// `an int`, `a Decimal`: the type of an object in a sentence.
pub fn article(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    let an = name.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
    format!("{} {name}", if an { "an" } else { "a" })
}

pub fn payload_to_python<'py>(py: Python<'py>, payload: &Payload) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in payload {
        dict.set_item(name, value_to_python(py, value)?)?;
    }
    Ok(dict)
}

fn value_to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Int(value) => value.into_pyobject(py)?.into_any(),
        Value::Float(value) => value.into_pyobject(py)?.into_any(),
        Value::Text(value) => value.into_pyobject(py)?.into_any(),
        Value::Datetime(micros) => match Calendar::get(py)?.datetime(py, *micros) {
            // Python's years go from 1 to 9999; what another program stored beyond them comes as text.
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                format_datetime(*micros).unwrap_or_else(|| micros.to_string()).into_pyobject(py)?.into_any()
            }
            other => other?,
        },
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| value_to_python(py, value)).collect::<PyResult<_>>()?;
            PyList::new(py, values)?.into_any()
        }
        Value::Map(map) => payload_to_python(py, map)?.into_any(),
    })
}

/// A report of the engine, from its JSON form.
pub fn json_to_python<'py>(py: Python<'py>, json: serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    use serde_json::Value as Json;
    Ok(match json {
        Json::Null => py.None().into_bound(py),
        Json::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => value.into_pyobject(py)?.into_any(),
            (None, Some(value)) => value.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Json::String(value) => value.into_pyobject(py)?.into_any(),
        Json::Array(values) => {
            let values: Vec<_> = values.into_iter().map(|value| json_to_python(py, value)).collect::<PyResult<_>>()?;
            PyList::new(py, values)?.into_any()
        }
        Json::Object(map) => {
            let dict = PyDict::new(py);
            for (name, value) in map {
                dict.set_item(name, json_to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// The objects of Python's `datetime` module that conversions need.
struct Calendar {
    datetime: Py<PyType>,
    date: Py<PyType>,
    utc: Py<PyAny>,
    epoch: Py<PyAny>,
    timedelta: Py<PyType>,
    microsecond: Py<PyAny>,
}

impl Calendar {
    fn get(py: Python<'_>) -> PyResult<&'static Self> {
        static CALENDAR: PyOnceLock<Calendar> = PyOnceLock::new();
        CALENDAR.get_or_try_init(py, || {
            let module = py.import("datetime")?;
            let class =
                |name: &str| -> PyResult<Py<PyType>> { Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind()) };
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let (datetime, timedelta) = (class("datetime")?, class("timedelta")?);
            Ok(Self {
                epoch: datetime.bind(py).call1((1970, 1, 1, 0, 0, 0, 0, &utc))?.unbind(),
                microsecond: timedelta.bind(py).call1((0, 0, 1))?.unbind(),
                date: class("date")?,
                utc: utc.unbind(),
                datetime,
                timedelta,
            })
        })
    }

    /// Microseconds since the epoch of a datetime (naive: UTC) or a date (its midnight, UTC); `None` for anything else.
    fn micros(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let py = value.py();
        let aware = if value.is_instance(self.datetime.bind(py))? {
            match value.call_method0("utcoffset")?.is_none() {
                true => value.call_method("replace", (), Some(&self.with_utc(py)?))?,
                false => value.clone(),
            }
        } else if value.is_instance(self.date.bind(py))? {
            let part = |name: &str| value.getattr(name);
            self.datetime.bind(py).call1((part("year")?, part("month")?, part("day")?, 0, 0, 0, 0, &self.utc))?
        } else {
            return Ok(None);
        };
        let since = aware.sub(&self.epoch)?;
        since.call_method1("__floordiv__", (&self.microsecond,))?.extract().map(Some)
    }

    fn datetime<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.epoch.bind(py).add(self.timedelta.bind(py).call1((0, 0, micros))?)
    }

    fn with_utc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kwargs = PyDict::new(py);
        kwargs.set_item("tzinfo", &self.utc)?;
        Ok(kwargs)
    }
}
