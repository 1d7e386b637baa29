//! A folder as a store.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nuthatch_segment::sync_folder;

use crate::{Access, BlobError, BlobStore, Result};

/// A value that is being written has this extension; no key has it.
const WRITING: &str = "writing";
const LOCK: &str = "LOCK";

/// Values are files: written under another name, fsynced, renamed.
pub struct FolderStore {
    root: PathBuf,
    /// Folders with names that are not durable yet.
    changed: Mutex<BTreeSet<PathBuf>>,
}

impl FolderStore {
    /// A store in this folder, which need not exist: the first value that is stored makes it.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), changed: Mutex::default() }
    }

    fn changed(&self) -> std::sync::MutexGuard<'_, BTreeSet<PathBuf>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a folder, and remembers those that have a new name in them.
    fn make(&self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let parent = folder.parent().unwrap_or(&self.root);
        if folder != self.root {
            self.make(parent)?;
        }
        std::fs::create_dir_all(folder).map_err(|error| BlobError::io(folder, error))?;
        self.changed().insert(parent.to_path_buf());
        Ok(())
    }

    fn walk(&self, folder: &Path, visit: &mut dyn FnMut(PathBuf) -> Result<()>) -> Result<()> {
        let io = |error| BlobError::io(folder, error);
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(io(error)),
        };
        for entry in entries {
            let entry = entry.map_err(io)?;
            match entry.file_type().map_err(io)?.is_dir() {
                true => self.walk(&entry.path(), visit)?,
                false => visit(entry.path())?,
            }
        }
        Ok(())
    }
}

impl BlobStore for FolderStore {
    fn size(&self, key: &str) -> Result<Option<u64>> {
        let path = self.place(key);
        match std::fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BlobError::io(&path, error)),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "whose name is a checksum is checked by it, above")]
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let path = self.place(key);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BlobError::io(&path, error)),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "`sync` makes all names durable, for many values at once")]
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.place(key);
        let folder = path.parent().unwrap_or(&self.root).to_path_buf();
        self.make(&folder)?;
        let beside = path.with_extension(WRITING);
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&beside, &path)
        };
        write().map_err(|error| BlobError::io(&path, error))?;
        self.changed().insert(folder);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let changed = std::mem::take(&mut *self.changed());
        Ok(changed.iter().try_for_each(|folder| sync_folder(folder))?)
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        self.walk(&self.place(prefix), &mut |path| {
            let inside = path.strip_prefix(&self.root).unwrap_or(&path);
            if path.extension().is_none_or(|extension| extension != WRITING) {
                let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                keys.push(parts.join("/"));
            }
            Ok(())
        })?;
        keys.sort();
        Ok(keys)
    }

    fn remove(&self, key: &str) -> Result<()> {
        let path = self.place(key);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(BlobError::io(&path, error)),
            _ => {
                self.changed().insert(path.parent().unwrap_or(&self.root).to_path_buf());
                Ok(())
            }
        }
    }

    fn tidy(&self, prefix: &str) -> Result<()> {
        self.walk(&self.place(prefix), &mut |path| match path.extension() {
            Some(extension) if extension == WRITING => {
                std::fs::remove_file(&path).map_err(|error| BlobError::io(&path, error))
            }
            _ => Ok(()),
        })
    }

    #[allow(clippy::disallowed_methods, reason = "a lock has no bytes that could be lost")]
    fn hold(&self, access: Access) -> Result<Option<Box<dyn Send + Sync>>> {
        let path = self.root.join(LOCK);
        let io = |error| BlobError::io(&path, error);
        let opened = match access {
            Access::Change => File::options().write(true).create(true).truncate(false).open(&path),
            // A store on a read-only medium can still be read.
            Access::Read => File::open(&path),
        };
        let file = opened.map_err(io)?;
        let taken = match access {
            Access::Change => file.try_lock(),
            Access::Read => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }

    fn place(&self, key: &str) -> PathBuf {
        key.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }
}
