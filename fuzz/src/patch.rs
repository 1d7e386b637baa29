//! Changes to healthy bytes, read from an input: so a fuzzer need not find out by itself what a file of many kilobytes is like.

/// Most changes of one input.
const CHANGES_MAX: usize = 8;

/// Applies `what`, where, how many bytes and the bytes themselves, again and again until the input ends. Places are counted from the end as well, where trailers are.
pub fn patched(healthy: &[u8], mut input: &[u8]) -> Vec<u8> {
    let mut bytes = healthy.to_vec();
    for _ in 0..CHANGES_MAX {
        let [what, low, high, count, rest @ ..] = input else { break };
        let place = usize::from(*low) | usize::from(*high) << 8;
        let count = usize::from(*count % 32).min(rest.len());
        let (given, after) = rest.split_at(count);
        input = after;
        let at = match what & 1 {
            0 => place.min(bytes.len()),
            _ => bytes.len().saturating_sub(place),
        };
        match (what >> 1) % 5 {
            0 => bytes.iter_mut().skip(at).zip(given).for_each(|(byte, new)| *byte = *new),
            1 => bytes.iter_mut().skip(at).zip(given).for_each(|(byte, new)| *byte ^= *new),
            2 => drop(bytes.splice(at..at, given.iter().copied())),
            3 => drop(bytes.drain(at..(at + count).min(bytes.len()))),
            _ => bytes.truncate(at),
        }
    }
    bytes
}
