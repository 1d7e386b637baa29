//! The contents of a folder: files, folders and links, with their names in a tree.

use std::path::{Path, PathBuf};

use nuthatch_link::{EntryKind, Error, Result, check_path};
use serde::{Serialize, Serializer};

use crate::disk;

/// Which of a folder's files a call sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Also names that begin with a dot. Default false.
    pub hidden: bool,
    /// Leave out what `.gitignore`, `.ignore` and git's own exclude files name, in a repository or not. Default true. `.git` is
    /// only seen with `hidden` and without this.
    pub respect_ignore: bool,
    /// Files and folders that are never seen: a data folder, for example.
    pub leave_out: Vec<PathBuf>,
}

impl Default for Walk {
    fn default() -> Self {
        Self { hidden: false, respect_ignore: true, leave_out: Vec::new() }
    }
}

/// Something that was not read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its location. Parts that are not UTF-8 are written as U+FFFD.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// The reason why it was skipped.
    pub why: String,
}

fn as_text<S: Serializer>(path: &Path, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Something on disk that a tree can hold.
#[derive(Clone, Debug)]
pub(crate) struct OnDisk {
    /// Its name in the tree, relative to the folder that was walked.
    pub path: String,
    pub at: PathBuf,
    pub kind: EntryKind,
    pub bytes: u64,
    pub mode: u32,
    pub modified_ns: i64,
    /// Of a link.
    pub target: Option<String>,
}

/// Returns the contents of a folder, sorted by the bytes of their paths, and the paths that could not be read.
pub(crate) fn walk(folder: &Path, options: &Walk) -> Result<(Vec<OnDisk>, Vec<Skipped>)> {
    let metadata = folder.metadata().map_err(|error| Error::io(folder, &error))?;
    if !metadata.is_dir() {
        return Err(Error::invalid(format!("{} is not a folder", folder.display())));
    }
    let sees_all = options.hidden && !options.respect_ignore;
    let leave_out: Vec<PathBuf> = options.leave_out.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let root = folder.canonicalize().map_err(|error| Error::io(folder, &error))?;
    let walker = ignore::WalkBuilder::new(&root)
        .hidden(!options.hidden)
        .git_ignore(options.respect_ignore)
        .git_exclude(options.respect_ignore)
        .git_global(options.respect_ignore)
        .ignore(options.respect_ignore)
        .parents(options.respect_ignore)
        .require_git(false)
        .filter_entry(move |entry| {
            (sees_all || entry.file_name() != ".git") && !leave_out.iter().any(|path| path == entry.path())
        })
        .build();
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for entry in walker {
        match entry {
            Ok(entry) if entry.depth() == 0 => {}
            Ok(entry) => match look(&root, entry.path()) {
                Ok(on_disk) => found.push(on_disk),
                Err(why) => skipped.push(Skipped { path: entry.path().to_path_buf(), why }),
            },
            Err(error) => {
                let path = path_of(&error).unwrap_or(&root).to_path_buf();
                skipped.push(Skipped { path, why: error.to_string() });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok((found, skipped))
}

/// One file, folder or link below `root`.
pub(crate) fn look(root: &Path, at: &Path) -> std::result::Result<OnDisk, String> {
    let relative = at.strip_prefix(root).map_err(|error| error.to_string())?;
    let parts: Option<Vec<&str>> = relative.iter().map(|part| part.to_str()).collect();
    let path = parts.ok_or("its name is not UTF-8, which names in a tree are")?.join("/");
    check_path(&path).map_err(|error| error.message)?;
    let metadata = at.symlink_metadata().map_err(|error| error.to_string())?;
    let (mode, modified_ns) = (disk::mode(&metadata), disk::modified_ns(&metadata));
    let of = |kind, bytes, target| OnDisk { path, at: at.to_path_buf(), kind, bytes, mode, modified_ns, target };
    if metadata.is_file() {
        return Ok(of(EntryKind::File, metadata.len(), None));
    }
    if metadata.is_dir() {
        return Ok(of(EntryKind::Folder, 0, None));
    }
    if metadata.is_symlink() {
        let target = at.read_link().map_err(|error| error.to_string())?;
        let target = target.into_os_string().into_string();
        let target = target.map_err(|_| "the target of this link is not UTF-8, which names in a tree are")?;
        return Ok(of(EntryKind::Link, 0, Some(target)));
    }
    Err("it is neither a file, a folder nor a link".into())
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Partial(errors) => errors.first().and_then(path_of),
        _ => None,
    }
}
