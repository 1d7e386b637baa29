//! The cheapest paths: Dijkstra's algorithm over edges that are read when they are met, and Yen's (1971) for further paths.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ops::ControlFlow;

use crate::network::{FindPaths, Network, PathCost, PathFound, PathStep, PathsFound, Step};
use crate::runtime::Reservation;
use crate::{Error, Result};

/// Edges that are looked at.
const EDGES_MAX: usize = 500_000;
/// Bytes of an edge that is kept, besides its type, and of a node besides its id.
const EDGE_BYTES: u64 = 64;
const NODE_BYTES: u64 = 160;

/// The cheapest paths, without one that meets a node twice.
pub(crate) fn paths(network: &dyn Network, ask: &FindPaths) -> Result<PathsFound> {
    ask.check()?;
    let mut search = Search {
        network,
        cost: ask.cost,
        room: network.room(),
        ids: Vec::new(),
        numbers: HashMap::new(),
        edges: Vec::new(),
        looked_at: 0,
        bytes: 0,
        truncated: false,
    };
    let (from, to) = (search.number(&ask.from), search.number(&ask.to));
    let mut found: Vec<Way> = Vec::new();
    let mut waiting: Vec<Way> = Vec::new();
    let first = search.cheapest(from, to, ask.max_steps, &HashSet::new(), &HashSet::new())?;
    waiting.extend(first);
    while found.len() < ask.count {
        // The cheapest that waits; of equal ones that with the fewest edges, then by the ids.
        waiting.sort_by(|one, other| search.compare(one, other));
        waiting.dedup_by(|next, kept| next.nodes == kept.nodes);
        if waiting.is_empty() {
            break;
        }
        let way = waiting.remove(0);
        if found.len() + 1 < ask.count {
            for at in 0..way.nodes.len() - 1 {
                // A path with the same beginning as this one branches off here.
                let root = &way.nodes[..=at];
                let taken: HashSet<(u32, u32)> = found
                    .iter()
                    .chain([&way])
                    .filter(|known| known.nodes.get(..=at) == Some(root) && known.nodes.len() > at + 1)
                    .map(|known| (known.nodes[at], known.nodes[at + 1]))
                    .collect();
                let passed: HashSet<u32> = root[..at].iter().copied().collect();
                let left = ask.max_steps.saturating_sub(at as u32);
                if left == 0 {
                    continue;
                }
                if let Some(spur) = search.cheapest(way.nodes[at], to, left, &passed, &taken)? {
                    let nodes: Vec<u32> = root[..at].iter().chain(&spur.nodes).copied().collect();
                    let cost = search.cost_of(&nodes);
                    waiting.push(Way { nodes, cost });
                }
            }
        }
        waiting.retain(|other| other.nodes != way.nodes);
        found.push(way);
    }
    let paths = found.into_iter().map(|way| search.shown(&way)).collect();
    Ok(PathsFound { paths, truncated: search.truncated })
}

/// Nodes of a path.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    nodes: Vec<u32>,
    cost: f64,
}

/// An edge as it is kept: of several between two nodes, the cheapest.
struct Edge {
    to: u32,
    cost: f64,
    weight: f64,
    kind: String,
    reversed: bool,
    fact: Option<u64>,
}

struct Search<'n> {
    network: &'n dyn Network,
    cost: PathCost,
    room: Option<Reservation<'n>>,
    ids: Vec<String>,
    numbers: HashMap<String, u32>,
    /// `None`: not read yet.
    edges: Vec<Option<Vec<Edge>>>,
    looked_at: usize,
    bytes: u64,
    truncated: bool,
}

/// A node that is reached, ordered so that the cheapest comes first.
struct Reached {
    cost: f64,
    steps: u32,
    node: u32,
}

impl Search<'_> {
    fn number(&mut self, id: &str) -> u32 {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let number = self.ids.len() as u32;
        self.ids.push(id.to_string());
        self.numbers.insert(id.to_string(), number);
        self.edges.push(None);
        self.bytes += id.len() as u64 * 2 + NODE_BYTES;
        number
    }

    /// Reads the edges of a node, once.
    fn read(&mut self, node: u32) -> Result<()> {
        if self.edges[node as usize].is_some() {
            return Ok(());
        }
        let mut steps: Vec<Step> = Vec::new();
        let (limit, mut cut) = (EDGES_MAX.saturating_sub(self.looked_at), false);
        self.network.steps(&self.ids[node as usize], &mut |step| {
            if steps.len() == limit {
                cut = true;
                return Ok(ControlFlow::Break(()));
            }
            steps.push(step);
            Ok(ControlFlow::Continue(()))
        })?;
        self.truncated |= cut;
        self.looked_at += steps.len();
        let mut edges: HashMap<u32, Edge> = HashMap::with_capacity(steps.len());
        for step in steps {
            let Some(cost) = self.cost_of_step(&step, node)? else { continue };
            let Step { id, kind, weight, incoming, fact } = step;
            let to = self.number(&id);
            let edge = Edge { to, cost, weight, kind, reversed: incoming, fact };
            let place = |edge: &Edge| (edge.reversed, edge.kind.clone(), edge.fact);
            match edges.get(&to) {
                Some(known)
                    if known.cost.total_cmp(&edge.cost).then_with(|| place(known).cmp(&place(&edge))).is_le() => {}
                _ => drop(edges.insert(to, edge)),
            }
        }
        let mut edges: Vec<Edge> = edges.into_values().collect();
        edges.sort_by(|one, other| self.ids[one.to as usize].cmp(&self.ids[other.to as usize]));
        self.bytes += edges.iter().map(|edge| edge.kind.len() as u64 + EDGE_BYTES).sum::<u64>();
        self.edges[node as usize] = Some(edges);
        match &mut self.room {
            Some(room) => room.holds(self.bytes, self.bytes),
            None => Ok(()),
        }
    }

    /// `None`: it is no way.
    fn cost_of_step(&self, step: &Step, from: u32) -> Result<Option<f64>> {
        match self.cost {
            PathCost::Hops => Ok(Some(1.0)),
            PathCost::Weight if step.weight < 0.0 => Err(Error::invalid(format!(
                "an edge between {:?} and {:?} has the weight {}; a cost by weight takes weights from 0 on",
                self.ids[from as usize], step.id, step.weight
            ))),
            PathCost::Weight => Ok(Some(step.weight)),
            PathCost::Strength => Ok((step.weight > 0.0).then(|| 1.0 / step.weight)),
        }
    }

    fn known(&self, node: u32) -> &[Edge] {
        self.edges[node as usize].as_deref().unwrap_or_default()
    }

    /// The cheapest way that passes none of some nodes and begins with none of some edges. With a bound on its steps it keeps, for
    /// each node, the cheapest way of each number of steps that is cheaper than those with fewer.
    fn cheapest(
        &mut self,
        from: u32,
        to: u32,
        max_steps: u32,
        passed: &HashSet<u32>,
        taken: &HashSet<(u32, u32)>,
    ) -> Result<Option<Way>> {
        // Node and steps -> the node before.
        let mut before: HashMap<(u32, u32), u32> = HashMap::new();
        // Node -> the fewest steps of those that were settled: a later one costs more, and is worth it with fewer steps alone.
        let mut settled: HashMap<u32, u32> = HashMap::new();
        let mut best: HashMap<(u32, u32), f64> = HashMap::from([((from, 0), 0.0)]);
        let mut heap = BinaryHeap::from([Reached { cost: 0.0, steps: 0, node: from }]);
        while let Some(Reached { cost, steps, node }) = heap.pop() {
            if settled.get(&node).is_some_and(|fewest| *fewest <= steps) {
                continue;
            }
            settled.insert(node, steps);
            if node == to {
                let mut nodes = vec![node];
                let (mut at, mut steps) = (node, steps);
                while steps > 0 {
                    at = before[&(at, steps)];
                    steps -= 1;
                    nodes.push(at);
                }
                nodes.reverse();
                return Ok(Some(Way { nodes, cost }));
            }
            if steps == max_steps {
                continue;
            }
            self.read(node)?;
            for edge in self.known(node) {
                let next = (edge.to, steps + 1);
                let is_closed = passed.contains(&edge.to) || taken.contains(&(node, edge.to));
                if is_closed || settled.get(&edge.to).is_some_and(|fewest| *fewest <= next.1) {
                    continue;
                }
                let sum = cost + edge.cost;
                if best.get(&next).is_none_or(|known| sum < *known) {
                    best.insert(next, sum);
                    before.insert(next, node);
                    heap.push(Reached { cost: sum, steps: next.1, node: edge.to });
                }
            }
        }
        Ok(None)
    }

    fn edge(&self, from: u32, to: u32) -> Option<&Edge> {
        self.known(from).iter().find(|edge| edge.to == to)
    }

    fn cost_of(&self, nodes: &[u32]) -> f64 {
        nodes.windows(2).filter_map(|ends| self.edge(ends[0], ends[1])).map(|edge| edge.cost).sum()
    }

    fn compare(&self, one: &Way, other: &Way) -> Ordering {
        let ids = |way: &Way| way.nodes.iter().map(|node| self.ids[*node as usize].clone()).collect::<Vec<_>>();
        let by_cost = one.cost.total_cmp(&other.cost).then(one.nodes.len().cmp(&other.nodes.len()));
        by_cost.then_with(|| ids(one).cmp(&ids(other)))
    }

    fn shown(&self, way: &Way) -> PathFound {
        let step = |ends: &[u32]| {
            let edge = self.edge(ends[0], ends[1])?;
            Some(PathStep {
                from: self.ids[ends[0] as usize].clone(),
                kind: edge.kind.clone(),
                to: self.ids[ends[1] as usize].clone(),
                weight: edge.weight,
                reversed: edge.reversed,
                fact: edge.fact,
            })
        };
        PathFound { cost: way.cost, steps: way.nodes.windows(2).filter_map(step).collect() }
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap gives the greatest first.
        other.cost.total_cmp(&self.cost).then(other.steps.cmp(&self.steps)).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Reached {}
