//! The engine's errors as Python exceptions, one class per kind (`nuthatch.errors`).

use std::cell::RefCell;
use std::path::PathBuf;

use nuthatch_link::{Error, ErrorKind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

thread_local! {
    /// The exception that a Python embedder raised in this thread while the engine was calling it: the engine carries
    /// only its message.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps what a callback raised until the engine's call is over.
pub fn keep_raised(error: PyErr) {
    RAISED.with_borrow_mut(|raised| *raised = Some(error));
}

/// Takes the exception that a callback raised in this thread, if one did.
pub fn take_raised() -> Option<PyErr> {
    RAISED.with_borrow_mut(Option::take)
}

/// The engine's error as the exception of its kind, caused by `raised` if that is what happened.
pub fn to_python(py: Python<'_>, error: Error, raised: Option<PyErr>) -> PyErr {
    if let Some(raised) = &raised
        && !raised.is_instance_of::<PyException>(py)
    {
        // KeyboardInterrupt and SystemExit are not failures of the embedder.
        return raised.clone_ref(py);
    }
    let path: Option<PathBuf> = match &error.kind {
        ErrorKind::Corrupt { path } => Some(path.clone()),
        _ => None,
    };
    let (what, name) = match &error.subject {
        Some(subject) => (Some(subject.what.name()), Some(subject.name.as_str())),
        None => (None, None),
    };
    let made = py
        .import("nuthatch.errors")
        .and_then(|module| module.getattr("from_engine")?.call1((error.kind.name(), &error.message, path, what, name)));
    match made {
        Ok(exception) => {
            let exception = PyErr::from_value(exception);
            exception.set_cause(py, raised);
            exception
        }
        Err(other) => other,
    }
}

/// `InvalidError` with this message.
pub fn invalid(py: Python<'_>, message: impl Into<String>) -> PyErr {
    to_python(py, Error::invalid(message), None)
}

/// Calls the engine without holding the interpreter.
pub fn engine<T: Send>(py: Python<'_>, call: impl FnOnce() -> nuthatch_link::Result<T> + Send) -> PyResult<T> {
    take_raised();
    py.detach(call).map_err(|error| to_python(py, error, take_raised()))
}
