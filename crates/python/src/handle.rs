//! The open database behind every Python object, and what must not happen to it.

use nuthatch_engine as core;
use pyo3::prelude::*;

use crate::error::to_python;

/// Keeps a database open. Every collection has one, so that `connect(path).collection(name)` may let the database's own
/// object go.
pub struct Handle {
    database: Option<core::Database>,
    pid: u32,
}

impl Handle {
    pub fn new(database: core::Database) -> Self {
        Self { database: Some(database), pid: std::process::id() }
    }

    /// The database, unless this is a fork of the process that opened it: its threads are not here, so calls would hang.
    pub fn get(&self, py: Python<'_>) -> PyResult<&core::Database> {
        match &self.database {
            Some(database) if self.pid == std::process::id() => Ok(database),
            _ => {
                let message = format!(
                    "this database was opened in process {}, and this is process {}: a fork cannot use it; call nuthatch.connect here, after it was closed there",
                    self.pid,
                    std::process::id()
                );
                Err(to_python(py, core::Error::new(core::ErrorKind::Closed, message), None))
            }
        }
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        Self { database: self.database.clone(), pid: self.pid }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Some(database) = self.database.take() else { return };
        if self.pid != std::process::id() {
            // Closing would wait for a thread that the fork has not got.
            std::mem::forget(database);
            return;
        }
        // The last handle closes, and closing may wait for background work that needs the interpreter.
        let mut database = Some(database);
        Python::try_attach(|py| {
            let database = database.take();
            py.detach(move || drop(database));
        });
    }
}
