//! Documents (a.html) to passages: any bytes are passages that are the source, byte for byte, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../extracted.rs"]
mod extracted;

fuzz_target!(|bytes: &[u8]| extracted::check("a.html", bytes));
