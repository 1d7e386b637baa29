//! Programs to passages, in every language that is known: the first byte chooses it.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../extracted.rs"]
mod extracted;

const NAMES: [&str; 10] = ["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp", "a.json"];

fuzz_target!(|bytes: &[u8]| {
    if let Some((language, bytes)) = bytes.split_first() {
        extracted::check(NAMES[usize::from(*language) % NAMES.len()], bytes);
    }
});
