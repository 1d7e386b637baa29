//! A graph as lines of JSON: its nodes, then its edges.

use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_store::{Reader, Shard, Table};

use crate::Result;
use crate::durability::Durability;
use crate::graph::{Line, NodeOrEdge, Place, decode_edge, decode_node, keys_of_edges, keys_of_nodes};
use crate::kv::{Space, after_prefix};
use crate::process::Database;
use crate::transfer::export::Lines;
use crate::transfer::import::{batches, tell};
use crate::transfer::manifest::GraphEntry;
use crate::transfer::{ExportReport, ImportOptions, ImportReport, Outlet, bad_line};

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
                Line::of_node(&decode_node(id, &value)?)
            }
            Some(Place::Edge(id)) => {
                edges += 1;
                Line::of_edge(&decode_edge(id, &value)?)
            }
            // What it points to has a line.
            _ => return Ok(()),
        };
        lines.push(&line)?;
        lines.tell(&name, nodes + edges, 0)
    };
    let mut failed = Ok(());
    // Nodes come after edges in the order of keys, and before them in the file, where they are looked for.
    for first in [keys_of_nodes(""), keys_of_edges()] {
        let from = space.shard.key(&first);
        let to = after_prefix(&from);
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
            match line.into_either().map_err(|error| bad_line(path, *number, error))? {
                NodeOrEdge::Node(node) => nodes.push(node),
                NodeOrEdge::Edge(edge) => edges.push(edge),
            }
        }
        (report.nodes, report.edges) = (report.nodes + nodes.len() as u64, report.edges + edges.len() as u64);
        done += lines.len() as u64;
        graph.put_nodes(nodes)?;
        graph.put_edges(edges)?;
        tell(options, &entry.name, done, entry.nodes + entry.edges)
    })
}
