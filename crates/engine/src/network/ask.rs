//! Questions about networks, and their answers.

use serde::{Deserialize, Serialize};

use crate::graph::EdgeDirection;
use crate::{Error, Result};

/// Most paths of one answer.
const PATHS_MAX: usize = 16;
/// Most edges of one path.
const STEPS_MAX: u32 = 64;
/// Most nodes or groups of one answer.
const LIMIT_MAX: usize = 10_000;
/// Nodes that a rank may begin from.
const SEEDS_MAX: usize = 1_000;

/// The cost of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathCost {
    /// Each edge costs 1.
    #[default]
    Hops,
    /// Its weight, which must not be negative: a distance.
    Weight,
    /// One divided by its weight: the stronger, the nearer. Edges with a weight of 0 or less are no way.
    Strength,
}

/// The cheapest paths between two nodes. No path meets a node twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindPaths {
    /// Where they begin.
    pub from: String,
    /// Where they end.
    pub to: String,
    /// Which way edges may be gone.
    pub direction: EdgeDirection,
    /// Only edges of these types; none: of all.
    pub kinds: Vec<String>,
    /// The cost of an edge.
    pub cost: PathCost,
    /// Paths, 1 to 16.
    pub count: usize,
    /// Edges of a path, 1 to 64.
    pub max_steps: u32,
}

impl FindPaths {
    /// One path along edges in their direction, with the fewest edges.
    pub fn between(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            direction: EdgeDirection::Out,
            kinds: Vec::new(),
            cost: PathCost::Hops,
            count: 1,
            max_steps: STEPS_MAX,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=PATHS_MAX).contains(&self.count) {
            return Err(Error::invalid(format!("{} paths; ask for 1 to {PATHS_MAX}", self.count)));
        }
        if !(1..=STEPS_MAX).contains(&self.max_steps) {
            return Err(Error::invalid(format!("a path of {} steps; ask for 1 to {STEPS_MAX}", self.max_steps)));
        }
        Ok(())
    }
}

/// One edge of a path, in the direction in which it is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// Where it begins.
    pub from: String,
    /// The type of the edge.
    pub kind: String,
    /// Where it ends.
    pub to: String,
    /// The edge's weight.
    pub weight: f64,
    /// The edge leads the other way.
    pub reversed: bool,
    /// The fact that says so, if it is of facts.
    pub fact: Option<u64>,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathFound {
    /// The sum of its edges' costs.
    pub cost: f64,
    /// Its edges; none when it ends where it begins.
    pub steps: Vec<PathStep>,
}

/// Paths, the cheapest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathsFound {
    /// At most as many as were asked for.
    pub paths: Vec<PathFound>,
    /// The search ended before it had seen all edges that may matter: there may be further, and cheaper paths.
    pub truncated: bool,
}

/// Which nodes matter: PageRank, or from some nodes personalised PageRank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankNodes {
    /// Where a walk begins again, each with its share; none: anywhere.
    pub seeds: Vec<(String, f64)>,
    /// Which way edges are gone.
    pub direction: EdgeDirection,
    /// Only edges of these types; none: of all.
    pub kinds: Vec<String>,
    /// The probability to go on along an edge, from 0 to 0.99.
    pub damping: f64,
    /// Nodes of the answer, 1 to 10,000.
    pub limit: usize,
}

impl Default for RankNodes {
    fn default() -> Self {
        Self { seeds: Vec::new(), direction: EdgeDirection::Out, kinds: Vec::new(), damping: 0.85, limit: 100 }
    }
}

impl RankNodes {
    pub(crate) fn check(&self) -> Result<()> {
        check_limit(self.limit)?;
        if !(0.0..=0.99).contains(&self.damping) {
            return Err(Error::invalid(format!("the damping is {}; give 0 to 0.99", self.damping)));
        }
        if self.seeds.len() > SEEDS_MAX {
            return Err(Error::invalid(format!("{} seeds; give at most {SEEDS_MAX}", self.seeds.len())));
        }
        if let Some((seed, share)) = self.seeds.iter().find(|(_, share)| !share.is_finite() || *share <= 0.0) {
            return Err(Error::invalid(format!("the seed {seed:?} has a share of {share}; give a positive number")));
        }
        Ok(())
    }
}

/// A node and its rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedNode {
    /// The node.
    pub id: String,
    /// The probability that the walk is there; all ranks sum up to 1.
    pub rank: f64,
}

/// Nodes, the highest rank first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankedNodes {
    /// At most as many as were asked for.
    pub nodes: Vec<RankedNode>,
    /// Nodes with edges.
    pub nodes_total: u64,
    /// Edges between them.
    pub edges_total: u64,
    /// Rounds until the ranks stood still.
    pub rounds: u32,
}

/// How nodes belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// By any path, whichever way edges lead.
    #[default]
    Components,
    /// By having more edges among each other than chance would give them: Louvain's communities.
    Communities,
}

/// Which nodes belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupNodes {
    /// How.
    pub by: GroupBy,
    /// Only edges of these types; none: of all.
    pub kinds: Vec<String>,
    /// Groups of the answer, 1 to 10,000; the largest come first.
    pub limit: usize,
    /// Nodes that are named of each group, 1 to 10,000.
    pub members: usize,
}

impl Default for GroupNodes {
    fn default() -> Self {
        Self { by: GroupBy::Components, kinds: Vec::new(), limit: 100, members: 100 }
    }
}

impl GroupNodes {
    pub(crate) fn check(&self) -> Result<()> {
        check_limit(self.limit)?;
        check_limit(self.members)
    }
}

/// Nodes that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// How many they are.
    pub size: u64,
    /// The first of them by id.
    pub members: Vec<String>,
}

/// Groups, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeGroups {
    /// At most as many as were asked for.
    pub groups: Vec<NodeGroup>,
    /// How many groups there are.
    pub groups_total: u64,
    /// Nodes with edges.
    pub nodes_total: u64,
    /// Edges between them.
    pub edges_total: u64,
    /// Of communities: how much more edges they have inside than chance would give them, below 1.
    pub modularity: Option<f64>,
}

fn check_limit(limit: usize) -> Result<()> {
    match limit {
        1..=LIMIT_MAX => Ok(()),
        limit => Err(Error::invalid(format!("a limit of {limit}; ask for 1 to {LIMIT_MAX}"))),
    }
}
