//! Record files with a trailer whose checksum is right: opened and read, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nuthatch_segment::{Access, RecordFile};

const TRAILER_BYTES: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut bytes = bytes.to_vec();
    if bytes.len() >= TRAILER_BYTES {
        let from = bytes.len() - TRAILER_BYTES;
        bytes[from..from + 8].copy_from_slice(b"NUTRECRD");
        bytes[from + 8..from + 12].copy_from_slice(&1_u32.to_le_bytes());
        let meta = u32::from_le_bytes(bytes[from + 24..from + 28].try_into().expect("four bytes")) as usize;
        let end = bytes.len() - 4;
        let sum = crc32c::crc32c(&bytes[from.saturating_sub(meta)..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    }
    std::fs::write(file.path(), &bytes).expect("written");
    let Ok(opened) = RecordFile::open(file.path(), Access::Direct) else { return };
    let _well_or_not = opened.verify().is_ok();
});
