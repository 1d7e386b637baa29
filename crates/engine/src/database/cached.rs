//! Answers from memory, for callers whose thread must not wait.
//!
//! **Invariant:** an answer equals that of the ordinary call; nothing here waits for the disk, or for a lock whose
//! holder may wait for the disk.

use crate::Result;
use crate::database::Database;
use crate::kv::{Kind, LivingValue};
use crate::record::StoredRecord;

impl Database {
    /// The value of a key and how long it has to live; `None` where that is not known without waiting.
    pub fn cached_value(&self, keyspace: &str, key: &[u8]) -> Result<Option<Option<LivingValue>>> {
        let open = self.inner.registry.spaces.lock().get(self.tenant.number, keyspace).cloned();
        open.filter(|space| space.kind == Kind::Plain).map_or(Ok(None), |space| space.get_cached(key))
    }

    /// Records by id; `None` where they are not known without waiting. For few of them.
    pub fn cached_records<I: AsRef<str>>(
        &self,
        collection: &str,
        ids: &[I],
        vectors: bool,
    ) -> Result<Option<Vec<Option<StoredRecord>>>> {
        let open = self.inner.registry.collections.lock().get(self.tenant.number, collection).cloned();
        open.map_or(Ok(None), |core| core.get_cached(ids, vectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CollectionOptions, EmbedderChoice, Options, Record};

    fn options() -> CollectionOptions {
        CollectionOptions { embedder: EmbedderChoice::None, dim: Some(2), ..CollectionOptions::default() }
    }

    #[test]
    fn what_was_flushed_is_missed_until_somebody_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::open(folder.path(), Options::default()).unwrap();
        let value = |db: &Database| db.cached_value("k", b"a").unwrap().map(|found| found.map(|found| found.value));
        let db = open();
        let put = crate::KvOp::Put { key: b"a".to_vec(), value: b"1".to_vec(), expires_in: None };
        db.kv("k").unwrap().multi_put(vec![put]).unwrap();
        db.collection("c", options()).unwrap().upsert(vec![Record::new("r").vector(vec![1.0, 2.0])]).unwrap();
        db.close().unwrap();
        let db = open();
        let (keys, records) = (db.kv("k").unwrap(), db.existing_collection("c").unwrap());
        db.inner.shared.store().unwrap().upkeep().unwrap().release_cache();
        assert_eq!(value(&db), None);
        assert!(db.cached_records("c", &["r"], true).unwrap().is_none());
        assert_eq!(keys.get("a").unwrap(), Some(b"1".to_vec()));
        let found = records.core.get(records.core.live(), &["r", "never"], true).unwrap();
        assert_eq!(value(&db), Some(Some(b"1".to_vec())));
        assert_eq!(db.cached_records("c", &["r", "never"], true).unwrap(), Some(found));
    }

    #[test]
    fn a_writer_at_work_is_not_waited_for() {
        let db = Database::in_memory(Options::default()).unwrap();
        let records = db.collection("c", options()).unwrap();
        records.upsert(vec![Record::new("r").vector(vec![1.0, 2.0])]).unwrap();
        let there = || db.cached_records("c", &["r"], false).unwrap().is_some();
        assert!(there());
        let _writing = records.core.writer.lock();
        assert!(there());
    }
}
