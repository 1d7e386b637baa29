//! Which files lie below a path.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::ExtractError;

/// Which files a [`walk`] yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkOptions {
    /// Larger files come back as [`ExtractError::TooLarge`]. Default 32 MiB.
    pub max_file_bytes: u64,
    /// Also what begins with a dot. `.git` stays out either way. Default false.
    pub hidden: bool,
    /// Follow symbolic links found on the way (loops are reported, not followed). The root itself is always followed.
    /// Default false.
    pub follow_links: bool,
    /// Honour `.gitignore`, `.ignore` and git's own exclude files, inside a repository or not. Default true.
    pub respect_ignore: bool,
}

impl Default for WalkOptions {
    fn default() -> Self {
        WalkOptions { max_file_bytes: 32 << 20, hidden: false, follow_links: false, respect_ignore: true }
    }
}

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Absolute, without `.` and `..`, and with the root's symbolic links resolved, so that one file has one name
    /// however it was reached.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// Nanoseconds since 1970 in UTC; negative before.
    pub mtime_ns: i64,
}

/// The files at or below `root`, depth first, names of a folder in byte order. A file as root yields itself, whatever
/// ignore files say.
///
/// An error is about one entry and does not end the walk: a root that does not exist (the only item then), an entry
/// that may not be read, a file over the limit, a loop of links, a malformed ignore file. Sockets, pipes, devices and
/// links that are not followed are passed over.
pub fn walk(root: &Path, options: &WalkOptions) -> impl Iterator<Item = Result<FileEntry, ExtractError>> + use<> {
    let options = options.clone();
    let (walker, failed) = match root.canonicalize() {
        Ok(root) => (Some(walker(&root, &options)), None),
        Err(source) => (None, Some(Err(ExtractError::Io { path: root.to_owned(), source }))),
    };
    let below = root.to_owned();
    let entries = walker.into_iter().flatten().flat_map(move |entry| file_entry(entry, &below, &options));
    failed.into_iter().chain(entries)
}

fn walker(root: &Path, options: &WalkOptions) -> ignore::Walk {
    ignore::WalkBuilder::new(root)
        .hidden(!options.hidden)
        .follow_links(options.follow_links)
        .git_ignore(options.respect_ignore)
        .git_exclude(options.respect_ignore)
        .git_global(options.respect_ignore)
        .ignore(options.respect_ignore)
        .parents(options.respect_ignore)
        // Notes folders are seldom repositories, and their .gitignore is meant all the same.
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        // With `hidden` the walker would descend into the repository's own objects.
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
}

/// Nothing, a file, an error, or both (a file next to an ignore file that could not be parsed).
fn file_entry(
    entry: Result<ignore::DirEntry, ignore::Error>,
    root: &Path,
    options: &WalkOptions,
) -> Vec<Result<FileEntry, ExtractError>> {
    let entry = match entry {
        Ok(entry) => entry,
        Err(error) => return vec![Err(walk_error(&error, root))],
    };
    let mut out = Vec::new();
    if let Some(error) = entry.error() {
        out.push(Err(walk_error(error, entry.path())));
    }
    if entry.file_type().is_some_and(|t| t.is_file()) {
        out.push(describe(&entry, options));
    }
    out
}

fn describe(entry: &ignore::DirEntry, options: &WalkOptions) -> Result<FileEntry, ExtractError> {
    let path = entry.path().to_owned();
    let metadata = match entry.metadata() {
        Ok(metadata) => metadata,
        Err(error) => return Err(walk_error(&error, &path)),
    };
    if metadata.len() > options.max_file_bytes {
        return Err(ExtractError::TooLarge { path, bytes: metadata.len(), limit: options.max_file_bytes });
    }
    let modified = metadata.modified().map_err(|source| ExtractError::Io { path: path.clone(), source })?;
    let nanos = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    };
    Ok(FileEntry { path, bytes: metadata.len(), mtime_ns: nanos })
}

/// The walker's errors wrap the path, the depth and the cause in one another; the message must name the path once.
fn walk_error(error: &ignore::Error, fallback: &Path) -> ExtractError {
    use ignore::Error as E;
    let mut path = fallback.to_owned();
    let mut inner = error;
    loop {
        inner = match inner {
            E::WithPath { path: at, err } => {
                path.clone_from(at);
                err
            }
            E::WithDepth { err, .. } | E::WithLineNumber { err, .. } => err,
            E::Partial(errors) if errors.len() == 1 => &errors[0],
            E::Loop { child, ancestor } => {
                let what = format!("is a link back to {} and is not followed again", ancestor.display());
                return ExtractError::Walk { path: child.clone(), what };
            }
            E::Io(io) => {
                let source = io
                    .raw_os_error()
                    .map_or_else(|| std::io::Error::new(io.kind(), io.to_string()), std::io::Error::from_raw_os_error);
                return ExtractError::Io { path, source };
            }
            other => return ExtractError::Walk { path, what: other.to_string() },
        };
    }
}
