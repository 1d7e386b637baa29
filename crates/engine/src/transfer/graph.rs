//! A graph as lines of JSON: its nodes, then its edges.

use std::ops::ControlFlow;

use nuthatch_store::{Reader, Shard, Table, after_prefix};

use crate::Result;
use crate::graph::{GraphRow, Line, decode_edge, decode_node, keys_of_edges, keys_of_nodes};
use crate::kv::Space;
use crate::transfer::export::Lines;
use crate::transfer::manifest::GraphEntry;
use crate::transfer::{ExportReport, Outlet};

/// Writes a graph's nodes, then its edges, as lines.
pub fn export_graph(
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
        let line = match GraphRow::of(Shard::suffix(key)) {
            Some(GraphRow::Node(id)) => {
                nodes += 1;
                Line::of_node(&decode_node(id, &value)?)
            }
            Some(GraphRow::Edge(id)) => {
                edges += 1;
                Line::of_edge(&decode_edge(id, &value)?)
            }
            // The edge that a pointer leads to has its own line.
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
