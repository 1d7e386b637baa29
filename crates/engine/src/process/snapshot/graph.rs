//! A graph as it was.

use crate::Result;
use crate::graph::{self, Edge, EdgeId, ListNodes, NeighborPage, Neighbors, Node, NodePage, Traversal, Traverse};
use crate::process::SnapshotKeyspace;

/// A graph of a [`crate::Snapshot`].
#[derive(Clone)]
pub struct SnapshotGraph {
    pub(crate) kept: SnapshotKeyspace,
}

impl SnapshotGraph {
    /// As [`Graph::nodes`](crate::Graph::nodes).
    pub fn nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<Vec<Option<Node>>> {
        let ids: Vec<String> = ids.iter().map(|id| id.as_ref().to_string()).collect();
        graph::nodes(&self.kept, &ids)
    }

    /// As [`Graph::edge`](crate::Graph::edge).
    pub fn edge(&self, id: &EdgeId) -> Result<Option<Edge>> {
        graph::edge(&self.kept, id)
    }

    /// As [`Graph::neighbors`](crate::Graph::neighbors).
    pub fn neighbors(&self, id: &str, ask: &Neighbors) -> Result<NeighborPage> {
        graph::neighbors(&self.kept, id, ask)
    }

    /// As [`Graph::list_nodes`](crate::Graph::list_nodes).
    pub fn list_nodes(&self, ask: &ListNodes) -> Result<NodePage> {
        graph::nodes_listed(&self.kept, ask)
    }

    /// As [`Graph::traverse`](crate::Graph::traverse).
    pub fn traverse(&self, ask: &Traverse) -> Result<Traversal> {
        graph::traverse(&self.kept, ask)
    }
}
