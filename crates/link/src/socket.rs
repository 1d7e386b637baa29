//! The socket in the data folder: who may speak to it, and how its path is kept short.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Its name in the folder.
pub(crate) const SOCKET: &str = "SOCKET";
const SOCKET_NEXT: &str = "SOCKET.next";
/// Longest path that every system takes (108 bytes on Linux, 104 elsewhere, with the closing zero).
const PATH_BYTES_MAX: usize = 100;

/// Listens in the folder, in place of an earlier listener. The caller holds the folder's lock.
#[allow(clippy::disallowed_methods, reason = "no socket outlives the machine")]
pub(crate) fn bind(folder: &Path) -> std::io::Result<UnixListener> {
    let (next, last) = (folder.join(SOCKET_NEXT), folder.join(SOCKET));
    remove(&next)?;
    let short = Short::of(folder)?;
    let listener = UnixListener::bind(short.path(SOCKET_NEXT))?;
    std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o600))?;
    // Nobody finds it before it is the owner's alone.
    std::fs::rename(&next, &last)?;
    Ok(listener)
}

/// Takes the name away, so that nobody connects any more.
pub(crate) fn remove_from(folder: &Path) {
    // The next holder replaces a file that stays behind.
    remove(&folder.join(SOCKET)).ok();
}

pub(crate) fn connect(folder: &Path, socket: &str) -> std::io::Result<UnixStream> {
    // The name comes from a file; it must not lead out of the folder.
    let name = Path::new(socket).file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    UnixStream::connect(Short::of(folder)?.path(name))
}

/// Why the process at the other end is refused, if it is: it belongs to another user, or the system does not tell whose
/// it is. (Root may do everything anyway.)
pub(crate) fn refusal(stream: &UnixStream) -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let peer = rustix::net::sockopt::socket_peercred(stream).ok();
        refusal_of(rustix::process::geteuid().as_raw(), peer.map(|peer| peer.uid.as_raw()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = stream; // the permissions of the file have to do
        None
    }
}

#[cfg(target_os = "linux")]
fn refusal_of(own: u32, peer: Option<u32>) -> Option<String> {
    const ROOT: u32 = 0;
    match peer {
        Some(peer) if peer == own || peer == ROOT => None,
        Some(peer) => {
            Some(format!("it serves only processes of its own user (user id {own}), and this is user id {peer}"))
        }
        // A process that has no id where the holder runs.
        None => Some(
            "it cannot see this process: the two run in containers with separate process ids; share them (docker run \
            --pid container:NAME, or docker exec)"
                .to_string(),
        ),
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A short way to the folder: socket addresses hold about a hundred bytes, and data folders may lie deeper.
struct Short {
    way: PathBuf,
    /// The open folder that the way leads through.
    _opened: Option<File>,
}

impl Short {
    fn of(folder: &Path) -> std::io::Result<Self> {
        if folder.as_os_str().len() + SOCKET_NEXT.len() < PATH_BYTES_MAX || !cfg!(target_os = "linux") {
            return Ok(Self { way: folder.to_path_buf(), _opened: None });
        }
        let opened = File::open(folder)?;
        let way = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        Ok(Self { way, _opened: Some(opened) })
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.way.join(name)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_refused_for_its_user_only_when_that_is_another() {
        assert_eq!(refusal_of(1000, Some(1000)), None);
        assert_eq!(refusal_of(1000, Some(0)), None);
        let other = refusal_of(1000, Some(1001)).unwrap();
        assert!(other.contains("user id 1001") && !other.contains("container"), "{other}");
        let unseen = refusal_of(1000, None).unwrap();
        assert!(unseen.contains("--pid") && !unseen.contains("user"), "{unseen}");
    }
}
