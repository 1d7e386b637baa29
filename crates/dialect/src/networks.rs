//! Questions about networks in JSON: paths, ranks, groups. Graphs and facts are asked in the same words.

use nuthatch_engine::{Error, ErrorKind, Result};
use nuthatch_link as core;
use nuthatch_link::{EdgeDirection, GroupBy, Nodes, PathCost};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::asking::{answered, asked};

/// The cheapest paths between two nodes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PathsQuestion {
    /// Where they begin.
    pub from: String,
    /// Where they end.
    pub to: String,
    /// Which way edges may be gone: `out` (the default), `in` or `both`.
    #[serde(default)]
    #[schema(value_type = String)]
    pub direction: EdgeDirection,
    /// Only edges of these types.
    #[serde(default)]
    pub types: Vec<String>,
    /// The cost of an edge: 1 (`hops`, the default), its `weight`, or 1 divided by it (`strength`).
    #[serde(default)]
    #[schema(value_type = String)]
    pub cost: PathCost,
    /// How many paths; default 1.
    #[schema(minimum = 1, maximum = 16)]
    pub count: Option<usize>,
    /// Most edges of a path; default 64.
    #[schema(minimum = 1, maximum = 64)]
    pub max_steps: Option<u32>,
}

/// Which nodes matter most.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RankQuestion {
    /// Where a walk begins again, all with the same share; none: anywhere.
    #[serde(default)]
    pub seeds: Vec<String>,
    /// Which way edges are gone: `out` (the default), `in` or `both`.
    #[serde(default)]
    #[schema(value_type = String)]
    pub direction: EdgeDirection,
    /// Only edges of these types.
    #[serde(default)]
    pub types: Vec<String>,
    /// The probability to go on along an edge; default 0.85.
    #[schema(minimum = 0, maximum = 0.99)]
    pub damping: Option<f64>,
    /// Nodes of the answer; default 100.
    #[schema(minimum = 1, maximum = 10000)]
    pub limit: Option<usize>,
}

/// Which nodes belong together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupsQuestion {
    /// By any path (`components`, the default), or by having more edges among each other than by chance (`communities`).
    #[serde(default)]
    #[schema(value_type = String)]
    pub by: GroupBy,
    /// Only edges of these types.
    #[serde(default)]
    pub types: Vec<String>,
    /// Groups of the answer; default 100.
    #[schema(minimum = 1, maximum = 10000)]
    pub limit: Option<usize>,
    /// Nodes that are named of each; default 100.
    #[schema(minimum = 1, maximum = 10000)]
    pub members: Option<usize>,
}

/// An edge of a path, in the direction in which it is gone.
#[derive(Serialize, ToSchema)]
#[schema(as = NetworkStep)]
pub struct PathStep {
    from: String,
    #[serde(rename = "type")]
    kind: String,
    to: String,
    weight: f64,
    /// The edge leads the other way.
    reversed: bool,
    /// The fact that says so; absent in graphs.
    #[serde(skip_serializing_if = "Option::is_none")]
    fact: Option<u64>,
}

/// A path.
#[derive(Serialize, ToSchema)]
#[schema(as = NetworkPath)]
pub struct Path {
    /// The sum of its edges' costs.
    cost: f64,
    /// Its edges; none when it ends where it begins.
    steps: Vec<PathStep>,
}

/// Paths, the cheapest first.
#[derive(Serialize, ToSchema)]
pub struct PathsAnswer {
    paths: Vec<Path>,
    /// The search ended early: there may be further, and cheaper paths.
    truncated: bool,
}

/// A node and its rank.
#[derive(Serialize, ToSchema)]
#[schema(as = RankedNode)]
pub struct Ranked {
    id: String,
    rank: f64,
}

/// Nodes, the highest rank first. All ranks sum up to 1.
#[derive(Serialize, ToSchema)]
pub struct RankAnswer {
    nodes: Vec<Ranked>,
    /// Nodes with edges.
    nodes_total: u64,
    edges_total: u64,
    /// Rounds until the ranks stood still.
    rounds: u32,
}

/// Nodes that belong together.
#[derive(Serialize, ToSchema)]
#[schema(as = NodeGroup)]
pub struct Group {
    size: u64,
    /// The first of them by id.
    members: Vec<String>,
}

/// Groups, the largest first.
#[derive(Serialize, ToSchema)]
pub struct GroupsAnswer {
    groups: Vec<Group>,
    groups_total: u64,
    /// Nodes with edges.
    nodes_total: u64,
    edges_total: u64,
    /// Of communities: how many more edges they have inside than by chance, below 1.
    modularity: Option<f64>,
}

impl PathsQuestion {
    pub(crate) fn into_engine(self) -> core::FindPaths {
        let Self { from, to, direction, types, cost, count, max_steps } = self;
        let plain = core::FindPaths::between(from, to);
        let (count, max_steps) = (count.unwrap_or(plain.count), max_steps.unwrap_or(plain.max_steps));
        core::FindPaths { direction, kinds: types, cost, count, max_steps, ..plain }
    }
}

impl RankQuestion {
    pub(crate) fn into_engine(self) -> core::RankNodes {
        let Self { seeds, direction, types, damping, limit } = self;
        let plain = core::RankNodes::default();
        let (damping, limit) = (damping.unwrap_or(plain.damping), limit.unwrap_or(plain.limit));
        let seeds = seeds.into_iter().map(|seed| (seed, 1.0)).collect();
        core::RankNodes { seeds, direction, kinds: types, damping, limit }
    }
}

impl GroupsQuestion {
    pub(crate) fn into_engine(self) -> core::GroupNodes {
        let Self { by, types, limit, members } = self;
        let plain = core::GroupNodes::default();
        core::GroupNodes {
            by,
            kinds: types,
            limit: limit.unwrap_or(plain.limit),
            members: members.unwrap_or(plain.members),
        }
    }
}

impl From<core::PathsFound> for PathsAnswer {
    fn from(found: core::PathsFound) -> Self {
        let step = |core::PathStep { from, kind, to, weight, reversed, fact }| PathStep {
            from,
            kind,
            to,
            weight,
            reversed,
            fact,
        };
        let path = |path: core::PathFound| Path { cost: path.cost, steps: path.steps.into_iter().map(step).collect() };
        Self { paths: found.paths.into_iter().map(path).collect(), truncated: found.truncated }
    }
}

impl From<core::RankedNodes> for RankAnswer {
    fn from(core::RankedNodes { nodes, nodes_total, edges_total, rounds }: core::RankedNodes) -> Self {
        let nodes = nodes.into_iter().map(|node| Ranked { id: node.id, rank: node.rank }).collect();
        Self { nodes, nodes_total, edges_total, rounds }
    }
}

impl From<core::NodeGroups> for GroupsAnswer {
    fn from(found: core::NodeGroups) -> Self {
        let core::NodeGroups { groups, groups_total, nodes_total, edges_total, modularity } = found;
        let groups = groups.into_iter().map(|group| Group { size: group.size, members: group.members }).collect();
        Self { groups, groups_total, nodes_total, edges_total, modularity }
    }
}

/// The questions, by their names.
pub const NETWORK_CALLS: [&str; 3] = ["paths", "rank", "groups"];

/// Asks a graph.
///
/// # Errors
/// `NotFound` for another name; `Invalid` with the place of what is wrong in the question; those of the call.
pub fn ask(nodes: &Nodes<'_>, call: &str, question: Value) -> Result<Value> {
    match call {
        "paths" => answered(PathsAnswer::from(nodes.paths(&asked::<PathsQuestion>(call, question)?.into_engine())?)),
        "rank" => answered(RankAnswer::from(nodes.rank(&asked::<RankQuestion>(call, question)?.into_engine())?)),
        "groups" => {
            answered(GroupsAnswer::from(nodes.groups(&asked::<GroupsQuestion>(call, question)?.into_engine())?))
        }
        _ => Err(Error::new(ErrorKind::NotFound, format!("no question {call:?} about a graph"))),
    }
}
