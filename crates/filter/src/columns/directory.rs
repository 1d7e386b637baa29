//! Which columns there are, and where their chunks lie. It stays in the file: a column is found by bisection.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::bytes::{Section, corrupt, number, u32_at};
use crate::FilterError;

const OFFSET_BYTES: usize = 8;
const PLACE_BYTES: usize = 16;

/// Where a column chunk lies, and which container of rows it is about.
#[derive(Clone, Copy)]
pub(super) struct ChunkLocation {
    pub container: u32,
    pub bytes: u32,
    pub offset: u64,
}

/// Writes names and places, then where each begins; how many bytes that took.
pub(super) fn write(columns: &BTreeMap<String, Vec<ChunkLocation>>, out: &mut dyn Write) -> io::Result<u64> {
    let mut written = 0;
    let mut offsets = Vec::with_capacity(columns.len() * OFFSET_BYTES);
    let mut entry = Vec::new();
    for (name, places) in columns {
        entry.clear();
        entry.extend_from_slice(&(name.len() as u32).to_le_bytes());
        entry.extend_from_slice(name.as_bytes());
        entry.extend_from_slice(&(places.len() as u32).to_le_bytes());
        for place in places {
            entry.extend_from_slice(&place.container.to_le_bytes());
            entry.extend_from_slice(&place.bytes.to_le_bytes());
            entry.extend_from_slice(&place.offset.to_le_bytes());
        }
        offsets.extend_from_slice(&u64::to_le_bytes(written));
        out.write_all(&entry)?;
        written += entry.len() as u64;
    }
    out.write_all(&offsets)?;
    Ok(written + offsets.len() as u64)
}

pub(super) struct Directory {
    names: Section,
    offsets: Section,
    columns: usize,
}

impl Directory {
    /// Over the bytes that [`write`] wrote.
    pub fn open(section: &Section, columns: u64) -> Result<Self, FilterError> {
        let offsets_bytes = usize::try_from(columns).ok().and_then(|columns| columns.checked_mul(OFFSET_BYTES));
        let split = offsets_bytes.and_then(|bytes| Some((section.len().checked_sub(bytes)?, bytes)));
        let (names_bytes, offsets_bytes) = split.ok_or_else(|| corrupt(format!("{columns} columns do not fit")))?;
        Ok(Self {
            names: section.part(0, names_bytes)?,
            offsets: section.part(names_bytes, offsets_bytes)?,
            columns: offsets_bytes / OFFSET_BYTES,
        })
    }

    /// The chunks of a column, in the order of their rows; none when there is no such column.
    pub fn find(&self, name: &str) -> Result<Vec<ChunkLocation>, FilterError> {
        let (mut low, mut high) = (0, self.columns);
        while low < high {
            let middle = (low + high) / 2;
            let at = number(&self.offsets.read(middle * OFFSET_BYTES, OFFSET_BYTES)?, 0, OFFSET_BYTES) as usize;
            let name_bytes = u32_at(&self.names.read(at, 4)?, 0) as usize;
            match (*self.names.read(at + 4, name_bytes)?).cmp(name.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.places(at + 4 + name_bytes),
            }
        }
        Ok(Vec::new())
    }

    fn places(&self, at: usize) -> Result<Vec<ChunkLocation>, FilterError> {
        let count = u32_at(&self.names.read(at, 4)?, 0) as usize;
        let bytes = self.names.read(at + 4, count.saturating_mul(PLACE_BYTES))?;
        let place = |bytes: &[u8]| ChunkLocation {
            container: u32_at(bytes, 0),
            bytes: u32_at(bytes, 4),
            offset: number(bytes, 8, 8),
        };
        Ok(bytes.chunks_exact(PLACE_BYTES).map(place).collect())
    }
}
