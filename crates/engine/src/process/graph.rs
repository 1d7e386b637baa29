//! The graph that callers see: the local one where this process holds the folder, requests where another does.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::database::Database as LocalDatabase;
use crate::durability::Durability;
use crate::graph::{
    Edge, EdgeId, Graph as LocalGraph, GraphCounts, ListNodes, NeighborPage, Neighbors, Node, NodePage, NodesDeleted,
    Traversal, Traverse,
};
use crate::process::limits::Limits;
use crate::process::request::{GraphCall, Place, Request};
use crate::process::route::Route;
use crate::process::side::{Anchor, Side, the_same};
use crate::{EmbedderChoice, Result, What};

/// A handle on a graph. Cheap to clone; safe to share between threads and with forks of the process.
///
/// Ids are 1 to 1,024 bytes, types 1 to 255, properties up to 32 KiB; none of the words has the character U+0000. A call
/// with anything else is `Invalid`, and changes nothing.
#[derive(Clone)]
pub struct Graph {
    anchor: Arc<Anchor<LocalGraph>>,
    durability: Durability,
}

impl Graph {
    pub(crate) fn held(link: Route, local: LocalGraph) -> Self {
        let place = Place { name: local.keyspace.name().to_string(), id: id_of(&local) };
        Self { anchor: Arc::new(Anchor::held(link, place, local)), durability: Durability::default() }
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        let place = Place { name: name.to_string(), id };
        Self { anchor: Arc::new(Anchor::served(link, place)), durability: Durability::default() }
    }

    pub fn name(&self) -> &str {
        &self.anchor.place.name
    }

    /// The same graph, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { anchor: self.anchor.clone(), durability }
    }

    /// Puts nodes, all or nothing; one that is there is replaced, its edges stay.
    pub fn put_nodes(&self, nodes: Vec<Node>) -> Result<()> {
        match self.side()? {
            Side::Here(local) => local.put_nodes(&nodes),
            Side::There(link) => self.ask(&link, GraphCall::PutNodes(nodes)),
        }
    }

    /// Puts edges, all or nothing; one of the same ends and type is replaced. Neither end need have been put.
    pub fn put_edges(&self, edges: Vec<Edge>) -> Result<()> {
        match self.side()? {
            Side::Here(local) => local.put_edges(&edges),
            Side::There(link) => self.ask(&link, GraphCall::PutEdges(edges)),
        }
    }

    /// Deletes nodes with all their edges in both directions; says how many of both were there. Up to 100,000 edges are one
    /// batch; what has more loses its edges in batches of so many, each edge whole, and goes with the last.
    pub fn delete_nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<NodesDeleted> {
        let ids = strings(ids);
        self.either(|local| local.delete_nodes(&ids), || GraphCall::DeleteNodes(ids.clone()))
    }

    /// Deletes edges, all or nothing; says how many of them were there.
    pub fn delete_edges(&self, edges: &[EdgeId]) -> Result<u64> {
        self.either(|local| local.delete_edges(edges), || GraphCall::DeleteEdges(edges.to_vec()))
    }

    /// Nodes by id, in the order of the ids; `None` for one that was never put, edges or not.
    pub fn nodes<I: AsRef<str>>(&self, ids: &[I]) -> Result<Vec<Option<Node>>> {
        let ids = strings(ids);
        self.either(|local| local.nodes(&ids), || GraphCall::Nodes(ids.clone()))
    }

    /// The edge; `None` when there is none.
    pub fn edge(&self, id: &EdgeId) -> Result<Option<Edge>> {
        self.either(|local| local.edge(id), || GraphCall::Edge(id.clone()))
    }

    /// One page of a node's edges, as of one moment: those that go out before those that come in, by type, then by the id at
    /// the other end.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 10,000, or a cursor that is none.
    pub fn neighbors(&self, id: &str, ask: &Neighbors) -> Result<NeighborPage> {
        self.either(|local| local.neighbors(id, ask), || GraphCall::Neighbors(id.into(), ask.clone()))
    }

    /// One page of nodes by id, as of one moment. Those of one type are found by going through all.
    ///
    /// # Errors
    /// As [`neighbors`](Self::neighbors).
    pub fn list_nodes(&self, ask: &ListNodes) -> Result<NodePage> {
        self.either(|local| local.nodes_listed(ask), || GraphCall::ListNodes(ask.clone()))
    }

    /// How many nodes and edges there are: exact up to 10,000, from the sizes of files beyond.
    pub fn counts(&self) -> Result<GraphCounts> {
        self.either(LocalGraph::counts, || GraphCall::Counts)
    }

    /// What is connected to some nodes, breadth first, each node once, as of one moment. It ends at its limit, after 16 MiB of
    /// edges, or when it has looked at a million edges, and says so.
    ///
    /// # Errors
    /// `Invalid` for a start, depth or limit out of its range.
    pub fn traverse(&self, ask: &Traverse) -> Result<Traversal> {
        self.either(|local| local.traverse(ask), || GraphCall::Traverse(ask.clone()))
    }

    fn ask<T: DeserializeOwned>(&self, link: &Route, call: GraphCall) -> Result<T> {
        let graph = self.anchor.place.clone();
        let request = Request::InGraph { graph, durability: self.durability, call };
        link.ask(request, &EmbedderChoice::None, &Limits::default())
    }

    fn side(&self) -> Result<Side<LocalGraph>> {
        let hand = |local: &LocalGraph| local.with_durability(self.durability);
        self.anchor.side(hand, |db| find(db, &self.anchor.place))
    }

    fn either<T: DeserializeOwned>(
        &self,
        here: impl FnOnce(&LocalGraph) -> Result<T>,
        there: impl FnOnce() -> GraphCall,
    ) -> Result<T> {
        match self.side()? {
            Side::Here(local) => here(&local),
            Side::There(link) => self.ask(&link, there()),
        }
    }
}

/// The graph that a handle means, unless it was dropped.
pub(crate) fn find(db: &LocalDatabase, place: &Place) -> Result<LocalGraph> {
    the_same(What::Graph, place, db.existing_graph(&place.name), id_of)
}

fn id_of(local: &LocalGraph) -> u32 {
    local.keyspace.space.shard.collection
}

fn strings<I: AsRef<str>>(ids: &[I]) -> Vec<String> {
    ids.iter().map(|id| id.as_ref().to_string()).collect()
}
