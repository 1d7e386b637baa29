//! Operations on a graph.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::database::Database;
use crate::graph::{
    self, Edge, EdgeDirection, EdgeId, Graph, GraphCounts, ListNodes, NeighborPage, Neighbors, Node, NodePage,
    NodesDeleted, Traversal, Traverse,
};
use crate::network::{self, FindPaths, GraphNetwork, GroupNodes, NodeGroups, PathsFound, RankNodes, RankedNodes};
use crate::ops::{Op, Repeat, Scope, View, on};

/// Nodes by id, in the order of the ids; `None` for one that was never put.
#[derive(Serialize, Deserialize)]
pub struct GetNodes(pub Vec<String>);

impl Op for GetNodes {
    type On = on::Nodes;
    type Answer = Vec<Option<Node>>;
    const NAME: &'static str = "nodes.get";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| graph::nodes(rows, &self.0))
    }
}

/// One edge; `None` when it is not there.
#[derive(Serialize, Deserialize)]
pub struct GetEdge(pub EdgeId);

impl Op for GetEdge {
    type On = on::Nodes;
    type Answer = Option<Edge>;
    const NAME: &'static str = "nodes.edge";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| graph::edge(rows, &self.0))
    }
}

/// One page of a node's edges.
#[derive(Serialize, Deserialize)]
pub struct NeighborsOf(pub String, pub Neighbors);

impl Op for NeighborsOf {
    type On = on::Nodes;
    type Answer = NeighborPage;
    const NAME: &'static str = "nodes.neighbors";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| graph::neighbors(rows, &self.0, &self.1))
    }
}

impl Op for ListNodes {
    type On = on::Nodes;
    type Answer = NodePage;
    const NAME: &'static str = "nodes.list";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| graph::nodes_listed(rows, &self))
    }
}

impl Op for Traverse {
    type On = on::Nodes;
    type Answer = Traversal;
    const NAME: &'static str = "nodes.traverse";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| graph::traverse(rows, &self))
    }
}

/// How many nodes and edges there are, or about how many.
#[derive(Serialize, Deserialize)]
pub struct Counts;

impl Op for Counts {
    type On = on::Nodes;
    type Answer = GraphCounts;
    const NAME: &'static str = "nodes.counts";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        graph::counts(view.rows()?)
    }
}

/// The cheapest paths between two nodes.
#[derive(Serialize, Deserialize)]
pub struct Paths(pub FindPaths);

impl Op for Paths {
    type On = on::Nodes;
    type Answer = PathsFound;
    const NAME: &'static str = "nodes.paths";

    fn run(self, view: &View<'_>) -> Result<PathsFound> {
        let Self(ask) = self;
        view.at_once(|rows| network::paths(&GraphNetwork { rows, direction: ask.direction, kinds: &ask.kinds }, &ask))
    }
}

/// The nodes that matter most.
#[derive(Serialize, Deserialize)]
pub struct Ranks(pub RankNodes);

impl Op for Ranks {
    type On = on::Nodes;
    type Answer = RankedNodes;
    const NAME: &'static str = "nodes.rank";

    fn run(self, view: &View<'_>) -> Result<RankedNodes> {
        let Self(ask) = self;
        view.at_once(|rows| network::rank(&GraphNetwork { rows, direction: ask.direction, kinds: &ask.kinds }, &ask))
    }
}

/// The nodes that belong together.
#[derive(Serialize, Deserialize)]
pub struct Groups(pub GroupNodes);

impl Op for Groups {
    type On = on::Nodes;
    type Answer = NodeGroups;
    const NAME: &'static str = "nodes.groups";

    fn run(self, view: &View<'_>) -> Result<NodeGroups> {
        let (Self(ask), direction) = (self, EdgeDirection::Both);
        view.at_once(|rows| network::group(&GraphNetwork { rows, direction, kinds: &ask.kinds }, &ask))
    }
}

/// Writes nodes, in place of those with the same id.
#[derive(Serialize, Deserialize)]
pub struct PutNodes(pub Vec<Node>);

impl Op for PutNodes {
    type On = on::Nodes;
    type Answer = ();
    const NAME: &'static str = "nodes.put";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        live(view)?.put_nodes(&self.0)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

/// Writes edges, in place of those with the same ends and type.
#[derive(Serialize, Deserialize)]
pub struct PutEdges(pub Vec<Edge>);

impl Op for PutEdges {
    type On = on::Nodes;
    type Answer = ();
    const NAME: &'static str = "nodes.put_edges";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        live(view)?.put_edges(&self.0)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

/// Deletes nodes with all their edges, in as many batches as that takes.
#[derive(Serialize, Deserialize)]
pub struct DeleteNodes(pub Vec<String>);

impl Op for DeleteNodes {
    type On = on::Nodes;
    type Answer = NodesDeleted;
    const NAME: &'static str = "nodes.delete";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<NodesDeleted> {
        let graph = live(view)?;
        Ok(graph.delete_nodes(&self.0)?.after(graph.keyspace.call.before()))
    }
}

/// Deletes edges; says how many were there.
#[derive(Serialize, Deserialize)]
pub struct DeleteEdges(pub Vec<EdgeId>);

impl Op for DeleteEdges {
    type On = on::Nodes;
    type Answer = u64;
    const NAME: &'static str = "nodes.delete_edges";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        live(view)?.delete_edges(&self.0)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.deleted / 2) // two rows an edge
    }
}

fn live(view: &View<'_>) -> Result<Graph> {
    Ok(Graph { keyspace: view.keyspace()?.clone() })
}
