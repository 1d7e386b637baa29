//! The passages of trees: the collection that holds them, next to the keyspace of the trees.

use crate::Result;
use crate::call::Choice;
use crate::collection::{Collection, CollectionOptions};
use crate::database::Database;
use crate::durability::Durability;
use crate::error::ErrorKind;
use crate::kv::Kind;
use crate::tree::{TREES, TreePassages, Trees};

impl Database {
    /// The passages of the tenant's trees; their collection is made when there is none.
    ///
    /// # Errors
    /// `NotFound` when there are no trees.
    pub(crate) fn tree_passages(&self, embedder: &Choice) -> Result<TreePassages> {
        let keyspace = self.keyspace(TREES, Kind::Trees, true)?;
        let options =
            CollectionOptions { embedder: embedder.chosen(self.call.embedder()), ..CollectionOptions::default() };
        let collection = self.any_collection(TREES, options)?;
        Ok(TreePassages { trees: Trees::of(&keyspace)?, collection })
    }

    /// The collection of the passages of trees.
    ///
    /// # Errors
    /// `NotFound` when none were made.
    pub fn passages_of_trees(&self) -> Result<Collection> {
        let core = self.inner.registry.existing_core(&self.tenant, TREES)?;
        Ok(Collection { core, durability: Durability::default(), call: self.call.clone() })
    }

    /// Removes the passages of contents that are gone. Says of how many contents.
    pub(crate) fn sweep_tree_passages(&self) -> Result<u64> {
        let collection = match self.passages_of_trees() {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(0),
            collection => collection?,
        };
        let keyspace = self.keyspace(TREES, Kind::Trees, true)?;
        let passages = TreePassages { trees: Trees::of(&keyspace)?, collection };
        let removed = passages.sweep()?;
        // With the last tree goes what was settled for all: the embedder, and which fields there are.
        if keyspace.at_once(crate::tree::names)?.is_empty() {
            passages.forget();
            self.drop_collection(TREES)?;
        }
        Ok(removed)
    }
}
