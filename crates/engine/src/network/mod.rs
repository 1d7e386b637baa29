//! Questions about a network as a whole: the cheapest paths between two nodes, which nodes matter, which belong together.
//!
//! **Useful for** graphs and facts alike: each question is answered over the trait [`Network`]. **Not for** neighbours and traversal,
//! which `graph/` answers from its rows.
//!
//! Paths read edges as they need them. Ranks and groups read the network once into memory, which they reserve; above a million edges
//! they refuse. [RFC 0060](../../../../docs/rfcs/0060-facts.md) says why no library answers them.
//!
//! **Invariant:** the same network gives the same answer, whatever order its rows were written in.

mod ask;
mod groups;
mod loaded;
mod of_graph;
mod paths;
mod rank;

use std::ops::ControlFlow;

pub use ask::{
    FindPaths, GroupBy, GroupNodes, NodeGroup, NodeGroups, PathCost, PathFound, PathStep, PathsFound, RankNodes,
    RankedNode, RankedNodes,
};
pub(crate) use groups::group;
pub(crate) use of_graph::GraphNetwork;
pub(crate) use paths::paths;
pub(crate) use rank::rank;

use crate::Result;
use crate::runtime::Reservation;

/// An edge as it is met at one of its ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// The node at the other end.
    pub id: String,
    pub kind: String,
    pub weight: f64,
    /// It leads from there to here.
    pub incoming: bool,
    /// The fact that says so.
    pub fact: Option<u64>,
}

/// Sees an edge.
pub(crate) type EachStep<'v> = dyn FnMut(Step) -> Result<ControlFlow<()>> + 'v;
/// Sees source, target and weight of an edge.
pub(crate) type EachEdge<'v> = dyn FnMut(&str, &str, f64) -> Result<ControlFlow<()>> + 'v;

/// Nodes and weighted edges as of one moment.
pub(crate) trait Network {
    /// The edges of one node.
    fn steps(&self, id: &str, visit: &mut EachStep<'_>) -> Result<()>;

    /// All edges.
    fn each_edge(&self, visit: &mut EachEdge<'_>) -> Result<()>;

    /// Room for what is kept of it.
    fn room(&self) -> Option<Reservation<'_>>;
}
