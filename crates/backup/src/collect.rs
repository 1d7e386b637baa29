//! Deleting backups, and the objects that only they had.

use std::collections::HashSet;

use nuthatch_blob::object;

use crate::repository::key;
use crate::{Repository, Result};

/// The removed backups and objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Ids of the deleted backups, in their order.
    pub backups: Vec<String>,
    /// Objects that no backup needs any more, and that were deleted.
    pub objects: u64,
    /// Bytes of these objects, as they were stored.
    pub bytes: u64,
}

impl Repository {
    /// Deletes backups by name, then every object that no other backup names; with no names, only what interrupted backups left.
    ///
    /// # Errors
    /// `NotFound` for a name that is not there, `Corrupt` when the manifest of a backup that stays cannot be read: which objects it
    /// needs is unknown then. Nothing is deleted in either case.
    pub fn delete(&self, ids: &[String]) -> Result<Collected> {
        let known = self.ids()?;
        if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
            self.manifest(unknown)?; // says what there is
        }
        let mut needed = HashSet::new();
        for id in known.iter().filter(|id| !ids.contains(id)) {
            let files = self.manifest(id)?.files;
            needed.extend(files.into_iter().flat_map(|file| file.objects));
        }
        let mut collected = Collected::default();
        for id in known.into_iter().filter(|id| ids.contains(id)) {
            self.store.remove(&key(&id))?;
            collected.backups.push(id);
        }
        // A backup must be gone for good before what it needs goes.
        self.store.sync()?;
        self.tidy()?;
        for key in self.store.list("objects")? {
            let name = key.rsplit('/').next().unwrap_or_default();
            if object::key(name).as_deref() == Some(&key) && !needed.contains(name) {
                collected.bytes += self.store.size(&key)?.unwrap_or(0);
                collected.objects += 1;
                self.store.remove(&key)?;
            }
        }
        self.store.sync()?;
        Ok(collected)
    }
}
