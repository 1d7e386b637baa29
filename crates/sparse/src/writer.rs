use std::io::Write;
use std::path::Path;

use nuthatch_segment::BlockFileWriter;

use crate::{CONTAINER_SLOTS, ENTRY_BYTES, GROUP_ENTRIES, POSTINGS_VERSION, SparseError, SparseVector};

/// Writes sparse vectors that come in the order of their slots as posting lists.
///
/// Memory: the terms of [one container](crate::CONTAINER_SLOTS), 12 bytes each, and 12 bytes for each container and 4 for each
/// [group](crate::GROUP_ENTRIES) of its terms written.
pub struct PostingsWriter {
    file: BlockFileWriter,
    /// Of the container at hand: term, slot in it, weight.
    postings: Vec<(u32, u16, f32)>,
    slots: u32,
    /// Of the containers written: where their entries begin, how many there are.
    directory: Vec<(u64, u32)>,
    /// The first term of each group of entries, container by container.
    firsts: Vec<u32>,
}

impl PostingsWriter {
    /// Creates the file, which must not be there.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(path: &Path) -> Result<Self, SparseError> {
        let file = BlockFileWriter::create(path)?;
        Ok(Self { file, postings: Vec::new(), slots: 0, directory: Vec::new(), firsts: Vec::new() })
    }

    /// Adds the vector of the next slot.
    ///
    /// # Errors
    /// The disk's.
    pub fn push(&mut self, vector: &SparseVector) -> Result<(), SparseError> {
        let slot = (self.slots % CONTAINER_SLOTS) as u16;
        self.postings.extend(vector.terms().map(|(term, weight)| (term, slot, weight)));
        self.slots += 1;
        if self.slots.is_multiple_of(CONTAINER_SLOTS) {
            self.write_container()?;
        }
        Ok(())
    }

    /// Vectors so far.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Writes the rest, and syncs the file. Returns its size in bytes.
    ///
    /// # Errors
    /// The disk's.
    pub fn finish(mut self) -> Result<u64, SparseError> {
        if !self.slots.is_multiple_of(CONTAINER_SLOTS) {
            self.write_container()?;
        }
        let at = self.file.position();
        for (entries_at, entries) in &self.directory {
            self.file.write_all(&entries_at.to_le_bytes())?;
            self.file.write_all(&entries.to_le_bytes())?;
        }
        for first in &self.firsts {
            self.file.write_all(&first.to_le_bytes())?;
        }
        for number in [POSTINGS_VERSION, self.slots, self.directory.len() as u32, 0] {
            self.file.write_all(&number.to_le_bytes())?;
        }
        self.file.write_all(&at.to_le_bytes())?;
        Ok(self.file.finish()?)
    }

    /// Entries first, then each term's slots and weights.
    fn write_container(&mut self) -> Result<(), SparseError> {
        // Entries are aligned, so that none lies in two blocks.
        let padding = self.file.position().next_multiple_of(ENTRY_BYTES as u64) - self.file.position();
        self.file.write_all(&[0; ENTRY_BYTES][..padding as usize])?;
        // Slots of a term ascend already, and a stable sort keeps them so.
        self.postings.sort_by_key(|(term, ..)| *term);
        let of_terms = || self.postings.chunk_by(|a, b| a.0 == b.0);
        let entries = of_terms().count() as u32;
        self.directory.push((self.file.position(), entries));
        let mut begins = 0u32;
        for (at, postings) in of_terms().enumerate() {
            if at.is_multiple_of(GROUP_ENTRIES) {
                self.firsts.push(postings[0].0);
            }
            let greatest = postings.iter().fold(0.0f32, |greatest, (.., weight)| greatest.max(*weight));
            self.file.write_all(&postings[0].0.to_le_bytes())?;
            self.file.write_all(&(postings.len() as u32).to_le_bytes())?;
            self.file.write_all(&greatest.to_le_bytes())?;
            self.file.write_all(&begins.to_le_bytes())?;
            begins += postings.len() as u32;
        }
        for postings in of_terms() {
            for (_, slot, _) in postings {
                self.file.write_all(&slot.to_le_bytes())?;
            }
            for (.., weight) in postings {
                self.file.write_all(&weight.to_le_bytes())?;
            }
        }
        self.postings.clear();
        Ok(())
    }
}
