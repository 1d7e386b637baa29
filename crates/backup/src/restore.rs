//! Getting a backup's files back.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use nuthatch_blob::object;
use nuthatch_segment::sync_folder;

use crate::{BackupError, FileEntry, Manifest, Repository, Result};

/// The files and bytes written by a restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that were written whole.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
}

impl Repository {
    /// Writes those files of a backup that `wanted` names into `target`, which must be empty or missing, and makes them durable.
    /// Every object is checked before it is written; the first damaged one is the error, with its name. `on_bytes` is told what
    /// was written so far, and may end it.
    pub fn restore<E: From<BackupError>>(
        &self,
        manifest: &Manifest,
        target: &Path,
        wanted: &dyn Fn(&str) -> bool,
        on_bytes: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<Restored, E> {
        let mut restored = Restored::default();
        let mut folders = BTreeSet::from([target.to_path_buf()]);
        std::fs::create_dir_all(target).map_err(|error| BackupError::io(target, error))?;
        for entry in manifest.files.iter().filter(|file| wanted(&file.path)) {
            let path = inside(target, &entry.path)?;
            let mut folder = path.parent();
            while let Some(at) = folder.filter(|at| at.starts_with(target)) {
                folders.insert(at.to_path_buf());
                folder = at.parent();
            }
            let parent = path.parent().unwrap_or(target);
            std::fs::create_dir_all(parent).map_err(|error| BackupError::io(parent, error))?;
            self.write_file(entry, &path, &mut |bytes| {
                restored.bytes += bytes;
                on_bytes(restored.bytes)
            })?;
            restored.files += 1;
        }
        folders.iter().try_for_each(|folder| sync_folder(folder)).map_err(BackupError::from)?;
        Ok(restored)
    }

    /// The bytes of one small file.
    pub fn read(&self, entry: &FileEntry) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for name in &entry.objects {
            bytes.extend(object::read(&*self.store, name)?);
        }
        Ok(bytes)
    }

    #[allow(clippy::disallowed_methods, reason = "it syncs the file, and who calls it the folders")]
    fn write_file<E: From<BackupError>>(
        &self,
        entry: &FileEntry,
        path: &Path,
        on_bytes: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let io = |error| BackupError::io(path, error);
        let mut file = File::options().write(true).create_new(true).open(path).map_err(io)?;
        let mut written = 0;
        for name in &entry.objects {
            let bytes = object::read(&*self.store, name).map_err(BackupError::from)?;
            file.write_all(&bytes).map_err(io)?;
            written += bytes.len() as u64;
            on_bytes(bytes.len() as u64)?;
        }
        if written != entry.bytes {
            let what = format!("its objects have {written} bytes, and {} were backed up", entry.bytes);
            return Err(BackupError::corrupt(path, what).into());
        }
        file.sync_all().map_err(io)?;
        Ok(())
    }
}

/// Where a file goes. A path that leads out of the folder is refused.
fn inside(target: &Path, path: &str) -> Result<PathBuf> {
    let relative = Path::new(path);
    match !path.is_empty() && relative.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(target.join(relative)),
        false => Err(BackupError::Invalid(format!("the backup names a file {path:?}, which is outside of its folder"))),
    }
}
