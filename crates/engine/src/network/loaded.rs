//! A network in memory: nodes as numbers in the order of their ids, edges in rows.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::network::Network;
use crate::runtime::Reservation;
use crate::{Error, ErrorKind, Result};

/// Edges that are read at most.
const EDGES_MAX: usize = 1_000_000;
/// Bytes of ids that are kept at most.
const IDS_BYTES_MAX: usize = 64 << 20;
/// Edges after which room is asked for.
const ROOM_EVERY: usize = 4_096;
/// Bytes of an edge in all that is made of it, and of a node besides its id.
const EDGE_BYTES: u64 = 64;
const NODE_BYTES: u64 = 160;

/// Nodes and edges.
pub(super) struct Loaded<'n> {
    /// Sorted.
    pub ids: Vec<String>,
    /// Source, target, weight; in the order of both ends.
    pub edges: Vec<(u32, u32, f64)>,
    _room: Option<Reservation<'n>>,
}

impl<'n> Loaded<'n> {
    /// # Errors
    /// `Exhausted` for over a million edges, or when there is no room for them.
    pub fn of(network: &'n dyn Network) -> Result<Self> {
        let mut room = network.room();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let (mut edges, mut bytes) = (Vec::new(), 0);
        network.each_edge(&mut |source, target, weight| {
            if edges.len() == EDGES_MAX || bytes > IDS_BYTES_MAX {
                return Err(Error::new(
                    ErrorKind::Exhausted,
                    format!("the network has over {EDGES_MAX} edges, or too long ids, for this question; ask about edges of some types"),
                ));
            }
            let mut number = |id: &str| match numbers.get(id) {
                Some(number) => *number,
                None => {
                    let number = numbers.len() as u32;
                    bytes += id.len();
                    numbers.insert(id.to_string(), number);
                    number
                }
            };
            let (source, target) = (number(source), number(target));
            edges.push((source, target, weight));
            if edges.len() % ROOM_EVERY == 0
                && let Some(room) = &mut room
            {
                let held = bytes as u64 * 2 + numbers.len() as u64 * NODE_BYTES + edges.len() as u64 * EDGE_BYTES;
                room.holds(held, held)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut by_id: Vec<(String, u32)> = numbers.into_iter().collect();
        by_id.sort_unstable();
        let mut place = vec![0; by_id.len()];
        for (at, (_, number)) in by_id.iter().enumerate() {
            place[*number as usize] = at as u32;
        }
        let ids = by_id.into_iter().map(|(id, _)| id).collect();
        for edge in &mut edges {
            (edge.0, edge.1) = (place[edge.0 as usize], place[edge.1 as usize]);
        }
        edges.sort_unstable_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
        Ok(Self { ids, edges, _room: room })
    }
}

/// Where a walk goes on from each node: rows of targets with their weights.
pub(super) struct Rows {
    starts: Vec<usize>,
    ends: Vec<(u32, f64)>,
}

impl Rows {
    /// In which each edge may be gone from its first end to its second.
    pub fn of(nodes: usize, mut edges: Vec<(u32, u32, f64)>) -> Self {
        edges.sort_unstable_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
        let mut starts = vec![0; nodes + 1];
        edges.iter().for_each(|(from, ..)| starts[*from as usize + 1] += 1);
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        Self { starts, ends: edges.into_iter().map(|(_, to, weight)| (to, weight)).collect() }
    }

    pub fn from(&self, node: usize) -> &[(u32, f64)] {
        &self.ends[self.starts[node]..self.starts[node + 1]]
    }

    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }
}
