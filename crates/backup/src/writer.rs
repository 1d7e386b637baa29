//! Making a backup: files in, objects that are not there yet out, the manifest last.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use nuthatch_blob::{CHUNK_BYTES, object};

use crate::{BackupError, FileEntry, Manifest, Repository, Result};

/// A backup that is being made. Nothing of it is listed before [`finish`](Self::finish).
///
/// Memory: one object, and the manifest.
pub struct Writer<'r> {
    repository: &'r Repository,
    number: u64,
    previous: HashMap<String, FileEntry>,
    files: Vec<FileEntry>,
    stored: Stored,
    buffer: Vec<u8>,
}

/// The cost of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Files of the backup, with those that were taken over.
    pub files: u64,
    /// Of these, files that were not read because the backup before has them unchanged.
    pub files_unchanged: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Objects that were not there yet, and their bytes.
    pub new_objects: u64,
    /// Bytes of these objects.
    pub new_bytes: u64,
}

impl<'r> Writer<'r> {
    pub(crate) fn new(repository: &'r Repository, number: u64, previous: Option<Manifest>) -> Self {
        let files = previous.map(|manifest| manifest.files).unwrap_or_default();
        Self {
            repository,
            number,
            previous: files.into_iter().map(|file| (file.path.clone(), file)).collect(),
            files: Vec::new(),
            stored: Stored::default(),
            buffer: Vec::new(),
        }
    }

    /// The cost so far.
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Takes a file over from the backup before, when it has not changed since and its objects are there. For files that are
    /// never changed in place.
    pub fn reuse(&mut self, path: &str, bytes: u64, mtime_ns: i64) -> Result<bool> {
        let Some(known) = self.previous.get(path) else { return Ok(false) };
        if (known.bytes, known.mtime_ns) != (bytes, mtime_ns) {
            return Ok(false);
        }
        for (name, bytes) in known.pieces() {
            let Some(key) = object::key(name) else { return Ok(false) };
            if self.repository.store.size(&key)? != Some(bytes) {
                return Ok(false);
            }
        }
        self.files.push(known.clone());
        self.stored.files += 1;
        self.stored.files_unchanged += 1;
        Ok(true)
    }

    /// Reads a file to its end. `look` sees every piece before it is stored, and its error ends the file: nothing of it is kept.
    pub fn add<E: From<BackupError>>(
        &mut self,
        path: &str,
        mtime_ns: i64,
        source: &mut dyn Read,
        source_path: &Path,
        look: &mut dyn FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut entry = FileEntry { path: path.to_string(), bytes: 0, mtime_ns, objects: Vec::new() };
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let mut piece = source.take(CHUNK_BYTES as u64);
            piece.read_to_end(&mut buffer).map_err(|error| BackupError::io(source_path, error))?;
            if buffer.is_empty() {
                self.buffer = buffer;
                break;
            }
            look(&buffer)?;
            entry.objects.push(self.put(&buffer)?);
            entry.bytes += buffer.len() as u64;
            self.stored.read_bytes += buffer.len() as u64;
            self.buffer = buffer;
        }
        self.files.push(entry);
        self.stored.files += 1;
        Ok(())
    }

    /// A file of these bytes.
    pub fn add_bytes(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.add(path, 0, &mut &*bytes, Path::new(path), &mut |_| Ok::<(), BackupError>(()))
    }

    /// Leaves out the files below `folder` that were taken in so far.
    pub fn leave_out(&mut self, folder: &str) {
        let before = self.files.len();
        self.files.retain(|file| !file.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
        self.stored.files -= (before - self.files.len()) as u64;
    }

    /// Makes everything durable, then lists the backup.
    pub fn finish(self, about: serde_json::Value) -> Result<Manifest> {
        self.repository.store.sync()?;
        let manifest = Manifest::new(self.number, about, self.stored.new_bytes, self.files);
        self.repository.put_manifest(&manifest)?;
        Ok(manifest)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<String> {
        let name = object::name(bytes);
        let key = object::key(&name).expect("a hash in hexadecimal digits");
        // Another size under that name is an object that was cut short by something else than us.
        if self.repository.store.size(&key)? != Some(bytes.len() as u64) {
            self.repository.store.put(&key, bytes)?;
            self.stored.new_objects += 1;
            self.stored.new_bytes += bytes.len() as u64;
        }
        Ok(name)
    }
}
