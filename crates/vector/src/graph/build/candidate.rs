//! A node at a distance, in one word that sorts by distance, then by node.

/// Distance in the high half (the bits of a float that is not negative sort as it does), node and a mark in the low half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate(u64);

/// Nodes are numbered below this: one bit is the mark.
pub(super) const NODES_MAX: usize = 1 << 31;

impl Candidate {
    #[inline]
    pub(super) fn new(distance: f32, node: u32) -> Self {
        Self(u64::from(distance.to_bits()) << 32 | u64::from(node) << 1)
    }

    /// The same with its mark set; what the mark means is the user's affair.
    #[inline]
    pub(super) fn marked(self) -> Self {
        Self(self.0 | 1)
    }

    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.0 & 1 == 1
    }

    #[inline]
    pub(super) fn node(self) -> u32 {
        self.0 as u32 >> 1
    }

    #[inline]
    pub(super) fn distance(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }
}
