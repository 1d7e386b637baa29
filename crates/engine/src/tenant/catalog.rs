//! The catalog's entries for tenants.

use nuthatch_store::{Batch, Reader, Table};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::catalog::{self, catalog_of};
use crate::clock::Clock;
use crate::tenant::{DEFAULT, TenantLimits};

/// The last number given out, among the default tenant's entries: numbers are never used again, not even after a drop.
const LAST_NUMBER: &[u8] = b"last-tenant";

/// The catalog's entry for a tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub id: u32,
    pub created: String,
    #[serde(default)]
    pub limits: TenantLimits,
    /// Its data is deleted, and waits to be reclaimed: how many records there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropping: Option<u64>,
}

impl Record {
    /// For a tenant whose entry was lost.
    pub fn recovered(id: u32) -> Self {
        let created = Clock::system().stamp();
        Self { id, created, limits: TenantLimits::default(), dropping: None }
    }
}

pub(crate) fn record_key(name: &str) -> Vec<u8> {
    catalog_of(DEFAULT).key(format!("tenant/{name}").as_bytes())
}

/// All tenants that a reader sees, by name, those that are being dropped included.
pub(crate) fn records(reader: &dyn Reader) -> Result<Vec<(String, Record)>> {
    catalog::listed(reader, &record_key(""))
}

/// A tenant that is not being dropped, if there is one.
pub(crate) fn record_in(reader: &dyn Reader, name: &str) -> Result<Option<Record>> {
    Ok(catalog::read::<Record>(reader, &record_key(name))?.filter(|record| record.dropping.is_none()))
}

impl Record {
    pub fn put(&self, batch: &mut Batch, name: &str) {
        batch.put(Table::Catalog, record_key(name), catalog::encode(self));
    }
}

/// The last number given out.
pub(crate) fn last_number(reader: &dyn Reader) -> Result<u32> {
    Ok(catalog::read(reader, &catalog_of(DEFAULT).key(LAST_NUMBER))?.unwrap_or(DEFAULT))
}

pub(crate) fn put_last_number(batch: &mut Batch, number: u32) {
    batch.put(Table::Catalog, catalog_of(DEFAULT).key(LAST_NUMBER), catalog::encode(&number));
}
