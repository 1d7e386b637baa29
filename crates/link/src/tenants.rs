//! Tenants as callers see them: making, listing and dropping them, what they may have, and the handles of their data.

use nuthatch_engine::Result;
use nuthatch_engine::database::Receipt;
use nuthatch_engine::ops::tenants;
use nuthatch_engine::tenant::{DEFAULT, TenantInfo, TenantLimits, TenantUsage};

use crate::database::Database;

impl Database {
    /// Makes a tenant without limits, and gives the handle of its data.
    ///
    /// # Errors
    /// `Invalid` for a name that no tenant can have, or that one has already; and for a tenant's handle.
    pub fn create_tenant(&self, name: &str) -> Result<Self> {
        let place = self.ask(tenants::Create(name.into()))?;
        Ok(self.along(self.route().to(place)))
    }

    /// The handle of a tenant's data: everything that is asked of it is about that tenant alone. Cheap to make, to clone and to keep;
    /// it lives as long as the folder is open.
    ///
    /// # Errors
    /// `NotFound` when there is no such tenant, with the names that there are; `Invalid` for a tenant's handle.
    pub fn tenant(&self, name: &str) -> Result<Self> {
        let place = self.ask(tenants::Find(name.into()))?;
        Ok(self.along(self.route().to(place)))
    }

    /// Whose handle this is; `None` for the default tenant's.
    pub fn tenant_name(&self) -> Option<&str> {
        self.route().tenant().map(|tenant| tenant.name.as_str())
    }

    /// The number of the tenant whose handle this is. One that is dropped and made anew has another: no number is given twice.
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

    /// What every tenant may have and has.
    ///
    /// # Errors
    /// As [`tenant_names`](Self::tenant_names).
    pub fn tenants(&self) -> Result<Vec<TenantInfo>> {
        self.ask(tenants::Infos)
    }

    /// What a tenant may have, and what it has.
    ///
    /// # Errors
    /// As [`tenant`](Self::tenant).
    pub fn tenant_info(&self, name: &str) -> Result<TenantInfo> {
        self.ask(tenants::Info(name.into()))
    }

    /// Sets what a tenant may have, for every write that begins afterwards. What it has already stays, even above the limit.
    ///
    /// # Errors
    /// As [`tenant`](Self::tenant).
    pub fn set_tenant_limits(&self, name: &str, limits: TenantLimits) -> Result<()> {
        self.ask(tenants::SetLimits(name.into(), limits))
    }

    /// What the tenant of this handle may have. The default tenant has no limits.
    pub fn limits(&self) -> Result<TenantLimits> {
        self.ask(tenants::Limits)
    }

    /// What the tenant of this handle has stored, counted as its limits count.
    ///
    /// # Errors
    /// `Invalid` for the default tenant, which is not counted.
    pub fn usage(&self) -> Result<TenantUsage> {
        self.ask(tenants::Usage)
    }

    /// Deletes a tenant with everything that it has, and leaves none of its bytes behind: every file that may hold some is written
    /// anew, as [`reclaim`](Self::reclaim) does. Its handles say `NotFound` from the beginning on. The receipt keeps the tenant's name,
    /// and earlier receipts of it keep names of collections; backups are not touched.
    ///
    /// # Errors
    /// `NotFound` when there is no such tenant; `Invalid` for a tenant's handle; `Conflict` when an export or a very long read
    /// from before is in the way: the data is gone then, its bytes may not be. Calling again goes on where it ended.
    pub fn drop_tenant(&self, name: &str) -> Result<Receipt> {
        let receipt = self.ask(tenants::Drop(name.into()))?;
        self.kept_snapshots().forget_tenant(name);
        Ok(receipt)
    }
}
