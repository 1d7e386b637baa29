//! Where a cache's rows lie in its keyspace.
//!
//! | bytes | row |
//! |---|---|
//! | 0x00 `c` | the state: settings, numbers, ledger, score |
//! | 0x01 entry | an answer with its prompt; expires when the answer does |
//! | 0x02 hash | the entry of a prompt, by scope and bytes |
//! | 0x03 hash | the entry of a prompt, by scope and form |
//! | 0x04 hash | the entry that is right for a prompt of this scope and form |
//! | 0x05 entry hash | an entry's row of 0x04 |
//! | 0x06 entry hash | a prompt of this scope and form for which the entry is wrong |
//! | 0x07 scope entry | the vector of an entry's prompt, empty where it has none |
//! | 0x08 tick | the entry that was used at that tick, and not since |
//! | 0x09 entry | the tick at which it was used last |
//! | 0x0a tag 0 entry | an entry with a tag |
//! | 0x0b collection id 0 entry | an entry that was made from a record |
//! | 0x0c hit | what was decided about an answer by meaning |
//! | 0x0d scope form user entry | the answer that a user has for a prompt of this scope and form: its hash |
//! | 0x0e hash | a row of 0x04 that came of a late verdict, and whose answer nobody has got yet |
//! | 0x0f hash | an answer to a prompt of this scope and form was held back for a later verdict |
//! | 0x10 entry | the user in whose share an entry lies |
//! | 0x11 user tick | the entry of that user which was used at that tick, and not since |
//! | 0x12 user | what lies in a user's share |
//! | 0x13 answers user | a user with so many answers in the share; the bits of the number are turned, so that the most come first |
//! | 0x14 bytes user | the same by bytes |
//!
//! Numbers are big endian, 8 bytes, those of collections 4. Hashes are BLAKE3, 32 bytes. Tags have no byte 0; an entry's number ends
//! its row's key, so that ids may have any.

use std::collections::BTreeMap;

use nuthatch_cache::canonical;

/// The first key of every cache.
pub const STATE: &[u8] = &[0, b'c'];

const ENTRY: u8 = 1;
const EXACT: u8 = 2;
const FORM: u8 = 3;
const ALIAS: u8 = 4;
const ALIAS_OF: u8 = 5;
const NEVER: u8 = 6;
const VECTOR: u8 = 7;
const USED: u8 = 8;
const TICK: u8 = 9;
const TAG: u8 = 10;
const SOURCE: u8 = 11;
const DECISION: u8 = 12;
const HELD_BY: u8 = 13;
const OWED: u8 = 14;
const OFFERED: u8 = 15;
const SHARE_OF: u8 = 16;
const SHARE_USED: u8 = 17;
const SHARE: u8 = 18;
const BY_ENTRIES: u8 = 19;
const BY_BYTES: u8 = 20;

/// 32 bytes of BLAKE3.
pub type Hash = [u8; 32];

/// The hash of a scope.
pub fn scope(parts: &BTreeMap<String, String>) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for text in parts.iter().flat_map(|(part, value)| [part, value]) {
        hasher.update(&(text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// A user within a scope.
pub fn user(scope: &Hash, user: &str) -> Hash {
    *blake3::Hasher::new_derive_key("nuthatch 2026-11-28 user of a cache")
        .update(scope)
        .update(user.as_bytes())
        .finalize()
        .as_bytes()
}

/// A user in a cache, in whatever scope.
pub fn member(user: &str) -> Hash {
    *blake3::Hasher::new_derive_key("nuthatch 2026-11-28 share of a user in a cache")
        .update(user.as_bytes())
        .finalize()
        .as_bytes()
}

/// The scope of a user's own answers: no scope of parts has this hash.
pub fn own_scope(user: &Hash) -> Hash {
    *blake3::Hasher::new_derive_key("nuthatch 2026-11-28 answers of one user").update(user).finalize().as_bytes()
}

/// The hash by which answers agree: texts by their form, other values as they are spelt.
pub fn answer(response: &str) -> Hash {
    let form = serde_json::from_str::<String>(response).map(|text| canonical(&text));
    *blake3::hash(form.as_deref().unwrap_or(response).as_bytes()).as_bytes()
}

/// The hashes of a prompt within a scope: of its bytes, and of its form.
pub fn hashes(scope: &Hash, prompt: &str) -> (Hash, Hash) {
    let of = |text: &str| *blake3::Hasher::new().update(scope).update(text.as_bytes()).finalize().as_bytes();
    (of(prompt), of(&canonical(prompt)))
}

fn numbered(kind: u8, number: u64) -> Vec<u8> {
    [&[kind][..], &number.to_be_bytes()].concat()
}

fn hashed(kind: u8, hash: &Hash) -> Vec<u8> {
    [&[kind][..], hash].concat()
}

pub fn entry(number: u64) -> Vec<u8> {
    numbered(ENTRY, number)
}

pub fn exact(hash: &Hash) -> Vec<u8> {
    hashed(EXACT, hash)
}

pub fn form(hash: &Hash) -> Vec<u8> {
    hashed(FORM, hash)
}

pub fn alias(hash: &Hash) -> Vec<u8> {
    hashed(ALIAS, hash)
}

/// All aliases of an entry begin so.
pub fn aliases_of(number: u64) -> Vec<u8> {
    numbered(ALIAS_OF, number)
}

pub fn alias_of(number: u64, hash: &Hash) -> Vec<u8> {
    [aliases_of(number).as_slice(), hash].concat()
}

/// All prompts for which an entry is wrong begin so.
pub fn nevers_of(number: u64) -> Vec<u8> {
    numbered(NEVER, number)
}

pub fn never(number: u64, hash: &Hash) -> Vec<u8> {
    [nevers_of(number).as_slice(), hash].concat()
}

/// All vectors begin so.
pub fn all_vectors() -> Vec<u8> {
    vec![VECTOR]
}

/// All vectors of a scope begin so.
pub fn vectors_of(scope: &Hash) -> Vec<u8> {
    hashed(VECTOR, scope)
}

pub fn vector(scope: &Hash, number: u64) -> Vec<u8> {
    [vectors_of(scope).as_slice(), &number.to_be_bytes()].concat()
}

/// The scope and the entry of a vector's row.
pub fn vector_of(row: &[u8]) -> Option<(Hash, u64)> {
    let row = row.strip_prefix(&[VECTOR])?;
    let (scope, entry) = row.split_first_chunk()?;
    Some((*scope, u64::from_be_bytes(entry.try_into().ok()?)))
}

/// All rows of what was used begin so, in the order of use.
pub fn all_used() -> Vec<u8> {
    vec![USED]
}

pub fn used(tick: u64) -> Vec<u8> {
    numbered(USED, tick)
}

pub fn tick(number: u64) -> Vec<u8> {
    numbered(TICK, number)
}

/// All entries with a tag begin so.
pub fn tagged(tag: &str) -> Vec<u8> {
    [&[TAG][..], tag.as_bytes(), &[0]].concat()
}

pub fn tag(tag: &str, number: u64) -> Vec<u8> {
    [tagged(tag).as_slice(), &number.to_be_bytes()].concat()
}

/// All entries that were made from any record begin so.
pub fn all_sources() -> Vec<u8> {
    vec![SOURCE]
}

/// All entries that were made from a record begin so.
pub fn made_from(collection: u32, id: &str) -> Vec<u8> {
    [&[SOURCE][..], &collection.to_be_bytes(), id.as_bytes(), &[0]].concat()
}

pub fn source(collection: u32, id: &str, number: u64) -> Vec<u8> {
    [made_from(collection, id).as_slice(), &number.to_be_bytes()].concat()
}

/// All decisions begin so, the oldest first.
pub fn all_decisions() -> Vec<u8> {
    vec![DECISION]
}

pub fn decision(hit: u64) -> Vec<u8> {
    numbered(DECISION, hit)
}

/// All answers that users have for prompts of a scope begin so.
pub fn held_in(scope: &Hash) -> Vec<u8> {
    hashed(HELD_BY, scope)
}

/// All answers that users have for a prompt of a scope and form begin so.
pub fn held_for(scope: &Hash, form: &Hash) -> Vec<u8> {
    [held_in(scope).as_slice(), form].concat()
}

pub fn held_by(scope: &Hash, form: &Hash, user: &Hash, number: u64) -> Vec<u8> {
    [held_for(scope, form).as_slice(), user, &number.to_be_bytes()].concat()
}

/// The user of a row of [`held_by`].
pub fn user_of(row: &[u8]) -> Option<Hash> {
    row.get(65..97)?.try_into().ok()
}

pub fn offered(hash: &Hash) -> Vec<u8> {
    hashed(OFFERED, hash)
}

pub fn owed(hash: &Hash) -> Vec<u8> {
    hashed(OWED, hash)
}

pub fn share_of(number: u64) -> Vec<u8> {
    numbered(SHARE_OF, number)
}

/// All rows of what was used of a user's share begin so, in the order of use.
pub fn all_used_of(member: &Hash) -> Vec<u8> {
    hashed(SHARE_USED, member)
}

pub fn used_of(member: &Hash, tick: u64) -> Vec<u8> {
    [all_used_of(member).as_slice(), &tick.to_be_bytes()].concat()
}

/// All shares begin so.
pub fn all_shares() -> Vec<u8> {
    vec![SHARE]
}

pub fn share(member: &Hash) -> Vec<u8> {
    hashed(SHARE, member)
}

/// All users with answers in their shares begin so, those with the most answers first.
pub fn all_by_entries() -> Vec<u8> {
    vec![BY_ENTRIES]
}

/// The same, those with the most bytes first.
pub fn all_by_bytes() -> Vec<u8> {
    vec![BY_BYTES]
}

pub fn by_entries(entries: u64, member: &Hash) -> Vec<u8> {
    [numbered(BY_ENTRIES, !entries).as_slice(), member].concat()
}

pub fn by_bytes(bytes: u64, member: &Hash) -> Vec<u8> {
    [numbered(BY_BYTES, !bytes).as_slice(), member].concat()
}

/// All entries begin so.
pub fn all_entries() -> Vec<u8> {
    vec![ENTRY]
}

/// The number at the end of a key.
pub fn number_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The hash at the end of a key.
pub fn hash_of(key: &[u8]) -> Option<Hash> {
    key.last_chunk().copied()
}
