//! The nodes connected to some nodes: breadth first, each node once.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::graph::neighbors::ranges;
use crate::graph::node::check_id;
use crate::graph::read::{ANSWER_BYTES_MAX, READ_AT_ONCE, edge_ids, edges};
use crate::graph::{Edge, EdgeDirection, EdgeId};
use crate::kv::Rows;
use crate::{Error, Result};

/// Most nodes to begin at, and most of one answer.
const START_MAX: usize = 1000;
const LIMIT_MAX: usize = 10_000;
const DEPTH_MAX: u32 = 64;
/// Edges that a traversal reads before it ends, wherever it is.
const LOOKED_AT_MAX: usize = 1_000_000;

/// Where to begin, and how far to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traverse {
    /// 1 to 1,000 nodes, whether or not they were put.
    pub start: Vec<String>,
    /// Which edges of each node to follow.
    pub direction: EdgeDirection,
    /// Only along edges of these types; none: of all.
    pub kinds: Vec<String>,
    /// Edges from the start, 1 to 64.
    pub max_depth: u32,
    /// Nodes of the answer, those of the start included, 1 to 10,000.
    pub limit: usize,
}

/// A node that was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visited {
    /// The node's id.
    pub id: String,
    /// Edges on the shortest path from the start; 0 for the start nodes.
    pub depth: u32,
    /// The first edge that led there; `None` for the start nodes.
    pub via: Option<Edge>,
}

/// Each node once: by depth, then in the order in which they were met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traversal {
    /// Nearest first.
    pub nodes: Vec<Visited>,
    /// There are, or may be, more nodes within that depth.
    pub truncated: bool,
}

impl Traverse {
    /// From these nodes, along all edges that lead out.
    pub fn from<I: Into<String>>(start: impl IntoIterator<Item = I>) -> Self {
        Self {
            start: start.into_iter().map(Into::into).collect(),
            direction: EdgeDirection::default(),
            kinds: Vec::new(),
            max_depth: 2,
            limit: 1000,
        }
    }

    fn check(&self) -> Result<()> {
        self.start.iter().try_for_each(|id| check_id(id))?;
        if !(1..=START_MAX).contains(&self.start.len()) {
            let given = self.start.len();
            return Err(Error::invalid(format!("a traversal cannot start from {given} nodes; give 1 to {START_MAX}")));
        }
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            return Err(Error::invalid(format!(
                "a traversal cannot return {} nodes; ask for 1 to {LIMIT_MAX}",
                self.limit
            )));
        }
        if !(1..=DEPTH_MAX).contains(&self.max_depth) {
            return Err(Error::invalid(format!(
                "a traversal cannot go to depth {}; give 1 to {DEPTH_MAX}",
                self.max_depth
            )));
        }
        Ok(())
    }
}

/// A node that was reached, before its edge is read.
struct Met {
    id: String,
    depth: u32,
    via: Option<EdgeId>,
}

pub(crate) fn traverse(rows: &dyn Rows, ask: &Traverse) -> Result<Traversal> {
    ask.check()?;
    let mut seen = HashSet::new();
    let mut met: Vec<Met> = Vec::new();
    for id in &ask.start {
        if seen.insert(id.clone()) {
            met.push(Met { id: id.clone(), depth: 0, via: None });
        }
    }
    let mut truncated = met.len() > ask.limit;
    met.truncate(ask.limit);
    let (mut at, mut looked_at) = (0, 0);
    'walk: while at < met.len() && met[at].depth < ask.max_depth && !truncated {
        for range in ranges(&met[at].id, ask.direction, &ask.kinds)? {
            let mut cursor = None;
            loop {
                let (found, next) = edge_ids(rows, range.prefix.clone(), cursor, READ_AT_ONCE)?;
                looked_at += found.len();
                for edge in found {
                    let end = if range.incoming { &edge.source } else { &edge.target };
                    if seen.contains(end) {
                        continue;
                    }
                    if met.len() == ask.limit || looked_at > LOOKED_AT_MAX {
                        truncated = true;
                        break 'walk;
                    }
                    seen.insert(end.clone());
                    met.push(Met { id: end.clone(), depth: met[at].depth + 1, via: Some(edge) });
                }
                cursor = next;
                truncated |= looked_at > LOOKED_AT_MAX;
                if cursor.is_none() || truncated {
                    break;
                }
            }
        }
        at += 1;
    }
    with_edges(rows, met, truncated)
}

/// Reads the edges that led somewhere, up to as many as an answer has room for.
fn with_edges(rows: &dyn Rows, met: Vec<Met>, truncated: bool) -> Result<Traversal> {
    let mut answer = Traversal { nodes: Vec::with_capacity(met.len()), truncated };
    let (mut met, mut bytes) = (met.into_iter().peekable(), 0);
    while met.peek().is_some() {
        if bytes > ANSWER_BYTES_MAX {
            answer.truncated = true;
            break;
        }
        let mut some: Vec<Met> = met.by_ref().take(READ_AT_ONCE).collect();
        let ids = some.iter_mut().filter_map(|one| one.via.clone()).collect();
        let mut read = edges(rows, ids)?.into_iter();
        for Met { id, depth, via } in some {
            let via = via.and_then(|_| read.next()).map(|(edge, stored)| {
                bytes += stored;
                edge
            });
            answer.nodes.push(Visited { id, depth, via });
        }
    }
    Ok(answer)
}
