//! Changes of a graph in a batch: rows, and nodes whose edges the write looks up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::graph::node::check_id;
use crate::graph::{Edge, EdgeId, Node, REMOVED_AT_ONCE, Removal, edge_keys, edge_ops, key, node_ops};
use crate::kv::{KvOp, Rows, batch_bytes};
use crate::{Error, ErrorKind, Result};

/// The changes of a batch in one graph.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GraphChanges {
    /// Key -> its last change.
    pub rows: BTreeMap<Vec<u8>, KvOp>,
    /// Nodes to delete with all edges that they have at the write, except those that `rows` puts.
    gone: BTreeSet<String>,
}

/// A graph's part of a [`WriteBatch`](crate::WriteBatch). An invalid change is refused at once and leaves the batch
/// unchanged.
pub struct GraphWrites<'b> {
    pub(crate) changes: &'b mut GraphChanges,
}

impl GraphWrites<'_> {
    /// Puts nodes; one that is there is replaced.
    ///
    /// # Errors
    /// `Invalid` for a node that cannot be stored.
    pub fn put_nodes(&mut self, nodes: &[Node]) -> Result<&mut Self> {
        self.changes.extend(node_ops(nodes)?);
        Ok(self)
    }

    /// Puts edges; one that is there is replaced.
    ///
    /// # Errors
    /// `Invalid` for an edge that cannot be stored.
    pub fn put_edges(&mut self, edges: &[Edge]) -> Result<&mut Self> {
        self.changes.extend(edge_ops(edges)?);
        Ok(self)
    }

    /// Deletes edges; those that are not there are passed over.
    ///
    /// # Errors
    /// `Invalid` for an edge that there cannot be.
    pub fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<&mut Self> {
        self.changes.extend(edge_keys(edges)?.into_iter().map(|key| KvOp::Delete { key }).collect());
        Ok(self)
    }

    /// Deletes nodes with all edges that they have when the batch is written, and with edges that the batch put before
    /// this call. With more than 100,000 of them, the write is `Exhausted`.
    ///
    /// # Errors
    /// `Invalid` for an id that no node can have.
    pub fn delete_nodes<I: AsRef<str>>(&mut self, ids: &[I]) -> Result<&mut Self> {
        ids.iter().try_for_each(|id| check_id(id.as_ref()))?;
        ids.iter().for_each(|id| self.changes.delete_node(id.as_ref()));
        Ok(self)
    }
}

impl GraphChanges {
    pub fn extend(&mut self, ops: Vec<KvOp>) {
        self.rows.extend(ops.into_iter().map(|op| (op.key().to_vec(), op)));
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.gone.is_empty()
    }

    fn delete_node(&mut self, id: &str) {
        self.gone.insert(id.into());
        // Edges that the batch put earlier are deleted, too.
        let mut put: Vec<Vec<u8>> = Vec::new();
        for incoming in [false, true] {
            let prefix = key::edges_of(id, None, incoming);
            let rows = self.rows.range(prefix.clone()..).map(|(key, _)| key);
            for row in rows.take_while(|key| key.starts_with(&prefix)) {
                if let Some(key::GraphRow::Edge(edge) | key::GraphRow::Pointer(edge)) = key::GraphRow::of(row) {
                    put.extend([key::edge(&edge), key::pointer(&edge)]);
                }
            }
        }
        self.extend(put.into_iter().chain([key::node(id)]).map(|key| KvOp::Delete { key }).collect());
    }
}

/// Changes whose deleted nodes still have to be looked up in the rows.
pub(crate) struct Resolved {
    changes: GraphChanges,
}

impl Resolved {
    /// Checks changes that may have come from another process.
    pub fn new(changes: GraphChanges) -> Result<Self> {
        changes.rows.values().try_for_each(KvOp::check)?;
        Ok(Self { changes })
    }

    /// The estimated memory of writing them, without the edges of deleted nodes.
    pub fn bytes(&self) -> u64 {
        batch_bytes(self.changes.rows.values())
    }

    /// All rows that change, as `rows` are now.
    ///
    /// # Errors
    /// `Exhausted` when too many edges go with the nodes.
    pub fn into_ops(self, rows: &dyn Rows) -> Result<Vec<KvOp>> {
        let GraphChanges { rows: mut changed, gone } = self.changes;
        let removal = Removal::of(rows, gone.iter().map(String::as_str), REMOVED_AT_ONCE)?;
        removal.check_whole()?;
        for key in removal.keys {
            changed.entry(key.clone()).or_insert(KvOp::Delete { key });
        }
        debug_assert!(are_whole(&changed), "an edge changes in both directions");
        Ok(changed.into_values().collect())
    }
}

/// Whether each edge changes as its pointer does.
fn are_whole(changed: &BTreeMap<Vec<u8>, KvOp>) -> bool {
    let is_put = |op: &KvOp| !matches!(op, KvOp::Delete { .. });
    changed.iter().all(|(row, op)| {
        let other = match key::GraphRow::of(row) {
            Some(key::GraphRow::Edge(edge)) => key::pointer(&edge),
            Some(key::GraphRow::Pointer(edge)) => key::edge(&edge),
            _ => return true,
        };
        changed.get(&other).is_some_and(|other| is_put(other) == is_put(op))
    })
}

impl Removal {
    /// Refuses a removal that does not fit into one batch.
    pub fn check_whole(&self) -> Result<()> {
        match self.is_whole {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Exhausted,
                format!(
                    "the nodes to delete have over {REMOVED_AT_ONCE} edges, more than one batch can delete; delete \
                    these nodes outside of the batch"
                ),
            )),
        }
    }
}
