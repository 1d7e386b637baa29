//! Redis' protocol: any bytes, in any pieces, are commands, an error or the beginning of more, and take bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "replies are not looked at here")]
#[path = "../../../crates/resp/src/protocol/mod.rs"]
mod protocol;

use protocol::{Decoder, Limits};

fuzz_target!(|bytes: &[u8]| {
    let Some((at_once, bytes)) = bytes.split_first() else { return };
    let limits = Limits { arguments_max: 1000, argument_bytes_max: 1000, command_bytes_max: 4000 };
    let whole = commands(limits, bytes, bytes.len().max(1));
    let pieces = commands(limits, bytes, usize::from(*at_once).max(1));
    assert_eq!(whole, pieces, "however it was cut, it is the same");
});

fn commands(limits: Limits, bytes: &[u8], at_once: usize) -> String {
    let (mut decoder, mut found) = (Decoder::new(limits), String::new());
    for piece in bytes.chunks(at_once) {
        decoder.feed(piece);
        loop {
            match decoder.next_command() {
                Ok(Some(command)) => found.push_str(&format!("{command:?}")),
                Ok(None) => break,
                Err(error) => return format!("{found}{error}"),
            }
        }
        assert!(decoder.held_bytes() <= 4 * bytes.len() + 8192);
    }
    found
}
