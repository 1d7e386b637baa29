//! The `where` language: any text is a filter or an error that names a place; a filter's own text gives it back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nuthatch_filter::parse;

fuzz_target!(|text: &str| {
    let Ok(filter) = parse(text) else { return };
    let again = parse(&filter.to_string()).expect("a filter's text is a filter");
    assert_eq!(filter.to_string(), again.to_string());
});
