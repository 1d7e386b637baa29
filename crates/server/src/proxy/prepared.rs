//! The cache of each tenant, set as the configuration says before it is used.

use std::collections::HashSet;

use nuthatch_link::{Cache, CacheChange, Database, Result};
use parking_lot::Mutex;

use crate::config::ProxyConfig;

pub struct Prepared {
    name: String,
    change: CacheChange,
    /// The tenants whose caches are set.
    done: Mutex<HashSet<String>>,
}

impl Prepared {
    pub fn new(config: &ProxyConfig) -> Self {
        Self { name: config.cache.clone(), change: config.change.clone(), done: Mutex::default() }
    }

    /// # Errors
    /// Those of making and setting the cache.
    pub fn cache(&self, database: &Database, tenant: &str) -> Result<Cache> {
        let cache = database.cache(&self.name)?;
        if self.change != CacheChange::default() && !self.done.lock().contains(tenant) {
            cache.configure(&self.change)?;
            self.done.lock().insert(tenant.to_string());
        }
        Ok(cache)
    }
}
