//! The thing that an error is about: of which sort it is, and its name. A caller decides by these two, never by the sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The thing that an error is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Of which sort it is.
    pub what: What,
    /// Its name, id, key or path. Bytes that are not UTF-8 are shown as `U+FFFD`.
    pub name: String,
}

/// The sorts of things that have names. New ones may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum What {
    /// A key of the API, with which a server lets callers in.
    ApiKey,
    /// A backup in a place, by its id.
    Backup,
    /// A cache of answers.
    Cache,
    /// A collection of records.
    Collection,
    /// A file whose passages a collection holds.
    File,
    /// A graph of nodes and edges.
    Graph,
    /// A key of a keyspace.
    Key,
    /// A keyspace.
    Keyspace,
    /// A file or a folder of a file system.
    Path,
    /// The proof that a tenant's deletion leaves behind.
    Receipt,
    /// A record of a collection, by its id.
    Record,
    /// A snapshot that a server keeps, by its id.
    Snapshot,
    /// A tenant.
    Tenant,
    /// A tree of files.
    Tree,
    /// A named snapshot of a tree.
    TreeSnapshot,
    /// A set of facts.
    Facts,
}

impl What {
    /// Its name in lower case, the same on every wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Backup => "backup",
            Self::Cache => "cache",
            Self::Collection => "collection",
            Self::Facts => "facts",
            Self::File => "file",
            Self::Graph => "graph",
            Self::Key => "key",
            Self::Keyspace => "keyspace",
            Self::Path => "path",
            Self::Receipt => "receipt",
            Self::Record => "record",
            Self::Snapshot => "snapshot",
            Self::Tenant => "tenant",
            Self::Tree => "tree",
            Self::TreeSnapshot => "tree_snapshot",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
