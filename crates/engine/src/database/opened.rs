//! Open collections and keyspaces, by tenant and name.

use std::collections::HashMap;

/// Found by the number of a tenant and a name.
pub(crate) struct Opened<T> {
    by_tenant: HashMap<u32, HashMap<String, T>>,
}

impl<T> Default for Opened<T> {
    fn default() -> Self {
        Self { by_tenant: HashMap::new() }
    }
}

impl<T: Clone> Opened<T> {
    pub fn get(&self, tenant: u32, name: &str) -> Option<&T> {
        self.by_tenant.get(&tenant)?.get(name)
    }

    pub fn insert(&mut self, tenant: u32, name: String, opened: T) {
        self.by_tenant.entry(tenant).or_default().insert(name, opened);
    }

    pub fn remove(&mut self, tenant: u32, name: &str) -> Option<T> {
        let names = self.by_tenant.get_mut(&tenant)?;
        let removed = names.remove(name);
        if names.is_empty() {
            self.by_tenant.remove(&tenant); // tenants asleep cost nothing
        }
        removed
    }

    pub fn remove_all_of(&mut self, tenant: u32) -> Vec<T> {
        self.by_tenant.remove(&tenant).into_iter().flat_map(HashMap::into_values).collect()
    }

    pub fn all_of(&self, tenant: u32) -> Vec<T> {
        self.by_tenant.get(&tenant).into_iter().flat_map(HashMap::values).cloned().collect()
    }

    pub fn all(&self) -> Vec<T> {
        self.by_tenant.values().flat_map(HashMap::values).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.by_tenant.values().map(HashMap::len).sum()
    }

    pub fn clear(&mut self) {
        self.by_tenant.clear();
    }
}
