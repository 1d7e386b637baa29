//! Which paths a search is about, and the order in which ripgrep prints them.
//!
//! **Invariant.** A path is wanted exactly when ripgrep, started in the tree's root, would come to it: a glob that leaves
//! out a folder leaves out everything below, a glob goes before a type, and of globs and of types the last that matches
//! decides.

use std::cmp::Ordering;

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use crate::{GrepError, Request};

/// The order of `--sort path`: by the names of folders and files, not by the whole text, so that `a/x` comes before
/// `a-b/x`.
pub fn path_order(a: &str, b: &str) -> Ordering {
    a.as_bytes().split(|&byte| byte == b'/').cmp(b.as_bytes().split(|&byte| byte == b'/'))
}

/// Globs and types of a request, compiled: for those who choose files without searching them.
#[derive(Clone, Debug)]
pub struct Paths {
    globs: Override,
    types: Types,
}

impl Paths {
    /// Compiles them.
    ///
    /// # Errors
    /// A glob or a type that cannot be read.
    pub fn new(request: &Request) -> Result<Self, GrepError> {
        Ok(Self { globs: globs(request)?, types: types(request)? })
    }

    /// Whether they let a path of a tree through.
    pub fn wants(&self, path: &str) -> bool {
        let path = path.strip_prefix("./").unwrap_or(path);
        if self.globs.is_empty() {
            return !self.types.matched(path, false).is_ignore();
        }
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]).filter(|folder| !folder.is_empty());
        if folders.into_iter().any(|folder| self.globs.matched(folder, true).is_ignore()) {
            return false;
        }
        match self.globs.matched(path, false) {
            Match::Ignore(_) => false,
            Match::Whitelist(_) => true,
            Match::None => !self.types.matched(path, false).is_ignore(),
        }
    }
}

fn globs(request: &Request) -> Result<Override, GrepError> {
    if request.globs.is_empty() && request.iglobs.is_empty() {
        return Ok(Override::empty());
    }
    let named = |glob: &str| {
        let glob = glob.to_owned();
        move |error: ignore::Error| GrepError::Glob { glob, reason: error.to_string() }
    };
    // The paths of a tree are relative to its root, and a path that lies below nothing is taken as it is.
    let mut builder = OverrideBuilder::new("");
    for glob in &request.globs {
        builder.add(glob).map_err(named(glob))?;
    }
    builder.case_insensitive(true).map_err(named(""))?;
    for glob in &request.iglobs {
        builder.add(glob).map_err(named(glob))?;
    }
    builder.build().map_err(named(""))
}

fn types(request: &Request) -> Result<Types, GrepError> {
    if request.types.is_empty() && request.types_not.is_empty() {
        return Ok(Types::empty());
    }
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for name in &request.types {
        builder.select(name);
    }
    for name in &request.types_not {
        builder.negate(name);
    }
    builder.build().map_err(|error| GrepError::Type { reason: error.to_string() })
}
