//! Room for the records of a batch.

/// Begins at a cache line, so that no vector load of a kernel straddles two.
const ALIGN: usize = 64;

/// Grows to the largest batch that was asked for, and stays there.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// Room for `records` records of `record_bytes`; what it held before is lost.
    pub fn room(&mut self, records: usize, record_bytes: usize) -> &mut [u8] {
        let wanted = records * record_bytes;
        if self.bytes.len() < wanted + ALIGN {
            self.bytes = vec![0; wanted + ALIGN];
        }
        let start = self.bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        &mut self.bytes[start..start + wanted]
    }
}
