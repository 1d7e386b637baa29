//! Answering one request on a graph.

use crate::call::Done;
use crate::graph::Graph;
use crate::process::answer::Answering;
use crate::process::request::{Encoded, GraphCall};
use crate::{EmbedderChoice, Result};

pub(crate) fn answer(answering: &Answering<'_>, graph: &Graph, call: GraphCall) -> Result<Encoded> {
    match (call, answering.repeated()) {
        (GraphCall::PutNodes(_) | GraphCall::PutEdges(_), Some(_)) => answering.once_more(&()),
        // Two rows an edge.
        (GraphCall::DeleteEdges(_), Some(Done { deleted, .. })) => answering.once_more(&(deleted / 2)),
        (call, _) => one(&graph.on_behalf_of(&answering.call(EmbedderChoice::None)), call),
    }
}

fn one(graph: &Graph, call: GraphCall) -> Result<Encoded> {
    match call {
        GraphCall::PutNodes(nodes) => Encoded::of(&graph.put_nodes(&nodes)?),
        GraphCall::PutEdges(edges) => Encoded::of(&graph.put_edges(&edges)?),
        // It may be several batches; the rest of them is done now.
        GraphCall::DeleteNodes(ids) => Encoded::of(&graph.delete_nodes(&ids)?.after(graph.keyspace.call.before())),
        GraphCall::DeleteEdges(edges) => Encoded::of(&graph.delete_edges(&edges)?),
        GraphCall::Nodes(ids) => Encoded::of(&graph.nodes(&ids)?),
        GraphCall::Edge(id) => Encoded::of(&graph.edge(&id)?),
        GraphCall::Neighbors(id, ask) => Encoded::of(&graph.neighbors(&id, &ask)?),
        GraphCall::ListNodes(ask) => Encoded::of(&graph.nodes_listed(&ask)?),
        GraphCall::Counts => Encoded::of(&graph.counts()?),
        GraphCall::Traverse(ask) => Encoded::of(&graph.traverse(&ask)?),
    }
}
