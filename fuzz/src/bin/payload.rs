//! Stored payloads: any bytes are a payload or an error; a payload that validates comes back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nuthatch_filter::{decode, encode, validate};

fuzz_target!(|bytes: &[u8]| {
    let Ok(payload) = decode(bytes) else { return };
    if validate(&payload).is_ok() {
        assert_eq!(decode(&encode(&payload)).expect("it was encoded here"), payload);
    }
});
