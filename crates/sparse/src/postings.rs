use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::{BLOCK_BYTES, BlockCache, BlockFile, Rows, SegmentError, u32_at};

use crate::{
    CONTAINER_SLOTS, DIRECTORY_BYTES, ENTRY_BYTES, GROUP_ENTRIES, POSTINGS_VERSION, SparseError, SparseVector,
    TAIL_BYTES,
};

/// Bytes of one posting: its slot and its weight.
const POSTING_BYTES: u64 = 6;
/// Candidates, besides twice those wanted, after which the others are dropped.
const CANDIDATES_MORE: usize = 1024;

/// A slot that shares a term with the query, and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The place of the vector among those that were written.
    pub slot: u32,
    /// The dot product.
    pub score: f32,
}

/// An open file of posting lists. Every search is exact.
///
/// A search adds up the scores of one container after the other, that with the greatest bound first, and ends where no further one
/// can reach the best: block-max pruning (Ding and Suel, SIGIR 2011) with large blocks, term at a time inside each.
#[derive(Debug)]
pub struct Postings {
    file: Arc<BlockFile>,
    slots: u32,
    containers: Box<[Container]>,
}

#[derive(Debug)]
struct Container {
    entries_at: u64,
    entries: u32,
    /// The first term of each group of entries.
    firsts: Box<[u32]>,
}

/// A term of the query that a container has.
struct Shared {
    weight: f32,
    postings: u32,
    /// Where its postings begin in the file.
    at: u64,
}

/// A container that has some term of the query.
struct Bounded {
    base: u32,
    /// No score in it is greater.
    bound: f32,
    shared: Vec<Shared>,
}

impl Postings {
    /// Opens a file and reads its directory.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged or of another version.
    pub fn open(path: &Path, cache: &Arc<BlockCache>) -> Result<Self, SparseError> {
        let file = BlockFile::open(path, cache)?;
        let wrong = |what: &str| SegmentError::corrupt(path, what);
        let tail_at = file.len().checked_sub(TAIL_BYTES as u64).ok_or_else(|| wrong("it has no end"))?;
        let mut tail = [0; TAIL_BYTES];
        file.read_at(tail_at, &mut tail)?;
        let [version, slots, count, _] = [0, 4, 8, 12].map(|at| u32_at(&tail, at));
        if version != POSTINGS_VERSION {
            return Err(wrong("it is of another version").into());
        }
        let directory_at = u64_at(&tail, 16);
        let bytes = tail_at.checked_sub(directory_at).ok_or_else(|| wrong("its directory lies outside"))?;
        let heads = u64::from(count) * DIRECTORY_BYTES as u64;
        if count != slots.div_ceil(CONTAINER_SLOTS) || bytes < heads {
            return Err(wrong("its directory does not match its end").into());
        }
        let mut directory = vec![0; bytes as usize];
        file.read_at(directory_at, &mut directory)?;
        let (heads, firsts) = directory.split_at(heads as usize);
        let mut firsts = firsts.chunks_exact(4).map(|bytes| u32_at(bytes, 0));
        let mut containers = Vec::with_capacity(count as usize);
        for head in heads.chunks_exact(DIRECTORY_BYTES) {
            let (entries_at, entries) = (u64_at(head, 0), u32_at(head, 8));
            let groups = (entries as usize).div_ceil(GROUP_ENTRIES);
            let firsts: Box<[u32]> = firsts.by_ref().take(groups).collect();
            if firsts.len() != groups || !firsts.is_sorted_by(|a, b| a < b) || entries_at > directory_at {
                return Err(wrong("its terms are out of order").into());
            }
            containers.push(Container { entries_at, entries, firsts });
        }
        match firsts.next() {
            None => Ok(Self { file, slots, containers: containers.into() }),
            Some(_) => Err(wrong("its directory is too long").into()),
        }
    }

    /// How many vectors it has.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Bytes of memory that stay with the open file.
    pub fn resident_bytes(&self) -> u64 {
        let of_container = |container: &Container| size_of::<Container>() + container.firsts.len() * 4;
        self.containers.iter().map(of_container).sum::<usize>() as u64
    }

    /// Reads and checks every byte.
    ///
    /// # Errors
    /// `Corrupt` with the file's name.
    pub fn verify(&self) -> Result<(), SparseError> {
        Ok(self.file.verify()?)
    }

    /// The `limit` slots with the greatest scores, of those that share a term with the query; ties by slot.
    ///
    /// # Errors
    /// Damage; `Stopped` when `stop` says so between two containers.
    pub fn search(
        &self,
        query: &SparseVector,
        slots: Rows<'_>,
        limit: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Found>, SparseError> {
        let mut reader = Reader { file: &self.file, held: None, joined: Vec::new() };
        let mut containers = Vec::new();
        for (container, base) in self.containers.iter().zip((0..).step_by(CONTAINER_SLOTS as usize)) {
            let bounded = container.shared(query, base, &mut reader)?;
            containers.extend(Some(bounded).filter(|bounded| !bounded.shared.is_empty()));
        }
        containers.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        let mut best = Best { found: Vec::new(), limit, least: 0.0 };
        let mut scores = vec![0.0f32; CONTAINER_SLOTS as usize];
        for Bounded { base, bound, shared } in containers {
            if stop() {
                return Err(SparseError::Stopped);
            }
            if bound < best.least {
                break;
            }
            scores.fill(0.0);
            for Shared { weight, postings, at } in shared {
                let bytes = reader.bytes(at, postings as usize * POSTING_BYTES as usize)?;
                let (slots, weights) = bytes.split_at(postings as usize * 2);
                for (slot, of_slot) in slots.chunks_exact(2).zip(weights.chunks_exact(4)) {
                    let slot = u16::from_le_bytes([slot[0], slot[1]]);
                    if let Some(score) = scores.get_mut(usize::from(slot)) {
                        *score += weight * f32::from_bits(u32_at(of_slot, 0));
                    }
                }
            }
            best.take(&scores, base, slots);
        }
        Ok(best.finish())
    }
}

impl Container {
    /// The terms of the query that it has.
    fn shared(&self, query: &SparseVector, base: u32, reader: &mut Reader<'_>) -> Result<Bounded, SparseError> {
        let (mut shared, mut bound) = (Vec::new(), 0.0);
        let postings_at = self.entries_at + u64::from(self.entries) * ENTRY_BYTES as u64;
        for (term, weight) in query.terms() {
            let Some(group) = self.firsts.partition_point(|first| *first <= term).checked_sub(1) else { continue };
            let first = group * GROUP_ENTRIES;
            let entries = (self.entries as usize - first).min(GROUP_ENTRIES);
            let bytes = reader.bytes(self.entries_at + (first * ENTRY_BYTES) as u64, entries * ENTRY_BYTES)?;
            let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
            let Ok(at) = entries.binary_search_by_key(&term, |entry| u32_at(entry, 0)) else { continue };
            let entry = &entries[at];
            bound += weight * f32::from_bits(u32_at(entry, 8));
            let at = postings_at + u64::from(u32_at(entry, 12)) * POSTING_BYTES;
            shared.push(Shared { weight, postings: u32_at(entry, 4), at });
        }
        Ok(Bounded { base, bound, shared })
    }
}

/// The best so far.
struct Best {
    found: Vec<Found>,
    limit: usize,
    /// Lower scores are not among the best any more.
    least: f32,
}

impl Best {
    fn take(&mut self, scores: &[f32], base: u32, slots: Rows<'_>) {
        match slots {
            Rows::Only(allowed) => {
                for slot in allowed.range(base..base.saturating_add(CONTAINER_SLOTS)) {
                    self.look_at(slot, scores[(slot - base) as usize]);
                }
            }
            Rows::All => scores.iter().zip(base..).for_each(|(score, slot)| self.look_at(slot, *score)),
            Rows::Except(removed) => {
                for (score, slot) in scores.iter().zip(base..) {
                    if *score > 0.0 && *score >= self.least && !removed.contains(slot) {
                        self.look_at(slot, *score);
                    }
                }
            }
        }
    }

    fn look_at(&mut self, slot: u32, score: f32) {
        // Weights are above 0, so this is a slot that shares a term.
        if score > 0.0 && score >= self.least {
            self.found.push(Found { slot, score });
            if self.found.len() >= 2 * self.limit + CANDIDATES_MORE {
                self.keep();
            }
        }
    }

    fn keep(&mut self) {
        let order = |a: &Found, b: &Found| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot));
        if self.found.len() > self.limit && self.limit > 0 {
            let (_, last, _) = self.found.select_nth_unstable_by(self.limit - 1, order);
            self.least = last.score;
        }
        self.found.truncate(self.limit);
    }

    fn finish(mut self) -> Vec<Found> {
        self.keep();
        self.found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
        self.found
    }
}

/// Reads runs of bytes; the last block stays at hand, since terms ascend and so do their places.
struct Reader<'f> {
    file: &'f BlockFile,
    held: Option<(u64, Arc<[u8]>)>,
    /// A run that lies in several blocks.
    joined: Vec<u8>,
}

impl Reader<'_> {
    fn bytes(&mut self, at: u64, len: usize) -> Result<&[u8], SparseError> {
        let (index, begin) = (at / BLOCK_BYTES as u64, (at % BLOCK_BYTES as u64) as usize);
        if begin + len > BLOCK_BYTES {
            self.joined.resize(len, 0);
            self.file.read_at(at, &mut self.joined)?;
            return Ok(&self.joined);
        }
        if self.held.as_ref().is_none_or(|(held, _)| *held != index) {
            self.held = Some((index, self.file.block(index)?));
        }
        let block = self.held.as_ref().and_then(|(_, block)| block.get(begin..begin + len));
        Ok(block.ok_or_else(|| SegmentError::corrupt(self.file.path(), "a posting list lies outside"))?)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
