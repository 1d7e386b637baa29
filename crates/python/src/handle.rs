//! The open database behind every Python object, and how it goes.

use nuthatch_link as core;
use pyo3::prelude::*;

use crate::error::to_python;

/// Keeps a database open. Every collection has one, so that `connect(path).collection(name)` may let the database's own
/// object go.
#[derive(Clone)]
pub struct Handle {
    /// Absent while it is being dropped alone.
    database: Option<core::Database>,
}

impl Handle {
    pub fn new(database: core::Database) -> Self {
        Self { database: Some(database) }
    }

    pub fn get(&self, py: Python<'_>) -> PyResult<&core::Database> {
        self.database.as_ref().ok_or_else(|| {
            let gone = core::Error::new(core::ErrorKind::Closed, "the database is being closed");
            to_python(py, gone, None)
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The last handle closes, and closing may wait for background work that needs the interpreter.
        let mut database = self.database.take();
        Python::try_attach(|py| {
            let database = database.take();
            py.detach(move || drop(database));
        });
    }
}
