//! Deleting nodes, and with them their edges in both directions.

use std::collections::BTreeSet;

use nuthatch_store::Batch;

use crate::Result;
use crate::call::Outcome;
use crate::graph::node::check_id;
use crate::graph::read::{READ_AT_ONCE, edge_ids};
use crate::graph::{Graph, NodesDeleted, key};
use crate::kv::{KvOp, Live, Rows};

/// Edges that one batch removes at most.
pub const REMOVED_AT_ONCE: usize = 100_000;

/// The rows to delete with some nodes.
pub struct Removal {
    /// Keys of the rows, in the graph's keyspace.
    pub keys: BTreeSet<Vec<u8>>,
    /// The nodes and edges that the rows belong to.
    pub gone: NodesDeleted,
    /// False: there are more edges, and the nodes themselves are not among the rows.
    pub is_whole: bool,
}

impl Removal {
    /// Finds the rows of these nodes and of up to `edges_max` of their edges.
    pub fn of<'i>(rows: &dyn Rows, ids: impl IntoIterator<Item = &'i str>, edges_max: usize) -> Result<Self> {
        let mut removal = Self { keys: BTreeSet::new(), gone: NodesDeleted::default(), is_whole: true };
        let ids: BTreeSet<&str> = ids.into_iter().collect();
        ids.iter().try_for_each(|id| check_id(id))?;
        let mut nodes = Vec::with_capacity(ids.len());
        for id in ids {
            for incoming in [false, true] {
                if !removal.add_edges(rows, id, incoming, edges_max)? {
                    removal.is_whole = false;
                    return Ok(removal);
                }
            }
            nodes.push(key::node(id));
        }
        for nodes in nodes.chunks(READ_AT_ONCE) {
            let there = nodes.iter().zip(rows.values(nodes)?).filter(|(_, stored)| stored.is_some());
            for (key, _) in there {
                removal.gone.nodes += 1;
                removal.keys.insert(key.clone());
            }
        }
        Ok(removal)
    }

    /// False when there is no room for more.
    fn add_edges(&mut self, rows: &dyn Rows, id: &str, incoming: bool, edges_max: usize) -> Result<bool> {
        let mut cursor = None;
        loop {
            let (found, next) = edge_ids(rows, key::edges_of(id, None, incoming), cursor, 10_000)?;
            for edge in found {
                let row = key::edge(&edge);
                if self.keys.contains(&row) {
                    continue; // a loop, or an edge between two of the nodes
                }
                if self.gone.edges as usize == edges_max {
                    return Ok(false);
                }
                self.gone.edges += 1;
                self.keys.insert(row);
                self.keys.insert(key::pointer(&edge));
            }
            if next.is_none() {
                return Ok(true);
            }
            cursor = next;
        }
    }

    /// The changes that remove the rows.
    pub fn into_ops(self) -> Vec<KvOp> {
        self.keys.into_iter().map(|key| KvOp::Delete { key }).collect()
    }
}

impl Graph {
    /// Deletes nodes with all their edges; says how many of both were there. Up to 100,000 edges are one batch.
    pub fn delete_nodes(&self, ids: &[String]) -> Result<NodesDeleted> {
        self.delete_nodes_by(ids, REMOVED_AT_ONCE)
    }

    fn delete_nodes_by(&self, ids: &[String], edges_max: usize) -> Result<NodesDeleted> {
        let space = &self.keyspace.space;
        let mut gone = NodesDeleted::default();
        loop {
            let (position, is_whole) = {
                // Nobody puts an edge between finding and deleting.
                let _commit = space.shared.store.commit.write();
                space.check_open()?;
                let removal = Removal::of(
                    &Live { space, reader: &*space.shared.store()? },
                    ids.iter().map(String::as_str),
                    edges_max,
                )?;
                if removal.keys.is_empty() {
                    return Ok(gone);
                }
                let (now, is_whole) = (removal.gone, removal.is_whole);
                gone = NodesDeleted { nodes: gone.nodes + now.nodes, edges: gone.edges + now.edges };
                let mut batch = Batch::new();
                self.keyspace.call.sign(&mut batch, outcome(now));
                let staged = space.stage(&mut batch, removal.into_ops())?;
                (space.write_staged(batch, staged)?, is_whole)
            };
            space.shared.make_durable(position, self.keyspace.durability)?;
            if is_whole {
                return Ok(gone);
            }
        }
    }
}

/// As an idempotency record keeps it.
fn outcome(gone: NodesDeleted) -> Outcome {
    Outcome { deleted: gone.nodes, value: gone.edges as i64, ..Outcome::default() }
}

impl NodesDeleted {
    /// With what the same request had deleted before.
    pub fn after(self, before: Outcome) -> Self {
        Self { nodes: self.nodes + before.deleted, edges: self.edges + before.value as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::database::Database;
    use crate::durability::Durability;
    use crate::graph::{Edge, GraphCounts, Node};

    #[test]
    fn a_hub_goes_in_several_batches_each_of_whole_edges() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let graph = db.graph("g").unwrap();
        assert_eq!(graph.keyspace.durability, Durability::Commit);
        graph.put_nodes(&[Node::new("hub", "x"), Node::new("leaf 1", "x")]).unwrap();
        let leaf = |at: usize| format!("leaf {at}");
        let edges: Vec<Edge> = (0..25)
            .flat_map(|at| [Edge::new("hub", "to", leaf(at)), Edge::new(leaf(at), "from", "hub")])
            .chain([Edge::new("hub", "to", "hub"), Edge::new(leaf(1), "to", leaf(2))])
            .collect();
        graph.put_edges(&edges).unwrap();
        let before = db.inner.shared.store().unwrap();
        let first = Removal::of(&Live { space: &graph.keyspace.space, reader: &*before }, ["hub"], 7).unwrap();
        assert!(!first.is_whole && first.gone == NodesDeleted { nodes: 0, edges: 7 } && first.keys.len() == 14);
        drop(before);
        let gone = graph.delete_nodes_by(&["hub".into(), "hub".into()], 7).unwrap();
        assert_eq!(gone, NodesDeleted { nodes: 1, edges: 51 });
        assert_eq!(crate::graph::counts(&graph.keyspace).unwrap(), GraphCounts { nodes: 1, edges: 1, exact: true });
        assert_eq!(graph.delete_nodes(&["hub".into()]).unwrap(), NodesDeleted::default());
    }
}
