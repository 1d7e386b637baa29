//! The promise that the first entry reaches every node.
//!
//! Pruning may leave a node to which nothing leads: rare in ordinary data, common among duplicates.

use super::DEGREE;
use super::adjacency::Adjacency;
use super::beam::Beam;
use super::codes::BuildCodes;

/// Adds an edge to each node that `entry` does not reach, from a near node that it does reach. Every list must have been
/// pruned; none grows beyond [`DEGREE`].
pub(super) fn connect(codes: &BuildCodes, adjacency: &mut Adjacency, entry: u32, beam: &mut Beam) {
    let mut reached = vec![0u64; adjacency.len().div_ceil(64)];
    let mut waiting = Vec::new();
    spread(adjacency, &mut reached, &mut waiting, entry);
    for node in 0..adjacency.len() as u32 {
        if is_reached(&reached, node) {
            continue;
        }
        beam.search(codes, adjacency, &[entry], &codes.row(node));
        beam.expanded.sort_unstable();
        let near = || beam.expanded.iter().map(|candidate| candidate.node());
        match near().find(|near| adjacency.neighbours(*near).len() < DEGREE) {
            Some(near) => adjacency.all().append(near, node),
            None => splice(adjacency, near().next().expect("the entry at least"), node),
        }
        spread(adjacency, &mut reached, &mut waiting, node);
    }
}

/// Inserts `node` between `near` and its last neighbour, which stays reachable. Any neighbour that `node` drops for
/// this was not reached through it so far.
fn splice(adjacency: &mut Adjacency, near: u32, node: u32) {
    let mut from_near = adjacency.neighbours(near).to_vec();
    let last = from_near.pop().expect("a full list");
    from_near.push(node);
    let mut from_node = adjacency.neighbours(node).to_vec();
    if !from_node.contains(&last) {
        from_node.truncate(DEGREE - 1);
        from_node.push(last);
    }
    let mut lists = adjacency.all();
    lists.set(near, &from_near);
    lists.set(node, &from_node);
}

/// Marks what `node` reaches.
fn spread(adjacency: &Adjacency, reached: &mut [u64], waiting: &mut Vec<u32>, node: u32) {
    let mut visit = |node: u32, waiting: &mut Vec<u32>| {
        let bit = 1 << (node % 64);
        if reached[node as usize / 64] & bit == 0 {
            reached[node as usize / 64] |= bit;
            waiting.push(node);
        }
    };
    visit(node, waiting);
    while let Some(node) = waiting.pop() {
        adjacency.neighbours(node).iter().for_each(|neighbour| visit(*neighbour, waiting));
    }
}

fn is_reached(reached: &[u64], node: u32) -> bool {
    reached[node as usize / 64] >> (node % 64) & 1 == 1
}
