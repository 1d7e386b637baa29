//! Questions to a graph, and their answers.

use serde::{Deserialize, Serialize};

use crate::graph::{Edge, Node};

/// Which edges of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeDirection {
    /// Those that it is the source of.
    #[default]
    Out,
    /// Those that it is the target of.
    In,
    /// Those that it is the source or the target of.
    Both,
}

/// Which of a node's edges, and how many at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbors {
    /// Which edges of the node.
    pub direction: EdgeDirection,
    /// Only edges of these types; none: of all.
    pub kinds: Vec<String>,
    /// Edges of one page, 1 to 10,000.
    pub limit: usize,
    /// Continue after the page that gave this cursor.
    pub cursor: Option<String>,
}

/// An edge of a node, and the node at its other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbor {
    /// The node at the other end.
    pub id: String,
    /// The edge between them.
    pub edge: Edge,
}

/// Edges that go out before those that come in, by type, then by the id at the other end. An edge from a node to itself is
/// listed once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighborPage {
    /// At most as many as were asked for.
    pub neighbors: Vec<Neighbor>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// Which nodes to list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListNodes {
    /// Only nodes of this type.
    pub kind: Option<String>,
    /// Only nodes whose ids begin with this.
    pub prefix: String,
    /// Nodes of one page, 1 to 10,000.
    pub limit: usize,
    /// Continue after the page that gave this cursor.
    pub cursor: Option<String>,
}

/// Nodes by id. A page may have fewer than were asked for, even none, and a cursor: then many of other types were passed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodePage {
    /// At most as many as were asked for.
    pub nodes: Vec<Node>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphCounts {
    /// Nodes that were put. A node that only edges name does not count.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// False: there are over 10,000 nodes or edges, and their number is estimated from the sizes of files.
    pub exact: bool,
}

/// The counts of what a deletion of nodes removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodesDeleted {
    /// That were put; what edges alone name does not count.
    pub nodes: u64,
    /// Edges from and to them.
    pub edges: u64,
}

impl Default for Neighbors {
    fn default() -> Self {
        Self { direction: EdgeDirection::default(), kinds: Vec::new(), limit: 1000, cursor: None }
    }
}

impl Default for ListNodes {
    fn default() -> Self {
        Self { kind: None, prefix: String::new(), limit: 1000, cursor: None }
    }
}

impl EdgeDirection {
    /// Whether incoming edges are meant, for each of the directions that are, in the order of their rows.
    pub(crate) fn ways(self) -> &'static [bool] {
        match self {
            Self::Out => &[false],
            Self::In => &[true],
            Self::Both => &[false, true],
        }
    }
}

impl std::str::FromStr for EdgeDirection {
    type Err = crate::Error;

    fn from_str(word: &str) -> crate::Result<Self> {
        match word {
            "out" => Ok(Self::Out),
            "in" => Ok(Self::In),
            "both" => Ok(Self::Both),
            other => {
                Err(crate::Error::invalid(format!("unknown direction {other:?}; use \"out\", \"in\" or \"both\"")))
            }
        }
    }
}
