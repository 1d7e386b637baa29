//! Reading everything that backups consist of, and comparing it with its name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nuthatch_blob::{BlobError, object};

use crate::{BackupError, Repository};

/// The findings of a check.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Manifests that were looked at, damaged ones included.
    pub backups: u64,
    /// Objects that were looked at, each one once, damaged ones included.
    pub objects: u64,
    /// Bytes of the objects that are whole.
    pub bytes: u64,
    /// Manifests and objects that are damaged or missing; empty when all is well.
    pub damage: Vec<DamagedObject>,
}

/// Something that is missing or not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedObject {
    /// Where the store keeps it.
    pub path: PathBuf,
    /// How it differs from what was stored.
    pub what: String,
    /// Files that cannot be restored because of it, with the backup's name in front.
    pub files: Vec<String>,
}

impl Repository {
    /// Reads every object of these backups (all, when none is named) and compares it with its name. Each object is read once.
    /// `on_bytes` is told what was read so far, and may end it.
    pub fn verify<E: From<BackupError>>(
        &self,
        ids: &[String],
        on_bytes: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<Verified, E> {
        let all;
        let ids = match ids {
            [] => {
                all = self.ids()?;
                &all
            }
            ids => ids,
        };
        let mut verified = Verified::default();
        let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for id in ids {
            verified.backups += 1;
            match self.manifest(id) {
                Ok(manifest) => {
                    for (file, name) in
                        manifest.files.iter().flat_map(|file| file.objects.iter().map(move |name| (file, name)))
                    {
                        let user = format!("{id}: {}", file.path);
                        let users = users.entry(name.clone()).or_default();
                        if users.last() != Some(&user) {
                            users.push(user);
                        }
                    }
                }
                Err(BackupError::Corrupt { path, what }) => {
                    verified.damage.push(DamagedObject { path, what, files: vec![format!("{id}: all files")] });
                }
                Err(error) => return Err(error.into()),
            }
        }
        for (name, files) in users {
            verified.objects += 1;
            match object::read(&*self.store, &name) {
                Ok(bytes) => {
                    verified.bytes += bytes.len() as u64;
                    on_bytes(verified.bytes)?;
                }
                Err(BlobError::Corrupt { path, what }) => verified.damage.push(DamagedObject { path, what, files }),
                Err(error) => return Err(BackupError::from(error).into()),
            }
        }
        Ok(verified)
    }
}
