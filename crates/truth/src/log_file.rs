//! Checking RocksDB's log files (write-ahead log and MANIFEST) from the outside.
//!
//! RocksDB's recovery says "checksum mismatch" without a place. This walks the published format, 32 KiB blocks of records
//! with a masked CRC-32C, and finds the first bad byte and whether intact records follow it. Source: RocksDB wiki, "Write
//! Ahead Log File Format".

use std::path::Path;

const BLOCK: usize = 32 * 1024;
const HEADER: usize = 7;
const RECYCLABLE_HEADER: usize = 11;

/// Where a log file stops making sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadRecord {
    pub offset: u64,
    /// Intact records after it: damage in the middle. None: a torn tail, which recovery cuts off.
    pub intact_after: u64,
}

pub(crate) fn first_bad_record(path: &Path) -> std::io::Result<Option<BadRecord>> {
    let bytes = std::fs::read(path)?;
    let mut bad: Option<BadRecord> = None;
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        let mut at = 0;
        while at + HEADER <= block.len() {
            match record_bytes(&block[at..]) {
                Some(0) => break, // the zeroed rest of a preallocated block
                Some(bytes) => {
                    if let Some(bad) = &mut bad {
                        bad.intact_after += 1;
                    }
                    at += bytes;
                }
                None => {
                    bad.get_or_insert(BadRecord { offset: (number * BLOCK + at) as u64, intact_after: 0 });
                    // If the length survived, the next record is where it says; if not, the walk fails again at once
                    // and goes on with the next block.
                    let length = u16::from_le_bytes([block[at + 4], block[at + 5]]) as usize;
                    let next = at + header_bytes(block[at + 6]) + length;
                    if next >= block.len() || record_bytes(&block[next..]).is_none() {
                        break;
                    }
                    at = next;
                }
            }
        }
    }
    Ok(bad)
}

/// The length of the intact record at the start of `bytes`, 0 for padding, `None` when it is damaged.
fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let stored = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let length = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?) as usize;
    let kind = *bytes.get(6)?;
    if stored == 0 && length == 0 && kind == 0 {
        return bytes[..bytes.len().min(64)].iter().all(|b| *b == 0).then_some(0);
    }
    let header = header_bytes(kind);
    let checked = bytes.get(6..header + length)?;
    let unmasked = stored.wrapping_sub(0xa282_ead8).rotate_right(17);
    (crc32c::crc32c(checked) == unmasked).then_some(header + length)
}

/// Types 5-8, 11 and 13 carry a log number after the header (recyclable logs); bit 7 marks skippable ones.
fn header_bytes(kind: u8) -> usize {
    if matches!(kind & 0x7f, 5..=8 | 11 | 13) { RECYCLABLE_HEADER } else { HEADER }
}
