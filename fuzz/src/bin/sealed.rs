//! Sealed files and what is in them: manifests of backups, read past their checksum, which no mutation gets right.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use nuthatch_segment::{seal, unseal};

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("sealed");
    if let Ok(body) = unseal(path, bytes) {
        assert_eq!(seal(&body), bytes);
    }
    assert_eq!(unseal(path, &seal(bytes)).expect("it was sealed here"), bytes);
});
