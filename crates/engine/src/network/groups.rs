//! Connected components, and communities by modularity (Blondel et al. 2008, "Louvain").

use crate::Result;
use crate::network::loaded::{Loaded, Rows};
use crate::network::{GroupBy, GroupNodes, Network, NodeGroup, NodeGroups};

/// Rounds through all nodes of one level, and levels.
const ROUNDS_MAX: usize = 30;
const LEVELS_MAX: usize = 12;
/// Gain of modularity below which a move is none.
const GAIN_MIN: f64 = 1e-12;

/// Nodes that belong together, in whichever direction their edges lead.
pub(crate) fn group(network: &dyn Network, ask: &GroupNodes) -> Result<NodeGroups> {
    ask.check()?;
    let loaded = Loaded::of(network)?;
    let nodes = loaded.ids.len();
    let (group_of, modularity) = match ask.by {
        GroupBy::Components => (components(nodes, &loaded.edges), None),
        GroupBy::Communities => {
            let found = communities(nodes, &loaded.edges);
            let modularity = modularity(nodes, &loaded.edges, &found);
            (found, Some(modularity))
        }
    };
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    // Nodes come in the order of their ids, so members do, too.
    group_of.iter().enumerate().for_each(|(node, group)| members[*group as usize].push(node as u32));
    members.retain(|members| !members.is_empty());
    members.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one[0].cmp(&other[0])));
    let groups_total = members.len() as u64;
    let named = |members: Vec<u32>| NodeGroup {
        size: members.len() as u64,
        members: members.iter().take(ask.members).map(|node| loaded.ids[*node as usize].clone()).collect(),
    };
    Ok(NodeGroups {
        groups: members.into_iter().take(ask.limit).map(named).collect(),
        groups_total,
        nodes_total: nodes as u64,
        edges_total: loaded.edges.len() as u64,
        modularity,
    })
}

/// The first node of each node's component, by union and find.
fn components(nodes: usize, edges: &[(u32, u32, f64)]) -> Vec<u32> {
    let mut above: Vec<u32> = (0..nodes as u32).collect();
    for (source, target, _) in edges {
        let (one, other) = (top(&mut above, *source), top(&mut above, *target));
        above[one.max(other) as usize] = one.min(other);
    }
    (0..nodes as u32).map(|node| top(&mut above, node)).collect()
}

fn top(above: &mut [u32], mut node: u32) -> u32 {
    while above[node as usize] != node {
        above[node as usize] = above[above[node as usize] as usize];
        node = above[node as usize];
    }
    node
}

/// Both ways of each edge of positive weight; a loop once.
fn both_ways(edges: &[(u32, u32, f64)]) -> Vec<(u32, u32, f64)> {
    let ways = |(source, target, weight): (u32, u32, f64)| match source == target {
        true => vec![(source, target, 2.0 * weight)],
        false => vec![(source, target, weight), (target, source, weight)],
    };
    edges.iter().filter(|(.., weight)| *weight > 0.0).copied().flat_map(ways).collect()
}

/// The community of each node.
fn communities(nodes: usize, edges: &[(u32, u32, f64)]) -> Vec<u32> {
    let mut group_of: Vec<u32> = (0..nodes as u32).collect();
    let mut edges = both_ways(edges);
    let mut count = nodes;
    for _ in 0..LEVELS_MAX {
        let rows = Rows::of(count, edges);
        let (moved, found) = one_level(&rows);
        if !moved {
            break;
        }
        // Groups become nodes, in the order of their first members.
        let mut number = vec![u32::MAX; count];
        let mut next = 0;
        for group in &found {
            if number[*group as usize] == u32::MAX {
                number[*group as usize] = next;
                next += 1;
            }
        }
        group_of.iter_mut().for_each(|group| *group = number[found[*group as usize] as usize]);
        let group = |node: usize| number[found[node] as usize];
        let mut joined: Vec<(u32, u32, f64)> = (0..count)
            .flat_map(|node| rows.from(node).iter().map(move |(to, weight)| (node, *to, *weight)))
            .map(|(from, to, weight)| (group(from), group(to as usize), weight))
            .collect();
        joined.sort_unstable_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
        joined.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
        (edges, count) = (joined, next as usize);
    }
    group_of
}

/// Moves nodes between groups while that raises the modularity. Whether any moved, and the group of each.
fn one_level(rows: &Rows) -> (bool, Vec<u32>) {
    let nodes = rows.nodes();
    let degree: Vec<f64> = (0..nodes).map(|node| rows.from(node).iter().map(|(_, weight)| weight).sum()).collect();
    let total: f64 = degree.iter().sum();
    let mut group_of: Vec<u32> = (0..nodes as u32).collect();
    if total == 0.0 {
        return (false, group_of);
    }
    let (mut inside, mut moved) = (degree.clone(), false);
    let (mut to_group, mut near) = (vec![0.0; nodes], Vec::new());
    for _ in 0..ROUNDS_MAX {
        let mut any = false;
        for (node, ends) in degree.iter().enumerate() {
            let own = group_of[node];
            near.clear();
            for (to, weight) in rows.from(node).iter().filter(|(to, _)| *to as usize != node) {
                let group = group_of[*to as usize];
                if to_group[group as usize] == 0.0 {
                    near.push(group);
                }
                to_group[group as usize] += weight;
            }
            inside[own as usize] -= ends;
            let gain = |group: u32| to_group[group as usize] - inside[group as usize] * ends / total;
            let (mut best, mut best_gain) = (own, gain(own));
            near.sort_unstable();
            for group in near.iter().filter(|group| **group != own) {
                if gain(*group) > best_gain + GAIN_MIN * total {
                    (best, best_gain) = (*group, gain(*group));
                }
            }
            inside[best as usize] += ends;
            if best != own {
                group_of[node] = best;
                (any, moved) = (true, true);
            }
            near.iter().for_each(|group| to_group[*group as usize] = 0.0);
        }
        if !any {
            break;
        }
    }
    (moved, group_of)
}

/// The share of edges inside groups, less the share that chance would give them.
fn modularity(nodes: usize, edges: &[(u32, u32, f64)], group_of: &[u32]) -> f64 {
    let (mut inside, mut ends, mut total) = (0.0, vec![0.0; nodes], 0.0);
    for (from, to, weight) in both_ways(edges) {
        total += weight;
        ends[group_of[from as usize] as usize] += weight;
        if group_of[from as usize] == group_of[to as usize] {
            inside += weight;
        }
    }
    match total == 0.0 {
        true => 0.0,
        false => inside / total - ends.iter().map(|ends| (ends / total) * (ends / total)).sum::<f64>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cliques of five with one edge between them.
    fn cliques() -> Vec<(u32, u32, f64)> {
        let clique =
            |from: u32| (from..from + 5).flat_map(move |one| (one + 1..from + 5).map(move |other| (one, other, 1.0)));
        clique(0).chain(clique(5)).chain([(4, 5, 1.0)]).collect()
    }

    #[test]
    fn two_cliques_are_two_communities_and_one_component() {
        let edges = cliques();
        assert_eq!(components(10, &edges), [0; 10]);
        let found = communities(10, &edges);
        assert!(found[..5].iter().all(|group| *group == found[0]) && found[5..].iter().all(|group| *group == found[5]));
        assert_ne!(found[0], found[5]);
        // 20 of 21 edges inside, each half of all ends: 20/21 - 1/2.
        assert!((modularity(10, &edges, &found) - (20.0 / 21.0 - 0.5)).abs() < 1e-12);
    }

    #[test]
    fn no_single_move_raises_the_modularity_of_what_was_found() {
        let mut dice = fastrand::Rng::with_seed(3);
        for nodes in [2, 7, 30, 60] {
            let node = |dice: &mut fastrand::Rng| dice.u32(0..nodes);
            let edges: Vec<_> =
                (0..nodes * 2).map(|_| (node(&mut dice), node(&mut dice), f64::from(dice.u32(1..4)))).collect();
            let found = communities(nodes as usize, &edges);
            let reached = modularity(nodes as usize, &edges, &found);
            let alone: Vec<u32> = (0..nodes).collect();
            assert!(reached >= modularity(nodes as usize, &edges, &alone) - 1e-12);
            let whole = vec![0; nodes as usize];
            assert!(reached >= modularity(nodes as usize, &edges, &whole) - 1e-9);
        }
    }
}
