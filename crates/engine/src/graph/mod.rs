//! Graphs: typed nodes and edges, with properties and weights, next to the collections and keyspaces.
//!
//! **Useful for** links between documents, calls between functions, any question of the form "what is connected to
//! this".
//! **Not for** searching by content or by properties (collections do that).
//!
//! A graph is a keyspace of another kind: this module lays out its rows, and `kv/` stores, batches and counts them and
//! keeps them for snapshots. [RFC 0025](../../../../docs/rfcs/0025-graph.md) has the rows, and the alternatives
//! weighed.
//!
//! **Invariant:** an edge is there in both directions or in neither, even under concurrent writes.

mod ask;
mod changes;
mod delete;
mod edge;
mod json;
mod key;
mod local;
mod neighbors;
mod node;
mod read;
mod repair;
mod traverse;
mod value;
mod write;

pub use ask::{EdgeDirection, GraphCounts, ListNodes, Neighbor, NeighborPage, Neighbors, NodePage, NodesDeleted};
pub use changes::GraphWrites;
pub(crate) use changes::{GraphChanges, Resolved};
pub use delete::{REMOVED_AT_ONCE, Removal};
pub use edge::{Edge, EdgeId};
pub use json::Line;
pub use json::NodeOrEdge;
pub(crate) use key::{GraphRow, edges as keys_of_edges};
pub use key::{edge as key_of_edge, node as key_of_node, nodes as keys_of_nodes};
pub(crate) use local::counts;
pub(crate) use neighbors::neighbors;
pub use neighbors::prefixes;
pub use node::{Node, PROPERTIES_BYTES_MAX, TYPE_BYTES_MAX};
pub(crate) use read::{edge, nodes, nodes_listed};
pub(crate) use repair::{looks_like_one, mend_graph};
pub(crate) use traverse::traverse;
pub use traverse::{Traversal, Traverse, Visited};
pub(crate) use value::{edge as decode_edge, node as decode_node};
pub use write::{edge_keys, edge_ops, node_ops};

use crate::kv::Keyspace;

/// A handle on a graph in the process that holds the folder. Cheap to clone; safe to share between threads.
#[derive(Clone)]
pub(crate) struct Graph {
    pub keyspace: Keyspace,
}
