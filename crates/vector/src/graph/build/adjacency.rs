//! The graph while it grows: lists with slack, so that most new edges are appended and few of them prune a list.

use super::edges::Edges;
use super::prune::Pruned;
use super::{DEGREE, SLACK};

/// Places of a list: what a finished list may hold, and slack.
pub(super) const CAPACITY: usize = DEGREE + SLACK;
/// The degree of a node that is not inserted yet.
pub(super) const ABSENT: u8 = u8::MAX;

/// Memory: `CAPACITY * 4 + 2` bytes a node.
pub(super) struct Adjacency {
    neighbours: Vec<u32>,
    heads: Vec<Head>,
}

#[derive(Clone, Copy)]
struct Head {
    degree: u8,
    /// The number of leading neighbours in the list that one pruning chose: none of them makes another superfluous.
    chosen: u8,
}

/// The lists of a range of nodes, for one thread to change.
pub(super) struct Lists<'a> {
    first: u32,
    neighbours: &'a mut [u32],
    heads: &'a mut [Head],
}

impl Adjacency {
    pub(super) fn new(nodes: usize) -> Self {
        Self { neighbours: vec![0; nodes * CAPACITY], heads: vec![Head { degree: ABSENT, chosen: 0 }; nodes] }
    }

    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn contains(&self, node: u32) -> bool {
        self.heads[node as usize].degree != ABSENT
    }

    #[inline]
    pub(super) fn neighbours(&self, node: u32) -> &[u32] {
        let head = self.heads[node as usize];
        debug_assert_ne!(head.degree, ABSENT);
        &self.neighbours[node as usize * CAPACITY..][..usize::from(head.degree)]
    }

    /// Asks for the memory of a list that is read soon.
    #[inline]
    pub(super) fn touch(&self, node: u32) {
        let places = &self.neighbours[node as usize * CAPACITY..][..CAPACITY];
        let sum = places.iter().step_by(16).fold(u32::from(self.heads[node as usize].degree), |sum, place| sum ^ place);
        std::hint::black_box(sum);
    }

    pub(super) fn all(&mut self) -> Lists<'_> {
        Lists { first: 0, neighbours: &mut self.neighbours, heads: &mut self.heads }
    }

    /// Moves the lists together. Every list must have been pruned.
    pub(super) fn into_edges(mut self, entries: Vec<u32>) -> Edges {
        let degrees: Vec<u8> = self.heads.iter().map(|head| head.degree).collect();
        for (node, degree) in degrees.iter().enumerate() {
            assert!(usize::from(*degree) <= DEGREE, "an unfinished list");
            self.neighbours.copy_within(node * CAPACITY..node * CAPACITY + DEGREE, node * DEGREE);
            self.neighbours[node * DEGREE + usize::from(*degree)..(node + 1) * DEGREE].fill(0);
        }
        self.neighbours.truncate(degrees.len() * DEGREE);
        self.neighbours.shrink_to_fit();
        Edges::from_parts(self.neighbours, degrees, entries)
    }
}

impl<'a> Lists<'a> {
    /// The lists before `node` and those from it on.
    pub(super) fn split_at(self, node: u32) -> (Self, Self) {
        let nodes = (node - self.first) as usize;
        let (near, far) = self.neighbours.split_at_mut(nodes * CAPACITY);
        let (near_heads, far_heads) = self.heads.split_at_mut(nodes);
        let near = Self { first: self.first, neighbours: near, heads: near_heads };
        (near, Self { first: node, neighbours: far, heads: far_heads })
    }

    pub(super) fn neighbours(&self, node: u32) -> &[u32] {
        let at = (node - self.first) as usize;
        &self.neighbours[at * CAPACITY..][..usize::from(self.heads[at].degree)]
    }

    /// How many of the first neighbours were chosen by one pruning.
    pub(super) fn chosen(&self, node: u32) -> usize {
        usize::from(self.heads[(node - self.first) as usize].chosen)
    }

    /// Replaces a list by what one pruning left of it.
    pub(super) fn choose(&mut self, node: u32, pruned: Pruned<'_>) {
        self.replace(node, pruned.neighbours, pruned.chosen);
    }

    /// Replaces a list that no pruning has seen as it is.
    pub(super) fn set(&mut self, node: u32, neighbours: &[u32]) {
        self.replace(node, neighbours, 0);
    }

    /// Adds a neighbour at the end; the caller has seen that there is room.
    pub(super) fn append(&mut self, node: u32, neighbour: u32) {
        let at = (node - self.first) as usize;
        let degree = &mut self.heads[at].degree;
        self.neighbours[at * CAPACITY..][..CAPACITY][usize::from(*degree)] = neighbour;
        *degree += 1;
    }

    fn replace(&mut self, node: u32, neighbours: &[u32], chosen: usize) {
        let at = (node - self.first) as usize;
        self.neighbours[at * CAPACITY..][..neighbours.len()].copy_from_slice(neighbours);
        self.heads[at] = Head { degree: neighbours.len() as u8, chosen: chosen as u8 };
    }
}
