//! Reading nodes and edges by id, and listing them.

use crate::graph::key::{self, GraphRow};
use crate::graph::node::{check_id, check_kind};
use crate::graph::{Edge, EdgeId, ListNodes, Node, NodePage, value};
use crate::kv::{KeyScan, Rows};
use crate::{Error, Result};

/// Values that are read together.
pub(crate) const READ_AT_ONCE: usize = 256;
/// Stored bytes after which an answer ends early, so that one with many properties fits into memory.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Nodes that one page looks at, of whatever type.
const LOOKED_AT_MAX: usize = 100_000;

/// Nodes by id, in the order of the ids; `None` for one that was never put.
pub(crate) fn nodes(rows: &dyn Rows, ids: &[String]) -> Result<Vec<Option<Node>>> {
    ids.iter().try_for_each(|id| check_id(id))?;
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(READ_AT_ONCE) {
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| key::node(id)).collect();
        for (id, stored) in ids.iter().zip(rows.values(&keys)?) {
            found.push(stored.map(|stored| value::node(id.clone(), &stored)).transpose()?);
        }
    }
    Ok(found)
}

/// The edge; `None` when there is none.
pub(crate) fn edge(rows: &dyn Rows, id: &EdgeId) -> Result<Option<Edge>> {
    id.check()?;
    let stored = rows.values(&[key::edge(id)])?.pop().flatten();
    stored.map(|stored| value::edge(id.clone(), &stored)).transpose()
}

/// One page of nodes.
pub(crate) fn nodes_listed(rows: &dyn Rows, ask: &ListNodes) -> Result<NodePage> {
    check_limit(ask.limit, "nodes")?;
    ask.kind.as_deref().map_or(Ok(()), check_kind)?;
    let mut scan = KeyScan { cursor: ask.cursor.clone(), ..KeyScan::prefix(key::nodes(&ask.prefix)) };
    let (mut nodes, mut bytes, mut looked_at) = (Vec::new(), 0, 0);
    loop {
        // One more than is wanted says whether there are more.
        scan.limit = match ask.kind {
            None => (ask.limit - nodes.len() + 1).min(READ_AT_ONCE),
            Some(_) => READ_AT_ONCE,
        };
        let page = rows.page(&scan)?;
        for (key, stored) in page.entries {
            if nodes.len() == ask.limit || bytes > ANSWER_BYTES_MAX || looked_at == LOOKED_AT_MAX {
                return Ok(NodePage { nodes, cursor: scan.cursor });
            }
            looked_at += 1;
            scan.cursor = Some(KeyScan::cursor_after(&key));
            let Some(GraphRow::Node(id)) = GraphRow::of(&key) else { return Err(foreign()) };
            let (kind, _) = value::parts_of_node(&stored)?;
            if ask.kind.as_deref().is_none_or(|wanted| wanted == kind) {
                bytes += key.len() + stored.len();
                nodes.push(value::node(id, &stored)?);
            }
        }
        if page.cursor.is_none() {
            return Ok(NodePage { nodes, cursor: None });
        }
    }
}

/// Up to `limit` of a node's edges after `cursor`, whose rows begin with `prefix`, and where to go on.
pub(crate) fn edge_ids(
    rows: &dyn Rows,
    prefix: Vec<u8>,
    cursor: Option<String>,
    limit: usize,
) -> Result<(Vec<EdgeId>, Option<String>)> {
    let page = rows.page(&KeyScan { cursor, limit, keys_only: true, ..KeyScan::prefix(prefix) })?;
    let of = |(key, _): (Vec<u8>, Vec<u8>)| match GraphRow::of(&key) {
        Some(GraphRow::Edge(id) | GraphRow::Pointer(id)) => Ok(id),
        _ => Err(foreign()),
    };
    Ok((page.entries.into_iter().map(of).collect::<Result<_>>()?, page.cursor))
}

/// The edges with these ids, with the stored bytes of each; they must be there.
pub(crate) fn edges(rows: &dyn Rows, ids: Vec<EdgeId>) -> Result<Vec<(Edge, usize)>> {
    let keys: Vec<Vec<u8>> = ids.iter().map(key::edge).collect();
    let stored = rows.values(&keys)?;
    let whole = ids.into_iter().zip(keys).zip(stored).map(|((id, key), stored)| {
        let stored = stored.ok_or_else(half)?;
        Ok((value::edge(id, &stored)?, key.len() + stored.len()))
    });
    whole.collect()
}

pub(crate) fn check_limit(limit: usize, what: &str) -> Result<()> {
    match limit {
        1..=10_000 => Ok(()),
        limit => Err(Error::invalid(format!("a page cannot have {limit} {what}; ask for 1 to 10,000"))),
    }
}

fn foreign() -> Error {
    Error::internal("a graph has a row that is neither a node nor an edge; run `nuthatch doctor`")
}

fn half() -> Error {
    Error::internal("a graph lacks an edge that a node points to; run `nuthatch doctor --repair`")
}
