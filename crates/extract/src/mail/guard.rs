//! Limits that the mail library lacks: how many parts and headers it makes of a few bytes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Each part may hold others, and dropping them recurses.
const PARTS_MAX: usize = 2_000;

/// A part may be searched to the mail's end for a border that never comes. Of all mails of a file, within others or not.
const SEARCHED_BYTES_MAX: u64 = 4 << 30;

/// Three bytes make a header, which takes a hundred in memory.
const HEADER_BYTES_MAX: usize = 2 << 20;

/// The work that the mails of a file may still cost.
pub(crate) struct Work {
    searched_bytes_left: AtomicU64,
}

impl Work {
    pub(crate) fn new() -> Self {
        Work { searched_bytes_left: AtomicU64::new(SEARCHED_BYTES_MAX) }
    }

    fn admit(&self, searched_bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(searched_bytes);
        self.searched_bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

pub(super) fn refuse_bombs(bytes: &[u8], work: &Work) -> Result<(), String> {
    let (mut parts, mut header_bytes) = (0_usize, 0_usize);
    let mut in_headers = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"--") {
            in_headers = true;
            continue;
        }
        // Behind the empty line that ends headers, those of a mail within may follow.
        let blank = line.trim_ascii().is_empty();
        in_headers = in_headers && (blank || is_header(line));
        if in_headers && !blank {
            header_bytes += line.len();
        }
        parts += usize::from(mentions_type(line));
    }
    if parts > PARTS_MAX || !work.admit(parts as u64 * bytes.len() as u64) {
        return Err(format!(
            "it has {parts} parts in {} bytes, more than a mail needs; save its text by itself",
            bytes.len()
        ));
    }
    if header_bytes > HEADER_BYTES_MAX {
        return Err(format!(
            "its headers have more than {HEADER_BYTES_MAX} bytes, more than a mail needs; save its text by itself"
        ));
    }
    Ok(())
}

/// A header, or the line that goes on with one.
fn is_header(line: &[u8]) -> bool {
    line.starts_with(b" ") || line.starts_with(b"\t") || memchr::memchr(b':', line).is_some()
}

fn mentions_type(line: &[u8]) -> bool {
    let name = b"content-type";
    let line = line.trim_ascii_start();
    line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name)
}
