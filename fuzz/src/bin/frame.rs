//! Frames of the socket between processes: whatever comes, a body or an error.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "writing is not looked at here")]
#[path = "../../../crates/engine/src/process/frame.rs"]
mod frame;

/// A bit of everything that requests are made of.
#[allow(dead_code, reason = "it is only read")]
#[derive(serde::Deserialize)]
enum Anything {
    Text(String),
    Bytes(Vec<Vec<u8>>),
    Numbers(Vec<f32>, Option<u64>),
    Named(BTreeMap<String, Box<Anything>>),
}

fuzz_target!(|bytes: &[u8]| {
    let mut from = bytes;
    while let Ok(body) = frame::read_bytes(&mut from, 1 << 20) {
        assert!(body.len() <= bytes.len());
    }
    // Past the checksum, which no mutation gets right.
    let _any_value_or_an_error = frame::value::<Anything>(bytes).is_ok();
    if let Ok(sealed) = frame::of_bytes(bytes) {
        assert_eq!(frame::read_bytes(&mut sealed.as_slice(), bytes.len()).expect("it was sealed here"), bytes);
    }
});
