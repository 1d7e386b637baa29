//! The kind of a keyspace's rows: its callers' keys and values, a graph, trees, a cache, or facts.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, What};

/// Kept in the catalog. An entry without one is plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Its rows are keys and values that callers write.
    #[default]
    Plain,
    /// Its rows are nodes and edges, and are written by `graph/` alone.
    Graph,
    /// Its rows are versions and contents of a tenant's trees, and are written by `tree/` alone.
    Trees,
    /// Its rows are answers with their prompts, and are written by `cache/` alone.
    Cache,
    /// Its rows are facts with their sources, and are written by `facts/` alone.
    Facts,
}

impl Kind {
    /// True of a keyspace whose rows are its callers' own.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// The word for it in messages.
    pub fn what(self) -> What {
        match self {
            Self::Plain => What::Keyspace,
            Self::Graph => What::Graph,
            Self::Trees => What::Tree,
            Self::Cache => What::Cache,
            Self::Facts => What::Facts,
        }
    }

    /// Refuses one of another kind under the name.
    ///
    /// # Errors
    /// `Invalid`, with how it is opened.
    pub fn check(self, name: &str, found: Self) -> Result<()> {
        match (self, found) {
            (wanted, found) if wanted == found => Ok(()),
            (wanted, found) if (wanted == Self::Trees) != (found == Self::Trees) => {
                Err(Error::internal(format!("{name:?} is the keyspace of trees, which nothing else may open")))
            }
            (wanted, found) => {
                let (wanted, found) = (wanted.what(), found.what());
                Err(Error::invalid(format!(
                    "{name:?} is a {found}, not a {wanted}; open it as a {found}, or give the {wanted} another name"
                )))
            }
        }
    }
}
