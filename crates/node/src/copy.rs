//! A node's copy of the group: a data folder that the bucket can give again.
//!
//! **Invariant:** an opened folder has exactly what the log has up to the stated slot. A folder for which that is not
//! certain is recreated; the keys for access to the server (`keys.json`) and the audit records stay, as they are not in
//! the log.

use std::path::{Path, PathBuf};

use nuthatch_cluster::{Known, Log, checkpoint};
use nuthatch_engine::folder::Folder;
use nuthatch_segment::{read_sealed, rename_durably, write_sealed};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::failure::Failure;

/// The entries that are removed when a copy is recreated.
const DERIVED: [&str; 7] = ["truth", "indexes", "quarantine", "backing-up", "checkpointing", "restoring", "NUTHATCH"];

/// The mark of a copy, in its file `CLUSTER`.
#[derive(Serialize, Deserialize)]
struct Mark {
    cluster: uuid::Uuid,
    bucket: String,
    /// The part of the log that it has, if it was closed in good order.
    closed: Option<Known>,
}

/// A copy that may be opened.
pub struct Copy {
    root: PathBuf,
    /// The part of the log that it has.
    pub known: Known,
    /// Whether it was recreated.
    pub is_new: bool,
}

impl Copy {
    /// The folder as it was closed, if the log has everything behind it; else a new one.
    pub fn prepare(root: &Path, log: &dyn Log) -> Result<Self, Failure> {
        let mark = Self::marked(root, log)?;
        let oldest = log.base().checkpoints()?.first().map_or(0, |mark| mark.slot);
        if let Some(known) = mark.and_then(|mark| mark.closed).filter(|known| known.slot >= oldest) {
            info!(slot = known.slot, "the folder is as it was closed");
            Self::mark(root, log, None)?;
            return Ok(Self { root: root.to_path_buf(), known, is_new: false });
        }
        for name in DERIVED {
            remove(&root.join(name))?;
        }
        Self::mark(root, log, None)?;
        let restoring = root.join("restoring");
        std::fs::create_dir_all(&restoring).map_err(|error| io(&restoring, error))?;
        let known = checkpoint::restore(log.base(), &restoring, &mut |damage| warn!("{damage}"))?;
        let truth = root.join("truth");
        match known {
            Some(_) => {
                rename_durably(&restoring.join("truth"), &truth).map_err(nuthatch_cluster::ClusterError::from)?
            }
            None => std::fs::create_dir_all(&truth).map_err(|error| io(&truth, error))?,
        }
        remove(&restoring)?;
        Folder::at(root).write_identity()?;
        let known = known.unwrap_or_default();
        info!(slot = known.slot, "the folder was made from the bucket");
        Ok(Self { root: root.to_path_buf(), known, is_new: true })
    }

    /// # Errors
    /// `Invalid` for a folder that is something else.
    fn marked(root: &Path, log: &dyn Log) -> Result<Option<Mark>, Failure> {
        std::fs::create_dir_all(root).map_err(|error| io(root, error))?;
        let path = root.join("CLUSTER");
        // A damaged mark counts as none: everything is recreated.
        let body = match read_sealed(&path) {
            Err(nuthatch_segment::SegmentError::Corrupt { .. }) => return Ok(None),
            read => read.map_err(nuthatch_cluster::ClusterError::from)?,
        };
        let Some(body) = body else {
            if root.join("truth").exists() || root.join("NUTHATCH").exists() {
                let what = "is a data folder of its own, which a node would replace; give a new or an empty folder";
                return Err(nuthatch_cluster::ClusterError::Invalid(format!("{} {what}", root.display())).into());
            }
            return Ok(None);
        };
        let Ok(mark) = serde_json::from_slice::<Mark>(&body) else { return Ok(None) };
        if mark.cluster != log.base().cluster() {
            let what = format!(
                "{} is a copy of cluster {} ({}), and {} has cluster {}; give another folder",
                root.display(),
                mark.cluster,
                mark.bucket,
                log.base().bucket().address(),
                log.base().cluster()
            );
            return Err(nuthatch_cluster::ClusterError::Invalid(what).into());
        }
        Ok(Some(mark))
    }

    fn mark(root: &Path, log: &dyn Log, closed: Option<Known>) -> Result<(), Failure> {
        let mark = Mark { cluster: log.base().cluster(), bucket: log.base().bucket().address().into(), closed };
        let body = serde_json::to_vec_pretty(&mark).unwrap_or_default();
        Ok(write_sealed(&root.join("CLUSTER"), &body).map_err(nuthatch_cluster::ClusterError::from)?)
    }

    /// Where the store is.
    pub fn store(&self) -> PathBuf {
        self.root.join("truth")
    }

    /// Where a checkpoint is linked together.
    pub fn checkpointing(&self) -> PathBuf {
        self.root.join("checkpointing")
    }

    /// Its indexes may lack more than the store's own log of changes has.
    pub fn drop_indexes(&self) -> Result<(), Failure> {
        remove(&self.root.join("indexes"))
    }

    /// The folder was closed, and has exactly this of the log.
    pub fn closed(self, log: &dyn Log, known: Known) -> Result<(), Failure> {
        Self::mark(&self.root, log, Some(known))
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    let gone = match path.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(path, error)),
        _ => Ok(()),
    }
}

fn io(path: &Path, error: std::io::Error) -> Failure {
    nuthatch_cluster::ClusterError::Io { path: path.to_path_buf(), what: error.to_string() }.into()
}
