//! The moment: the whole database as links to its immutable files, in a folder of its own inside the data folder.
//!
//! Indexes are linked first, each under the lock that keeps it still; the store's checkpoint comes last, and until then no change is
//! trimmed from the log. So each index stands at or before the store, and what it lacks is in the log: opening replays it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nuthatch_store::Checkpoint;

use crate::backup::alone::copy_rows;
use crate::below::remove_below;
use crate::collection::Core;
use crate::database::Database;
use crate::index::{IndexId, Indexed};
use crate::runtime::Runtime;
use crate::{Error, ErrorKind, Result};

/// How long a collection's sealing or rebuilding is waited for. A rebuild takes minutes, and leaves nothing to take along anyway.
const WORK_WAIT_MAX: Duration = Duration::from_secs(10);
/// A log may end in the middle of a record that is just being written: another moment is likely to do better.
const ATTEMPTS: usize = 3;

pub(crate) struct Capture {
    folder: PathBuf,
    store: Box<dyn Checkpoint>,
    files: Vec<CapturedFile>,
    indexes: Vec<CapturedIndex>,
    left_out: Vec<String>,
    moment: Duration,
}

/// A file of the moment.
#[derive(Clone, Debug)]
pub(crate) struct CapturedFile {
    /// Relative to the data folder, with slashes.
    pub path: String,
    pub bytes: u64,
    pub mtime_ns: i64,
}

/// An index whose files were linked.
pub(crate) struct CapturedIndex {
    pub core: Arc<Core>,
    /// `indexes/<tenant>/<collection>/<kind>`
    pub path: String,
    pub id: IndexId,
}

impl Capture {
    pub fn take(database: &Database, with_indexes: bool) -> Result<Self> {
        let shared = &database.inner.shared;
        let folder = shared.folder.backing_up();
        remove_below(&folder)?;
        let made = Self::take_in(database, with_indexes, &folder);
        if made.is_err() {
            remove_below(&folder)?;
        }
        made
    }

    fn take_in(database: &Database, with_indexes: bool, folder: &Path) -> Result<Self> {
        let shared = &database.inner.shared;
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        let (mut indexes, mut left_out) = (Vec::new(), Vec::new());
        let mut moment = Duration::ZERO;
        let store;
        {
            let _pinned = Pinned::new(shared);
            match with_indexes {
                true => {
                    for scope in database.scopes()? {
                        let names = match scope.collection_names() {
                            // The tenant was dropped since they were listed.
                            Err(error) if error.kind == ErrorKind::NotFound => continue,
                            names => names?,
                        };
                        for name in names {
                            let core = match scope.borrow(&name) {
                                // Dropped since the names were listed.
                                Err(error) if error.kind == ErrorKind::NotFound => continue,
                                core => core?,
                            };
                            let started = Instant::now();
                            link_indexes(&core, folder, &mut indexes, &mut left_out)?;
                            moment = moment.max(started.elapsed());
                        }
                    }
                }
                false => left_out.push("the backup was made without indexes; restoring rebuilds them".into()),
            }
            let place = folder.join("truth");
            let links = if database.tenant.is_default() { linked(shared, &place)? } else { None };
            store = match links {
                Some(links) => links,
                None => copy_rows(database, &place, &folder.join("copying"))?,
            };
        }
        let mut files = Vec::new();
        list(folder, folder, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { folder: folder.to_path_buf(), store, files, indexes, left_out, moment })
    }

    pub fn store(&self) -> &dyn Checkpoint {
        &*self.store
    }

    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    pub fn indexes(&self) -> &[CapturedIndex] {
        &self.indexes
    }

    pub fn all_files(&self) -> &[CapturedFile] {
        &self.files
    }

    /// The folder of the links.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data folder.
    pub fn root(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Where a file of the moment lies.
    pub fn place(&self, file: &CapturedFile) -> PathBuf {
        self.folder.join(&file.path)
    }

    pub fn files(&self) -> u64 {
        self.files.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub fn moment(&self) -> Duration {
        self.moment
    }

    /// Lets the links go. A kill before that leaves them to the next opening.
    pub fn remove(self) -> Result<()> {
        let folder = self.folder.clone();
        drop(self);
        remove_below(&folder)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // After an error; what cannot be removed now is removed at the next backup or opening.
        remove_below(&self.folder).ok();
    }
}

/// The store as links to its files; `None` when it has none.
fn linked(shared: &Runtime, place: &Path) -> Result<Option<Box<dyn Checkpoint>>> {
    let mut made = Ok(None);
    for _ in 0..ATTEMPTS {
        remove_below(place)?;
        let store = shared.store()?;
        let Some(upkeep) = store.upkeep() else { return Ok(None) };
        made = upkeep.checkpoint(place);
        if made.is_ok() {
            break;
        }
    }
    Ok(made?)
}

/// While it lives no change is trimmed from any collection's log.
struct Pinned<'s>(&'s Runtime);

impl<'s> Pinned<'s> {
    fn new(shared: &'s Runtime) -> Self {
        shared.background.log_pins.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.0.background.log_pins.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Links the current files of a collection's indexes. Leaves out indexes that are out of use, or all while they are
/// rebuilt, and notes why.
fn link_indexes(
    core: &Arc<Core>,
    folder: &Path,
    indexes: &mut Vec<CapturedIndex>,
    left_out: &mut Vec<String>,
) -> Result<()> {
    // Held: nothing is sealed, committed or rebuilt until it is released. Merging goes on; the manifest's lock guards
    // what it swaps.
    let Some(_work) = core.index_work.work.try_lock_for(WORK_WAIT_MAX) else {
        left_out.push(format!("the indexes of collection {:?} are being rebuilt", core.name));
        return Ok(());
    };
    if core.is_dropped() {
        return Ok(());
    }
    let inside = format!("indexes/{}/{}", core.shard.tenant, core.shard.collection);
    link(&core.index_folder().join("COLLECTION"), &folder.join(&inside).join("COLLECTION"))?;
    let _manifest = core.index_work.manifest.lock();
    let root = core.index_folder();
    for index in &core.indexes {
        let id = index.id();
        if let Some(why) = core.state.read().why_broken(id) {
            left_out.push(format!("the index of {} of collection {:?} is out of use: {why}", id.holds, core.name));
            continue;
        }
        for path in index.files(&**core)? {
            let name = path.strip_prefix(&root).unwrap_or(&path);
            link(&path, &folder.join(&inside).join(name))?;
        }
        indexes.push(CapturedIndex { core: core.clone(), path: format!("{inside}/{}", id.folder), id });
    }
    Ok(())
}

/// A hard link, or a copy where the file system has none. A missing file is no file of the moment: a manifest that was never written.
#[allow(clippy::disallowed_methods, reason = "a capture is for the time of one backup")]
fn link(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(to);
    std::fs::create_dir_all(parent).map_err(|error| Error::io(parent, &error))?;
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(_) => std::fs::copy(from, to).map(drop).map_err(|error| Error::io(from, &error)),
    }
}

fn list(root: &Path, folder: &Path, files: &mut Vec<CapturedFile>) -> Result<()> {
    let io = |error: std::io::Error| Error::io(folder, &error);
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let metadata = entry.metadata().map_err(io)?;
        if metadata.is_dir() {
            list(root, &entry.path(), files)?;
            continue;
        }
        let path = entry.path();
        let parts: Vec<_> =
            path.strip_prefix(root).unwrap_or(&path).iter().map(|part| part.to_string_lossy()).collect();
        let changed = metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        files.push(CapturedFile {
            path: parts.join("/"),
            bytes: metadata.len(),
            mtime_ns: changed.map_or(0, |at| at.as_nanos() as i64),
        });
    }
    Ok(())
}
