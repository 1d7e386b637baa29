//! The edges of one node, page by page.

use crate::Result;
use crate::graph::node::{check_id, check_kind};
use crate::graph::read::{ANSWER_BYTES_MAX, READ_AT_ONCE, check_limit, edge_ids, edges};
use crate::graph::{EdgeDirection, EdgeId, Neighbor, NeighborPage, Neighbors, key};
use crate::kv::{KeyScan, Rows};

/// One page of a node's edges.
pub(crate) fn neighbors(rows: &dyn Rows, id: &str, ask: &Neighbors) -> Result<NeighborPage> {
    check_id(id)?;
    check_limit(ask.limit, "edges")?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    // Where the last row is that was looked at: each range begins after it, as far as it lies in it.
    let mut last = ask.cursor.clone();
    for range in ranges(id, ask.direction, &ask.kinds)? {
        let mut more = true;
        while more {
            let wanted = (ask.limit - found.len() + 1).min(READ_AT_ONCE);
            let (ids, cursor) = edge_ids(rows, range.prefix.clone(), last.clone(), wanted)?;
            more = cursor.is_some();
            let mut ends = Vec::new();
            let mut full = false;
            for edge in ids {
                if found.len() + ends.len() == ask.limit {
                    full = true;
                    break;
                }
                last = Some(range.cursor_after(&edge));
                if !range.is_seen_twice(&edge) {
                    ends.push(edge);
                }
            }
            for (edge, stored) in edges(rows, ends)? {
                bytes += stored;
                let id = if range.incoming { edge.source.clone() } else { edge.target.clone() };
                found.push(Neighbor { id, edge });
            }
            if full || bytes > ANSWER_BYTES_MAX {
                return Ok(NeighborPage { neighbors: found, cursor: last });
            }
        }
    }
    Ok(NeighborPage { neighbors: found, cursor: None })
}

/// Rows of some of a node's edges, which follow each other.
pub(crate) struct Range {
    pub prefix: Vec<u8>,
    pub incoming: bool,
    both: bool,
}

impl Range {
    /// True for a loop that is listed among those that go out already.
    pub fn is_seen_twice(&self, edge: &EdgeId) -> bool {
        self.both && self.incoming && edge.source == edge.target
    }

    fn cursor_after(&self, edge: &EdgeId) -> String {
        KeyScan::cursor_after(&if self.incoming { key::pointer(edge) } else { key::edge(edge) })
    }
}

/// The ranges that hold a node's edges in these directions and of these types, in the order of rows.
pub(crate) fn ranges(id: &str, direction: EdgeDirection, kinds: &[String]) -> Result<Vec<Range>> {
    kinds.iter().try_for_each(|kind| check_kind(kind))?;
    let mut kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = if kinds.is_empty() { vec![None] } else { kinds.into_iter().map(Some).collect() };
    let both = direction == EdgeDirection::Both;
    let range = |incoming: bool, kind| Range { prefix: key::edges_of(id, kind, incoming), incoming, both };
    Ok(direction.ways().iter().flat_map(|way| kinds.iter().map(move |kind| range(*way, *kind))).collect())
}

/// The prefixes of the edge rows that a page reads.
pub fn prefixes(id: &str, ask: &Neighbors) -> Result<Vec<Vec<u8>>> {
    Ok(ranges(id, ask.direction, &ask.kinds)?.into_iter().map(|range| range.prefix).collect())
}
