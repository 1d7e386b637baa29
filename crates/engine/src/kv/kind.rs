//! The kind of a keyspace's rows: its callers' keys and values, or a graph.

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
        }
    }

    /// Refuses one of another kind under the name.
    ///
    /// # Errors
    /// `Invalid`, with how it is opened.
    pub fn check(self, name: &str, found: Self) -> Result<()> {
        match (self, found) {
            (Self::Plain, Self::Graph) => Err(Error::invalid(format!(
                "{name:?} is a graph, not a keyspace; open it as a graph, or give the keyspace another name"
            ))),
            (Self::Graph, Self::Plain) => Err(Error::invalid(format!(
                "{name:?} is a keyspace, not a graph; open it as a keyspace, or give the graph another name"
            ))),
            (wanted, found) if (wanted == Self::Trees) != (found == Self::Trees) => {
                Err(Error::internal(format!("{name:?} is the keyspace of trees, which nothing else may open")))
            }
            _ => Ok(()),
        }
    }
}
