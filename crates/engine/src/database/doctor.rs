//! Checking every checksum of an open folder, and reporting what is wrong and what to do.

use std::path::{Path, PathBuf};

use nuthatch_store::Upkeep;

use crate::collection::Core;
use crate::database::Database;
use crate::descriptor::meta::Meta;
use crate::index::{IndexId, Indexed};
use crate::{Error, ErrorKind, Result};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Finding {
    /// The file, relative to the data folder where it is inside.
    #[serde(with = "crate::codec::path")]
    pub path: PathBuf,
    /// How it differs from what it should be.
    pub what: String,
    /// The next step to take.
    pub remedy: String,
}

/// The findings of a check of the whole folder.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Doctor {
    /// Damage, in the order in which it was found; empty when all is well.
    pub findings: Vec<Finding>,
    /// Repairs made on opening the folder that do not count as damage: the torn end of a log after a crash.
    pub notes: Vec<String>,
    /// Indexes that are not in use now, one sentence each; they are rebuilt in the background.
    pub degraded: Vec<String>,
    /// Records and collections that were looked at.
    pub collections: usize,
    /// See `collections`.
    pub records: u64,
}

impl Doctor {
    /// True when nothing is damaged and every index is in use.
    pub fn is_well(&self) -> bool {
        self.findings.is_empty() && self.degraded.is_empty()
    }
}

const REBUILD: &str = "searches read the stored records instead and stay exact; `nuthatch doctor --repair` quarantines and rebuilds the index";
const RESTORE: &str = "the stored records in this file cannot be rebuilt: restore the folder from a backup, or salvage \
    the rest with `nuthatch doctor --repair`";
const REWRITE: &str = "`nuthatch doctor --repair` rewrites it; it contains no stored records";

impl Database {
    /// Reads every byte of the folder and checks it against its checksums. Searches and writes go on during the check.
    pub fn doctor(&self) -> Result<Doctor> {
        let shared = &self.administrator("a check of the folder")?.shared;
        let root = shared.folder.root();
        let mut doctor = Doctor::default();
        if let Err(error) = shared.folder.check_identity() {
            doctor.findings.push(finding(root, &shared.folder.identity(), &error.message, REWRITE));
        }
        {
            let store = shared.store()?;
            let upkeep = store.upkeep();
            doctor.notes.extend(upkeep.and_then(Upkeep::torn_tail).map(|cut| {
                format!(
                    "after a crash, {} ended in an unfinished record at byte {} and was truncated there; this removed \
                    {} later batches that were not yet durable, and nothing acknowledged as durable",
                    cut.path.file_name().unwrap_or_default().to_string_lossy(),
                    cut.offset,
                    cut.batches_after
                )
            }));
            let mut found = shared.store.noticed.clone();
            found.extend(upkeep.map_or(Ok(Vec::new()), Upkeep::verify)?);
            found.dedup_by(|a, b| a.path == b.path);
            for damage in found {
                let name = damage.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let derived = name == "CHECKSUMS" || name == "IDENTITY" || name.starts_with("OPTIONS-");
                let remedy = if derived { REWRITE } else { RESTORE };
                doctor.findings.push(finding(root, &damage.path, &damage.what, remedy));
            }
        }
        let all = self.scopes().and_then(|scopes| {
            let named = scopes.into_iter().map(|scope| Ok((scope.collection_names()?, scope)));
            named.collect::<Result<Vec<_>>>()
        });
        let all = match all {
            Ok(all) => all,
            // The damaged file is the catalog's, and among the findings already.
            Err(error) if error.is_corrupt() && !doctor.findings.is_empty() => return Ok(doctor),
            Err(error) => return Err(error),
        };
        let of_all = all.iter().flat_map(|(names, scope)| names.iter().map(move |name| (name, scope)));
        for (name, scope) in of_all {
            doctor.collections += 1;
            let core = match scope.borrow(name) {
                Ok(core) => core,
                Err(error) if error.kind == ErrorKind::NotFound => continue, // dropped since
                Err(Error { kind: ErrorKind::Corrupt { path }, message, .. }) => {
                    doctor.findings.push(finding(root, &path, &message, RESTORE));
                    continue;
                }
                Err(error) => return Err(error),
            };
            doctor.records += core.writer.lock().counters.rows;
            let _work = core.index_work.work.lock(); // files do not come and go while it is held
            for (_, error) in index_damage(&core)? {
                let path = match &error.kind {
                    ErrorKind::Corrupt { path } => path.clone(),
                    _ => return Err(error),
                };
                doctor.findings.push(finding(root, &path, &error.message, REBUILD));
            }
            let state = core.state.read();
            doctor.degraded.extend(
                state.degraded().into_iter().map(|why| format!("collection {:?}: {why}", core.tenant.label(name))),
            );
        }
        Ok(doctor)
    }
}

/// Every damaged file of a collection's indexes, and its index; the copy of the catalog's entry belongs to none.
fn index_damage(core: &Core) -> Result<Vec<(Option<IndexId>, Error)>> {
    let copy = Meta::read_copy(&core.index_folder()).err();
    let mut errors: Vec<_> = copy.into_iter().map(|error| (None, error)).collect();
    for index in &core.indexes {
        errors.extend(index.verify(core)?.into_iter().map(|error| (Some(index.id()), error)));
    }
    Ok(errors)
}

fn finding(root: &Path, path: &Path, what: &str, remedy: &str) -> Finding {
    Finding {
        path: path.strip_prefix(root).unwrap_or(path).to_path_buf(),
        what: what.to_string(),
        remedy: remedy.to_string(),
    }
}

impl Database {
    /// Marks the damaged indexes of an open database as broken, so that maintenance quarantines and rebuilds them, and waits
    /// until that is done. Returns the collections that were rebuilt.
    pub fn rebuild_damaged(&self) -> Result<Vec<String>> {
        let mut rebuilt = Vec::new();
        for scope in self.scopes()? {
            for name in scope.collection_names()? {
                let core = scope.borrow(&name)?;
                if rebuild_if_damaged(&core)? {
                    rebuilt.push(core.tenant.label(&name));
                }
            }
        }
        Ok(rebuilt)
    }
}

fn rebuild_if_damaged(core: &Core) -> Result<bool> {
    for (index, error) in index_damage(core)? {
        match index {
            Some(index) if error.is_corrupt() => core.note_damage(&error, index),
            None if error.is_corrupt() => core.descriptor().meta.write_copy(&core.index_folder())?,
            _ => {}
        }
    }
    if core.state.read().degraded().is_empty() {
        return Ok(false);
    }
    core.rebuild_broken()?;
    Ok(true)
}
