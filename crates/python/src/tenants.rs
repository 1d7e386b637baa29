//! Tenants: what they may have and what they have, as dictionaries.

use nuthatch_link::{TenantInfo, TenantLimits, TenantUsage};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The limits that the package passes; an absent one means no limit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LimitArguments {
    vectors: Option<u64>,
    bytes: Option<u64>,
    requests_per_second: Option<u64>,
    concurrent_requests: Option<u64>,
}

impl From<LimitArguments> for TenantLimits {
    fn from(given: LimitArguments) -> Self {
        let LimitArguments { vectors, bytes, requests_per_second, concurrent_requests } = given;
        Self { vectors, bytes, requests_per_second, concurrent_requests }
    }
}

pub fn limits_to_python(py: Python<'_>, limits: TenantLimits) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("vectors", limits.vectors)?;
    dict.set_item("bytes", limits.bytes)?;
    dict.set_item("requests_per_second", limits.requests_per_second)?;
    dict.set_item("concurrent_requests", limits.concurrent_requests)?;
    Ok(dict)
}

pub fn usage_to_python(py: Python<'_>, usage: TenantUsage) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("vectors", usage.vectors)?;
    dict.set_item("bytes", usage.bytes)?;
    Ok(dict)
}

pub fn info_to_python(py: Python<'_>, info: TenantInfo) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", info.name)?;
    dict.set_item("created", info.created)?;
    dict.set_item("limits", limits_to_python(py, info.limits)?)?;
    dict.set_item("usage", usage_to_python(py, info.usage)?)?;
    Ok(dict)
}
