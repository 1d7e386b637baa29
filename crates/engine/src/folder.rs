//! The data folder: its identity file and the places of its parts.

use std::path::{Path, PathBuf};

use nuthatch_segment::{read_sealed, write_sealed};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::{Error, Result};

/// The newest version of the data folder's layout that this program writes and reads. A folder has the oldest that can say what is
/// in it, so that earlier programs open whatever they understand.
pub const FORMAT_VERSION: u32 = 6;
/// The oldest layout that this program opens.
pub const FORMAT_OLDEST_READABLE: u32 = 1;

/// The format of a folder that needs no later one.
const FORMAT_PLAIN: u32 = 1;
/// The format of a folder once it has a named vector field.
pub const FORMAT_OF_FIELDS: u32 = 2;
/// The format of a folder once it has a field of sparse or token vectors: an earlier program would take their bytes for
/// dense ones.
pub const FORMAT_OF_FIELD_KINDS: u32 = 6;
/// The format of a folder once it has a tenant besides the default one: an earlier program would take their indexes for
/// leftovers.
pub const FORMAT_OF_TENANTS: u32 = 2;
/// The format of a folder once it has a graph: an earlier program would take it for a keyspace.
pub const FORMAT_OF_GRAPHS: u32 = 3;
/// The first format whose folders may have trees: an earlier program would take their rows for keys.
pub const FORMAT_OF_TREES: u32 = 4;
/// The format of a folder once a file in a tree has fields: an earlier program could not read their rows.
pub const FORMAT_OF_TREE_FIELDS: u32 = 6;
/// The first format whose folders may have caches: an earlier program would take their rows for keys.
pub const FORMAT_OF_CACHES: u32 = 5;
/// The first format whose folders may have facts: an earlier program would take their rows for keys.
pub const FORMAT_OF_FACTS: u32 = 6;

/// The contents of a folder's `NUTHATCH` file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The version of the folder's layout.
    pub format: u32,
    /// UTC, RFC 3339.
    pub created: String,
    /// Random; a restored folder has one of its own.
    pub uuid: String,
    /// The program that made it, with its version.
    pub written_by: String,
}

impl Identity {
    fn new(format: u32) -> Self {
        Self {
            format,
            created: Clock::system().stamp(),
            uuid: uuid::Uuid::new_v4().to_string(),
            written_by: format!("nuthatch {}", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// Paths inside one data folder.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Opens the folder, creating it when it is missing or empty. A folder with other people's files in it is refused.
    pub fn open(root: &Path, must_exist: bool) -> Result<Self> {
        let folder = Self { root: root.to_path_buf() };
        let identity = folder.identity();
        if identity.exists() {
            folder.check_identity()?;
            return folder.with_parts();
        }
        if must_exist {
            let remedy = "; name one with --data-dir, or create one by adding something";
            return Err(Error::no_data_folder(root, remedy));
        }
        if root.exists() && !root.is_dir() {
            return Err(Error::invalid(format!("{} is a file; give a folder", root.display())));
        }
        std::fs::create_dir_all(root).map_err(|error| Error::io(root, &error))?;
        let mut entries = std::fs::read_dir(root).map_err(|error| Error::io(root, &error))?;
        if entries.any(|entry| entry.is_ok_and(|entry| !is_ours(&entry.file_name().to_string_lossy()))) {
            return Err(Error::invalid(format!(
                "{} contains files that do not belong to Nuthatch; give an empty or a new folder",
                root.display()
            )));
        }
        if folder.store().join("CURRENT").exists() {
            return Err(Error::corrupt(
                &identity,
                format!(
                    "{} is missing although the folder holds data; run `nuthatch doctor --repair` to recreate it",
                    identity.display()
                ),
            ));
        }
        folder.seal_identity(Identity::new(FORMAT_PLAIN))?;
        folder.with_parts()
    }

    /// The paths, without looking at what is there.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The data folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file that says what the folder is.
    pub(crate) fn identity(&self) -> PathBuf {
        self.root.join("NUTHATCH")
    }

    /// There when the folder is a node's copy of a cluster's data.
    fn cluster(&self) -> PathBuf {
        self.root.join("CLUSTER")
    }

    /// Refuses a node's copy of a cluster's data: what is written here alone, no other node would ever have.
    pub(crate) fn refuse_copy(&self) -> Result<()> {
        match self.cluster().exists() {
            true => Err(Error::invalid(format!(
                "{} is a copy of a cluster's data; reach it over HTTP through the node that serves it \
                 (`nuthatch-cluster status` names it)",
                self.root.display()
            ))),
            false => Ok(()),
        }
    }

    /// The folder of the store of record.
    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("truth")
    }

    /// The folder of damaged files that were moved aside.
    pub(crate) fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// The folder of the receipts of reclaims.
    pub(crate) fn receipts(&self) -> PathBuf {
        self.root.join("receipts")
    }

    /// Links to what a backup is copying; there only while it is.
    pub fn backing_up(&self) -> PathBuf {
        self.root.join("backing-up")
    }

    /// The folder of all indexes.
    pub(crate) fn indexes(&self) -> PathBuf {
        self.root.join("indexes")
    }

    /// The folder of a tenant's indexes.
    pub(crate) fn indexes_of(&self, tenant: u32) -> PathBuf {
        self.indexes().join(tenant.to_string())
    }

    /// The folder of a collection's indexes.
    pub(crate) fn index(&self, tenant: u32, collection: u32) -> PathBuf {
        self.indexes_of(tenant).join(collection.to_string())
    }

    /// Of a folder of which nothing is known but that it is ours: it may hold whatever this program can read.
    pub fn write_identity(&self) -> Result<()> {
        self.seal_identity(Identity::new(FORMAT_VERSION))
    }

    /// Makes the folder one of this format, if it is of an earlier one. Durable when it returns; the caller holds the folder's lock.
    pub fn raise_format(&self, format: u32) -> Result<()> {
        /// Two callers at once would take the same name next to the file.
        static RAISING: Mutex<()> = Mutex::new(());
        if self.read_identity()?.format >= format {
            return Ok(());
        }
        let _raising = RAISING.lock();
        let identity = self.read_identity()?;
        match identity.format < format {
            true => self.seal_identity(Identity { format, ..identity }),
            false => Ok(()),
        }
    }

    /// Refuses folders that this program cannot read, with both versions.
    pub fn check_identity(&self) -> Result<()> {
        let identity = self.read_identity()?;
        if !(FORMAT_OLDEST_READABLE..=FORMAT_VERSION).contains(&identity.format) {
            return Err(Error::invalid(format!(
                "{} has format {} (written by {}), this program reads {FORMAT_OLDEST_READABLE} to {FORMAT_VERSION}; use a newer Nuthatch",
                self.root.display(),
                identity.format,
                identity.written_by
            )));
        }
        Ok(())
    }

    /// Reads the folder's identity.
    pub(crate) fn read_identity(&self) -> Result<Identity> {
        let path = self.identity();
        let body = read_sealed(&path)?
            .ok_or_else(|| Error::not_found(format!("{} is missing", path.display())).about_path(&path))?;
        serde_json::from_slice(&body).map_err(|error| Error::corrupt(&path, format!("{}: {error}", path.display())))
    }

    /// Makes the folder that of a copy: the format is that of what was copied, the identity its own.
    pub fn write_identity_of_copy(&self, format: u32) -> Result<()> {
        self.seal_identity(Identity::new(format))
    }

    fn seal_identity(&self, identity: Identity) -> Result<()> {
        let body = serde_json::to_vec_pretty(&identity).expect("plain fields are JSON");
        Ok(write_sealed(&self.identity(), &body)?)
    }

    fn with_parts(self) -> Result<Self> {
        for part in [self.store(), self.indexes()] {
            std::fs::create_dir_all(&part).map_err(|error| Error::io(&part, &error))?;
        }
        Ok(self)
    }
}

/// Whether a data folder has such a name in it.
pub(crate) fn is_ours(name: &str) -> bool {
    matches!(
        name,
        "NUTHATCH"
            | "NUTHATCH.writing"
            | "LOCK"
            | "LOCK.next"
            | "SOCKET"
            | "SOCKET.next"
            | "truth"
            | "indexes"
            | "quarantine"
            | "objects"
            | "receipts"
            | "backing-up"
            // Of a node of a cluster: what its copy is, and what it makes a checkpoint of.
            | "CLUSTER"
            | "CLUSTER.writing"
            | "CLUSTER.lock"
            | "checkpointing"
            | "restoring"
            // Of a server: who may ask it.
            | "keys.json"
            | "keys.json.writing"
            | "keys.lock"
            | "audit"
    )
}
