//! Counting a graph.

use crate::Result;
use crate::graph::{GraphCounts, key};
use crate::kv::{COUNTED_KEYS, Rows};

/// How many nodes and edges there are, or about how many.
pub(crate) fn counts(rows: &dyn Rows) -> Result<GraphCounts> {
    let nodes = rows.count_estimate(&key::nodes(""))?;
    let edges = rows.count_estimate(&key::edges())?;
    Ok(GraphCounts { nodes, edges, exact: nodes.max(edges) <= COUNTED_KEYS })
}
