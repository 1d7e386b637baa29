//! Making, finding and listing tenants, and what they may have.

use std::sync::Arc;

use nuthatch_store::{Batch, CachedOnly};

use crate::call::Outcome;
use crate::catalog;
use crate::database::{Database, Registry};
use crate::durability::Durability;
use crate::folder::FORMAT_OF_TENANTS;
use crate::name::check_name;
use crate::tenant::{
    Record, Tenant, TenantInfo, TenantLimits, TenantPlace, TenantUsage, dropped, last_number, put_last_number,
    record_in, record_key, records, summed,
};
use crate::{Error, Result, What};

/// The greatest number; the one after it is the store's own.
const NUMBER_MAX: u32 = u32::MAX - 1;

impl Database {
    /// Makes a tenant without limits, and gives the handle of its data.
    ///
    /// # Errors
    /// `Invalid` for a name that no tenant can have, or that one has already; and for a scoped handle.
    pub fn create_tenant(&self, name: &str) -> Result<Self> {
        let registry = self.administrator("making a tenant")?;
        let shared = &registry.shared;
        check_name("tenant", name)?;
        let tenant = {
            let _catalog = registry.catalog.lock();
            let store = shared.store()?;
            if let Some(known) = catalog::read::<Record>(&*store, &record_key(name))? {
                return Err(match known.dropping {
                    None => Error::invalid(format!("tenant {name:?} already exists; use it, or drop it first")),
                    Some(_) => {
                        Error::invalid(format!("tenant {name:?} is only partly dropped; drop it again, then create it"))
                    }
                });
            }
            let last = last_number(&*store)?;
            if last >= NUMBER_MAX {
                return Err(Error::internal("every tenant number has been used"));
            }
            shared.folder.raise_format(FORMAT_OF_TENANTS)?;
            let record = Record::recovered(last + 1);
            let mut batch = Batch::new();
            record.put(&mut batch, name);
            put_last_number(&mut batch, record.id);
            self.call.sign(&mut batch, Outcome { inserted: 1, ..Outcome::default() });
            let position = shared.write(batch)?;
            shared.make_durable(position, Durability::Commit)?;
            registry.tenant_of(name, &record)
        };
        Ok(self.scoped(tenant))
    }

    /// The handle of a tenant's data.
    ///
    /// # Errors
    /// `NotFound` when there is no such tenant; `Invalid` for a scoped handle.
    pub fn tenant(&self, name: &str) -> Result<Self> {
        let registry = self.administrator("going to a tenant")?;
        Ok(self.scoped(registry.tenant(name)?))
    }

    /// The same, without waiting. On `None` the caller asks [`tenant`](Self::tenant), which also says what is wrong.
    pub fn cached_tenant(&self, name: &str) -> Result<Option<Self>> {
        let registry = self.administrator("going to a tenant")?;
        let shared = &registry.shared;
        let store = shared.store()?;
        let reader = CachedOnly::live(&*store);
        let record = reader.unless_missed(record_in(&reader, name))?.flatten();
        Ok(record.map(|record| self.scoped(registry.tenant_of(name, &record))))
    }

    /// Which tenant's handle this is, for another process.
    pub fn tenant_place(&self) -> TenantPlace {
        self.tenant.place()
    }

    /// The handle of the tenant that a handle in another process means.
    pub fn tenant_at(&self, place: &TenantPlace) -> Result<Self> {
        let registry = self.administrator("going to a tenant")?;
        if let Some(tenant) = registry.tenants.lock().get(&place.number).cloned() {
            tenant.check()?;
            return Ok(self.scoped(tenant));
        }
        match registry.tenant(&place.name) {
            Ok(tenant) if tenant.number == place.number => Ok(self.scoped(tenant)),
            Err(error) if error.kind != crate::ErrorKind::NotFound => Err(error),
            Ok(_) | Err(_) => Err(dropped(&place.name)),
        }
    }

    /// Names of all tenants, sorted; the default tenant has none.
    pub fn tenant_names(&self) -> Result<Vec<String>> {
        self.administrator("listing tenants")?.tenant_names()
    }

    /// Returns the limits and the usage of every tenant. Reads the counters of all their collections and keyspaces.
    pub fn tenants(&self) -> Result<Vec<TenantInfo>> {
        let registry = self.administrator("listing tenants")?;
        let shared = &registry.shared;
        let known = records(&*shared.store()?)?;
        let known = known.into_iter().filter(|(_, record)| record.dropping.is_none());
        known.map(|(name, record)| registry.tenant_info(name, record)).collect()
    }

    /// Returns the limits and the usage of a tenant.
    ///
    /// # Errors
    /// As those of [`tenant`](Self::tenant).
    pub fn tenant_info(&self, name: &str) -> Result<TenantInfo> {
        let registry = self.administrator("looking at a tenant")?;
        let record = registry.tenant_record(name)?;
        registry.tenant_info(name.to_string(), record)
    }

    /// Sets the limits of a tenant, for every write that begins afterwards. Existing data stays, even above the limit.
    ///
    /// # Errors
    /// As those of [`tenant`](Self::tenant).
    pub fn set_tenant_limits(&self, name: &str, limits: TenantLimits) -> Result<()> {
        let registry = self.administrator("setting limits")?;
        let shared = &registry.shared;
        let _catalog = registry.catalog.lock();
        let record = Record { limits, ..registry.tenant_record(name)? };
        let mut batch = Batch::new();
        record.put(&mut batch, name);
        let position = shared.write(batch)?;
        registry.tenant_of(name, &record).set_limits(limits);
        shared.make_durable(position, Durability::Commit)
    }

    /// Returns the limits of this handle's tenant. The default tenant has no limits.
    pub fn limits(&self) -> Result<TenantLimits> {
        self.check_open()?;
        Ok(self.tenant.limits())
    }

    /// Returns the stored totals of this handle's tenant.
    ///
    /// # Errors
    /// `Invalid` for the default tenant, which is not counted.
    pub fn usage(&self) -> Result<TenantUsage> {
        self.check_open()?;
        match self.tenant.is_default() {
            true => Err(Error::invalid(
                "the default tenant has no limits, so its usage is not counted; `stats` shows its sizes",
            )),
            false => self.tenant.usage(&self.inner.shared.store),
        }
    }

    pub(crate) fn scoped(&self, tenant: Arc<Tenant>) -> Self {
        Self { tenant, ..self.clone() }
    }

    /// Returns the registry, which belongs to all tenants, if this handle may use it.
    pub(crate) fn administrator(&self, what: &str) -> Result<&Arc<Registry>> {
        self.inner.shared.check_open()?;
        match self.tenant.is_default() {
            true => Ok(&self.inner.registry),
            false => Err(Error::invalid(format!(
                "{what} needs the handle that opened the folder; this handle belongs to tenant {:?}",
                self.tenant.name
            ))),
        }
    }

    /// This handle, and of the administrator's also those of all tenants.
    pub(crate) fn scopes(&self) -> Result<Vec<Self>> {
        self.check_open()?;
        let mut scopes = vec![self.clone()];
        if self.tenant.is_default() {
            let (shared, registry) = (&self.inner.shared, &self.inner.registry);
            for (name, record) in records(&*shared.store()?)? {
                if record.dropping.is_none() {
                    scopes.push(self.scoped(registry.tenant_of(&name, &record)));
                }
            }
        }
        Ok(scopes)
    }
}

impl Registry {
    /// Returns the state that all handles of a tenant share.
    fn tenant(&self, name: &str) -> Result<Arc<Tenant>> {
        let record = self.tenant_record(name)?;
        Ok(self.tenant_of(name, &record))
    }

    /// The one of that record; the same one for all who ask.
    pub(crate) fn tenant_of(&self, name: &str, record: &Record) -> Arc<Tenant> {
        let mut known = self.tenants.lock();
        let made = || Arc::new(Tenant::new(record.id, name.to_string(), record.limits));
        known.entry(record.id).or_insert_with(made).clone()
    }

    /// A tenant that is not being dropped.
    pub(crate) fn tenant_record(&self, name: &str) -> Result<Record> {
        match record_in(&*self.shared.store()?, name)? {
            Some(record) => Ok(record),
            None => Err(Error::not_among(What::Tenant, name, &self.tenant_names()?)),
        }
    }

    fn tenant_names(&self) -> Result<Vec<String>> {
        let known = records(&*self.shared.store()?)?;
        Ok(known.into_iter().filter(|(_, record)| record.dropping.is_none()).map(|(name, _)| name).collect())
    }

    fn tenant_info(&self, name: String, record: Record) -> Result<TenantInfo> {
        let known = self.tenants.lock().get(&record.id).cloned();
        let usage = match known {
            Some(tenant) => tenant.usage(&self.shared.store)?,
            None => summed(&self.shared.store, record.id)?,
        };
        Ok(TenantInfo { name, created: record.created, limits: record.limits, usage })
    }
}
