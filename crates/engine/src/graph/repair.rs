//! Making the rest of a graph consistent again after the store has lost a part.

use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table};

use crate::Result;
use crate::durability::Durability;
use crate::graph::key::{self, GraphRow};
use crate::graph::value;
use crate::kv::{inline_value, stored_inline};
use crate::runtime::Runtime;

/// Rows by which a graph is recognised after its catalog entry was lost.
const ROWS_LOOKED_AT: usize = 64;
/// Changes of one batch.
const MENDED_AT_ONCE: usize = 10_000;

/// True when the first rows of a shard are those of a graph.
pub(crate) fn looks_like_one(reader: &dyn Reader, shard: Shard) -> Result<bool> {
    let (mut rows, mut all) = (0, true);
    reader.scan(Table::Kv, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, stored| {
        rows += 1;
        all &= inline_value(stored).is_some_and(|stored| match GraphRow::of(Shard::suffix(key)) {
            Some(GraphRow::Node(id)) => value::node(id, stored).is_ok(),
            Some(GraphRow::Edge(id)) => value::edge(id, stored).is_ok(),
            Some(GraphRow::Pointer(_)) => stored.is_empty(),
            None => false,
        });
        if all && rows < ROWS_LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(all && rows > 0)
}

/// Gives edges the pointers that they lack, and removes pointers whose edge was lost. Says how many edges had to go, as far as
/// their pointers tell.
pub(crate) fn mend_graph(shared: &Runtime, shard: Shard) -> Result<u64> {
    let (mut batch, mut lost, mut failed) = (Batch::new(), 0, Ok(()));
    shared.store.scan(Table::Kv, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, _| {
        failed = mend_row(shared, shard, key, &mut batch, &mut lost);
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failed?;
    let position = shared.write(batch)?;
    shared.make_durable(position, Durability::Commit)?;
    Ok(lost)
}

/// Notes in `batch` what one row of a graph lacks, and writes it when it is full.
fn mend_row(shared: &Runtime, shard: Shard, key: &[u8], batch: &mut Batch, lost: &mut u64) -> Result<()> {
    match GraphRow::of(Shard::suffix(key)) {
        Some(GraphRow::Edge(id)) => {
            let pointer = shard.key(&key::pointer(&id));
            if shared.store.get(Table::Kv, &pointer)?.is_none() {
                batch.put(Table::Kv, pointer, stored_inline(Vec::new()));
            }
        }
        Some(GraphRow::Pointer(id)) if shared.store.get(Table::Kv, &shard.key(&key::edge(&id)))?.is_none() => {
            batch.delete(Table::Kv, key.to_vec());
            *lost += 1;
        }
        _ => {}
    }
    match batch.len() < MENDED_AT_ONCE {
        true => Ok(()),
        false => shared.write(std::mem::take(batch)).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::database::Database;
    use crate::graph::{Edge, EdgeDirection, EdgeId, GraphCounts, Neighbors, Node, counts, neighbors};
    use crate::kv::KvOp;

    #[test]
    fn half_edges_become_whole_or_go() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let graph = db.graph("g").unwrap();
        graph.put_nodes(&[Node::new("a", "t")]).unwrap();
        graph.put_edges(&[Edge::new("a", "x", "b").weight(2.0), Edge::new("a", "x", "c")]).unwrap();
        let keys = [key::pointer(&EdgeId::new("a", "x", "b")), key::edge(&EdgeId::new("a", "x", "c"))];
        graph.keyspace.delete(&keys).unwrap();
        let shard = graph.keyspace.space.shard;
        assert_eq!(mend_graph(&db.inner.shared, shard).unwrap(), 1);
        let incoming = Neighbors { direction: EdgeDirection::In, ..Neighbors::default() };
        assert_eq!(neighbors(&graph.keyspace, "b", &incoming).unwrap().neighbors[0].edge.weight, 2.0);
        assert!(neighbors(&graph.keyspace, "c", &incoming).unwrap().neighbors.is_empty());
        assert_eq!(counts(&graph.keyspace).unwrap(), GraphCounts { nodes: 1, edges: 1, exact: true });
        assert_eq!(mend_graph(&db.inner.shared, shard).unwrap(), 0);
    }

    #[test]
    fn a_graph_is_known_by_its_rows() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let graph = db.graph("g").unwrap();
        graph.put_edges(&[Edge::new("a", "x", "b")]).unwrap();
        let known = |shard| looks_like_one(&db.inner.shared.store, shard).unwrap();
        assert!(known(graph.keyspace.space.shard));
        let plain = db.kv("plain").unwrap();
        assert!(!known(plain.space.shard), "nothing tells");
        for key in ["name", "edges", "id"] {
            plain.multi_put(vec![KvOp::Put { key: key.into(), value: "hello".into(), expires_in: None }]).unwrap();
            assert!(!known(plain.space.shard), "{key}");
        }
        // A repair that finds rows without an entry makes one of their kind.
        let mut batch = Batch::new();
        for name in ["g", "plain"] {
            batch.delete(Table::Catalog, crate::kv::keyspace_key(0, name));
        }
        db.inner.shared.write(batch).unwrap();
        db.inner.registry.spaces.lock().clear();
        db.inner.registry.restore_keyspaces().unwrap();
        let kinds: Vec<_> = db.inner.registry.keyspaces(0).unwrap().iter().map(|it| it.kind.what().name()).collect();
        assert_eq!(kinds, ["graph", "keyspace"]);
    }
}
