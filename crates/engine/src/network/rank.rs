//! PageRank by power iteration (Page et al. 1999), personalised where a walk begins again at seeds.

use crate::Result;
use crate::graph::EdgeDirection;
use crate::network::loaded::{Loaded, Rows};
use crate::network::{Network, RankNodes, RankedNode, RankedNodes};

/// Rounds at most.
const ROUNDS_MAX: u32 = 100;
/// Change of all ranks together at which they stand still.
const STILL: f64 = 1e-9;

/// The nodes of highest rank. Weights are shares of a node's edges; those of 0 and less are no way. From a node without a way, a walk
/// begins again.
pub(crate) fn rank(network: &dyn Network, ask: &RankNodes) -> Result<RankedNodes> {
    ask.check()?;
    let loaded = Loaded::of(network)?;
    let nodes = loaded.ids.len();
    let edges = loaded.edges.iter().filter(|(.., weight)| *weight > 0.0).copied();
    let back = |(source, target, weight)| (target, source, weight);
    let edges: Vec<(u32, u32, f64)> = match ask.direction {
        EdgeDirection::Out => edges.collect(),
        EdgeDirection::In => edges.map(back).collect(),
        EdgeDirection::Both => edges.flat_map(|edge| [edge, back(edge)]).collect(),
    };
    let edges_total = loaded.edges.len() as u64;
    let rows = Rows::of(nodes, edges);
    let mut again = vec![0.0; nodes];
    let seeds = ask.seeds.iter().filter_map(|(id, share)| Some((loaded.ids.binary_search(id).ok()?, share)));
    seeds.for_each(|(at, share)| again[at] += share);
    let sum: f64 = again.iter().sum();
    if ask.seeds.is_empty() {
        again.fill(1.0 / nodes.max(1) as f64);
    } else if sum > 0.0 {
        again.iter_mut().for_each(|share| *share /= sum);
    } else {
        // None of the seeds has an edge: nothing is reached from them.
        return Ok(RankedNodes { nodes: Vec::new(), nodes_total: nodes as u64, edges_total, rounds: 0 });
    }
    let weights: Vec<f64> = (0..nodes).map(|at| rows.from(at).iter().map(|(_, weight)| weight).sum()).collect();
    let (mut ranks, mut next, mut rounds) = (again.clone(), vec![0.0; nodes], 0);
    while rounds < ROUNDS_MAX {
        rounds += 1;
        next.fill(0.0);
        let mut lost = 0.0;
        for (at, (rank, sum)) in ranks.iter().zip(&weights).enumerate() {
            if *sum == 0.0 {
                lost += rank;
            } else {
                rows.from(at).iter().for_each(|(to, weight)| next[*to as usize] += rank / sum * weight);
            }
        }
        let begins = 1.0 - ask.damping + ask.damping * lost;
        let mut change = 0.0;
        for ((next, rank), again) in next.iter_mut().zip(&ranks).zip(&again) {
            *next = ask.damping * *next + begins * again;
            change += (*next - rank).abs();
        }
        std::mem::swap(&mut ranks, &mut next);
        if change < STILL {
            break;
        }
    }
    let mut order: Vec<usize> = (0..nodes).filter(|at| ranks[*at] > 0.0).collect();
    order.sort_by(|one, other| ranks[*other].total_cmp(&ranks[*one]).then_with(|| one.cmp(other)));
    let named = order.into_iter().take(ask.limit).map(|at| RankedNode { id: loaded.ids[at].clone(), rank: ranks[at] });
    Ok(RankedNodes { nodes: named.collect(), nodes_total: nodes as u64, edges_total, rounds })
}
