//! A graph inside a transaction.

use crate::Result;
use crate::graph::{
    self, Edge, EdgeId, ListNodes, NeighborPage, Neighbors, Node, NodePage, NodesDeleted, REMOVED_AT_ONCE, Removal,
    Traversal, Traverse, edge_keys, edge_ops, node_ops,
};
use crate::kv::{KeyScan, KvOp};
use crate::transaction::TransactionKeyspace;

/// A graph as the transaction sees it: as it was when that began, and what it has written itself. What it lists is noted with
/// what is not in it: a node's neighbours have changed when an edge was put there.
pub struct TransactionGraph<'t> {
    pub(crate) rows: TransactionKeyspace<'t>,
}

impl TransactionGraph<'_> {
    /// As [`Graph::nodes`](crate::Graph::nodes).
    pub fn nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<Vec<Option<Node>>> {
        let ids: Vec<String> = ids.iter().map(|id| id.as_ref().to_string()).collect();
        graph::nodes(&self.rows, &ids)
    }

    /// As [`Graph::edge`](crate::Graph::edge).
    pub fn edge(&self, id: &EdgeId) -> Result<Option<Edge>> {
        graph::edge(&self.rows, id)
    }

    /// As [`Graph::neighbors`](crate::Graph::neighbors).
    pub fn neighbors(&self, id: &str, ask: &Neighbors) -> Result<NeighborPage> {
        graph::neighbors(&self.rows, id, ask)
    }

    /// As [`Graph::list_nodes`](crate::Graph::list_nodes).
    pub fn list_nodes(&self, ask: &ListNodes) -> Result<NodePage> {
        graph::nodes_listed(&self.rows, ask)
    }

    /// As [`Graph::traverse`](crate::Graph::traverse).
    pub fn traverse(&self, ask: &Traverse) -> Result<Traversal> {
        graph::traverse(&self.rows, ask)
    }

    /// Puts nodes; none when one of them cannot be.
    pub fn put_nodes(&self, nodes: &[Node]) -> Result<()> {
        self.rows.multi_put(node_ops(nodes)?)
    }

    /// Puts edges; none when one of them cannot be.
    pub fn put_edges(&self, edges: &[Edge]) -> Result<()> {
        self.rows.multi_put(edge_ops(edges)?)
    }

    /// Deletes edges; those that are not there are passed over.
    pub fn delete_edges(&self, edges: &[EdgeId]) -> Result<()> {
        self.rows.multi_put(edge_keys(edges)?.into_iter().map(|key| KvOp::Delete { key }).collect())
    }

    /// Deletes nodes with all their edges in both directions; says how many of both were there. The commit conflicts when
    /// somebody else has given them another edge.
    ///
    /// # Errors
    /// `Exhausted` when there are over 100,000 edges.
    pub fn delete_nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<NodesDeleted> {
        let removal = Removal::of(&self.rows, ids.iter().map(AsRef::as_ref), REMOVED_AT_ONCE)?;
        removal.check_whole()?;
        let gone = removal.gone;
        self.rows.multi_put(removal.into_ops())?;
        Ok(gone)
    }

    /// As if these nodes had been read: the commit conflicts when one of them was put or deleted.
    pub fn depend_on_nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<()> {
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| graph::key_of_node(id.as_ref())).collect();
        self.rows.depend_on_keys(&keys)
    }

    /// As if these edges had been read.
    pub fn depend_on_edges(&self, edges: &[EdgeId]) -> Result<()> {
        self.rows.depend_on_keys(&edges.iter().map(graph::key_of_edge).collect::<Vec<_>>())
    }

    /// As if all of a node's edges that are meant had been listed.
    pub fn depend_on_neighbors(&self, id: &str, ask: &Neighbors) -> Result<()> {
        for prefix in graph::prefixes(id, ask)? {
            self.rows.depend_on_scan(&KeyScan::prefix(prefix))?;
        }
        Ok(())
    }

    /// As if all nodes that are meant had been listed.
    pub fn depend_on_list(&self, ask: &ListNodes) -> Result<()> {
        self.rows.depend_on_scan(&KeyScan::prefix(graph::keys_of_nodes(&ask.prefix)))
    }
}
