//! The actions on graphs: adding edges, and what is connected to some nodes.

use std::slice;

use nuthatch_link::{
    Database, Durability, Edge, EdgeDirection, Error, Node, NodeOrEdge, Result as EngineResult, Traverse, WriteBatch,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The body of `add_edges`. The graph is made when there is none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddEdges {
    graph: String,
    edges: Vec<Value>,
    #[serde(default)]
    nodes: Vec<Value>,
    #[serde(default)]
    durability: Durability,
}

/// The body of `traverse`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    graph: String,
    start: Vec<String>,
    #[serde(default)]
    direction: EdgeDirection,
    #[serde(default)]
    types: Vec<String>,
    max_depth: Option<u32>,
    limit: Option<usize>,
}

impl AddEdges {
    /// Puts all of it, or nothing.
    pub fn run(self, database: &Database) -> EngineResult<Value> {
        let nodes = each("nodes", self.nodes, node)?;
        let edges = each("edges", self.edges, edge)?;
        let mut batch = WriteBatch::new().with_durability(self.durability);
        let mut graph = batch.graph(&self.graph);
        for (at, node) in nodes.iter().enumerate() {
            graph.put_nodes(slice::from_ref(node)).map_err(|error| of_one("nodes", at, error))?;
        }
        for (at, edge) in edges.iter().enumerate() {
            graph.put_edges(slice::from_ref(edge)).map_err(|error| of_one("edges", at, error))?;
        }
        database.write(batch)?;
        Ok(json!({"nodes": nodes.len(), "edges": edges.len()}))
    }
}

impl Walk {
    pub fn run(self, database: &Database) -> EngineResult<Value> {
        let plain = Traverse::from(self.start);
        let ask = Traverse {
            direction: self.direction,
            kinds: self.types,
            max_depth: self.max_depth.unwrap_or(plain.max_depth),
            limit: self.limit.unwrap_or(plain.limit),
            ..plain
        };
        let found = database.existing_graph(&self.graph)?.traverse(&ask)?;
        let visited = found
            .nodes
            .iter()
            .map(|it| json!({"id": it.id, "depth": it.depth, "via": it.via.as_ref().map(Edge::to_json)}));
        Ok(json!({"nodes": visited.collect::<Vec<_>>(), "truncated": found.truncated}))
    }
}

fn each<T>(list: &str, items: Vec<Value>, read: impl Fn(Value) -> EngineResult<T>) -> EngineResult<Vec<T>> {
    items.into_iter().enumerate().map(|(at, item)| read(item).map_err(|error| of_one(list, at, error))).collect()
}

/// An error that says which one it was.
fn of_one(list: &str, at: usize, error: Error) -> Error {
    Error { message: format!("{list}[{at}]: {}", error.message), ..error }
}

fn node(json: Value) -> EngineResult<Node> {
    match NodeOrEdge::from_json(json)? {
        NodeOrEdge::Node(node) => Ok(node),
        NodeOrEdge::Edge(edge) => Err(Error::invalid(format!("an edge from {:?} is among the nodes", edge.source))),
    }
}

fn edge(json: Value) -> EngineResult<Edge> {
    match NodeOrEdge::from_json(json)? {
        NodeOrEdge::Edge(edge) => Ok(edge),
        NodeOrEdge::Node(node) => Err(Error::invalid(format!("node {:?} is among the edges", node.id))),
    }
}
