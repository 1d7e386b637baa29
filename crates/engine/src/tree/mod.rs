//! Trees: named roots with relative paths, whose files are kept bit for bit, with every version and named snapshots.
//!
//! **Useful for** originals: getting back the very bytes that were added, as they are or as they were, and comparing states.
//! **Not for** searching by meaning (collections hold the passages), and not for file systems: nothing is mounted or locked.
//!
//! All trees of a tenant share one keyspace, so that a content is stored once whatever names it: this module lays out its
//! rows, and `kv/` stores, batches and counts them and keeps them for snapshots.
//! [RFC 0043](../../../../docs/rfcs/0043-trees.md) has the rows, and the alternatives weighed.
//!
//! **Invariant:** in every batch a content has as many references as versions have it, and goes with the last.

mod change;
mod code;
mod content;
mod diff;
mod draft;
mod export;
mod fields;
mod grams;
mod grep;
mod history;
mod import;
mod key;
mod passages;
mod path;
mod put;
mod read;
mod recount;
mod root;
#[cfg(test)]
mod tests;
mod upload;
mod value;
mod verify;

use std::sync::Arc;

pub use change::TreeErased;
pub use code::{
    AskCode, CODE_DEPTH_MAX, CODE_LIMIT_MAX, CodeAnswer, CodeCounts, CodeDefinition, CodeFiles, CodeImport,
    CodeQuestion, CodeReached, CodeSite, CodeTarget, ImportSymbols, SymbolsImported,
};
pub(crate) use code::{Loose, Step, find_loose, step};
pub(crate) use diff::diff;
pub use diff::{ChangeKind, DiffTrees, TreeChange, differences};
pub(crate) use export::{ExportedContent, each_content, each_version};
pub(crate) use fields::count;
pub use fields::{CountTree, UpdateTree};
pub use grams::TreeIndex;
pub(crate) use grams::{Pace, indexed, work as index_grams};
pub(crate) use grep::grep;
pub use grep::{GREP_BYTES_MAX, GrepCursor, GrepCut, GrepIndex, GrepPage, GrepRead, GrepTree};
pub use import::{BeginImport, EndImport, ImportVersions};
pub use nuthatch_code::{
    Class as CodeClass, Document as ScipDocument, Documents as ScipDocuments, Kind as CodeKind,
    Language as CodeLanguage, Use as CodeUse,
};
pub use nuthatch_grep::{Output as GrepOutput, Request as GrepRequest};
pub(crate) use passages::TreePassages;
pub use passages::{MakePassages, PassagesMade, SearchTree, TreeAnswer, Unread};
pub use path::{PATH_BYTES_MAX, check_path, check_tree, lies_at};
pub use put::{PUT_BYTES_MAX, PUT_PATHS_MAX, PutFile, PutFiles, PutReport, PutWhat};
pub use read::{EntryKind, FilePart, ListFiles, READ_BYTES_MAX, TreeAt, TreeEntry, TreeInfo, TreePage, TreeSnapshot};
pub(crate) use read::{entry, info, list, names, part, snapshots, versions};
pub use recount::TreeCheck;
pub(crate) use recount::{looks_like_trees, mend_trees};
pub(crate) use root::roots;
pub use root::{ROOT_HEADER, TreeRoot};
pub use upload::UPLOAD_BYTES_MAX;
pub use value::{ContentId, Retention, Totals};
pub(crate) use verify::verify;
pub use verify::{DamagedFile, VerifyPage, VerifyTree};

use crate::Result;
use crate::kv::Keyspace;
use upload::Uploads;

/// The keyspace of a tenant's trees. No keyspace of a caller can have this name.
pub const TREES: &str = "/trees";

/// A handle on the trees of a tenant in the process that holds the folder.
#[derive(Clone)]
pub(crate) struct Trees {
    pub keyspace: Keyspace,
    attached: Arc<Attached>,
}

/// State of a tenant's trees that the process holding the folder keeps in memory.
#[derive(Default)]
struct Attached {
    uploads: Uploads,
    passages: passages::Attached,
}

impl Trees {
    /// The trees of this keyspace. The first handle in a process removes what uploads of an earlier process left.
    pub fn of(keyspace: &Keyspace) -> Result<Self> {
        let attached = keyspace.space.attached(|space| {
            upload::remove_left(space, key::uploads())?;
            import::remove_imports(space)?;
            grams::remove_outdated(space)?;
            Ok(Attached::default())
        })?;
        Ok(Self { keyspace: keyspace.clone(), attached })
    }

    /// Finds the grams of all contents that wait.
    ///
    /// # Errors
    /// `Unavailable` when nobody waits for it any more: what was found by then is kept. `Exhausted` when the tenant's limits leave no
    /// room for the index.
    pub fn index(&self) -> Result<()> {
        let space = &*self.keyspace.space;
        while index_grams(space, Pace::All, &space.shared.background.stopping)? {
            self.keyspace.call.waits().check()?;
        }
        Ok(())
    }
}
