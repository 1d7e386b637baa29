//! Answers from memory, for callers whose thread must not wait.
//!
//! **Useful for** single keys and records on a thread that serves many connections. **Not for** anything else: on
//! `None` the caller repeats the question with the call that may wait.
//!
//! **Invariant:** an answer equals that of the ordinary call; nothing here waits for the disk, for another process, or
//! for a lock whose holder may wait for either.

use nuthatch_engine::Result;
use nuthatch_engine::database::Database as LocalDatabase;
use nuthatch_engine::kv::LivingValue;
use nuthatch_engine::record::StoredRecord;

use crate::database::Database;
use crate::link::Role;

impl Database {
    /// As [`tenant`](Self::tenant), where this process holds the folder and has the tenant's entry in memory.
    ///
    /// # Errors
    /// `Invalid` for a tenant's handle.
    pub fn cached_tenant(&self, name: &str) -> Result<Option<Self>> {
        let found = self.if_held_and_cached(|db| db.cached_tenant(name))?;
        Ok(found.map(|tenant| self.along(self.route().to(tenant.tenant_place()))))
    }

    /// The value of a key and how long it has to live, as [`Keyspace::get`](crate::Keyspace::get) and
    /// [`expires_in`](crate::Keyspace::expires_in) tell; `None` where that is not known without waiting.
    ///
    /// # Errors
    /// Those of the call, except that a missing keyspace is none.
    pub fn cached_value(&self, keyspace: &str, key: &[u8]) -> Result<Option<Option<LivingValue>>> {
        self.if_held_and_cached(|db| db.cached_value(keyspace, key))
    }

    /// Records by id, as [`Collection::get`](crate::Collection::get) gives them; `None` where they are not known without waiting. For
    /// few of them.
    ///
    /// # Errors
    /// Those of the call, except that a missing collection is none.
    pub fn cached_records<I: AsRef<str>>(
        &self,
        collection: &str,
        ids: &[I],
        vectors: bool,
    ) -> Result<Option<Vec<Option<StoredRecord>>>> {
        self.if_held_and_cached(|db| db.cached_records(collection, ids, vectors))
    }

    /// Asks the database in this process, if it is here.
    fn if_held_and_cached<T>(&self, ask: impl FnOnce(&LocalDatabase) -> Result<Option<T>>) -> Result<Option<T>> {
        match self.route().here()?.role()? {
            Role::Holds(held) => ask(held.db()),
            Role::IsServed(_) | Role::Closed => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use nuthatch_engine::{KvOp, Options};

    fn value(db: &Database, key: &[u8]) -> Option<Option<Vec<u8>>> {
        db.cached_value("k", key).unwrap().map(|found| found.map(|found| found.value))
    }

    #[test]
    fn a_value_in_memory_is_told_at_once_and_one_that_lies_elsewhere_is_not() {
        let db = Database::in_memory(Options::default()).unwrap();
        assert_eq!(value(&db, b"a"), None, "nobody has opened the keyspace");
        let keys = db.kv("k").unwrap();
        keys.put("a", "1").unwrap();
        keys.put("large", vec![7; 1 << 20]).unwrap();
        keys.put_expiring("b", "2", Duration::from_secs(3600)).unwrap();
        assert_eq!(value(&db, b"a"), Some(Some(b"1".to_vec())));
        assert_eq!(value(&db, b"never"), Some(None));
        assert_eq!(value(&db, b"large"), None);
        let living = db.cached_value("k", b"b").unwrap().flatten().unwrap();
        assert!(living.expires_in.is_some_and(|left| left <= Duration::from_secs(3600)));
        keys.multi_put(vec![KvOp::Put {
            key: b"b".to_vec(),
            value: b"3".to_vec(),
            expires_in: Some(Duration::from_millis(1)),
        }])
        .unwrap();
        while keys.get("b").unwrap().is_some() {
            std::thread::yield_now();
        }
        assert_eq!(value(&db, b"b"), Some(None), "it has expired");
        db.graph("g").unwrap();
        assert!(db.cached_value("g", b"a").unwrap().is_none(), "rows of a graph are not keys");
    }

    #[test]
    fn a_tenant_sees_its_own_and_whoever_does_not_hold_the_folder_is_told_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), Options::default()).unwrap();
        for (tenant, text) in [("one", "1"), ("two", "2")] {
            db.create_tenant(tenant).unwrap().kv("k").unwrap().put("a", text).unwrap();
        }
        let of = |tenant: &str| db.cached_tenant(tenant).unwrap().map(|scoped| value(&scoped, b"a"));
        assert_eq!(of("one"), Some(Some(Some(b"1".to_vec()))));
        assert_eq!(of("two"), Some(Some(Some(b"2".to_vec()))));
        assert_eq!(of("three"), None);
        assert_eq!(value(&db, b"a"), None);
        let scoped = db.tenant("two").unwrap();
        assert_eq!(scoped.cached_tenant("one").err().unwrap().kind, nuthatch_engine::ErrorKind::Invalid);
        db.drop_tenant("one").unwrap();
        assert_eq!(of("one"), None);
        #[cfg(unix)]
        {
            let other = Database::open(folder.path(), Options::default()).unwrap();
            assert_eq!(other.tenant("two").unwrap().kv("k").unwrap().get("a").unwrap(), Some(b"2".to_vec()));
            assert!(other.cached_tenant("two").unwrap().is_none());
        }
    }
}
