//! A graph as lines of JSON: its nodes, then its edges.

use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_filter::{Payload, datetimes_of, make_datetimes, payload_from_json, payload_to_json};
use nuthatch_truth::{Reader, Shard, Table};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::durability::Durability;
use crate::graph::{Edge, Node, Place, decode_edge, decode_node};
use crate::kv::Space;
use crate::process::Database;
use crate::transfer::export::Lines;
use crate::transfer::import::{batches, tell};
use crate::transfer::manifest::GraphEntry;
use crate::transfer::{ExportReport, ImportOptions, ImportReport, Outlet, bad_line};
use crate::{Error, Result};

/// A node has an `id`; an edge has `source` and `target`.
#[derive(Default, Serialize, Deserialize)]
struct Line {
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
    properties: Map<String, serde_json::Value>,
    /// Dotted paths of the properties that are dates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
}

impl Line {
    fn of(kind: String, properties: &Payload) -> Self {
        let datetimes = datetimes_of(properties);
        Self { kind, properties: payload_to_json(properties), datetimes, ..Self::default() }
    }

    fn of_node(node: Node) -> Self {
        Self { id: Some(node.id), ..Self::of(node.kind, &node.properties) }
    }

    fn of_edge(edge: Edge) -> Self {
        let Edge { source, kind, target, weight, properties } = edge;
        let (source, target, weight) = (Some(source), Some(target), Some(weight));
        Self { source, target, weight, ..Self::of(kind, &properties) }
    }

    fn into_parts(self, nodes: &mut Vec<Node>, edges: &mut Vec<Edge>) -> Result<()> {
        let mut properties = payload_from_json(serde_json::Value::Object(self.properties))?;
        make_datetimes(&mut properties, &self.datetimes)?;
        match (self.id, self.source, self.target) {
            (Some(id), None, None) => {
                let node = Node { id, kind: self.kind, properties };
                node.check()?;
                nodes.push(node);
            }
            (None, Some(source), Some(target)) => {
                let edge = Edge { source, kind: self.kind, target, weight: self.weight.unwrap_or(1.0), properties };
                edge.check()?;
                edges.push(edge);
            }
            _ => {
                return Err(Error::invalid(
                    "it has neither an id alone, as a node, nor a source and a target, as an edge",
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn export_graph(
    space: &Space,
    reader: &dyn Reader,
    outlet: &mut dyn Outlet,
    report: &mut ExportReport,
) -> Result<GraphEntry> {
    let name = space.name.clone();
    let file = format!("graphs/{:03}-{name}.jsonl", report.graphs);
    let mut lines = Lines::begin(outlet, &file)?;
    let now_ms = space.now_ms();
    let (mut nodes, mut edges) = (0, 0);
    let mut write = |key: &[u8], stored: &[u8]| -> Result<()> {
        let Some((value, _)) = space.exported(reader, stored, now_ms)? else { return Ok(()) };
        let line = match Place::of(Shard::suffix(key)) {
            Some(Place::Node(id)) => {
                nodes += 1;
                Line::of_node(decode_node(id, &value)?)
            }
            Some(Place::Edge(id)) => {
                edges += 1;
                Line::of_edge(decode_edge(id, &value)?)
            }
            // What it points to has a line.
            _ => return Ok(()),
        };
        lines.push(&line)?;
        lines.tell(&name, nodes + edges, 0)
    };
    let mut failed = Ok(());
    // Nodes come after edges in the order of keys, and before them in the file, where they are looked for.
    for first in [b'n', b'e'] {
        let from = space.shard.key(&[first]);
        let to = space.shard.key(&[first + 1]);
        reader.scan_once(Table::Kv, &from, &to, &mut |key, stored| {
            failed = write(key, stored);
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        std::mem::replace(&mut failed, Ok(()))?;
    }
    report.bytes += lines.finish()?;
    (report.nodes, report.edges, report.graphs) = (report.nodes + nodes, report.edges + edges, report.graphs + 1);
    Ok(GraphEntry { name, file, nodes, edges })
}

pub(super) fn import_graph(
    db: &Database,
    path: &Path,
    entry: &GraphEntry,
    options: &mut ImportOptions<'_>,
    report: &mut ImportReport,
) -> Result<()> {
    let graph = db.graph(&entry.name)?.with_durability(Durability::Os);
    let mut done = 0;
    batches(path, &mut |lines| {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            let line: Line = serde_json::from_str(line).map_err(|error| bad_line(path, *number, error))?;
            line.into_parts(&mut nodes, &mut edges).map_err(|error| bad_line(path, *number, error))?;
        }
        (report.nodes, report.edges) = (report.nodes + nodes.len() as u64, report.edges + edges.len() as u64);
        done += lines.len() as u64;
        graph.put_nodes(nodes)?;
        graph.put_edges(edges)?;
        tell(options, &entry.name, done, entry.nodes + entry.edges)
    })
}
