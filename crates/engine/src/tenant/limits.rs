//! The limits and the usage of a tenant.

use serde::{Deserialize, Serialize};

/// The limits of a tenant; `None`: unlimited. The engine enforces `vectors` and `bytes`; the servers enforce the
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantLimits {
    /// Vectors of all records and fields.
    pub vectors: Option<u64>,
    /// Bytes of records, vectors, file entries, keys and values, as they are stored, before compression.
    pub bytes: Option<u64>,
    /// Requests in a second, over any protocol of a server.
    pub requests_per_second: Option<u64>,
    /// Requests under way at the same time, over any protocol of a server.
    pub concurrent_requests: Option<u64>,
}

/// The stored totals of a tenant, counted as its limits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantUsage {
    /// As [`TenantLimits::vectors`] counts them.
    pub vectors: u64,
    /// As [`TenantLimits::bytes`] counts them.
    pub bytes: u64,
}

/// A tenant, for listings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantInfo {
    /// The tenant's name.
    pub name: String,
    /// UTC, RFC 3339.
    pub created: String,
    /// Its limits.
    pub limits: TenantLimits,
    /// Its usage.
    pub usage: TenantUsage,
}
