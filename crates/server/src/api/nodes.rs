//! Nodes and edges of graphs, as JSON has them.

use nuthatch_link::{
    Edge as EngineEdge, EdgeId as EngineEdgeId, Error, Node as EngineNode, Payload, Result as EngineResult,
    datetimes_of, payload_to_json, payload_with_datetimes,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A node of a graph.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    #[schema(min_length = 1, max_length = 1024)]
    id: String,
    /// The type of the node.
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 255)]
    kind: String,
    /// Named values, like the payload of a record; up to 32 KiB.
    #[serde(default)]
    #[schema(value_type = Object)]
    properties: Map<String, Value>,
    /// Dotted paths of the properties that are datetimes; absent if none are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
}

/// An edge from one node to another. Two nodes have at most one edge of each type and direction. The nodes need not
/// exist.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    #[schema(min_length = 1, max_length = 1024)]
    source: String,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 255)]
    kind: String,
    #[schema(min_length = 1, max_length = 1024)]
    target: String,
    #[serde(default = "plain_weight")]
    weight: f64,
    /// Named values, like the payload of a record; up to 32 KiB.
    #[serde(default)]
    #[schema(value_type = Object)]
    properties: Map<String, Value>,
    /// Dotted paths of the properties that are datetimes; absent if none are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
}

/// Which edge.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeId {
    source: String,
    #[serde(rename = "type")]
    kind: String,
    target: String,
}

fn plain_weight() -> f64 {
    1.0
}

impl Node {
    fn into_engine(self) -> EngineResult<EngineNode> {
        let Self { id, kind, properties, datetimes } = self;
        let properties = payload(|| format!("node {id:?}"), properties, &datetimes)?;
        Ok(EngineNode { id, kind, properties })
    }
}

impl Edge {
    fn into_engine(self) -> EngineResult<EngineEdge> {
        let Self { source, kind, target, weight, properties, datetimes } = self;
        let name = || format!("edge {source:?} -{kind}-> {target:?}");
        let properties = payload(name, properties, &datetimes)?;
        Ok(EngineEdge { source, kind, target, weight, properties })
    }
}

/// All of them, or the first error.
pub fn nodes_into_engine(nodes: Vec<Node>) -> EngineResult<Vec<EngineNode>> {
    nodes.into_iter().map(Node::into_engine).collect()
}

/// All of them, or the first error.
pub fn edges_into_engine(edges: Vec<Edge>) -> EngineResult<Vec<EngineEdge>> {
    edges.into_iter().map(Edge::into_engine).collect()
}

pub fn ids_into_engine(edges: Vec<EdgeId>) -> Vec<EngineEdgeId> {
    edges.into_iter().map(Into::into).collect()
}

impl From<EdgeId> for EngineEdgeId {
    fn from(EdgeId { source, kind, target }: EdgeId) -> Self {
        Self { source, kind, target }
    }
}

impl From<EngineNode> for Node {
    fn from(EngineNode { id, kind, properties }: EngineNode) -> Self {
        Self { id, kind, datetimes: datetimes_of(&properties), properties: payload_to_json(&properties) }
    }
}

impl From<EngineEdge> for Edge {
    fn from(EngineEdge { source, kind, target, weight, properties }: EngineEdge) -> Self {
        let datetimes = datetimes_of(&properties);
        Self { source, kind, target, weight, datetimes, properties: payload_to_json(&properties) }
    }
}

fn payload(name: impl Fn() -> String, properties: Map<String, Value>, datetimes: &[String]) -> EngineResult<Payload> {
    payload_with_datetimes(properties, datetimes).map_err(|error| Error::invalid(format!("{}: {error}", name())))
}
