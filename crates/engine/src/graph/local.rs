//! Opening and reading a graph in the process that holds the folder.

use crate::Result;
use crate::call::Call;
use crate::database::Database;
use crate::durability::Durability;
use crate::graph::{
    Edge, EdgeId, Graph, GraphCounts, ListNodes, Live, NeighborPage, Neighbors, Node, NodePage, Traversal, Traverse,
    edge, key, neighbors, nodes, nodes_listed, traverse,
};
use crate::kv::{COUNTED_KEYS, Kind};

impl Database {
    /// The graph of that name, made when there is none.
    #[cfg(test)]
    pub(crate) fn graph(&self, name: &str) -> Result<Graph> {
        Ok(Graph { keyspace: self.keyspace(name, Kind::Graph, false)? })
    }

    /// The graph of that name, which must exist.
    pub(crate) fn existing_graph(&self, name: &str) -> Result<Graph> {
        Ok(Graph { keyspace: self.keyspace(name, Kind::Graph, true)? })
    }
}

impl Graph {
    /// The same graph, on behalf of somebody.
    pub fn on_behalf_of(&self, call: &Call) -> Self {
        Self { keyspace: self.keyspace.on_behalf_of(call) }
    }

    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { keyspace: self.keyspace.with_durability(durability) }
    }

    pub fn nodes(&self, ids: &[String]) -> Result<Vec<Option<Node>>> {
        self.read(|rows| nodes(rows, ids))
    }

    pub fn edge(&self, id: &EdgeId) -> Result<Option<Edge>> {
        self.read(|rows| edge(rows, id))
    }

    pub fn neighbors(&self, id: &str, ask: &Neighbors) -> Result<NeighborPage> {
        self.read(|rows| neighbors(rows, id, ask))
    }

    pub fn nodes_listed(&self, ask: &ListNodes) -> Result<NodePage> {
        self.read(|rows| nodes_listed(rows, ask))
    }

    pub fn traverse(&self, ask: &Traverse) -> Result<Traversal> {
        self.read(|rows| traverse(rows, ask))
    }

    pub fn counts(&self) -> Result<GraphCounts> {
        let nodes = self.keyspace.count_estimate(key::nodes(""))?;
        let edges = self.keyspace.count_estimate(key::edges())?;
        Ok(GraphCounts { nodes, edges, exact: nodes.max(edges) <= COUNTED_KEYS })
    }

    /// Reads as of one moment.
    fn read<T>(&self, read: impl FnOnce(&Live<'_>) -> Result<T>) -> Result<T> {
        let space = &*self.keyspace.space;
        space.check_open()?;
        let store = space.shared.store()?;
        read(&Live { space, reader: &*store.snapshot() })
    }
}
