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
    /// No nodes yet, with room for `nodes` of them; `entries` name nodes that are pushed later.
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

    /// Asks for the memory of a list that is read soon.
    #[inline]
    pub(super) fn touch(&self, node: u32) {
        let places = &self.neighbours[node as usize * DEGREE..][..DEGREE];
        let sum = places.iter().step_by(16).fold(u32::from(self.degrees[node as usize]), |sum, place| sum ^ place);
        std::hint::black_box(sum);
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

    /// Encodes the graph for [`from_bytes`](Self::from_bytes): the counts of nodes and entries, the entries, and for
    /// each node its degree and its neighbours.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.neighbours.len() * 4 + self.degrees.len());
        let put = |bytes: &mut Vec<u8>, numbers: &[u32]| {
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        };
        put(&mut bytes, &[self.len() as u32, self.entries.len() as u32]);
        put(&mut bytes, &self.entries);
        for node in 0..self.len() as u32 {
            bytes.push(self.degrees[node as usize]);
            put(&mut bytes, self.neighbours(node));
        }
        bytes
    }

    /// `None` when the bytes are no graph.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        fn numbers(bytes: &mut &[u8], count: usize) -> Option<Vec<u32>> {
            let (numbers, rest) = bytes.split_at_checked(count.checked_mul(4)?)?;
            *bytes = rest;
            Some(numbers.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect())
        }
        let mut rest = bytes;
        let head = numbers(&mut rest, 2)?;
        let (nodes, entries) = (head[0], head[1] as usize);
        let mut edges = Self::with_capacity(numbers(&mut rest, entries)?, (nodes as usize).min(bytes.len()));
        for _ in 0..nodes {
            let (degree, after) = rest.split_first()?;
            rest = after;
            edges.push(&numbers(&mut rest, usize::from(*degree))?);
        }
        let all = edges.entries.iter().chain(&edges.neighbours);
        (rest.is_empty() && all.into_iter().all(|node| *node < nodes)).then_some(edges)
    }

    pub(super) fn from_parts(neighbours: Vec<u32>, degrees: Vec<u8>, entries: Vec<u32>) -> Self {
        debug_assert_eq!(neighbours.len(), degrees.len() * DEGREE);
        let edges = Self { neighbours, degrees, entries };
        debug_assert!((0..edges.len() as u32).all(|node| !edges.neighbours(node).contains(&node)), "its own neighbour");
        edges
    }
}
