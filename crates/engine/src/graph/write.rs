//! Putting nodes and edges, deleting edges: writes of rows that read nothing first.

use crate::Result;
use crate::graph::{Edge, EdgeId, Graph, Node, key, value};
use crate::kv::KvOp;

impl Graph {
    /// Puts nodes, all or nothing; one that is there is replaced.
    pub fn put_nodes(&self, nodes: &[Node]) -> Result<()> {
        self.keyspace.multi_put(node_ops(nodes)?)
    }

    /// Puts edges, all or nothing; one that is there is replaced.
    pub fn put_edges(&self, edges: &[Edge]) -> Result<()> {
        self.keyspace.multi_put(edge_ops(edges)?)
    }

    /// Deletes edges, all or nothing; says how many of them were there.
    pub fn delete_edges(&self, edges: &[EdgeId]) -> Result<u64> {
        // Both rows of each are there, or neither.
        Ok(self.keyspace.delete(&edge_keys(edges)?)? / 2)
    }
}

/// The rows of nodes.
///
/// # Errors
/// `Invalid` for one that cannot be stored.
pub fn node_ops(nodes: &[Node]) -> Result<Vec<KvOp>> {
    nodes.iter().try_for_each(Node::check)?;
    Ok(nodes.iter().map(|node| put(key::node(&node.id), value::of_node(node))).collect())
}

/// The rows of edges, both of each.
///
/// # Errors
/// `Invalid` for one that cannot be stored.
pub fn edge_ops(edges: &[Edge]) -> Result<Vec<KvOp>> {
    edges.iter().try_for_each(Edge::check)?;
    let rows = |edge: &Edge| {
        let id = edge.id();
        [put(key::edge(&id), value::of_edge(edge)), put(key::pointer(&id), Vec::new())]
    };
    Ok(edges.iter().flat_map(rows).collect())
}

/// The keys of edges, both of each.
///
/// # Errors
/// `Invalid` for one that there cannot be.
pub fn edge_keys(edges: &[EdgeId]) -> Result<Vec<Vec<u8>>> {
    edges.iter().try_for_each(EdgeId::check)?;
    Ok(edges.iter().flat_map(|id| [key::edge(id), key::pointer(id)]).collect())
}

fn put(key: Vec<u8>, value: Vec<u8>) -> KvOp {
    KvOp::Put { key, value, expires_in: None }
}
