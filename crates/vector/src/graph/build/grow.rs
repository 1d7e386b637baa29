//! A graph that begins as another one: kept nodes under new numbers, dropped ones bridged.
//!
//! As FreshDiskANN deletes (Singh et al., 2021, "consolidation"): a node that loses a neighbour is offered that neighbour's own
//! neighbours instead, and chooses again.

use super::adjacency::{Adjacency, Lists};
use super::batch::{Worker, node_ranges};
use super::candidate::Candidate;
use super::codes::BuildCodes;
use super::edges::Edges;
use super::{BuildParameters, parallel};

/// Marks an old node that is not kept.
pub(super) const DROPPED: u32 = u32::MAX;

/// The lists of the kept nodes; the others are absent.
pub(super) fn keep(
    codes: &BuildCodes,
    previous: &Edges,
    new_of_old: &[u32],
    parameters: &BuildParameters,
    workers: &mut [Worker],
) -> Adjacency {
    assert_eq!(previous.len(), new_of_old.len(), "one new number for each old node");
    let mut old_of_new = vec![DROPPED; codes.len()];
    for (old, new) in new_of_old.iter().enumerate().filter(|(_, new)| **new != DROPPED) {
        old_of_new[*new as usize] = old as u32;
    }
    let mut adjacency = Adjacency::new(codes.len());
    let tasks = node_ranges(&mut adjacency, workers.len());
    parallel::for_each(workers, tasks, |worker, (nodes, mut lists): (std::ops::Range<u32>, Lists<'_>)| {
        let mut kept = Vec::new();
        for node in nodes {
            let old = old_of_new[node as usize];
            if old == DROPPED {
                continue;
            }
            kept.clear();
            let neighbours = previous.neighbours(old);
            kept.extend(neighbours.iter().map(|old| new_of_old[*old as usize]).filter(|new| *new != DROPPED));
            if kept.len() == neighbours.len() {
                lists.set(node, &kept);
                continue;
            }
            for dropped in neighbours.iter().filter(|old| new_of_old[**old as usize] == DROPPED) {
                let beyond = previous.neighbours(*dropped).iter().map(|old| new_of_old[*old as usize]);
                kept.extend(beyond.filter(|new| *new != DROPPED && *new != node));
            }
            kept.sort_unstable();
            kept.dedup();
            codes.touch(&kept);
            let row = codes.row(node);
            let candidates = &mut worker.pruner.candidates;
            candidates.clear();
            candidates.extend(kept.iter().map(|other| Candidate::new(row.distance(&codes.row(*other)), *other)));
            let pruned = worker.pruner.prune(codes, node, parameters.alpha);
            // A node that lost everything around it is inserted again.
            if !pruned.neighbours.is_empty() {
                lists.choose(node, pruned);
            }
        }
    });
    adjacency
}
