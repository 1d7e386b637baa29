//! A finished graph: who is whose neighbour.

use super::DEGREE;

/// Out-edges of every node, at most 32 each, and the nodes at which a search begins.
///
/// Memory: 129 bytes a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    /// `DEGREE` places a node.
    neighbours: Vec<u32>,
    degrees: Vec<u8>,
    entries: Vec<u32>,
}

impl Edges {
    /// No nodes yet, with room for so many; `entries` name nodes that are pushed later.
    pub fn with_capacity(entries: Vec<u32>, nodes: usize) -> Self {
        Self { neighbours: Vec::with_capacity(nodes * DEGREE), degrees: Vec::with_capacity(nodes), entries }
    }

    /// Adds the next node. Of a list that is too long only the front is kept.
    pub fn push(&mut self, neighbours: &[u32]) {
        let degree = neighbours.len().min(DEGREE);
        let start = self.neighbours.len();
        self.neighbours.extend_from_slice(&neighbours[..degree]);
        self.neighbours.resize(start + DEGREE, 0);
        self.degrees.push(degree as u8);
    }

    /// Nodes.
    pub fn len(&self) -> usize {
        self.degrees.len()
    }

    /// True when there is no node.
    pub fn is_empty(&self) -> bool {
        self.degrees.is_empty()
    }

    /// The neighbours of a node, nearest first as far as a build has ordered them.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        let start = node as usize * DEGREE;
        &self.neighbours[start..start + usize::from(self.degrees[node as usize])]
    }

    /// Where a search begins: the first is near the middle of all nodes and reaches every one of them, the others are
    /// spread over the data. Empty only when there are no nodes.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        (self.neighbours.capacity() * 4 + self.degrees.capacity() + self.entries.capacity() * 4) as u64
    }

    pub(super) fn from_parts(neighbours: Vec<u32>, degrees: Vec<u8>, entries: Vec<u32>) -> Self {
        debug_assert_eq!(neighbours.len(), degrees.len() * DEGREE);
        let edges = Self { neighbours, degrees, entries };
        debug_assert!((0..edges.len() as u32).all(|node| !edges.neighbours(node).contains(&node)), "its own neighbour");
        edges
    }
}
