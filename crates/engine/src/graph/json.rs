//! Nodes and edges as JSON: in exports, on the command line, in the actions of Flight.

use nuthatch_filter::{Payload, datetimes_of, payload_to_json, payload_with_datetimes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::graph::{Edge, Node};
use crate::wording;
use crate::{Error, Result};

/// The node or edge that a JSON object describes.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeOrEdge {
    /// A line with an id.
    Node(Node),
    /// A line with a source and a target.
    Edge(Edge),
}

/// A node has an `id`; an edge has `source` and `target`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    properties: Map<String, Value>,
    /// Dotted paths of the properties that are dates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
}

impl NodeOrEdge {
    /// The node or edge that an object is: `{"id", "type"}` or `{"source", "type", "target", "weight"}`, each with `properties`, and
    /// `datetimes`, which names those of them that are dates.
    ///
    /// # Errors
    /// `Invalid` when it is neither, or cannot be stored.
    pub fn from_json(json: Value) -> Result<Self> {
        let line: Line =
            wording::from(json).map_err(|why| Error::invalid(format!("neither a node nor an edge: {why}")))?;
        line.into_either()
    }
}

impl Node {
    /// As [`NodeOrEdge::from_json`] takes it.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(Line::of_node(self)).expect("strings, numbers and JSON are JSON")
    }
}

impl Edge {
    /// As [`NodeOrEdge::from_json`] takes it.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(Line::of_edge(self)).expect("strings, numbers and JSON are JSON")
    }
}

impl Line {
    /// As the export has it.
    pub(crate) fn of_node(node: &Node) -> Self {
        Self { id: Some(node.id.clone()), ..Self::of(&node.kind, &node.properties) }
    }

    /// As the export has it.
    pub(crate) fn of_edge(edge: &Edge) -> Self {
        let (source, target) = (Some(edge.source.clone()), Some(edge.target.clone()));
        Self { source, target, weight: Some(edge.weight), ..Self::of(&edge.kind, &edge.properties) }
    }

    fn of(kind: &str, properties: &Payload) -> Self {
        let datetimes = datetimes_of(properties);
        Self { kind: kind.into(), properties: payload_to_json(properties), datetimes, ..Self::default() }
    }

    /// Whichever it is.
    pub fn into_either(self) -> Result<NodeOrEdge> {
        let properties = payload_with_datetimes(self.properties, &self.datetimes)?;
        let kind = self.kind;
        match (self.id, self.source, self.target, self.weight) {
            (Some(id), None, None, None) => {
                let node = Node { id, kind, properties };
                node.check().map(|()| NodeOrEdge::Node(node))
            }
            (None, Some(source), Some(target), weight) => {
                let edge = Edge { source, kind, target, weight: weight.unwrap_or(1.0), properties };
                edge.check().map(|()| NodeOrEdge::Edge(edge))
            }
            _ => Err(Error::invalid("it is neither a node (with an id) nor an edge (with a source and a target)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_filter::Value as Property;

    use super::*;

    #[test]
    fn nodes_and_edges_come_back() {
        let properties = Payload::from([("at".into(), Property::Datetime(1)), ("n".into(), Property::Int(7))]);
        for properties in [Payload::new(), properties] {
            let node = Node::new("a", "t").properties(properties.clone());
            assert_eq!(NodeOrEdge::from_json(node.to_json()).unwrap(), NodeOrEdge::Node(node));
            let edge = Edge::new("a", "t", "b").weight(0.1).properties(properties);
            assert_eq!(NodeOrEdge::from_json(edge.to_json()).unwrap(), NodeOrEdge::Edge(edge));
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for json in [
            r#"{"id": "a"}"#,
            r#"{"type": "t"}"#,
            r#"{"id": "a", "type": "t", "weight": 1}"#,
            r#"{"id": "a", "source": "b", "type": "t"}"#,
            r#"{"source": "b", "type": "t"}"#,
            r#"{"id": "", "type": "t"}"#,
            r#"{"id": "a", "type": "t", "colour": "red"}"#,
            "[]",
        ] {
            let error = NodeOrEdge::from_json(serde_json::from_str(json).unwrap()).unwrap_err();
            assert_eq!(error.kind, crate::ErrorKind::Invalid, "{json}");
        }
    }
}
