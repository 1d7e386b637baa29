//! A victim's graph: which node or edge a key of the model is, how it is written, and what must be found from both ends.
//!
//! `n3-5` is node 5 of writer 3, `e3-5-1` the edge from there to node 1, `e3-5-hub` the one to a node that all writers' edges lead to
//! and nobody has put. Deleting a node takes its edges along, in the model as in the graph.

use std::collections::{BTreeMap, BTreeSet};

use nuthatch_link::*;

use super::Model;

pub const GRAPH: &str = "links";
const KIND: &str = "leads to";
const HUB: &str = "hub";
/// Few, so that edges are replaced and nodes with edges deleted.
const NODES: u8 = 8;

pub fn choose_node(dice: &mut fastrand::Rng, writer: u64) -> String {
    format!("n{writer}-{}", dice.u8(..NODES))
}

pub fn choose_edge(dice: &mut fastrand::Rng, writer: u64) -> String {
    let target = if dice.u8(..4) == 0 { HUB.into() } else { dice.u8(..NODES).to_string() };
    format!("e{writer}-{}-{target}", dice.u8(..NODES))
}

pub fn is_node(key: &str) -> bool {
    key.starts_with('n')
}

pub fn node(key: &str, version: u64) -> Node {
    Node::new(id_of(key), "page").properties(properties(version))
}

pub fn edge(key: &str, version: u64) -> Edge {
    let EdgeId { source, kind, target } = edge_id(key);
    Edge::new(source, kind, target).weight(version as f64).properties(properties(version))
}

pub fn id_of(key: &str) -> String {
    key[1..].to_string()
}

pub fn edge_id(key: &str) -> EdgeId {
    let (source, target) = key[1..].rsplit_once('-').unwrap();
    let writer = source.split('-').next().unwrap();
    let target = if target == HUB { HUB.into() } else { format!("{writer}-{target}") };
    EdgeId::new(source, KIND, target)
}

fn properties(version: u64) -> Payload {
    Payload::from([("version".to_string(), Value::Int(version as i64))])
}

/// Changes one call's keys, all of one sort, all put or all deleted.
pub fn write(links: &Graph, call: &[(String, Option<u64>)]) -> Result<()> {
    let (first, version) = &call[0];
    let put = || call.iter().map(|(key, version)| (key, version.expect("all are put")));
    match (is_node(first), version) {
        (true, Some(_)) => links.put_nodes(put().map(|(key, version)| node(key, version)).collect()),
        (true, None) => links.delete_nodes(&call.iter().map(|(key, _)| id_of(key)).collect::<Vec<_>>()).map(drop),
        (false, Some(_)) => links.put_edges(put().map(|(key, version)| edge(key, version)).collect()),
        (false, None) => links.delete_edges(&call.iter().map(|(key, _)| edge_id(key)).collect::<Vec<_>>()).map(drop),
    }
}

/// The same for one key of a batch.
pub fn stage(links: &mut GraphWrites<'_>, key: &str, version: Option<u64>) -> Result<()> {
    match (is_node(key), version) {
        (true, Some(version)) => links.put_nodes(&[node(key, version)]).map(drop),
        (true, None) => links.delete_nodes(&[id_of(key)]).map(drop),
        (false, Some(version)) => links.put_edges(&[edge(key, version)]).map(drop),
        (false, None) => links.delete_edges(&[edge_id(key)]).map(drop),
    }
}

/// The same for one key of a transaction.
pub fn change(links: &TransactionGraph<'_>, key: &str, version: Option<u64>) -> Result<()> {
    match (is_node(key), version) {
        (true, Some(version)) => links.put_nodes(&[node(key, version)]),
        (true, None) => links.delete_nodes(&[id_of(key)]).map(drop),
        (false, Some(version)) => links.put_edges(&[edge(key, version)]),
        (false, None) => links.delete_edges(&[edge_id(key)]),
    }
}

/// Removes a node's edges from the model.
pub fn remove_edges(model: &mut Model, node: &str) {
    let id = id_of(node);
    model.retain(|key, _| !key.starts_with('e') || ![edge_id(key).source, edge_id(key).target].contains(&id));
}

/// Adds what the graph holds to `found`: every node, and every edge as it is found from its source, its target, and by its name.
pub fn read(db: &Database, found: &mut Model, note: &str) {
    let Ok(links) = db.existing_graph(GRAPH) else { return };
    let version_of = |properties: &Payload| match properties["version"] {
        Value::Int(version) => version as u64,
        ref other => panic!("{note}: {other:?} in place of a version"),
    };
    let own = (0..8).flat_map(|writer| (0..NODES).map(move |number| format!("{writer}-{number}")));
    let ids: Vec<String> = own.chain([HUB.to_string()]).collect();
    let mut nodes = BTreeSet::new();
    for there in links.nodes(&ids).unwrap().into_iter().flatten() {
        let (key, version) = (format!("n{}", there.id), version_of(&there.properties));
        assert_eq!(there, node(&key, version), "{note}: {key}");
        nodes.insert(there.id);
        found.insert(key, version);
    }
    let listed = links.list_nodes(&ListNodes { limit: 10_000, ..ListNodes::default() }).unwrap().nodes;
    assert_eq!(listed.into_iter().map(|node| node.id).collect::<BTreeSet<_>>(), nodes, "{note}: nodes listed");
    let [out, incoming] = [EdgeDirection::Out, EdgeDirection::In].map(|direction| {
        let ask = Neighbors { direction, limit: 10_000, ..Neighbors::default() };
        let of = |id| links.neighbors(id, &ask).unwrap_or_else(|error| panic!("{note}: {id} {direction:?}: {error}"));
        let edges = ids.iter().flat_map(|id| of(id).neighbors).map(|neighbor| (neighbor.edge.id(), neighbor.edge));
        edges.collect::<BTreeMap<EdgeId, Edge>>()
    });
    assert_eq!(out, incoming, "{note}: half an edge");
    for (id, there) in &out {
        let target = id.target.split('-').next_back().unwrap();
        let (key, version) = (format!("e{}-{target}", id.source), version_of(&there.properties));
        assert_eq!(*there, edge(&key, version), "{note}: {key}");
        assert_eq!(links.edge(id).unwrap().as_ref(), Some(there), "{note}: {key} by its name");
        found.insert(key, version);
    }
    let counts = GraphCounts { nodes: nodes.len() as u64, edges: out.len() as u64, exact: true };
    assert_eq!(links.counts().unwrap(), counts, "{note}: counts");
}
