//! Choosing a node's neighbours ("RobustPrune" of Subramanya et al., "DiskANN", NeurIPS 2019).
//!
//! From the nearest candidate on, each is chosen unless a neighbour chosen before is nearer to it by the factor `alpha` than
//! the node itself: then a search gets there over that neighbour. Exact duplicates of the node are exempt up to half of the
//! list, since they make each other superfluous and would fall apart into rows that nothing leads to.
//!
//! Places that are left over go to the nearest of the superfluous ones: a search compares all 32 neighbours of a node by one
//! kernel call, however many there are.

use super::DEGREE;
use super::candidate::Candidate;
use super::codes::BuildCodes;

/// The most neighbours that may be exact duplicates of their node.
const DUPLICATES_MAX: usize = DEGREE / 2;

/// The buffers of one thread's prunings.
#[derive(Default)]
pub(super) struct Pruner {
    pub(super) candidates: Vec<Candidate>,
    /// The chosen nodes, nearest first, then those that fill the list, nearest first.
    neighbours: Vec<u32>,
    /// For each that was chosen, whether its candidate was marked.
    chosen_marks: Vec<bool>,
    superfluous: Vec<u32>,
}

/// A node's neighbours after a pruning.
#[derive(Clone, Copy)]
pub(super) struct Pruned<'a> {
    pub(super) neighbours: &'a [u32],
    /// The number of leading neighbours that were chosen; the others fill the list.
    pub(super) chosen: usize,
}

impl Pruner {
    /// Chooses from `candidates` (distances to `node`, in any order, none twice and none the node itself). Marked ones were
    /// chosen together by an earlier pruning of the same node: they need no comparison with each other.
    pub(super) fn prune(&mut self, codes: &BuildCodes, node: u32, alpha: f32) -> Pruned<'_> {
        self.neighbours.clear();
        self.chosen_marks.clear();
        self.superfluous.clear();
        self.candidates.sort_unstable();
        let duplicates = self.candidates.partition_point(|candidate| candidate.distance() == 0.0);
        self.choose_duplicates(node, duplicates);
        for candidate in &self.candidates[duplicates..] {
            if self.neighbours.len() == DEGREE {
                break;
            }
            let row = codes.row(candidate.node());
            let reach = candidate.distance();
            let is_superfluous = self.neighbours.iter().zip(&self.chosen_marks).any(|(chosen, marked)| {
                !(*marked && candidate.is_marked()) && alpha * codes.row(*chosen).distance(&row) <= reach
            });
            if !is_superfluous {
                self.neighbours.push(candidate.node());
                self.chosen_marks.push(candidate.is_marked());
            } else if self.superfluous.len() < DEGREE {
                self.superfluous.push(candidate.node());
            }
        }
        let chosen = self.neighbours.len();
        self.neighbours.extend(self.superfluous.iter().take(DEGREE - chosen));
        Pruned { neighbours: &self.neighbours, chosen }
    }

    /// Of many duplicates every node chooses others, so that they form one random graph and not one crowd around the first few.
    fn choose_duplicates(&mut self, node: u32, duplicates: usize) {
        let duplicates = &mut self.candidates[..duplicates];
        if duplicates.len() > DUPLICATES_MAX {
            duplicates
                .sort_unstable_by_key(|candidate| (super::order::scatter(node, candidate.node()), candidate.node()));
        }
        for candidate in duplicates.iter().take(DUPLICATES_MAX) {
            self.neighbours.push(candidate.node());
            self.chosen_marks.push(candidate.is_marked());
        }
    }
}
