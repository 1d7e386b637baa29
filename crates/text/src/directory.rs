//! tantivy's files as block files: every byte checked, read by `pread` through the shared cache, nothing mapped.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use nuthatch_segment::{BlockCache, BlockFile, BlockFileWriter, SegmentError, read_sealed, sync_folder, write_sealed};
use parking_lot::{Condvar, Mutex};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::{Directory, HasLen};

/// Files of which tantivy keeps parts for as long as it has the segment open. (Of `.idx` it holds the posting lists
/// of a query while that runs.) Smaller reads than this are gone within the call.
const KEPT: [&str; 4] = ["fieldnorm", "fast", "term", "del"];
const KEPT_BYTES_MIN: usize = 1024;
/// Files up to this size are held whole, and closed.
const WHOLE_BYTES_MAX: usize = 4 * 1024;

/// One index folder. Clones share everything.
#[derive(Clone)]
pub(crate) struct BlockDirectory {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    cache: Arc<BlockCache>,
    /// Files that a reader still holds: a reload shares them, and with them their cached blocks.
    open: Mutex<HashMap<PathBuf, Weak<TantivyFile>>>,
    held: Arc<HeldBytes>,
    locks: Mutex<HashSet<PathBuf>>,
    unlocked: Condvar,
}

impl BlockDirectory {
    pub fn new(folder: &Path, cache: &Arc<BlockCache>) -> Self {
        Self {
            shared: Arc::new(Shared {
                folder: folder.to_path_buf(),
                cache: cache.clone(),
                open: Mutex::default(),
                held: Arc::default(),
                locks: Mutex::default(),
                unlocked: Condvar::new(),
            }),
        }
    }

    /// Bytes of file contents that tantivy holds now, outside the block cache.
    pub fn held_bytes(&self) -> u64 {
        self.shared.held.sum()
    }

    fn path(&self, file: &Path) -> PathBuf {
        self.shared.folder.join(file)
    }
}

impl std::fmt::Debug for BlockDirectory {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "BlockDirectory({})", self.shared.folder.display())
    }
}

impl Directory for BlockDirectory {
    fn get_file_handle(&self, file: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let mut open = self.shared.open.lock();
        if let Some(handle) = open.get(file).and_then(Weak::upgrade) {
            return Ok(handle);
        }
        let refuse = |error: SegmentError| match error {
            SegmentError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                OpenReadError::FileDoesNotExist(file.to_path_buf())
            }
            error => OpenReadError::wrap_io_error(error.into(), file.to_path_buf()),
        };
        let path = self.path(file);
        let blocks = BlockFile::open(&path, &self.shared.cache).map_err(refuse)?;
        let bytes = blocks.len() as usize;
        let extension = file.extension().and_then(|extension| extension.to_str());
        let kept = extension.is_some_and(|extension| KEPT.contains(&extension));
        let held = kept.then(|| self.shared.held.clone());
        // tantivy asks for all field norms once per query word: they are read once and stay (one byte per row).
        let source = if bytes <= WHOLE_BYTES_MAX || extension == Some("fieldnorm") {
            let mut whole = vec![0; bytes];
            blocks.read_at(0, &mut whole).map_err(refuse)?;
            let whole: Arc<[u8]> = whole.into();
            self.shared.held.count(&whole);
            Source::Whole(whole)
        } else if extension == Some("store") {
            Source::Reopened(path, self.shared.cache.clone())
        } else {
            Source::Open(blocks)
        };
        let handle = Arc::new(TantivyFile { path: self.path(file), bytes, source, held });
        open.retain(|_, handle| handle.strong_count() > 0);
        open.insert(file.to_path_buf(), Arc::downgrade(&handle));
        Ok(handle)
    }

    fn delete(&self, file: &Path) -> Result<(), DeleteError> {
        self.shared.open.lock().remove(file);
        std::fs::remove_file(self.path(file)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(file.to_path_buf()),
            _ => DeleteError::IoError { io_error: Arc::new(error), filepath: file.to_path_buf() },
        })
    }

    fn exists(&self, file: &Path) -> Result<bool, OpenReadError> {
        self.path(file).try_exists().map_err(|error| OpenReadError::wrap_io_error(error, file.to_path_buf()))
    }

    fn open_write(&self, file: &Path) -> Result<WritePtr, OpenWriteError> {
        let path = self.path(file);
        let refuse = |error: io::Error| OpenWriteError::wrap_io_error(error, file.to_path_buf());
        // After a kill, a retried commit may draw the name of a delete file that no manifest knows: the orphan goes.
        // (A reader that has the old file open keeps its own inode.)
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refuse(error)),
            _ => self.shared.open.lock().remove(file),
        };
        let writer = BlockFileWriter::create(&path).map_err(|error| refuse(error.into()))?;
        Ok(io::BufWriter::new(Box::new(BlockWrite(Some(writer)))))
    }

    fn atomic_read(&self, file: &Path) -> Result<Vec<u8>, OpenReadError> {
        match read_sealed(&self.path(file)) {
            Ok(Some(body)) => Ok(body),
            Ok(None) => Err(OpenReadError::FileDoesNotExist(file.to_path_buf())),
            Err(error) => Err(OpenReadError::wrap_io_error(error.into(), file.into())),
        }
    }

    fn atomic_write(&self, file: &Path, data: &[u8]) -> io::Result<()> {
        write_sealed(&self.path(file), data).map_err(io::Error::from)
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_folder(&self.shared.folder).map_err(io::Error::from)
    }

    /// Locks are for threads of this process: the database's own lock keeps other processes out, and
    /// a lock file would outlive a kill.
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let mut locks = self.shared.locks.lock();
        while !locks.insert(lock.filepath.clone()) {
            if !lock.is_blocking {
                return Err(LockError::LockBusy);
            }
            self.shared.unlocked.wait(&mut locks);
        }
        Ok(DirectoryLock::from(Box::new(Unlock { shared: self.shared.clone(), lock: lock.filepath.clone() })))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty()) // readers are reloaded by hand, after each commit
    }
}

struct Unlock {
    shared: Arc<Shared>,
    lock: PathBuf,
}

impl Drop for Unlock {
    fn drop(&mut self) {
        self.shared.locks.lock().remove(&self.lock);
        self.shared.unlocked.notify_all();
    }
}

struct BlockWrite(Option<BlockFileWriter>);

impl Write for BlockWrite {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // made durable as a whole, when it is finished
    }
}

impl TerminatingWrite for BlockWrite {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        match self.0.take() {
            Some(writer) => writer.finish().map(drop).map_err(io::Error::from),
            None => Ok(()),
        }
    }
}

/// A block file as tantivy sees it.
struct TantivyFile {
    path: PathBuf,
    bytes: usize,
    source: Source,
    held: Option<Arc<HeldBytes>>,
}

/// Where its bytes come from. Open files are scarce when thousands of collections share a process.
enum Source {
    Open(Arc<BlockFile>),
    Whole(Arc<[u8]>),
    /// Only merges read it.
    Reopened(PathBuf, Arc<BlockCache>),
}

impl std::fmt::Debug for TantivyFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "TantivyFile({})", self.path.display())
    }
}

impl HasLen for TantivyFile {
    fn len(&self) -> usize {
        self.bytes
    }
}

impl FileHandle for TantivyFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; range.len()];
        match &self.source {
            Source::Whole(whole) => return Ok(OwnedBytes::new(whole.clone()).slice(range)),
            Source::Open(blocks) => blocks.read_at(range.start as u64, &mut bytes)?,
            Source::Reopened(path, cache) => {
                BlockFile::open(path, cache)?.read_at(range.start as u64, &mut bytes)?;
            }
        }
        let bytes: Arc<[u8]> = bytes.into();
        if let Some(held) = &self.held
            && bytes.len() >= KEPT_BYTES_MIN
        {
            held.count(&bytes);
        }
        Ok(OwnedBytes::new(bytes))
    }
}

/// Sums what is still alive of what was handed out.
#[derive(Default)]
struct HeldBytes {
    handed_out: Mutex<Vec<Weak<[u8]>>>,
}

impl HeldBytes {
    fn count(&self, bytes: &Arc<[u8]>) {
        let mut handed_out = self.handed_out.lock();
        // Swept each time: a weak reference keeps the allocation of bytes that are gone.
        handed_out.retain(|bytes| bytes.strong_count() > 0);
        handed_out.push(Arc::downgrade(bytes));
    }

    fn sum(&self) -> u64 {
        let mut handed_out = self.handed_out.lock();
        handed_out.retain(|bytes| bytes.strong_count() > 0);
        let alive = handed_out.iter().filter_map(Weak::upgrade);
        alive.map(|bytes| bytes.len() as u64).sum()
    }
}
