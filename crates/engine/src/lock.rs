//! One writer per folder. The lock is the operating system's, so it falls with its holder; the file says who that is.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    program: String,
    since: String,
}

/// Held while the database is open.
pub(crate) struct FolderLock {
    file: File,
}

impl FolderLock {
    pub fn take(folder: &Path, program: &str) -> Result<Self> {
        let path = folder.join("LOCK");
        let io = |error: std::io::Error| Error::io(&path, &error);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(folder, &mut file)),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let holder = Holder {
            pid: std::process::id(),
            program: program.to_string(),
            since: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        };
        let text = serde_json::to_string(&holder).expect("three plain fields are JSON");
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{text}")).map_err(io)?;
        Ok(Self { file })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file would do, unless a forked child still has a descriptor of it: the lock would stay with the child.
        // When unlocking fails, closing is what is left.
        self.file.unlock().ok();
    }
}

fn held(folder: &Path, file: &mut File) -> Error {
    let mut text = String::new();
    let holder =
        file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str::<Holder>(&text).ok()).map_or_else(
            || "another process".to_string(),
            |h| match h.pid == std::process::id() {
                true => format!("this very process (pid {}, {}) since {}", h.pid, h.program, h.since),
                false => format!("pid {} ({}) since {}", h.pid, h.program, h.since),
            },
        );
    Error::new(
        ErrorKind::Conflict,
        format!("{} is open in {holder}; close it there, or wait until it ends, and try again", folder.display()),
    )
}
