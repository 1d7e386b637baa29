//! Graphs: making, listing and dropping them, writing and reading their nodes and edges.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_dialect::networks::{
    self, GroupsAnswer, GroupsQuestion, PathsAnswer, PathsQuestion, RankAnswer, RankQuestion,
};
use nuthatch_link::{EdgeDirection, Error, ListNodes, Neighbors, Result as EngineResult, Traverse, What};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Scope;
use crate::admission::BodyReservation;
use crate::api::batches::Graph as GraphWrites;
use crate::api::durable::Durably;
use crate::api::nodes::{Edge, EdgeId, Node, edges_into_engine, ids_into_engine, nodes_into_engine};
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::{Caller, Reading, Writing};
use crate::extract::{Json, Parameters, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(create, remove))
        .routes(routes!(counts))
        .routes(routes!(put_nodes))
        .routes(routes!(get_nodes))
        .routes(routes!(list_nodes))
        .routes(routes!(delete_nodes))
        .routes(routes!(put_edges))
        .routes(routes!(get_edges))
        .routes(routes!(delete_edges))
        .routes(routes!(neighbors))
        .routes(routes!(traverse))
        .routes(routes!(paths))
        .routes(routes!(rank))
        .routes(routes!(groups))
}

#[derive(Serialize, ToSchema)]
struct Graphs {
    graphs: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct Graph {
    name: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GraphCounts)]
struct Counts {
    /// Number of edges put.
    nodes: u64,
    edges: u64,
    /// True if counted. False if there are over 10,000: then the number is an estimate from file sizes.
    exact: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PutNodes {
    nodes: Vec<Node>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NodeIds {
    ids: Vec<String>,
}

/// The nodes to read, and the state to read them from.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GetNodes {
    ids: Vec<String>,
    /// Writes that a transaction plans for this graph, in order; the read sees them as if they were written. Needs the
    /// transaction's snapshot in the header, and the scope `write`.
    #[serde(default)]
    with: Vec<GraphWrites>,
}

#[derive(Serialize, ToSchema)]
struct GotNodes {
    /// In the order of the ids; null for missing nodes.
    nodes: Vec<Option<Node>>,
}

/// Which nodes to list.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListNodes)]
pub struct Listing {
    /// Only nodes of this type.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Only nodes whose id has this prefix.
    #[serde(default)]
    prefix: String,
    /// Maximum number of nodes in the page.
    #[serde(default = "page_default")]
    #[schema(minimum = 1, maximum = 10000)]
    limit: usize,
    /// The cursor that the previous page returned.
    cursor: Option<String>,
    /// As for nodes that are read by id; ignored where a transaction lists its reads.
    #[serde(default)]
    with: Vec<GraphWrites>,
}

#[derive(Serialize, ToSchema)]
struct NodePage {
    nodes: Vec<Node>,
    /// The cursor of the next page; null at the end.
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct NodesDeleted {
    nodes: u64,
    edges: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PutEdges {
    edges: Vec<Edge>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EdgeIds {
    edges: Vec<EdgeId>,
}

/// The edges to read, and the state to read them from.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GetEdges {
    edges: Vec<EdgeId>,
    /// As of nodes.
    #[serde(default)]
    with: Vec<GraphWrites>,
}

#[derive(Serialize, ToSchema)]
struct GotEdges {
    /// In the order of the request; null for missing edges.
    edges: Vec<Option<Edge>>,
}

#[derive(Serialize, ToSchema)]
struct EdgesDeleted {
    deleted: u64,
}

/// Which edges of a node.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = EdgeDirection)]
enum Direction {
    /// Those that it is the source of.
    #[default]
    Out,
    /// Those that it is the target of.
    In,
    Both,
}

/// Which edges of a node to list, and how many per page.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Neighbors)]
pub struct Around {
    pub id: String,
    #[serde(default)]
    direction: Direction,
    /// Only edges of these types; default all.
    #[serde(default)]
    types: Vec<String>,
    /// Maximum number of edges in the page.
    #[serde(default = "page_default")]
    #[schema(minimum = 1, maximum = 10000)]
    limit: usize,
    /// The cursor that the previous page returned.
    cursor: Option<String>,
    /// As for nodes that are read by id; ignored where a transaction lists its reads.
    #[serde(default)]
    with: Vec<GraphWrites>,
}

#[derive(Serialize, ToSchema)]
struct Neighbor {
    /// Of the node at the other end.
    id: String,
    edge: Edge,
}

#[derive(Serialize, ToSchema)]
struct NeighborPage {
    /// Outgoing edges first, then incoming ones, each by type, then by id.
    neighbors: Vec<Neighbor>,
    /// The cursor of the next page; null at the end.
    cursor: Option<String>,
}

/// Where to begin, and how far to go.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Traverse)]
struct Walk {
    #[schema(min_items = 1, max_items = 1000)]
    start: Vec<String>,
    #[serde(default)]
    direction: Direction,
    /// Only along edges of these types; default all.
    #[serde(default)]
    types: Vec<String>,
    /// Maximum number of edges from the start.
    #[serde(default = "depth_default")]
    #[schema(minimum = 1, maximum = 64)]
    max_depth: u32,
    /// Maximum number of nodes to return, the start included.
    #[serde(default = "page_default")]
    #[schema(minimum = 1, maximum = 10000)]
    limit: usize,
    /// As for nodes that are read by id.
    #[serde(default)]
    with: Vec<GraphWrites>,
}

#[derive(Serialize, ToSchema)]
struct Visited {
    id: String,
    /// Edges on the shortest path from the start.
    depth: u32,
    /// The edge that first reached the node; null for start nodes.
    via: Option<Edge>,
}

#[derive(Serialize, ToSchema)]
struct Traversal {
    /// Each once, by depth.
    nodes: Vec<Visited>,
    /// True if there are, or may be, more within that depth.
    truncated: bool,
}

fn page_default() -> usize {
    1000
}

fn depth_default() -> u32 {
    2
}

impl From<Direction> for EdgeDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Out => Self::Out,
            Direction::In => Self::In,
            Direction::Both => Self::Both,
        }
    }
}

impl From<Listing> for ListNodes {
    fn from(Listing { kind, prefix, limit, cursor, .. }: Listing) -> Self {
        Self { kind, prefix, limit, cursor }
    }
}

impl From<Around> for Neighbors {
    fn from(Around { direction, types, limit, cursor, .. }: Around) -> Self {
        Self { direction: direction.into(), kinds: types, limit, cursor }
    }
}

/// A caller that names pending writes must be allowed to write: a missing graph is created for them.
fn may_draft(caller: Caller, with: &[GraphWrites]) -> Result<Caller, Problem> {
    if with.is_empty() { Ok(caller) } else { caller.allowed(Scope::Write) }
}

/// Lists all graphs.
#[utoipa::path(get, path = "/v1/graphs", tag = "graphs", security(("key" = ["read"])),
    responses((status = 200, description = "The names of all graphs", body = Graphs)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let graphs = caller.run(|database| database.graph_names()).await?;
    Ok(reply::json(&Graphs { graphs }))
}

/// Creates a graph if it does not exist. Putting nodes or edges creates it, too.
#[utoipa::path(put, path = "/v1/graphs/{graph}", tag = "graphs", security(("key" = ["write"])),
    params(("graph" = String, Path)),
    responses((status = 201, description = "Created", body = Graph), (status = 200, description = "It already existed", body = Graph)))]
async fn create(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let (is_new, name) = caller
        .run(move |database| {
            let is_new = !database.graph_names()?.contains(&name);
            database.graph(&name)?;
            Ok((is_new, name))
        })
        .await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(reply::json_with(status, &Graph { name }))
}

/// Drops a graph and everything in it.
#[utoipa::path(delete, path = "/v1/graphs/{graph}", tag = "graphs", security(("key" = ["write"])),
    params(("graph" = String, Path)), responses((status = 204, description = "Dropped")))]
async fn remove(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let dropped = caller
        .run(move |database| match database.drop_graph(&name)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("no graph {name:?}")).about(What::Graph, name)),
        })
        .await;
    dropped.map(|()| reply::nothing())
}

/// Counts the nodes and edges of a graph.
#[utoipa::path(get, path = "/v1/graphs/{graph}/counts", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), responses((status = 200, description = "The numbers of nodes and edges", body = Counts)))]
async fn counts(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
) -> Result<Response, Problem> {
    let counts = caller.run(move |database| read_point.graph(database, &name)?.counts()).await?;
    Ok(reply::json(&Counts { nodes: counts.nodes, edges: counts.edges, exact: counts.exact }))
}

/// Puts nodes atomically. An existing node is replaced and keeps its edges.
#[utoipa::path(post, path = "/v1/graphs/{graph}/nodes", tag = "graphs", security(("key" = ["write"])),
    params(("graph" = String, Path), Durably), request_body = PutNodes, responses((status = 204, description = "Put")))]
async fn put_nodes(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<PutNodes>,
) -> Result<Response, Problem> {
    let put = caller.run(move |database| {
        let nodes = nodes_into_engine(value.nodes)?;
        let put = database.graph(&name)?.with_durability(how.durability.into()).put_nodes(nodes);
        drop(held);
        put
    });
    put.await.map(|()| reply::nothing())
}

/// Reads nodes by id from one consistent state.
#[utoipa::path(post, path = "/v1/graphs/{graph}/nodes/get", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = GetNodes, responses((status = 200, description = "The nodes, in the order of the ids", body = GotNodes)))]
async fn get_nodes(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value: GetNodes { ids, with }, .. }: Json<GetNodes>,
) -> Result<Response, Problem> {
    let caller = may_draft(caller, &with)?;
    let found =
        caller.run(move |database| read_point.read_graph(database, &name, with, |graph| graph.nodes(&ids))).await?;
    Ok(reply::json(&GotNodes { nodes: found.into_iter().map(|node| node.map(Into::into)).collect() }))
}

/// Lists nodes by id, page by page. A listing by type scans all nodes: a page may have fewer nodes than the limit, or
/// none, and still have a cursor.
#[utoipa::path(post, path = "/v1/graphs/{graph}/nodes/list", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = Listing, responses((status = 200, description = "A page of nodes", body = NodePage)))]
async fn list_nodes(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { mut value, .. }: Json<Listing>,
) -> Result<Response, Problem> {
    let with = std::mem::take(&mut value.with);
    let (caller, ask) = (may_draft(caller, &with)?, ListNodes::from(value));
    let page = caller.run(move |database| read_point.read_graph(database, &name, with, |graph| graph.list_nodes(&ask)));
    let page = page.await?;
    Ok(reply::json(&NodePage { nodes: page.nodes.into_iter().map(Into::into).collect(), cursor: page.cursor }))
}

/// Deletes nodes and all their edges in both directions. Up to 100,000 edges are deleted in one batch.
#[utoipa::path(post, path = "/v1/graphs/{graph}/nodes/delete", tag = "graphs", security(("key" = ["write"])),
    params(("graph" = String, Path), Durably), request_body = NodeIds, responses((status = 200, description = "The numbers of deleted nodes and edges", body = NodesDeleted)))]
async fn delete_nodes(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<NodeIds>,
) -> Result<Response, Problem> {
    let gone = caller.run(move |database| {
        database.existing_graph(&name)?.with_durability(how.durability.into()).delete_nodes(&value.ids)
    });
    let gone = gone.await?;
    Ok(reply::json(&NodesDeleted { nodes: gone.nodes, edges: gone.edges }))
}

/// Puts edges atomically. An edge with the same ends and type is replaced. The nodes at its ends need not exist.
#[utoipa::path(post, path = "/v1/graphs/{graph}/edges", tag = "graphs", security(("key" = ["write"])),
    params(("graph" = String, Path), Durably), request_body = PutEdges, responses((status = 204, description = "Put")))]
async fn put_edges(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<PutEdges>,
) -> Result<Response, Problem> {
    let put = caller.run(move |database| {
        let edges = edges_into_engine(value.edges)?;
        let put = database.graph(&name)?.with_durability(how.durability.into()).put_edges(edges);
        drop(held);
        put
    });
    put.await.map(|()| reply::nothing())
}

/// Reads edges by their ends and type.
#[utoipa::path(post, path = "/v1/graphs/{graph}/edges/get", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = GetEdges, responses((status = 200, description = "The edges, in the order of the request", body = GotEdges)))]
async fn get_edges(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value: GetEdges { edges, with }, .. }: Json<GetEdges>,
) -> Result<Response, Problem> {
    let (caller, ids) = (may_draft(caller, &with)?, ids_into_engine(edges));
    let found = caller.run(move |database| {
        read_point.read_graph(database, &name, with, |graph| {
            ids.iter().map(|id| graph.edge(id)).collect::<EngineResult<Vec<_>>>()
        })
    });
    Ok(reply::json(&GotEdges { edges: found.await?.into_iter().map(|edge| edge.map(Into::into)).collect() }))
}

/// Deletes edges atomically.
#[utoipa::path(post, path = "/v1/graphs/{graph}/edges/delete", tag = "graphs", security(("key" = ["write"])),
    params(("graph" = String, Path), Durably), request_body = EdgeIds, responses((status = 200, description = "The number of deleted edges", body = EdgesDeleted)))]
async fn delete_edges(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<EdgeIds>,
) -> Result<Response, Problem> {
    let ids = ids_into_engine(value.edges);
    let deleted = caller
        .run(move |database| database.existing_graph(&name)?.with_durability(how.durability.into()).delete_edges(&ids));
    Ok(reply::json(&EdgesDeleted { deleted: deleted.await? }))
}

/// Lists the edges of a node page by page; a page shows one consistent state.
#[utoipa::path(post, path = "/v1/graphs/{graph}/neighbors", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = Around, responses((status = 200, description = "A page of neighbors", body = NeighborPage)))]
async fn neighbors(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { mut value, .. }: Json<Around>,
) -> Result<Response, Problem> {
    let (id, with) = (value.id.clone(), std::mem::take(&mut value.with));
    let (caller, ask) = (may_draft(caller, &with)?, Neighbors::from(value));
    let page =
        caller.run(move |database| read_point.read_graph(database, &name, with, |graph| graph.neighbors(&id, &ask)));
    let page = page.await?;
    let neighbors = page.neighbors.into_iter().map(|it| Neighbor { id: it.id, edge: it.edge.into() });
    Ok(reply::json(&NeighborPage { neighbors: neighbors.collect(), cursor: page.cursor }))
}

/// Traverses the graph from some nodes, breadth first. Returns each node once, with the first edge that reached it.
#[utoipa::path(post, path = "/v1/graphs/{graph}/traverse", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = Walk, responses((status = 200, description = "The nodes that the traversal reached", body = Traversal)))]
async fn traverse(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Walk>,
) -> Result<Response, Problem> {
    let Walk { start, direction, types, max_depth, limit, with } = value;
    let caller = may_draft(caller, &with)?;
    let ask = Traverse { start, direction: direction.into(), kinds: types, max_depth, limit };
    let found =
        caller.run(move |database| read_point.read_graph(database, &name, with, |graph| graph.traverse(&ask))).await?;
    let visited = |it: nuthatch_link::Visited| Visited { id: it.id, depth: it.depth, via: it.via.map(Into::into) };
    Ok(reply::json(&Traversal { nodes: found.nodes.into_iter().map(visited).collect(), truncated: found.truncated }))
}

async fn network(
    ReadingAt { caller, read_point }: ReadingAt,
    name: String,
    call: &'static str,
    question: Value,
    held: BodyReservation,
) -> Result<Response, Problem> {
    let answer = caller.run(move |database| {
        let _held = held;
        networks::ask(&read_point.graph(database, &name)?, call, question)
    });
    Ok(reply::json(&answer.await?))
}

/// Finds the cheapest paths between two nodes. No path meets a node twice.
#[utoipa::path(post, path = "/v1/graphs/{graph}/paths", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = PathsQuestion,
    responses((status = 200, description = "Paths, the cheapest first", body = PathsAnswer)))]
async fn paths(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    network(at, name, "paths", value, held).await
}

/// Ranks nodes by PageRank, personalised when there are seeds. Up to a million edges.
#[utoipa::path(post, path = "/v1/graphs/{graph}/rank", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = RankQuestion,
    responses((status = 200, description = "Nodes, the highest rank first", body = RankAnswer)))]
async fn rank(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    network(at, name, "rank", value, held).await
}

/// Finds nodes that belong together: components or communities. Up to a million edges.
#[utoipa::path(post, path = "/v1/graphs/{graph}/groups", tag = "graphs", security(("key" = ["read"])),
    params(("graph" = String, Path), AsOf), request_body = GroupsQuestion,
    responses((status = 200, description = "Groups, the largest first", body = GroupsAnswer)))]
async fn groups(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    network(at, name, "groups", value, held).await
}
