//! Block files and their trailers, with a trailer whose checksum is right: opened and read, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nuthatch_segment::{BlockCache, BlockFile};

const TRAILER_BYTES: usize = 28;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut bytes = bytes.to_vec();
    // The last four bytes are those of the checksum of what the first byte says is before them.
    if bytes.len() > TRAILER_BYTES {
        let from = bytes.len() - TRAILER_BYTES;
        bytes[from..from + 8].copy_from_slice(b"NUTBLOCK");
        bytes[from + 8..from + 16].copy_from_slice(&[1, 0, 0, 0, 0, 0, 1, 0]);
        let data = u64::from(bytes[0]) * 257;
        let data = if data as usize + TRAILER_BYTES <= bytes.len() { data } else { (from as u64).saturating_sub(4) };
        bytes[from + 16..from + 24].copy_from_slice(&data.to_le_bytes());
        let end = bytes.len() - 4;
        let sum = crc32c::crc32c(&bytes[(data as usize).min(from)..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    }
    std::fs::write(file.path(), &bytes).expect("written");
    let Ok(opened) = BlockFile::open(file.path(), &BlockCache::new(1 << 20)) else { return };
    let mut out = [0; 64];
    for offset in [0, 1, 60, 65_530, u64::MAX - 10] {
        let _bytes_or_an_error = opened.read_at(offset, &mut out).is_ok();
    }
    let _well_or_not = opened.verify().is_ok();
});
