//! Inputs made of a seed without a guide: bytes changed, cut, doubled, swapped, and pieces that parsers are seldom given.

use fastrand::Rng;

const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"-",
    b"1e999",
    b"-0",
    b"null",
    b"18446744073709551616",
    b"\xc3\xa9",
    b"\xe2\x80\xae",
    b"'",
    b"%00",
    b",",
    b"\r\n",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x80",
];
/// An input that doubling has made longer than this is cut.
const BYTES_MAX: usize = 64 << 10;

/// A seed with one to four changes.
pub fn mutate(seed: &[u8], dice: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..dice.usize(1..=4) {
        let at = dice.usize(..=bytes.len());
        let to = (at + dice.usize(..12)).min(bytes.len());
        let piece = PIECES[dice.usize(..PIECES.len())];
        match dice.u8(..7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.u8(..8),
            1 => drop(bytes.drain(at..to)),
            2 => drop(bytes.splice(at..at, piece.iter().copied())),
            3 => drop(bytes.splice(at..to, piece.iter().copied())),
            4 => bytes.truncate(at),
            5 if at < bytes.len() => bytes[at] = dice.u8(..),
            _ => {
                let repeated = bytes[at..to].repeat(dice.usize(1..100));
                drop(bytes.splice(at..at, repeated));
            }
        }
    }
    bytes.truncate(BYTES_MAX);
    bytes
}
