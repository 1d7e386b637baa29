//! The parts of a block of rows, as drawn in [`super::chunk`].

pub(super) const BLOCK_ENTRY_BYTES: usize = 24;
/// From here a bitmap of a whole container is smaller than a list of its rows.
pub(super) const BITMAP_BLOCK_ROWS: usize = 4096;
/// A bit for each row of a container.
pub(super) const ROW_SET_BYTES: usize = 8192;

#[derive(Clone, Copy)]
pub(super) struct Block {
    pub lowest_key: u64,
    pub values: (u32, u32),
    pub positions: (u32, u32),
    pub offset: usize,
    pub width: usize,
}

impl Block {
    pub fn value_count(&self) -> usize {
        (self.values.1 - self.values.0) as usize
    }

    pub fn len(&self) -> usize {
        (self.positions.1 - self.positions.0) as usize
    }

    pub fn has_bitmap(&self) -> bool {
        self.len() >= BITMAP_BLOCK_ROWS
    }

    pub fn has_list(&self) -> bool {
        self.value_count() > 1 || !self.has_bitmap()
    }

    pub fn starts_bytes(&self) -> usize {
        if self.value_count() > 1 && self.value_count() < self.len() { 2 * self.value_count() } else { 0 }
    }

    pub fn list_offset(&self) -> usize {
        self.offset + self.value_count() * self.width + self.starts_bytes()
    }

    pub fn bitmap_offset(&self) -> usize {
        self.list_offset() + if self.has_list() { 2 * self.len() } else { 0 }
    }
}
