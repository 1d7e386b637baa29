//! Graphs as callers see them.

use std::ops::Deref;
use std::sync::Arc;

use nuthatch_engine::Result;
use nuthatch_engine::durability::Durability;
use nuthatch_engine::graph::{
    Edge, EdgeId, GraphCounts, ListNodes, NeighborPage, Neighbors, Node, NodePage, NodesDeleted, Traversal, Traverse,
};
use nuthatch_engine::kv::{Keyspace as LocalKeyspace, Kind};
use nuthatch_engine::ops::{Op, graph, on};
use nuthatch_engine::{FindPaths, GroupNodes, NodeGroups, PathsFound, RankNodes, RankedNodes};

use crate::records::strings;
use crate::route::Route;
use crate::rows::{From, Inner};

/// The reads of a graph's nodes and edges. A [`Graph`], a snapshot's graph and a transaction's graph all offer them.
#[derive(Clone)]
pub struct Nodes<'t> {
    pub(crate) from: From<'t>,
}

/// A handle on a graph. Cheap to clone; safe to share between threads and with forks of the process.
///
/// Ids are 1 to 1,024 bytes, types 1 to 255, properties up to 32 KiB; none of the words has the character U+0000. A call
/// with anything else is `Invalid`, and changes nothing.
#[derive(Clone)]
pub struct Graph {
    nodes: Nodes<'static>,
    inner: Arc<Inner>,
    durability: Durability,
}

impl Nodes<'_> {
    /// The graph's name.
    pub fn name(&self) -> &str {
        self.from.name()
    }

    /// Nodes by id, in the order of the ids; `None` for one that was never put, even if it has edges.
    pub fn nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<Vec<Option<Node>>> {
        self.ask(graph::GetNodes(strings(ids)))
    }

    /// The edge; `None` when there is none.
    pub fn edge(&self, id: &EdgeId) -> Result<Option<Edge>> {
        self.ask(graph::GetEdge(id.clone()))
    }

    /// One page of a node's edges, as of one moment: those that go out before those that come in, by type, then by the id at
    /// the other end.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 10,000, or a cursor that is none.
    pub fn neighbors(&self, id: &str, ask: &Neighbors) -> Result<NeighborPage> {
        self.ask(graph::NeighborsOf(id.into(), ask.clone()))
    }

    /// One page of nodes by id, as of one moment. Finding those of one type reads all nodes.
    ///
    /// # Errors
    /// As [`neighbors`](Self::neighbors).
    pub fn list_nodes(&self, ask: &ListNodes) -> Result<NodePage> {
        self.ask(ask.clone())
    }

    /// How many nodes and edges there are: exact up to 10,000, from the sizes of files beyond.
    pub fn counts(&self) -> Result<GraphCounts> {
        self.ask(graph::Counts)
    }

    /// The nodes connected to some nodes, breadth first, each node once, as of one moment. It ends at its limit, after
    /// 16 MiB of edges, or after reading a million edges, and says so.
    ///
    /// # Errors
    /// `Invalid` for a start, depth or limit out of its range.
    pub fn traverse(&self, ask: &Traverse) -> Result<Traversal> {
        self.ask(ask.clone())
    }

    /// The cheapest paths between two nodes, as of one moment. It reads half a million edges at most, and says when it ended there.
    ///
    /// # Errors
    /// `Invalid` for a number of paths or steps out of its range, or a negative weight as a cost; `Exhausted` when there is no room
    /// for what it has to keep.
    pub fn paths(&self, ask: &FindPaths) -> Result<PathsFound> {
        self.ask(graph::Paths(ask.clone()))
    }

    /// The nodes that matter most, by PageRank, as of one moment.
    ///
    /// # Errors
    /// `Invalid` for a question out of its ranges; `Exhausted` for over a million edges, or when there is no room for them.
    pub fn rank(&self, ask: &RankNodes) -> Result<RankedNodes> {
        self.ask(graph::Ranks(ask.clone()))
    }

    /// The nodes that belong together, as of one moment.
    ///
    /// # Errors
    /// As [`rank`](Self::rank).
    pub fn groups(&self, ask: &GroupNodes) -> Result<NodeGroups> {
        self.ask(graph::Groups(ask.clone()))
    }

    pub(crate) fn ask<O: Op<On = on::Nodes>>(&self, op: O) -> Result<O::Answer> {
        self.from.ask(op)
    }
}

/// Reads are those of [`Nodes`].
impl Deref for Graph {
    type Target = Nodes<'static>;

    fn deref(&self) -> &Nodes<'static> {
        &self.nodes
    }
}

impl Graph {
    pub(crate) fn held(link: Route, local: LocalKeyspace) -> Self {
        Self::of(Inner::held(link, local))
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        Self::of(Inner::served(link, name, Kind::Graph, id))
    }

    fn of(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        Self { nodes: Nodes { from: From::Now(inner.clone()) }, inner, durability: Durability::default() }
    }

    /// The same graph, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// Puts nodes, all or nothing; one that is there is replaced, its edges stay.
    pub fn put_nodes(&self, nodes: Vec<Node>) -> Result<()> {
        self.write(graph::PutNodes(nodes))
    }

    /// Puts edges, all or nothing; one of the same ends and type is replaced. Neither end need have been put.
    pub fn put_edges(&self, edges: Vec<Edge>) -> Result<()> {
        self.write(graph::PutEdges(edges))
    }

    /// Deletes nodes with all their edges in both directions; returns how many of both it deleted. Up to 100,000 edges
    /// are one batch; a node with more loses its edges in batches of that size, each edge whole, and goes with the
    /// last.
    pub fn delete_nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<NodesDeleted> {
        self.write(graph::DeleteNodes(strings(ids)))
    }

    /// Deletes edges, all or nothing; says how many of them were there.
    pub fn delete_edges(&self, edges: &[EdgeId]) -> Result<u64> {
        self.write(graph::DeleteEdges(edges.to_vec()))
    }

    fn write<O: Op<On = on::Nodes>>(&self, op: O) -> Result<O::Answer> {
        self.inner.ask(op, self.durability)
    }
}
