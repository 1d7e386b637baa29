//! Opening and counting a graph in the process that holds the folder.

use crate::Result;
use crate::graph::{GraphCounts, key};
use crate::kv::{COUNTED_KEYS, Rows};

#[cfg(test)]
impl crate::database::Database {
    /// The graph of that name, made when there is none.
    pub(crate) fn graph(&self, name: &str) -> Result<crate::graph::Graph> {
        Ok(crate::graph::Graph { keyspace: self.keyspace(name, crate::kv::Kind::Graph, false)? })
    }
}

/// How many nodes and edges there are, or about how many.
pub(crate) fn counts(rows: &dyn Rows) -> Result<GraphCounts> {
    let nodes = rows.count_estimate(&key::nodes(""))?;
    let edges = rows.count_estimate(&key::edges())?;
    Ok(GraphCounts { nodes, edges, exact: nodes.max(edges) <= COUNTED_KEYS })
}
