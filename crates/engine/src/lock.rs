//! One holder per folder. The lock is the operating system's, so it falls with its holder; the file says who that is, and
//! where the holder serves others.
//!
//! A process that the holder forked has a descriptor of the lock, too, and would keep it from falling. So who finds the lock
//! taken looks whether the holder that the file names is alive; when it certainly is not, the file is replaced. Both happen
//! under a lock on the folder itself, which is held for moments.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::identity::Identity;
use crate::{Error, ErrorKind, Result};

const LOCK: &str = "LOCK";
/// Becomes [`LOCK`] when a dead holder's lock has to be replaced.
const LOCK_NEXT: &str = "LOCK.next";

/// The process that has the folder open, according to the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// UTC, RFC 3339, when it took the folder.
    pub since: String,
    /// File name of its socket in the folder; absent while it opens the folder, and when it does not share it.
    #[serde(default)]
    pub socket: Option<String>,
    /// Why it does not share the folder.
    #[serde(default)]
    pub unshared: Option<String>,
    /// Tells this process from another one with the same pid.
    #[serde(default)]
    pub identity: Option<Identity>,
}

/// Held while the database is open.
pub struct FolderLock {
    file: File,
    path: PathBuf,
    holder: Holder,
}

/// The result of trying to take the lock.
pub enum Taken {
    /// It is this process's from now on.
    Ours(FolderLock),
    /// Another has it. `None`: what the file says cannot be read, because it is being written.
    Theirs(Option<Holder>),
}

impl FolderLock {
    /// Takes the lock or says who has it.
    ///
    /// # Errors
    /// `Conflict`, naming the holder.
    pub fn take(folder: &Path, program: &str) -> Result<Self> {
        let _guard = Guard::take(folder)?;
        match Self::try_take(folder, program)? {
            Taken::Ours(lock) => Ok(lock),
            Taken::Theirs(holder) => Err(refusal(folder, holder.as_ref())),
        }
    }

    /// The caller holds the [`Guard`].
    #[allow(clippy::disallowed_methods, reason = "after a power loss nobody holds the folder, whatever the name says")]
    pub fn try_take(folder: &Path, program: &str) -> Result<Taken> {
        let path = folder.join(LOCK);
        let io = |error: std::io::Error| Error::io(&path, &error);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = read(&mut file);
                let dead = |holder: &Holder| holder.identity.as_ref().is_some_and(|id| id.is_dead(holder.pid));
                if !holder.as_ref().is_some_and(dead) {
                    return Ok(Taken::Theirs(holder));
                }
                // A process that the dead holder forked keeps the old file locked, and it will not write.
                let next = folder.join(LOCK_NEXT);
                file = File::options().read(true).write(true).create(true).truncate(false).open(&next).map_err(io)?;
                match file.try_lock() {
                    Ok(()) => std::fs::rename(&next, &path).map_err(io)?,
                    Err(TryLockError::WouldBlock) => return Ok(Taken::Theirs(holder)),
                    Err(TryLockError::Error(error)) => return Err(io(error)),
                }
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let holder = Holder {
            pid: std::process::id(),
            program: program.to_string(),
            since: Clock::system().stamp(),
            socket: None,
            unshared: None,
            identity: Identity::own(),
        };
        let mut lock = Self { file, path, holder };
        lock.write()?;
        Ok(Taken::Ours(lock))
    }

    /// Returns the holder that the file names; `None` when there is no file, or it is being written.
    pub fn holder_of(folder: &Path) -> Option<Holder> {
        read(&mut File::open(folder.join(LOCK)).ok()?)
    }

    /// Says where the folder is served, or why it is not.
    pub fn announce(&mut self, socket: std::result::Result<&str, String>) -> Result<()> {
        self.holder.socket = socket.as_ref().ok().map(ToString::to_string);
        self.holder.unshared = socket.err();
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        let text = serde_json::to_string(&self.holder).expect("plain fields are JSON");
        let file = &mut self.file;
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(format!("{text}\n").as_bytes()))
            .map_err(|error| Error::io(&self.path, &error))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file would do, unless a forked child still has a descriptor of it: the lock would stay with the child.
        // When unlocking fails, closing is what is left.
        self.file.unlock().ok();
    }
}

/// Only one process at a time decides who holds the folder. Waiting for it is waiting for moments.
pub struct Guard {
    folder: Option<File>,
}

impl Guard {
    /// Waits for its turn.
    pub fn take(folder: &Path) -> Result<Self> {
        // Windows opens no folders, and has no forks either.
        if cfg!(windows) {
            return Ok(Self { folder: None });
        }
        let opened = File::open(folder).map_err(|error| Error::io(folder, &error))?;
        opened.lock().map_err(|error| Error::io(folder, &error))?;
        Ok(Self { folder: Some(opened) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Like the lock itself: a fork of this very moment must not keep it.
        if let Some(folder) = &self.folder {
            folder.unlock().ok();
        }
    }
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Why the folder cannot be had, who has it, and what to do.
pub fn refusal(folder: &Path, holder: Option<&Holder>) -> Error {
    let why = match holder.and_then(|holder| holder.unshared.as_deref()) {
        Some(why) => format!(", which does not share it: {why}"),
        None => String::new(),
    };
    Error::new(
        ErrorKind::Conflict,
        format!(
            "{} is open in {}{why}; close it there, or wait until that process ends, and try again",
            folder.display(),
            named(holder)
        ),
    )
}

/// `pid 12 (program) since …`
pub fn named(holder: Option<&Holder>) -> String {
    match holder {
        None => "another process".to_string(),
        Some(h) if h.pid == std::process::id() => {
            format!("this process (pid {}, {}) since {}", h.pid, h.program, h.since)
        }
        Some(h) => format!("pid {} ({}) since {}", h.pid, h.program, h.since),
    }
}
