//! A graph inside a transaction.

use std::ops::Deref;
use std::sync::Arc;

use nuthatch_engine::Result;
use nuthatch_engine::graph::{
    self, Edge, EdgeId, ListNodes, Neighbors, Node, NodesDeleted, REMOVED_AT_ONCE, Removal, edge_keys, edge_ops,
    node_ops,
};
use nuthatch_engine::kv::{KeyScan, KvOp};

use crate::Nodes;
use crate::rows::{self, Within};

/// A graph as the transaction sees it: as it was at the beginning, with the transaction's own writes. Reads are those
/// of [`Nodes`]. A listing also depends on what it does not contain: a new edge changes a node's neighbours.
pub struct TransactionGraph<'t> {
    nodes: Nodes<'t>,
    rows: Arc<Within<'t>>,
}

impl<'t> Deref for TransactionGraph<'t> {
    type Target = Nodes<'t>;

    fn deref(&self) -> &Nodes<'t> {
        &self.nodes
    }
}

impl<'t> TransactionGraph<'t> {
    pub(crate) fn of(rows: Within<'t>) -> Self {
        let rows = Arc::new(rows);
        Self { nodes: Nodes { from: rows::From::Within(rows.clone()) }, rows }
    }

    /// Puts nodes; none of them if one is invalid.
    pub fn put_nodes(&self, nodes: &[Node]) -> Result<()> {
        self.rows.write(node_ops(nodes)?)
    }

    /// Puts edges; none of them if one is invalid.
    pub fn put_edges(&self, edges: &[Edge]) -> Result<()> {
        self.rows.write(edge_ops(edges)?)
    }

    /// Deletes edges; those that are not there are passed over.
    pub fn delete_edges(&self, edges: &[EdgeId]) -> Result<()> {
        self.rows.write(edge_keys(edges)?.into_iter().map(|key| KvOp::Delete { key }).collect())
    }

    /// Deletes nodes with all their edges in both directions; returns how many of both it deletes. The commit conflicts
    /// when another writer has given them another edge.
    ///
    /// # Errors
    /// `Exhausted` when there are over 100,000 edges.
    pub fn delete_nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<NodesDeleted> {
        let removal = Removal::of(&*self.rows, ids.iter().map(AsRef::as_ref), REMOVED_AT_ONCE)?;
        removal.check_whole()?;
        let gone = removal.gone;
        self.rows.write(removal.into_ops())?;
        Ok(gone)
    }

    /// Depends on these nodes as reading them does: the commit conflicts when one of them was put or deleted.
    pub fn depend_on_nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<()> {
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| graph::key_of_node(id.as_ref())).collect();
        self.rows.depend_on_keys(&keys)
    }

    /// Depends on these edges as reading them does.
    pub fn depend_on_edges(&self, edges: &[EdgeId]) -> Result<()> {
        self.rows.depend_on_keys(&edges.iter().map(graph::key_of_edge).collect::<Vec<_>>())
    }

    /// Depends on a node's edges as listing all of the selected ones does.
    pub fn depend_on_neighbors(&self, id: &str, ask: &Neighbors) -> Result<()> {
        for prefix in graph::prefixes(id, ask)? {
            self.rows.depend_on_scan(&KeyScan::prefix(prefix))?;
        }
        Ok(())
    }

    /// Depends on nodes as listing all of the selected ones does.
    pub fn depend_on_list(&self, ask: &ListNodes) -> Result<()> {
        self.rows.depend_on_scan(&KeyScan::prefix(graph::keys_of_nodes(&ask.prefix)))
    }
}
