//! Walking RocksDB's log files (write-ahead log and MANIFEST) from the outside.
//!
//! RocksDB's recovery says "checksum mismatch" without a place, and stops at the first one. This walks the published format,
//! 32 KiB blocks of records with a masked CRC-32C, says where it stops making sense, and finds the intact records after that.
//! Source: RocksDB wiki, "Write Ahead Log File Format".

use std::io::Read;
use std::path::Path;

const BLOCK: usize = 32 * 1024;
const HEADER: usize = 7;
const RECYCLABLE_HEADER: usize = 11;
/// A record whose header leaves no more room than this in its block begins in the next one.
const TRAILER_MAX: usize = RECYCLABLE_HEADER - 1;

/// A part of a log, as a walk through it finds them in order.
pub(crate) enum LogPart<'r> {
    /// An intact record.
    Record { offset: u64, bytes: &'r [u8] },
    /// From here to the next record nothing makes sense. `torn`: something of this log had begun here; otherwise it may be the
    /// unwritten rest of a file, or what an earlier log left in it.
    Hole { offset: u64, torn: bool },
}

/// Visits every intact record of a log. `number`: the log's own, which records of a recycled file carry; those of another number
/// are what the file held before.
pub(crate) fn walk(path: &Path, number: Option<u32>, visit: &mut dyn FnMut(LogPart<'_>)) -> std::io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    let mut block = Vec::with_capacity(BLOCK);
    let mut walk = Walk { number, recycles: false, begun: None, scratch: Vec::new(), in_hole: false };
    let mut start = 0;
    loop {
        block.clear();
        (&mut file).take(BLOCK as u64).read_to_end(&mut block)?;
        if block.is_empty() {
            break;
        }
        walk.block(start, &block, visit);
        start += block.len() as u64;
    }
    if let Some(begun) = walk.begun {
        walk.hole(begun, true, visit);
    }
    Ok(())
}

struct Walk {
    number: Option<u32>,
    /// This log's records carry its number.
    recycles: bool,
    /// Where the record under way began.
    begun: Option<u64>,
    /// Its fragments so far.
    scratch: Vec<u8>,
    in_hole: bool,
}

impl Walk {
    fn block(&mut self, start: u64, block: &[u8], visit: &mut dyn FnMut(LogPart<'_>)) {
        let mut at = 0;
        while at + HEADER <= block.len() {
            let rest = &block[at..];
            if let Some(fragment) = self.fragment(rest) {
                self.take(start + at as u64, &fragment, visit);
                at += fragment.header + fragment.payload.len();
                continue;
            }
            let unwritten = rest[..rest.len().min(64)].iter().all(|byte| *byte == 0);
            if unwritten && rest.len() <= TRAILER_MAX {
                return;
            }
            let torn = self.begun.is_some() || !unwritten && self.claims(rest);
            self.hole(start + at as u64, torn, visit);
            // The length is not to be trusted: whatever begins a record is looked for at every byte.
            let next = (at + 1..block.len().saturating_sub(HEADER)).find(|next| {
                let found = self.fragment(&block[*next..]);
                found.is_some_and(|fragment| fragment.begins)
            });
            match next {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    fn take(&mut self, offset: u64, fragment: &Fragment<'_>, visit: &mut dyn FnMut(LogPart<'_>)) {
        self.recycles |= fragment.header == RECYCLABLE_HEADER;
        if fragment.begins {
            if let Some(begun) = self.begun.take() {
                self.hole(begun, true, visit); // the one before never ended
            }
            self.begun = Some(offset);
            self.scratch.clear();
        } else if self.begun.is_none() {
            return self.hole(offset, true, visit); // the rest of a record whose beginning is lost
        }
        self.scratch.extend_from_slice(fragment.payload);
        if fragment.ends {
            let offset = self.begun.take().expect("begun above");
            self.in_hole = false;
            visit(LogPart::Record { offset, bytes: &self.scratch });
        }
    }

    fn hole(&mut self, offset: u64, torn: bool, visit: &mut dyn FnMut(LogPart<'_>)) {
        let offset = self.begun.take().unwrap_or(offset);
        if !std::mem::replace(&mut self.in_hole, true) {
            visit(LogPart::Hole { offset, torn });
        }
    }

    /// The intact fragment at the start of `bytes`.
    fn fragment<'b>(&self, bytes: &'b [u8]) -> Option<Fragment<'b>> {
        let stored = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let length = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?) as usize;
        let kind = *bytes.get(6)?;
        let header = header_bytes(kind);
        if kind == 0 || self.is_foreign(bytes) {
            return None;
        }
        let checked = bytes.get(6..header + length)?;
        let unmasked = stored.wrapping_sub(0xa282_ead8).rotate_right(17);
        let (begins, ends) = match kind {
            1 | 5 => (true, true),
            2 | 6 => (true, false),
            3 | 7 => (false, false),
            4 | 8 => (false, true),
            _ => return None,
        };
        (crc32c::crc32c(checked) == unmasked).then(|| Fragment {
            header,
            payload: &bytes[header..header + length],
            begins,
            ends,
        })
    }

    /// A header with the number of another log: this part of the file is from its earlier life.
    fn is_foreign(&self, bytes: &[u8]) -> bool {
        let Some(number) = self.number else { return false };
        header_bytes(bytes[6]) == RECYCLABLE_HEADER
            && bytes.get(HEADER..RECYCLABLE_HEADER) != Some(&number.to_le_bytes())
    }

    /// A header that cannot be from an earlier life of the file.
    fn claims(&self, bytes: &[u8]) -> bool {
        match header_bytes(bytes[6]) == RECYCLABLE_HEADER {
            true => !self.is_foreign(bytes),
            false => !self.recycles,
        }
    }
}

struct Fragment<'b> {
    header: usize,
    payload: &'b [u8],
    begins: bool,
    ends: bool,
}

/// Types 5-8 carry a log number after the header (recyclable logs). The other types of the format are of features that are off.
fn header_bytes(kind: u8) -> usize {
    if matches!(kind, 5..=8) { RECYCLABLE_HEADER } else { HEADER }
}
