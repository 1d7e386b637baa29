//! Tenants as callers see them: creating, listing and dropping them, their limits, and the handles of their data.

use nuthatch_engine::Result;
use nuthatch_engine::database::Receipt;
use nuthatch_engine::ops::tenants;
use nuthatch_engine::tenant::{DEFAULT, TenantInfo, TenantLimits, TenantUsage};

use crate::database::Database;

impl Database {
    /// Makes a tenant without limits, and gives the handle of its data.
    ///
    /// # Errors
    /// `Invalid` for an unusable or existing name, and for a tenant's handle.
    pub fn create_tenant(&self, name: &str) -> Result<Self> {
        let place = self.ask(tenants::Create(name.into()))?;
        Ok(self.along(self.route().to(place)))
    }

    /// The handle of a tenant's data: every call on it is about that tenant alone. Cheap to make, to clone and to keep;
    /// it lives as long as the folder is open.
    ///
    /// # Errors
    /// `NotFound` when there is no such tenant, with the names that there are; `Invalid` for a tenant's handle.
    pub fn tenant(&self, name: &str) -> Result<Self> {
        let place = self.ask(tenants::Find(name.into()))?;
        Ok(self.along(self.route().to(place)))
    }

    /// The tenant of this handle; `None` for the default tenant's.
    pub fn tenant_name(&self) -> Option<&str> {
        self.route().tenant().map(|tenant| tenant.name.as_str())
    }

    /// The number of this handle's tenant. A tenant that is dropped and created again has another: no number is given
    /// twice.
    pub fn tenant_number(&self) -> u32 {
        self.route().tenant().map_or(DEFAULT, |tenant| tenant.number)
    }

    /// Names of all tenants, sorted; the default tenant has none.
    ///
    /// # Errors
    /// `Invalid` for a tenant's handle.
    pub fn tenant_names(&self) -> Result<Vec<String>> {
        self.ask(tenants::Names)
    }

    /// The limits and the usage of every tenant.
    ///
    /// # Errors
    /// As [`tenant_names`](Self::tenant_names).
    pub fn tenants(&self) -> Result<Vec<TenantInfo>> {
        self.ask(tenants::Infos)
    }

    /// A tenant's limits and usage.
    ///
    /// # Errors
    /// As [`tenant`](Self::tenant).
    pub fn tenant_info(&self, name: &str) -> Result<TenantInfo> {
        self.ask(tenants::Info(name.into()))
    }

    /// Sets a tenant's limits, for every write that begins afterwards. Stored data stays, even above the limit.
    ///
    /// # Errors
    /// As [`tenant`](Self::tenant).
    pub fn set_tenant_limits(&self, name: &str, limits: TenantLimits) -> Result<()> {
        self.ask(tenants::SetLimits(name.into(), limits))
    }

    /// The limits of this handle's tenant. The default tenant has none.
    pub fn limits(&self) -> Result<TenantLimits> {
        self.ask(tenants::Limits)
    }

    /// Returns how much the tenant of this handle has stored, counted as its limits count.
    ///
    /// # Errors
    /// `Invalid` for the default tenant, which is not counted.
    pub fn usage(&self) -> Result<TenantUsage> {
        self.ask(tenants::Usage)
    }

    /// Deletes a tenant with everything that it has, and leaves none of its bytes behind: it rewrites every file that
    /// may hold some, as [`reclaim`](Self::reclaim) does. The tenant's handles say `NotFound` from the beginning on.
    /// The receipt keeps the tenant's name, and earlier receipts keep names of its collections; backups are not
    /// touched.
    ///
    /// # Errors
    /// `NotFound` for an unknown tenant; `Invalid` for a tenant's handle; `Conflict` when an earlier export or a very
    /// long read is in the way: the data is deleted then, but its bytes may remain. A second call continues where it
    /// ended.
    pub fn drop_tenant(&self, name: &str) -> Result<Receipt> {
        let receipt = self.ask(tenants::Drop(name.into()))?;
        self.kept_snapshots().forget_tenant(name);
        Ok(receipt)
    }
}
