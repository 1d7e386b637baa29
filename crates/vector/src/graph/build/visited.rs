//! The nodes that one search has met: a small hash set, cleared for every search.

/// Open addressing over node numbers; grows when half full. A few tens of KiB a thread, however large the graph.
pub(super) struct Visited {
    places: Vec<u32>,
    len: usize,
}

const EMPTY: u32 = u32::MAX;
const PLACES: usize = 4096;

impl Visited {
    pub(super) fn new() -> Self {
        Self { places: vec![EMPTY; PLACES], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.places.fill(EMPTY);
        self.len = 0;
    }

    /// False when it was there already.
    #[inline]
    pub(super) fn insert(&mut self, node: u32) -> bool {
        if self.len * 2 >= self.places.len() {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut place = hash(node) & mask;
        loop {
            match self.places[place] {
                EMPTY => {
                    self.places[place] = node;
                    self.len += 1;
                    return true;
                }
                other if other == node => return false,
                _ => place = (place + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let nodes: Vec<u32> = self.places.iter().copied().filter(|node| *node != EMPTY).collect();
        self.places = vec![EMPTY; self.places.len() * 2];
        self.len = 0;
        for node in nodes {
            self.insert(node);
        }
    }
}

/// The high bits of a product with an odd constant (Knuth's multiplicative hashing).
#[inline]
fn hash(node: u32) -> usize {
    (node.wrapping_mul(0x9E37_79B1) >> 8) as usize
}
