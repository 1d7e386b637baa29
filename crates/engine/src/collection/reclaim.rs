//! Deleting so that nothing stays: by prefix, and a collection's index files rewritten without what is dead.

use std::ops::ControlFlow;

use nuthatch_store::{Direction, Shard, Table};

use crate::collection::write::row_from;
use crate::collection::{Collection, Core, Deleted, WriteSet};
use crate::index::{EndSnapshots, Indexed};
use crate::{Error, ErrorKind, Result};

/// Records deleted in one batch.
const CHUNK: usize = 10_000;

impl Collection {
    /// Deletes the records whose id begins with `prefix`; visible at once. Their bytes go with the next [`Database::reclaim`].
    ///
    /// # Errors
    /// `Invalid` for an empty prefix: [`Database::drop_collection`] deletes everything.
    ///
    /// [`Database::reclaim`]: crate::Database::reclaim
    /// [`Database::drop_collection`]: crate::Database::drop_collection
    pub fn delete_prefix(&self, prefix: &str) -> Result<Deleted> {
        if prefix.is_empty() {
            return Err(Error::invalid(
                "an empty prefix matches every record; to delete them all, drop the collection",
            ));
        }
        let mut deleted = Deleted::default();
        let mut from = self.core.shard.key(prefix.as_bytes());
        loop {
            let _rows = self.core.late.renumbering.read();
            let (deletes, deletes_if, next) = self.core.ids_from(&from, prefix)?;
            if !deletes.is_empty() {
                let set = WriteSet { deletes, deletes_if: Some(deletes_if), ..WriteSet::default() };
                deleted.deleted += self.core.apply(set, self.durability, &self.call)?.1.deleted;
            }
            match next {
                Some(next) => from = next,
                None => return Ok(deleted),
            }
        }
    }
}

impl Core {
    /// Up to [`CHUNK`] ids that begin with `prefix`, from key `from` on, with their rows; and where to go on.
    #[allow(clippy::type_complexity)]
    fn ids_from(&self, from: &[u8], prefix: &str) -> Result<(Vec<String>, Vec<u64>, Option<Vec<u8>>)> {
        self.check_open()?;
        let (mut ids, mut rows, mut next) = (Vec::new(), Vec::new(), None);
        self.shared.store()?.scan(Table::Ids, from, &self.shard.end(), Direction::Forward, &mut |key, row| {
            let id = Shard::suffix(key);
            if !id.starts_with(prefix.as_bytes()) {
                return ControlFlow::Break(());
            }
            if ids.len() == CHUNK {
                next = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            if let (Ok(id), Some(row)) = (std::str::from_utf8(id), row_from(row)) {
                ids.push(id.to_string());
                rows.push(row);
            }
            ControlFlow::Continue(())
        })?;
        Ok((ids, rows, next))
    }

    /// Rewrites every index file that holds something deleted before the call. Snapshots that read the old ones are ended.
    pub(crate) fn reclaim(&self, ending: &mut dyn EndSnapshots) -> Result<()> {
        self.rebuild_broken()?;
        self.flush()?;
        for index in &self.indexes {
            index.reclaim(self, ending)?;
            if !self.is_sound(index.id()) {
                let message = format!(
                    "an index of collection {:?} is damaged and is about to be rebuilt; try again later",
                    self.name
                );
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        }
        Ok(())
    }
}
