//! The plainest search of a graph in the making, to judge it by: over the distances that it was built on.
#![allow(dead_code)]

use nuthatch_vector::{BuildCodes, Edges};

/// The nodes that a search found, nearest first, and the work it took.
pub struct Found {
    pub nearest: Vec<u32>,
    /// Lists read.
    pub hops: usize,
    /// Distances computed.
    pub distances: usize,
}

/// The nearest of the entries, then always the nearest node whose list was not read yet, until all of the nearest `width` are.
/// `query` is a row of `codes` that may lie behind the nodes.
pub fn search(codes: &BuildCodes, edges: &Edges, query: u32, width: usize) -> Found {
    let mut visited = vec![false; edges.len()];
    let (mut hops, mut distances) = (0, 0);
    let mut offer = |pool: &mut Vec<(f32, u32, bool)>, node: u32| {
        if !std::mem::replace(&mut visited[node as usize], true) {
            let distance = codes.distance(query, node);
            distances += 1;
            let place = pool.partition_point(|other| (other.0, other.1) < (distance, node));
            pool.insert(place, (distance, node, false));
            pool.truncate(width);
        }
    };
    let mut pool = Vec::new();
    edges.entries().iter().for_each(|entry| offer(&mut pool, *entry));
    while let Some(next) = pool.iter_mut().find(|next| !next.2) {
        next.2 = true;
        hops += 1;
        let node = next.1;
        edges.neighbours(node).iter().for_each(|neighbour| offer(&mut pool, *neighbour));
    }
    Found { nearest: pool.into_iter().map(|next| next.1).collect(), hops, distances }
}
