//! Where the rows of facts lie in their keyspace.
//!
//! | bytes | row |
//! |---|---|
//! | 0x00 `f` | the state: numbers and counts |
//! | 0x01 number | a fact with its sources |
//! | 0x02 hash(subject) number | a fact with this subject |
//! | 0x03 hash(subject, predicate) number | a fact with these |
//! | 0x04 hash(predicate) number | a fact with this predicate |
//! | 0x05 hash(object) number | a fact with this object |
//! | 0x06 hash(collection, id) number | a fact that has this passage among its sources |
//! | 0x07 normal form 0 name | an entity, and how many facts name it |
//! | 0x08 predicate | what is declared of a predicate, and how many facts have it |
//! | 0x09 hash(name) | the name that this one is an alias of |
//! | 0x0a hash(name) alias | an alias of the name |
//! | 0x0b hash(extractor) hash(passage) | what an extractor found in a passage, or why it failed |
//! | 0x0c hash(extractor) collection hash(id) | the passage that the extractor saw there last |
//! | 0x0d hash(extractor) hash(passage) collection hash(id) | that the passage stood there |
//! | 0x0e hash(subject, predicate, hash(object)) number | a fact with these |
//!
//! Numbers are big endian, 8 bytes, those of collections 4. Hashes are the first 16 bytes of BLAKE3 over parts, each after its
//! length: so no character of a name or an id can make two keys one. Names that lie in keys themselves have no byte 0.

use crate::facts::Object;

/// The first key of facts.
pub const STATE: &[u8] = &[0, b'f'];

const FACT: u8 = 1;
const SUBJECT: u8 = 2;
const PAIR: u8 = 3;
const PREDICATE: u8 = 4;
const OBJECT: u8 = 5;
const SOURCE: u8 = 6;
const ENTITY: u8 = 7;
const RULE: u8 = 8;
const ALIAS: u8 = 9;
const ALIASES: u8 = 10;
const MEMO: u8 = 11;
const SEEN: u8 = 12;
const HELD: u8 = 13;
const TRIPLE: u8 = 14;

/// 16 bytes of BLAKE3.
pub type Hash = [u8; 16];

/// The hash of several parts, each of which keeps its place.
pub fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut short = Hash::default();
    hasher.finalize_xof().fill(&mut short);
    short
}

fn joined(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![kind];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// All facts begin so, in the order in which they were recorded.
pub fn all_facts() -> Vec<u8> {
    vec![FACT]
}

pub fn fact(number: u64) -> Vec<u8> {
    joined(FACT, &[&number.to_be_bytes()])
}

/// The keys of facts with this subject are this and a number; those of the following likewise.
pub fn of_subject(name: &str) -> Vec<u8> {
    joined(SUBJECT, &[&hash(&[name.as_bytes()])])
}

pub fn of_pair(name: &str, predicate: &str) -> Vec<u8> {
    joined(PAIR, &[&hash(&[name.as_bytes(), predicate.as_bytes()])])
}

pub fn of_triple(name: &str, predicate: &str, object: &Object) -> Vec<u8> {
    joined(TRIPLE, &[&hash(&[name.as_bytes(), predicate.as_bytes(), &object.hash()])])
}

pub fn of_predicate(predicate: &str) -> Vec<u8> {
    joined(PREDICATE, &[&hash(&[predicate.as_bytes()])])
}

pub fn of_object(object: &Object) -> Vec<u8> {
    joined(OBJECT, &[&object.hash()])
}

pub fn of_passage(collection: u32, id: &str) -> Vec<u8> {
    joined(SOURCE, &[&hash(&[&collection.to_be_bytes(), id.as_bytes()])])
}

/// The key of a fact below one of these.
pub fn numbered(mut prefix: Vec<u8>, number: u64) -> Vec<u8> {
    prefix.extend_from_slice(&number.to_be_bytes());
    prefix
}

/// The number at the end of a key.
pub fn number_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// Entities whose normal forms begin so begin so.
pub fn entities(normal: &str) -> Vec<u8> {
    joined(ENTITY, &[normal.as_bytes()])
}

/// Entities of exactly this normal form begin so.
pub fn entities_of(normal: &str) -> Vec<u8> {
    joined(ENTITY, &[normal.as_bytes(), &[0]])
}

pub fn entity(normal: &str, name: &str) -> Vec<u8> {
    joined(ENTITY, &[normal.as_bytes(), &[0], name.as_bytes()])
}

/// The name of an entity's key.
pub fn entity_of(key: &[u8]) -> Option<String> {
    let rest = key.strip_prefix(&[ENTITY])?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    String::from_utf8(rest[end + 1..].to_vec()).ok()
}

/// All predicates begin so.
pub fn all_rules() -> Vec<u8> {
    vec![RULE]
}

pub fn rule(predicate: &str) -> Vec<u8> {
    joined(RULE, &[predicate.as_bytes()])
}

/// The predicate of a rule's key.
pub fn predicate_of(key: &[u8]) -> Option<String> {
    String::from_utf8(key.strip_prefix(&[RULE])?.to_vec()).ok()
}

pub fn alias(name: &str) -> Vec<u8> {
    joined(ALIAS, &[&hash(&[name.as_bytes()])])
}

/// Whether a row tells which names are one entity's.
pub fn is_of_alias(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(ALIAS | ALIASES)))
}

/// All declared aliases begin so.
pub fn all_aliases() -> Vec<u8> {
    vec![ALIASES]
}

/// All aliases of a name begin so.
pub fn aliases_of(name: &str) -> Vec<u8> {
    joined(ALIASES, &[&hash(&[name.as_bytes()])])
}

/// The alias of a key that begins with what [`aliases_of`] says.
pub fn alias_of(key: &[u8]) -> Option<String> {
    String::from_utf8(key.get(1 + 16..)?.to_vec()).ok()
}

/// All that extractors found begins so.
pub fn all_memos() -> Vec<u8> {
    vec![MEMO]
}

/// All that an extractor found begins so.
pub fn memos_of(extractor: &Hash) -> Vec<u8> {
    joined(MEMO, &[extractor])
}

pub fn memo(extractor: &Hash, passage: &Hash) -> Vec<u8> {
    joined(MEMO, &[extractor, passage])
}

/// The extractor and the passage of a memo's key.
pub fn memo_of(key: &[u8]) -> Option<(Hash, Hash)> {
    let rest = key.strip_prefix(&[MEMO])?;
    let (extractor, passage) = rest.split_first_chunk()?;
    Some((*extractor, passage.try_into().ok()?))
}

/// All passages that any extractor saw begin so.
pub fn all_seen() -> Vec<u8> {
    vec![SEEN]
}

/// The key prefix of what an extractor saw of a collection.
pub fn seen_of(extractor: &Hash, collection: u32) -> Vec<u8> {
    joined(SEEN, &[extractor, &collection.to_be_bytes()])
}

pub fn seen(extractor: &Hash, collection: u32, id: &str) -> Vec<u8> {
    joined(SEEN, &[extractor, &collection.to_be_bytes(), &hash(&[id.as_bytes()])])
}

/// The extractor and the collection of such a key.
pub fn seen_parts(key: &[u8]) -> Option<(Hash, u32)> {
    let (extractor, rest) = key.strip_prefix(&[SEEN])?.split_first_chunk()?;
    Some((*extractor, u32::from_be_bytes(*rest.first_chunk()?)))
}

/// All places where a passage stood begin so.
pub fn held_by(extractor: &Hash, passage: &Hash) -> Vec<u8> {
    joined(HELD, &[extractor, passage])
}

pub fn held(extractor: &Hash, passage: &Hash, collection: u32, id: &str) -> Vec<u8> {
    joined(HELD, &[extractor, passage, &collection.to_be_bytes(), &hash(&[id.as_bytes()])])
}

/// One past the last kind of row.
const KINDS_END: u8 = TRIPLE + 1;

/// Whether a key may be one of these.
pub fn is_one(key: &[u8]) -> bool {
    match key.split_first() {
        Some((0, rest)) => rest == [b'f'],
        Some((kind, rest)) => *kind < KINDS_END && !rest.is_empty(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_makes_two_keys_one() {
        assert_ne!(of_pair("a", "b c"), of_pair("a b", "c"));
        assert_ne!(of_pair("a\0b", "c"), of_pair("a", "b\0c"));
        let one = Object::Int(1);
        assert_ne!(of_triple("a", "b c", &one), of_triple("a b", "c", &one));
        assert_ne!(of_triple("a", "b", &one), of_triple("a", "b", &Object::Text("1".into())));
        assert_ne!(of_passage(1, "a\0"), of_passage(1, "a"));
        assert!(!of_passage(1, "a\0b").starts_with(&of_passage(1, "a")));
        assert_ne!(Object::Text("1".into()).hash(), Object::Int(1).hash());
        assert_ne!(Object::Text("a".into()).hash(), Object::Entity("a".into()).hash());
        assert_ne!(held(&[1; 16], &[2; 16], 3, "x"), held(&[1; 16], &[2; 16], 3, "y"));
    }

    #[test]
    fn what_keys_say_comes_back() {
        assert_eq!(entity_of(&entity("acme corp", "ACME Corp.")).as_deref(), Some("ACME Corp."));
        assert_eq!(alias_of(&[aliases_of("a").as_slice(), b"b"].concat()).as_deref(), Some("b"));
        assert_eq!(predicate_of(&rule("works_at")).as_deref(), Some("works_at"));
        assert_eq!(number_of(&numbered(of_subject("a"), 7)), Some(7));
        assert_eq!(memo_of(&memo(&[1; 16], &[2; 16])), Some(([1; 16], [2; 16])));
        assert_eq!(seen_parts(&seen(&[1; 16], 9, "id")), Some(([1; 16], 9)));
    }
}
