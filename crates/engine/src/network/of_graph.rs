//! A graph as a network.

use std::ops::ControlFlow;

use crate::Result;
use crate::graph::{EdgeDirection, GraphRow, Neighbors, decode_edge, keys_of_edges, neighbors};
use crate::kv::{KeyScan, Rows};
use crate::network::{EachEdge, EachStep, Network, Step};
use crate::runtime::Reservation;

/// Edges that are read together.
const AT_ONCE: usize = 1_000;

/// The edges of a graph of some types, all of them where none is named.
pub(crate) struct GraphNetwork<'r> {
    pub rows: &'r dyn Rows,
    pub direction: EdgeDirection,
    pub kinds: &'r [String],
}

impl Network for GraphNetwork<'_> {
    fn steps(&self, id: &str, visit: &mut EachStep<'_>) -> Result<()> {
        let mut ask = Neighbors { direction: self.direction, kinds: self.kinds.to_vec(), limit: AT_ONCE, cursor: None };
        loop {
            let page = neighbors(self.rows, id, &ask)?;
            for found in page.neighbors {
                let incoming = found.edge.source != id;
                let step =
                    Step { id: found.id, kind: found.edge.kind, weight: found.edge.weight, incoming, fact: None };
                if visit(step)?.is_break() {
                    return Ok(());
                }
            }
            ask.cursor = page.cursor;
            if ask.cursor.is_none() {
                return Ok(());
            }
        }
    }

    fn each_edge(&self, visit: &mut EachEdge<'_>) -> Result<()> {
        self.rows.each(KeyScan { limit: AT_ONCE, ..KeyScan::prefix(keys_of_edges()) }, &mut |row, value| {
            let Some(GraphRow::Edge(id)) = GraphRow::of(row) else { return Ok(ControlFlow::Continue(())) };
            match self.kinds.is_empty() || self.kinds.contains(&id.kind) {
                true => {
                    let edge = decode_edge(id, value)?;
                    visit(&edge.source, &edge.target, edge.weight)
                }
                false => Ok(ControlFlow::Continue(())),
            }
        })
    }

    fn room(&self) -> Option<Reservation<'_>> {
        self.rows.room()
    }
}
