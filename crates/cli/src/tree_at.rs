//! Trees on the command line: `NAME` as it is, `NAME@AS_OF` as it was.

use std::path::{Path, PathBuf};

use clap::Args;
use nuthatch_link::{Error, Files, Result, TreeEntry, format_datetime};
use nuthatch_worktree::Walk;

/// A tree, and how it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    pub name: String,
    pub as_of: Option<String>,
}

/// A tree, or a folder on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeOrFolder {
    Tree(TreeSpec),
    Folder(PathBuf),
}

pub fn parse_tree(text: &str) -> std::result::Result<TreeSpec, String> {
    let (name, as_of) = match text.split_once('@') {
        Some((name, as_of)) => (name, Some(as_of)),
        None => (text, None),
    };
    match (name, as_of) {
        ("", _) => Err("the name of the tree is missing before the @".into()),
        (_, Some("")) => Err("nothing comes behind the @: give the name of a snapshot, a sequence or a time".into()),
        (name, as_of) => Ok(TreeSpec { name: name.into(), as_of: as_of.map(Into::into) }),
    }
}

/// Parses a tree or a folder. A text with a slash, `.` and `..` are folders.
pub fn parse_tree_or_folder(text: &str) -> std::result::Result<TreeOrFolder, String> {
    let is_folder = matches!(text, "." | "..") || text.contains(std::path::is_separator);
    if is_folder { Ok(TreeOrFolder::Folder(text.into())) } else { parse_tree(text).map(TreeOrFolder::Tree) }
}

/// Which files of a folder are seen.
#[derive(Args, Clone, Copy, Default)]
pub struct WalkArgs {
    /// Also hidden files and folders (names that begin with a dot)
    #[arg(long)]
    pub hidden: bool,
    /// Also files that .gitignore and .ignore exclude; with --hidden, .git too
    #[arg(long)]
    pub no_ignore: bool,
}

impl WalkArgs {
    /// `data_dir` is never seen.
    pub fn walk(self, data_dir: &Path) -> Walk {
        Walk { hidden: self.hidden, respect_ignore: !self.no_ignore, leave_out: vec![data_dir.to_path_buf()] }
    }
}

/// A path in a tree as people type it: without `./` before and slashes behind it.
pub fn inside(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    if path == "." { "" } else { path }
}

/// Returns the entry at a path.
pub fn existing(files: &Files, as_of: Option<&str>, path: &str) -> Result<TreeEntry> {
    files.entry(as_of, path)?.ok_or_else(|| {
        let when = as_of.map_or(String::new(), |as_of| format!(" as of {as_of}"));
        Error::not_found(format!("tree {:?} has nothing at {path:?}{when}", files.name()))
    })
}

/// A time as people read it, of milliseconds since 1970.
pub fn time(ms: u64) -> String {
    time_of_us(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000))
}

/// The same of microseconds; a time that no calendar has is shown as its number.
pub fn time_of_us(us: i64) -> String {
    format_datetime(us).unwrap_or_else(|| us.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_may_say_as_of_when_and_a_slash_makes_a_folder() {
        let spec = |name: &str, as_of: Option<&str>| TreeSpec { name: name.into(), as_of: as_of.map(Into::into) };
        assert_eq!(parse_tree("docs"), Ok(spec("docs", None)));
        assert_eq!(parse_tree("docs@v1"), Ok(spec("docs", Some("v1"))));
        assert_eq!(parse_tree("docs@2026-11-25T10:00:00Z"), Ok(spec("docs", Some("2026-11-25T10:00:00Z"))));
        assert!(parse_tree("@v1").is_err() && parse_tree("docs@").is_err());
        assert_eq!(parse_tree_or_folder("./docs"), Ok(TreeOrFolder::Folder("./docs".into())));
        assert_eq!(parse_tree_or_folder("."), Ok(TreeOrFolder::Folder(".".into())));
        assert_eq!(parse_tree_or_folder("docs"), Ok(TreeOrFolder::Tree(spec("docs", None))));
        assert_eq!((inside("./a/"), inside("."), inside("a")), ("a", "", "a"));
    }
}
