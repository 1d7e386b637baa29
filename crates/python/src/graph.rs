//! A graph as Python sees it: as it is, in a snapshot, or in a transaction.

use std::sync::Arc;

use nuthatch_dialect::networks;
use nuthatch_link as core;
use nuthatch_link::{
    Edge, EdgeId, ListNodes, NeighborPage, Neighbors, Node, NodePage, Payload, Traversal, Traverse, datetimes_of,
    payload_to_json,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::error::{engine, invalid, to_python};
use crate::forked::Forked;
use crate::handle::Handle;
use crate::keyspace::durability;
use crate::value::{payload_from_python, payload_to_python};

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Graph {
    at: At,
    name: String,
    handle: Handle,
}

enum At {
    Live(core::Graph),
    Kept(Forked<core::SnapshotGraph>),
    Inside(Arc<Forked<core::Transaction>>),
}

/// id, type, properties
pub type NodeParts<'py> = (String, String, Bound<'py, PyAny>);
/// source, type, target, weight, properties
pub type EdgeParts<'py> = (String, String, String, f64, Bound<'py, PyAny>);
/// source, type, target
pub type EdgeIdParts = (String, String, String);
/// id of the other end, edge
type NeighborParts<'py> = (String, EdgeParts<'py>);
/// id, depth, edge that led there
type VisitedParts<'py> = (String, u32, Option<EdgeParts<'py>>);

/// The arguments of `neighbors`, as the package passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct NeighborArguments {
    direction: String,
    types: Vec<String>,
    limit: usize,
    cursor: Option<String>,
}

/// The arguments of `traverse`, as the package passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TraverseArguments {
    start: Vec<String>,
    direction: String,
    types: Vec<String>,
    max_depth: u32,
    limit: usize,
}

impl Graph {
    pub fn live(graph: core::Graph, handle: Handle) -> Self {
        Self { name: graph.name().into(), at: At::Live(graph), handle }
    }

    pub fn kept(graph: core::SnapshotGraph, name: String, handle: Handle) -> Self {
        Self { at: At::Kept(Forked::new(graph)), name, handle }
    }

    pub fn inside(transaction: Arc<Forked<core::Transaction>>, name: String, handle: Handle) -> Self {
        Self { at: At::Inside(transaction), name, handle }
    }
}

/// Asks whichever graph it is, by the name that the call has in all of them.
macro_rules! ask {
    ($self:ident, $py:ident, |$graph:ident| $call:expr) => {{
        $self.handle.get($py)?;
        match &$self.at {
            At::Live($graph) => engine($py, || $call),
            At::Kept(kept) => {
                let $graph = kept.get();
                engine($py, || $call)
            }
            At::Inside(transaction) => {
                let transaction = transaction.get();
                engine($py, || {
                    let $graph = transaction.graph(&$self.name)?;
                    $call
                })
            }
        }
    }};
}

/// Writes to a graph as it is, or in a transaction.
macro_rules! write {
    ($self:ident, $py:ident, $durability:ident, |$live:ident| $now:expr, |$inside:ident| $later:expr) => {{
        $self.handle.get($py)?;
        match &$self.at {
            At::Live(graph) => {
                let $live = match durability($py, $durability)? {
                    Some(durability) => graph.with_durability(durability),
                    None => graph.clone(),
                };
                engine($py, || $now)
            }
            At::Inside(transaction) => {
                let transaction = transaction.get();
                engine($py, || {
                    let $inside = transaction.graph(&$self.name)?;
                    $later
                })
            }
            At::Kept(_) => Err(invalid($py, "a snapshot is read, not written")),
        }
    }};
}

#[pymethods]
impl Graph {
    /// Asks about paths, ranks or groups: JSON in and JSON out.
    #[allow(clippy::needless_borrow, reason = "a transaction's graph is a value, the others are references")]
    fn ask(&self, py: Python<'_>, call: &str, question: &str) -> PyResult<String> {
        let question = serde_json::from_str(question).map_err(|error| invalid(py, format!("{call}: {error}")))?;
        let answer: serde_json::Value = ask!(self, py, |graph| networks::ask(&graph, call, question))?;
        Ok(answer.to_string())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn get_nodes<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Vec<Option<NodeParts<'py>>>> {
        let found = ask!(self, py, |graph| graph.nodes(&ids))?;
        found.into_iter().map(|node| node.map(|node| node_parts(py, node)).transpose()).collect()
    }

    fn get_edge<'py>(&self, py: Python<'py>, edge: EdgeIdParts) -> PyResult<Option<EdgeParts<'py>>> {
        let id = edge_id(edge);
        ask!(self, py, |graph| graph.edge(&id))?.map(|edge| edge_parts(py, edge)).transpose()
    }

    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        id: String,
        arguments: NeighborArguments,
    ) -> PyResult<(Vec<NeighborParts<'py>>, Option<String>)> {
        let NeighborArguments { direction, types, limit, cursor } = arguments;
        let direction = direction.parse().map_err(|error| to_python(py, error, None))?;
        let ask = Neighbors { direction, kinds: types, limit, cursor };
        let NeighborPage { neighbors, cursor } = ask!(self, py, |graph| graph.neighbors(&id, &ask))?;
        let parts = neighbors.into_iter().map(|it| Ok((it.id, edge_parts(py, it.edge)?)));
        Ok((parts.collect::<PyResult<_>>()?, cursor))
    }

    fn list_nodes<'py>(
        &self,
        py: Python<'py>,
        kind: Option<String>,
        prefix: String,
        limit: usize,
        cursor: Option<String>,
    ) -> PyResult<(Vec<NodeParts<'py>>, Option<String>)> {
        let ask = ListNodes { kind, prefix, limit, cursor };
        let NodePage { nodes, cursor } = ask!(self, py, |graph| graph.list_nodes(&ask))?;
        Ok((nodes.into_iter().map(|node| node_parts(py, node)).collect::<PyResult<_>>()?, cursor))
    }

    fn traverse<'py>(&self, py: Python<'py>, arguments: TraverseArguments) -> PyResult<(Vec<VisitedParts<'py>>, bool)> {
        let TraverseArguments { start, direction, types, max_depth, limit } = arguments;
        let direction = direction.parse().map_err(|error| to_python(py, error, None))?;
        let ask = Traverse { start, direction, kinds: types, max_depth, limit };
        let Traversal { nodes, truncated } = ask!(self, py, |graph| graph.traverse(&ask))?;
        let parts =
            nodes.into_iter().map(|it| Ok((it.id, it.depth, it.via.map(|edge| edge_parts(py, edge)).transpose()?)));
        Ok((parts.collect::<PyResult<_>>()?, truncated))
    }

    /// Nodes, edges, and whether these are exact.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64, bool)> {
        let counts = ask!(self, py, |graph| graph.counts())?;
        Ok((counts.nodes, counts.edges, counts.exact))
    }

    fn put_nodes(&self, py: Python<'_>, nodes: Vec<NodeParts<'_>>, durability: Option<&str>) -> PyResult<()> {
        let nodes = all_nodes(nodes)?;
        write!(self, py, durability, |live| live.put_nodes(nodes), |inside| inside.put_nodes(&nodes))
    }

    fn put_edges(&self, py: Python<'_>, edges: Vec<EdgeParts<'_>>, durability: Option<&str>) -> PyResult<()> {
        let edges = all_edges(edges)?;
        write!(self, py, durability, |live| live.put_edges(edges), |inside| inside.put_edges(&edges))
    }

    /// Nodes and edges that were there.
    fn delete_nodes(&self, py: Python<'_>, ids: Vec<String>, durability: Option<&str>) -> PyResult<(u64, u64)> {
        let gone = write!(self, py, durability, |live| live.delete_nodes(&ids), |inside| inside.delete_nodes(&ids))?;
        Ok((gone.nodes, gone.edges))
    }

    /// Edges that were there; 0 in a transaction, which does not look.
    fn delete_edges(&self, py: Python<'_>, edges: Vec<EdgeIdParts>, durability: Option<&str>) -> PyResult<u64> {
        let ids = edge_ids(edges);
        write!(self, py, durability, |live| live.delete_edges(&ids), |inside| inside.delete_edges(&ids).map(|()| 0))
    }
}

pub fn edge_ids(edges: Vec<EdgeIdParts>) -> Vec<EdgeId> {
    edges.into_iter().map(edge_id).collect()
}

fn edge_id((source, kind, target): EdgeIdParts) -> EdgeId {
    EdgeId { source, kind, target }
}

pub fn all_nodes(nodes: Vec<NodeParts<'_>>) -> PyResult<Vec<Node>> {
    let node = |(id, kind, given): NodeParts<'_>| {
        let properties = properties(&|| format!("node {id:?}"), &given)?;
        Ok(Node { id, kind, properties })
    };
    nodes.into_iter().map(node).collect()
}

pub fn all_edges(edges: Vec<EdgeParts<'_>>) -> PyResult<Vec<Edge>> {
    let edge = |(source, kind, target, weight, given): EdgeParts<'_>| {
        let properties = properties(&|| format!("edge {source:?} -{kind}-> {target:?}"), &given)?;
        Ok(Edge { source, kind, target, weight, properties })
    };
    edges.into_iter().map(edge).collect()
}

fn properties(name: &dyn Fn() -> String, given: &Bound<'_, PyAny>) -> PyResult<Payload> {
    if given.is_none() { Ok(Payload::new()) } else { payload_from_python(name, given) }
}

fn node_parts<'py>(py: Python<'py>, node: Node) -> PyResult<NodeParts<'py>> {
    Ok((node.id, node.kind, payload_to_python(py, &node.properties)?.into_any()))
}

fn edge_parts<'py>(py: Python<'py>, edge: Edge) -> PyResult<EdgeParts<'py>> {
    let properties = payload_to_python(py, &edge.properties)?.into_any();
    Ok((edge.source, edge.kind, edge.target, edge.weight, properties))
}

/// Nodes as a request's body has them, refused where the engine would refuse them.
#[pyfunction]
pub fn nodes_json<'py>(py: Python<'py>, nodes: Vec<NodeParts<'py>>) -> PyResult<Bound<'py, PyBytes>> {
    let nodes = all_nodes(nodes)?;
    engine(py, || nodes.iter().try_for_each(Node::check))?;
    let bodies = nodes.into_iter().map(|Node { id, kind, properties }| {
        json!({"id": id, "type": kind, "properties": payload_to_json(&properties), "datetimes": datetimes_of(&properties)})
    });
    written(py, bodies.collect())
}

/// Edges, in the same way.
#[pyfunction]
pub fn edges_json<'py>(py: Python<'py>, edges: Vec<EdgeParts<'py>>) -> PyResult<Bound<'py, PyBytes>> {
    let edges = all_edges(edges)?;
    engine(py, || edges.iter().try_for_each(Edge::check))?;
    let bodies = edges.into_iter().map(|Edge { source, kind, target, weight, properties }| {
        let (datetimes, properties) = (datetimes_of(&properties), payload_to_json(&properties));
        json!({"source": source, "type": kind, "target": target, "weight": weight, "properties": properties,
            "datetimes": datetimes})
    });
    written(py, bodies.collect())
}

/// Refuses ids that no node, and edges that no graph can have.
#[pyfunction]
pub fn check_graph_ids(py: Python<'_>, nodes: Vec<String>, edges: Vec<EdgeIdParts>) -> PyResult<()> {
    let edges = edge_ids(edges);
    engine(py, || {
        core::WriteBatch::new().graph("any").delete_nodes(&nodes)?;
        edges.iter().try_for_each(EdgeId::check)
    })
}

fn written(py: Python<'_>, bodies: Vec<serde_json::Value>) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = serde_json::to_vec(&bodies).map_err(|error| invalid(py, error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}
