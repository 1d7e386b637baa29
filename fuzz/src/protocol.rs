//! Redis' protocol: the bytes of commands.

use nuthatch_resp::protocol::{Decoder, Limits};

use crate::Run;

const LIMITS: Limits = Limits { arguments_max: 1000, argument_bytes_max: 1000, command_bytes_max: 4000 };

/// The first byte says how many come at once.
pub fn start() -> Run {
    Box::new(|bytes| {
        let Some((at_once, bytes)) = bytes.split_first() else { return };
        let whole = commands(bytes, bytes.len().max(1));
        let pieces = commands(bytes, usize::from(*at_once).max(1));
        assert_eq!(whole, pieces, "however it was cut, it is the same");
    })
}

/// Returns the decoded commands, followed by the error at the end, if any.
fn commands(bytes: &[u8], at_once: usize) -> String {
    let (mut decoder, mut found) = (Decoder::new(LIMITS), String::new());
    for piece in bytes.chunks(at_once) {
        decoder.feed(piece);
        loop {
            match decoder.next_command() {
                Ok(Some(command)) => {
                    assert!(!command.is_empty() && command.len() <= bytes.len());
                    found.push_str(&format!("{command:?}"));
                }
                Ok(None) => break,
                Err(error) => return format!("{found}{error}"),
            }
        }
        assert!(decoder.held_bytes() <= 4 * bytes.len() + 8192, "memory grows with what has come");
    }
    found
}
