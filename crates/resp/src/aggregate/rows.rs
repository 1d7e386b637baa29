//! Where the rows of aggregates lie, in the keyspace `redis.n.rows`.
//!
//! | key | value |
//! |---|---|
//! | `r`, id, `k` | the key that names the rows |
//! | `r`, id, `m`, place, name | the value of a field, the score of a member, nothing |
//! | `r`, id, `o`, score, member | nothing: the members of a sorted set in their order |
//! | `r`, id, `i`, place | an item of a list |
//! | `d`, id | nothing: no key names these rows any more |
//! | `e`, moment, id | nothing: the key of these rows expires at that moment |
//!
//! Numbers have eight bytes, big endian, such that their order is that of the bytes. The place of a name is a hash of it, so that a scan
//! goes on from a number and a random place finds a random name.

use crate::failure::{Failure, Outcome};

/// Bytes that a name may have: a row's key holds it.
const NAME_BYTES_MAX: usize = nuthatch_link::KEY_BYTES_MAX - 18;

/// The beginning of all rows of an aggregate.
pub(crate) fn all(id: u64) -> Vec<u8> {
    [b"r".as_slice(), &id.to_be_bytes()].concat()
}

/// The same row of another aggregate.
pub(crate) fn moved(row: &[u8], id: u64) -> Vec<u8> {
    [&all(id), &row[9..]].concat()
}

/// The row with the name of its key.
pub(crate) fn owner(id: u64) -> Vec<u8> {
    [&all(id), b"k".as_slice()].concat()
}

/// The beginning of the rows of names.
pub(crate) fn names(id: u64) -> Vec<u8> {
    [&all(id), b"m".as_slice()].concat()
}

/// From this place on.
pub(crate) fn names_from(id: u64, place: u64) -> Vec<u8> {
    [&names(id), place.to_be_bytes().as_slice()].concat()
}

pub(crate) fn name(id: u64, name: &[u8]) -> Outcome<Vec<u8>> {
    check(name)?;
    Ok([&names_from(id, place(name)), name].concat())
}

/// The place and the name of a row's key.
pub(crate) fn named(key: &[u8]) -> (u64, &[u8]) {
    let (place, name) = key[10..].split_first_chunk().expect("a row of a name has a place");
    (u64::from_be_bytes(*place), name)
}

/// The beginning of the members in their order.
pub(crate) fn order(id: u64) -> Vec<u8> {
    [&all(id), b"o".as_slice()].concat()
}

pub(crate) fn ordered(id: u64, score: f64, member: &[u8]) -> Outcome<Vec<u8>> {
    check(member)?;
    Ok([&order(id), ordinal(score).to_be_bytes().as_slice(), member].concat())
}

/// The score and the member of a row's key.
pub(crate) fn scored(key: &[u8]) -> (f64, &[u8]) {
    let (ordinal, member) = key[10..].split_first_chunk().expect("a row of the order has a score");
    let bits = u64::from_be_bytes(*ordinal);
    let bits = if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits };
    (f64::from_bits(bits), member)
}

/// A number whose order is that of the scores.
pub(crate) fn ordinal(score: f64) -> u64 {
    // There is one zero.
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

pub(crate) fn item(id: u64, place: i64) -> Vec<u8> {
    [&all(id), b"i".as_slice(), ((place as u64) ^ (1 << 63)).to_be_bytes().as_slice()].concat()
}

/// Rows that no key names.
pub(crate) fn dead(id: u64) -> Vec<u8> {
    [b"d".as_slice(), &id.to_be_bytes()].concat()
}

/// Rows whose key expires.
pub(crate) fn expiring(at_ms: u64, id: u64) -> Vec<u8> {
    [b"e".as_slice(), &at_ms.to_be_bytes(), &id.to_be_bytes()].concat()
}

/// The moment and the id of a row's key, of [`expiring`].
pub(crate) fn expires(key: &[u8]) -> Option<(u64, u64)> {
    let (at_ms, id) = key.get(1..)?.split_first_chunk()?;
    Some((u64::from_be_bytes(*at_ms), u64::from_be_bytes(id.try_into().ok()?)))
}

/// The id of a row's key, of [`all`].
pub(crate) fn owned(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.get(1..)?.first_chunk()?))
}

/// The id of a row's key, of [`dead`].
pub(crate) fn died(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(1..)?.try_into().ok()?))
}

/// Of a name: above 0, which begins a scan, and such that signed numbers and doubles hold it.
pub(crate) fn place(name: &[u8]) -> u64 {
    let hash = blake3::hash(name);
    let (first, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
    (u64::from_be_bytes(*first) >> 12) + 1
}

fn check(name: &[u8]) -> Outcome<()> {
    match name.len() <= NAME_BYTES_MAX {
        true => Ok(()),
        false => Err(Failure::error(format!(
            "a field or member has {} bytes, and the limit is {NAME_BYTES_MAX}; keep long ones as values",
            name.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lie_in_the_order_of_scores_and_places() {
        let scores = [f64::NEG_INFINITY, -1e300, -1.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 1.0, 1.5, f64::INFINITY];
        let keys: Vec<_> = scores.iter().map(|score| ordered(1, *score, b"m").unwrap()).collect();
        assert!(keys.is_sorted());
        keys.iter().zip(scores).for_each(|(key, score)| assert_eq!(scored(key), (score, &b"m"[..])));
        assert_eq!(ordered(1, -0.0, b"m").unwrap(), ordered(1, 0.0, b"m").unwrap());
        assert!([i64::MIN, -1, 0, 1, i64::MAX].map(|place| item(1, place)).is_sorted());
    }

    #[test]
    fn keys_tell_what_they_were_made_of() {
        assert_eq!(named(&name(1, b"field").unwrap()), (place(b"field"), &b"field"[..]));
        assert_eq!(expires(&expiring(5, 7)), Some((5, 7)));
        assert_eq!((died(&dead(7)), owned(&owner(7)), owned(b"r")), (Some(7), Some(7), None));
        assert!(name(1, &vec![b'x'; NAME_BYTES_MAX + 1]).is_err());
        assert_eq!(name(1, &vec![b'x'; NAME_BYTES_MAX]).unwrap().len(), nuthatch_link::KEY_BYTES_MAX);
    }
}
