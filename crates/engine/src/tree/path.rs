//! Paths and names that a tree may have.

use crate::name::check_name;
use crate::{Error, Result};

/// Longest path in bytes.
pub const PATH_BYTES_MAX: usize = 4_096;

/// Refuses a path that could not lie below a folder.
///
/// # Errors
/// `Invalid` for one that is empty, too long, absolute, or has a part that is empty, `.`, `..` or holds a zero byte.
pub fn check_path(path: &str) -> Result<()> {
    let wrong = |why: &str| Err(Error::invalid(format!("{:?} cannot be a path of a tree: {why}", shown(path))));
    if path.is_empty() {
        return wrong("it is empty");
    }
    if path.len() > PATH_BYTES_MAX {
        return wrong(&format!("it has {} bytes, and the limit is {PATH_BYTES_MAX}", path.len()));
    }
    if path.contains('\0') {
        return wrong("it has a zero byte");
    }
    match path.split('/').find(|part| matches!(*part, "" | "." | "..")) {
        Some("") => wrong("paths are relative, with single slashes between their parts"),
        Some(part) => wrong(&format!("it has a part {part:?}")),
        None => Ok(()),
    }
}

/// Refuses a path at or below which files are looked for; the empty one is the tree's root.
pub(crate) fn check_place(path: &str) -> Result<()> {
    if path.is_empty() { Ok(()) } else { check_path(path) }
}

/// Whether `path` is `place`, or lies below it.
pub fn lies_at(place: &str, path: &str) -> bool {
    match path.strip_prefix(place) {
        Some(rest) => place.is_empty() || rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Refuses a name that no tree can have.
///
/// # Errors
/// `Invalid`, with the reason.
pub fn check_tree(name: &str) -> Result<()> {
    check_name("tree", name)
}

/// A name that could be taken for a sequence or a time would hide it.
pub(crate) fn check_snapshot(name: &str) -> Result<()> {
    check_name("snapshot of a tree", name)?;
    if name.parse::<u64>().is_ok() || name.parse::<jiff::Timestamp>().is_ok() {
        return Err(Error::invalid(format!("a snapshot cannot be called {name:?}, which is a sequence or a time")));
    }
    Ok(())
}

fn shown(path: &str) -> String {
    crate::record::shortened(path).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_of_a_tree_are_refused() {
        for path in ["", "/etc/passwd", "a//b", "a/../b", "..", "./a", "a/", "a\0b", &"x".repeat(PATH_BYTES_MAX + 1)] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
        for path in ["a", "a b/ü.md", ".hidden", "..a/b..", "a\\b"] {
            check_path(path).unwrap();
        }
        assert!(lies_at("a", "a/b") && lies_at("a", "a") && lies_at("", "x") && !lies_at("a", "ab"));
    }
}
