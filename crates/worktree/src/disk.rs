//! File metadata: reading it from the system, and setting it again.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When it was changed last, in nanoseconds since 1970; negative before.
pub(crate) fn modified_ns(metadata: &Metadata) -> i64 {
    let Ok(modified) = metadata.modified() else { return 0 };
    match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

fn time_of(modified_ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(modified_ns.unsigned_abs());
    if modified_ns < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// Sets the time of an open file or folder.
pub(crate) fn set_modified(file: &File, modified_ns: i64) -> io::Result<()> {
    file.set_modified(time_of(modified_ns))
}

/// Permission bits.
#[cfg(unix)]
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    metadata.mode() & 0o7777
}

/// Permission bits, as far as this system has them.
#[cfg(not(unix))]
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    match (metadata.is_dir(), metadata.permissions().readonly()) {
        (true, _) => 0o755,
        (false, false) => 0o644,
        (false, true) => 0o444,
    }
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = path.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    std::fs::set_permissions(path, permissions)
}

/// Makes a symbolic link with that time.
#[cfg(unix)]
pub(crate) fn link(target: &str, at: &Path, modified_ns: i64) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
    std::os::unix::fs::symlink(target, at)?;
    let modified =
        Timespec { tv_sec: modified_ns.div_euclid(1_000_000_000), tv_nsec: modified_ns.rem_euclid(1_000_000_000) };
    let times = Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: modified };
    Ok(utimensat(CWD, at, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

#[cfg(not(unix))]
pub(crate) fn link(_: &str, _: &Path, _: i64) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "symbolic links are restored on Unix systems only"))
}
