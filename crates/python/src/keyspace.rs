//! A keyspace as Python sees it.

use std::ops::Bound as End;
use std::time::Duration;

use nuthatch_link as core;
use nuthatch_link::{Durability, KeyPage, KeyScan, KvOp};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::error::{engine, invalid, to_python};
use crate::handle::Handle;

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Keyspace {
    keyspace: core::Keyspace,
    handle: Handle,
}

/// The arguments of the package's `Keyspace.scan`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ScanArguments {
    prefix: Option<PyBackedBytes>,
    start: Option<PyBackedBytes>,
    stop: Option<PyBackedBytes>,
    reverse: bool,
    limit: usize,
    cursor: Option<String>,
    keys_only: bool,
}

impl ScanArguments {
    pub fn scan(self) -> KeyScan {
        KeyScan {
            prefix: self.prefix.map(|key| key.to_vec()).unwrap_or_default(),
            from: self.start.map_or(End::Unbounded, |key| End::Included(key.to_vec())),
            to: self.stop.map_or(End::Unbounded, |key| End::Excluded(key.to_vec())),
            reverse: self.reverse,
            limit: self.limit,
            cursor: self.cursor,
            keys_only: self.keys_only,
        }
    }
}

/// Keys with their values, and the cursor of the next page.
pub type PageParts<'py> = (Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>, Option<String>);

pub fn page_parts(py: Python<'_>, page: KeyPage) -> PageParts<'_> {
    let entries = page.entries.iter().map(|(key, value)| (PyBytes::new(py, key), PyBytes::new(py, value)));
    (entries.collect(), page.cursor)
}

/// Values as Python's bytes.
pub fn values(py: Python<'_>, found: Vec<Option<Vec<u8>>>) -> Vec<Option<Bound<'_, PyBytes>>> {
    found.iter().map(|value| value.as_deref().map(|value| PyBytes::new(py, value))).collect()
}

/// The package has checked that it is above 0.
pub fn time_to_live(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let duration = seconds.map(Duration::try_from_secs_f64).transpose();
    duration.map_err(|error| invalid(py, format!("not a valid time to live: {error}")))
}

pub fn durability(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Durability>> {
    name.map(str::parse).transpose().map_err(|error| to_python(py, error, None))
}

/// One change of a key.
pub fn put(key: &[u8], value: &[u8], expires_in: Option<Duration>) -> KvOp {
    KvOp::Put { key: key.to_vec(), value: value.to_vec(), expires_in }
}

impl Keyspace {
    pub fn new(keyspace: core::Keyspace, handle: Handle) -> Self {
        Self { keyspace, handle }
    }

    fn get(&self, py: Python<'_>) -> PyResult<&core::Keyspace> {
        self.handle.get(py)?;
        Ok(&self.keyspace)
    }

    /// To write with this durability, or with the handle's own.
    fn write(&self, py: Python<'_>, durability: Option<&str>) -> PyResult<core::Keyspace> {
        let keyspace = self.get(py)?;
        Ok(match self::durability(py, durability)? {
            Some(durability) => keyspace.with_durability(durability),
            None => keyspace.clone(),
        })
    }
}

#[pymethods]
impl Keyspace {
    #[getter]
    fn name(&self) -> &str {
        self.keyspace.name()
    }

    fn get_value<'py>(&self, py: Python<'py>, key: PyBackedBytes) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let keyspace = self.get(py)?;
        let found = engine(py, || keyspace.get(&key))?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    fn get_many<'py>(&self, py: Python<'py>, keys: Vec<PyBackedBytes>) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let keyspace = self.get(py)?;
        Ok(values(py, engine(py, || keyspace.multi_get(&keys))?))
    }

    fn contains(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<bool> {
        let keyspace = self.get(py)?;
        engine(py, || keyspace.contains(&key))
    }

    fn put_many(
        &self,
        py: Python<'_>,
        entries: Vec<(PyBackedBytes, PyBackedBytes)>,
        ttl_seconds: Option<f64>,
        durability: Option<&str>,
    ) -> PyResult<()> {
        let keyspace = self.write(py, durability)?;
        let expires_in = time_to_live(py, ttl_seconds)?;
        engine(py, || keyspace.multi_put(entries.iter().map(|(key, value)| put(key, value, expires_in)).collect()))
    }

    fn delete(&self, py: Python<'_>, keys: Vec<PyBackedBytes>, durability: Option<&str>) -> PyResult<u64> {
        let keyspace = self.write(py, durability)?;
        engine(py, || keyspace.delete(&keys))
    }

    fn delete_prefix(&self, py: Python<'_>, prefix: PyBackedBytes, durability: Option<&str>) -> PyResult<u64> {
        let keyspace = self.write(py, durability)?;
        engine(py, || keyspace.delete_prefix(&prefix))
    }

    fn compare_and_set(
        &self,
        py: Python<'_>,
        key: PyBackedBytes,
        expected: Option<PyBackedBytes>,
        new: Option<PyBackedBytes>,
        ttl_seconds: Option<f64>,
        durability: Option<&str>,
    ) -> PyResult<bool> {
        let keyspace = self.write(py, durability)?;
        let expires_in = time_to_live(py, ttl_seconds)?;
        engine(py, || keyspace.compare_and_set(&key, expected.as_deref(), new.as_deref(), expires_in))
    }

    fn increment(&self, py: Python<'_>, key: PyBackedBytes, by: i64, durability: Option<&str>) -> PyResult<i64> {
        let keyspace = self.write(py, durability)?;
        engine(py, || keyspace.increment(&key, by))
    }

    fn append(
        &self,
        py: Python<'_>,
        key: PyBackedBytes,
        more: PyBackedBytes,
        durability: Option<&str>,
    ) -> PyResult<u64> {
        let keyspace = self.write(py, durability)?;
        engine(py, || keyspace.append(&key, &more))
    }

    fn expire(
        &self,
        py: Python<'_>,
        key: PyBackedBytes,
        ttl_seconds: Option<f64>,
        durability: Option<&str>,
    ) -> PyResult<bool> {
        let keyspace = self.write(py, durability)?;
        let expires_in = time_to_live(py, ttl_seconds)?;
        engine(py, || keyspace.expire(&key, expires_in))
    }

    /// Whether it is there, and the seconds that it has to live.
    fn ttl(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<(bool, Option<f64>)> {
        let keyspace = self.get(py)?;
        Ok(time_left(engine(py, || keyspace.expires_in(&key))?))
    }

    fn scan<'py>(&self, py: Python<'py>, arguments: ScanArguments) -> PyResult<PageParts<'py>> {
        let keyspace = self.get(py)?;
        let scan = arguments.scan();
        Ok(page_parts(py, engine(py, || keyspace.scan(&scan))?))
    }

    fn count_estimate(&self, py: Python<'_>, prefix: PyBackedBytes) -> PyResult<u64> {
        let keyspace = self.get(py)?;
        engine(py, || keyspace.count_estimate(&prefix))
    }
}

/// Whether a key is there, and the seconds that it has to live.
pub fn time_left(left: Option<Option<Duration>>) -> (bool, Option<f64>) {
    (left.is_some(), left.flatten().map(|left| left.as_secs_f64()))
}
