//! Limits that hold whatever the number of writers: what a batch adds is reserved before it is written.
//!
//! The sums are in memory alone. They are added up from the counters of the tenant's collections and keyspaces, which every batch
//! writes along, before the first write of the tenant.

use std::collections::BTreeMap;

use nuthatch_store::{Extent, Reader};
use serde::Deserialize;

use crate::catalog;
use crate::tenant::{Tenant, TenantUsage};
use crate::{Error, ErrorKind, Result, What};

/// Of the counters of a collection or a keyspace, what limits are about.
#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    vectors: u64,
    /// Counted from the beginning, so that no limit keeps a vector from coming.
    #[serde(default)]
    pending: u64,
    /// By field.
    #[serde(default)]
    named: BTreeMap<u16, u64>,
    #[serde(default)]
    bytes: u64,
}

/// A batch's change to its tenant's stored totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub vectors: i64,
    pub bytes: i64,
}

impl Delta {
    pub fn and(self, more: Self) -> Self {
        Self { vectors: self.vectors + more.vectors, bytes: self.bytes + more.bytes }
    }

    /// Everything that these counters count goes.
    pub fn freeing(vectors: u64, bytes: u64) -> Self {
        Self { vectors: -(vectors as i64), bytes: -(bytes as i64) }
    }
}

/// The additions of a batch, reserved within its tenant's limits. They are released on drop unless [`keep`](Self::keep)
/// was called.
#[must_use]
pub(crate) struct Reserved<'t> {
    tenant: &'t Tenant,
    delta: Delta,
    is_written: bool,
}

impl Tenant {
    /// To be called before a batch is written, and kept once it is. Nothing for the default tenant, which has no limits.
    ///
    /// # Errors
    /// `Exhausted` when the batch would pass a limit: nothing of it may be written then.
    pub fn reserve(&self, reader: &dyn Reader, delta: Delta) -> Result<Reserved<'_>> {
        if self.is_default() {
            return Ok(Reserved { tenant: self, delta: Delta::default(), is_written: true });
        }
        let mut usage = self.usage.lock();
        let now = match *usage {
            Some(now) => now,
            None => *usage.insert(summed(reader, self.number)?),
        };
        let limits = self.limits();
        self.check_limit("vectors", limits.vectors, now.vectors, delta.vectors)?;
        self.check_limit("bytes", limits.bytes, now.bytes, delta.bytes)?;
        *usage = Some(TenantUsage {
            vectors: now.vectors.saturating_add_signed(delta.vectors.max(0)),
            bytes: now.bytes.saturating_add_signed(delta.bytes.max(0)),
        });
        Ok(Reserved { tenant: self, delta, is_written: false })
    }

    /// Returns the tenant's current usage, batches under way included.
    pub fn usage(&self, reader: &dyn Reader) -> Result<TenantUsage> {
        let mut usage = self.usage.lock();
        match *usage {
            Some(now) => Ok(now),
            None => Ok(*usage.insert(summed(reader, self.number)?)),
        }
    }

    fn check_limit(&self, what: &str, limit: Option<u64>, now: u64, added: i64) -> Result<()> {
        let Some(limit) = limit.filter(|limit| added > 0 && now.saturating_add_signed(added) > *limit) else {
            return Ok(());
        };
        let message = format!(
            "tenant {:?} may store {limit} {what}; it has {now}, and this would add {added}: delete data, or ask for a \
            higher limit",
            self.name
        );
        Err(Error::new(ErrorKind::Exhausted, message).about(What::Tenant, &*self.name))
    }
}

impl Reserved<'_> {
    /// The batch is written.
    pub fn keep(mut self) {
        self.is_written = true;
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let Delta { vectors, bytes } = self.delta;
        if self.delta == Delta::default() {
            return;
        }
        let freed = match self.is_written {
            true => Delta { vectors: vectors.min(0), bytes: bytes.min(0) },
            false => Delta { vectors: -vectors.max(0), bytes: -bytes.max(0) },
        };
        if let Some(usage) = &mut *self.tenant.usage.lock() {
            usage.vectors = usage.vectors.saturating_add_signed(freed.vectors);
            usage.bytes = usage.bytes.saturating_add_signed(freed.bytes);
        }
    }
}

/// Sums the counters of a tenant's collections and keyspaces.
pub(crate) fn summed(reader: &dyn Reader, tenant: u32) -> Result<TenantUsage> {
    let (from, to) = Extent::Tenant(tenant).bounds();
    let mut sum = TenantUsage::default();
    catalog::each_counters(reader, (&from, &to), |counters: Counted| {
        sum.vectors += counters.vectors + counters.pending + counters.named.values().sum::<u64>();
        sum.bytes += counters.bytes;
    })?;
    Ok(sum)
}
