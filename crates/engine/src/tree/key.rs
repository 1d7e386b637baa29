//! Where rows lie in the keyspace that a tenant's trees share.
//!
//! | bytes | row |
//! |---|---|
//! | 0x00 | the signature, and the sequence of the last write |
//! | 0x01 tree | a tree: its settings and what it counts |
//! | 0x02 tree 0 path 0 sequence | a version of a path; the sequence is inverted, so that the newest comes first |
//! | 0x03 tree 0 sequence path | that a write changed a path |
//! | 0x04 tree 0 name | a named snapshot |
//! | 0x05 BLAKE3 | a content |
//! | 0x06 BLAKE3 part | a part of the list of a content's chunks |
//! | 0x07 BLAKE3 | a chunk that contents of several chunks share |
//! | 0x08 | what all trees count |
//! | 0x09 upload part | chunks of a content that is still arriving |
//! | 0x0a tree | that the tree is being imported: it has versions, and is not there yet |
//! | 0x09 (255)×8 1 BLAKE3 language | which names a content has, as source code |
//! | 0x09 (255)×8 2 BLAKE3 language part | what is known of it |
//! | 0x09 (255)×8 3 BLAKE3 part | what an indexer says of its names, at a path of a tree |
//!
//! | 0x09 (255)×7 254 0 | how far the index of grams is |
//! | 0x09 (255)×7 254 1 BLAKE3 | the number of a content in it |
//! | 0x09 (255)×7 254 2 number tree 0 path 0 sequence | that a version has the content; the sequence is inverted |
//! | 0x09 (255)×7 254 3 number | that the content waits for its grams to be found |
//! | 0x09 (255)×7 254 4 block | which contents a block of the index has |
//! | 0x09 (255)×7 254 5 part block piece | of a block, a part: which of its contents have which grams |
//!
//! Those under 0x09 (255)×7 are derived, or what an indexer says. They are spelt as uploads without chunks under numbers that
//! no upload reaches: an earlier program takes them for what uploads have left, and removes them before it does anything else
//! with trees. So they never outlive their content there.
//!
//! Numbers are big endian, 8 bytes. Names and paths have no byte 0. The bytes of chunks lie in the table `blobs`.

use crate::tree::ContentId;

const TREE: u8 = 1;
const VERSION: u8 = 2;
const CHANGE: u8 = 3;
const SNAPSHOT: u8 = 4;
const CONTENT: u8 = 5;
const PARTS: u8 = 6;
const CHUNK: u8 = 7;
const TOTALS: u8 = 8;
const UPLOAD: u8 = 9;
const IMPORT: u8 = 10;
const NAMES: u8 = 1;
const FACTS: u8 = 2;
const SYMBOLS: u8 = 3;
const GRAM_STATE: u8 = 0;
const GRAM_NUMBER: u8 = 1;
const GRAM_PATH: u8 = 2;
const GRAM_PENDING: u8 = 3;
const GRAM_BLOCK: u8 = 4;
const GRAM_POSTINGS: u8 = 5;
/// Ends a name or a path.
const END: u8 = 0;

/// The first key of every keyspace of trees.
pub const SIGNATURE: &[u8] = &[0];

/// The key of what all trees count.
pub fn totals() -> Vec<u8> {
    vec![TOTALS]
}

/// The key of a tree.
pub fn tree(name: &str) -> Vec<u8> {
    [&[TREE], name.as_bytes()].concat()
}

/// The prefix of the keys of all trees.
pub fn trees() -> Vec<u8> {
    vec![TREE]
}

/// The name of the tree under a key of [`tree`].
pub fn tree_of(key: &[u8]) -> Option<String> {
    let name = key.strip_prefix(&[TREE])?;
    String::from_utf8(name.to_vec()).ok()
}

/// The prefix of the keys of all versions.
pub fn all_versions() -> Vec<u8> {
    vec![VERSION]
}

/// The key prefix of a tree's versions whose paths begin with `prefix`.
pub fn versions_below(tree: &str, prefix: &str) -> Vec<u8> {
    [&[VERSION], tree.as_bytes(), &[END], prefix.as_bytes()].concat()
}

/// The key prefix of a path's versions.
pub fn versions_of(tree: &str, path: &str) -> Vec<u8> {
    let mut key = versions_below(tree, path);
    key.push(END);
    key
}

/// The key of a version.
pub fn version(tree: &str, path: &str, sequence: u64) -> Vec<u8> {
    let mut key = versions_of(tree, path);
    key.extend_from_slice(&(!sequence).to_be_bytes());
    key
}

/// The tree, path and sequence of a version's key.
pub fn version_of(key: &[u8]) -> Option<(&str, &str, u64)> {
    named_of(key.strip_prefix(&[VERSION])?)
}

/// The tree, path and sequence in a version's key behind its tag.
fn named_of(rest: &[u8]) -> Option<(&str, &str, u64)> {
    let (rest, sequence) = rest.split_last_chunk::<8>()?;
    let names = rest.strip_suffix(&[END])?;
    let (tree, path) = std::str::from_utf8(names).ok()?.split_once('\0')?;
    Some((tree, path, !u64::from_be_bytes(*sequence)))
}

/// The key prefix of a tree's changes.
pub fn changes(tree: &str) -> Vec<u8> {
    [&[CHANGE], tree.as_bytes(), &[END]].concat()
}

/// The key prefix of the changes of one write.
pub fn changes_at(tree: &str, sequence: u64) -> Vec<u8> {
    let mut key = changes(tree);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// The key of a change.
pub fn change(tree: &str, sequence: u64, path: &str) -> Vec<u8> {
    let mut key = changes_at(tree, sequence);
    key.extend_from_slice(path.as_bytes());
    key
}

/// The path of a change's key, which begins with what [`changes`] says of its tree.
pub fn changed_path(tree: &str, key: &[u8]) -> Option<String> {
    let path = key.get(changes(tree).len() + 8..)?;
    String::from_utf8(path.to_vec()).ok()
}

/// The key of a snapshot.
pub fn snapshot(tree: &str, name: &str) -> Vec<u8> {
    let mut key = snapshots(tree);
    key.extend_from_slice(name.as_bytes());
    key
}

/// The key prefix of a tree's snapshots.
pub fn snapshots(tree: &str) -> Vec<u8> {
    [&[SNAPSHOT], tree.as_bytes(), &[END]].concat()
}

/// The name of a snapshot's key.
pub fn snapshot_name(tree: &str, key: &[u8]) -> Option<String> {
    String::from_utf8(key.get(snapshots(tree).len()..)?.to_vec()).ok()
}

/// The key of a content.
pub fn content(id: &ContentId) -> Vec<u8> {
    [&[CONTENT], &id.0[..]].concat()
}

/// The key prefix of all contents.
pub fn contents() -> Vec<u8> {
    vec![CONTENT]
}

/// The id of a content's key.
pub fn content_of(key: &[u8]) -> Option<ContentId> {
    id_of(CONTENT, key)
}

/// The key of a part of the list of a content's chunks.
pub fn part(id: &ContentId, number: u32) -> Vec<u8> {
    [&[PARTS], &id.0[..], &number.to_be_bytes()].concat()
}

/// The key of a chunk.
pub fn chunk(id: &ContentId) -> Vec<u8> {
    [&[CHUNK], &id.0[..]].concat()
}

/// The key prefix of all chunks.
pub fn chunks() -> Vec<u8> {
    vec![CHUNK]
}

/// The id of a chunk's key.
pub fn chunk_of(key: &[u8]) -> Option<ContentId> {
    id_of(CHUNK, key)
}

/// The key of a part of an upload.
pub fn upload(upload: u64, part: u32) -> Vec<u8> {
    [&upload_parts(upload)[..], &part.to_be_bytes()].concat()
}

/// The key prefix of an upload's parts.
pub fn upload_parts(upload: u64) -> Vec<u8> {
    [&[UPLOAD], &upload.to_be_bytes()[..]].concat()
}

/// The key prefix of all uploads.
pub fn uploads() -> Vec<u8> {
    vec![UPLOAD]
}

/// The key of that a tree is being imported.
pub fn import(tree: &str) -> Vec<u8> {
    [&[IMPORT], tree.as_bytes()].concat()
}

/// The key prefix of all trees that are being imported.
pub fn imports() -> Vec<u8> {
    vec![IMPORT]
}

/// The tree of a key of [`import`].
pub fn import_of(key: &[u8]) -> Option<String> {
    String::from_utf8(key.strip_prefix(&[IMPORT])?.to_vec()).ok()
}

/// The key prefix of everything known about source code.
pub fn code() -> Vec<u8> {
    upload_parts(u64::MAX)
}

/// The key prefix of the index of grams.
pub fn grams() -> Vec<u8> {
    upload_parts(u64::MAX - 1)
}

/// The key of how far the index of grams is.
pub fn gram_state() -> Vec<u8> {
    gram_key(GRAM_STATE, &[])
}

/// The key of the number of a content.
pub fn gram_number(id: &ContentId) -> Vec<u8> {
    gram_key(GRAM_NUMBER, &[&id.0])
}

/// The key prefix of the numbers of all contents.
pub fn gram_numbers() -> Vec<u8> {
    gram_key(GRAM_NUMBER, &[])
}

/// The content of a key of [`gram_number`].
pub fn gram_number_of(key: &[u8]) -> Option<ContentId> {
    Some(ContentId(key.strip_prefix(&gram_numbers()[..])?.try_into().ok()?))
}

/// The key of that a version has a content.
pub fn gram_path(number: u64, tree: &str, path: &str, sequence: u64) -> Vec<u8> {
    let version = version(tree, path, sequence);
    gram_key(GRAM_PATH, &[&number.to_be_bytes(), &version[1..]])
}

/// The key prefix of the versions of all numbered contents.
pub fn gram_paths() -> Vec<u8> {
    gram_key(GRAM_PATH, &[])
}

/// The key prefix of the versions of a content.
pub fn gram_paths_of(number: u64) -> Vec<u8> {
    gram_key(GRAM_PATH, &[&number.to_be_bytes()])
}

/// The number, tree, path and sequence of a key of [`gram_path`].
pub fn gram_path_of(key: &[u8]) -> Option<(u64, &str, &str, u64)> {
    let (number, rest) = key.strip_prefix(&gram_paths()[..])?.split_first_chunk::<8>()?;
    let (tree, path, sequence) = named_of(rest)?;
    Some((u64::from_be_bytes(*number), tree, path, sequence))
}

/// The key of that a content waits for its grams to be found.
pub fn gram_pending(number: u64) -> Vec<u8> {
    gram_key(GRAM_PENDING, &[&number.to_be_bytes()])
}

/// The key prefix of all contents that wait for their grams.
pub fn gram_pendings() -> Vec<u8> {
    gram_key(GRAM_PENDING, &[])
}

/// The number of a key of [`gram_pending`].
pub fn gram_pending_of(key: &[u8]) -> Option<u64> {
    number_of(key, &gram_pendings())
}

/// The key of what a block of the index has.
pub fn gram_block(block: u64) -> Vec<u8> {
    gram_key(GRAM_BLOCK, &[&block.to_be_bytes()])
}

/// The key prefix of all blocks.
pub fn gram_blocks() -> Vec<u8> {
    gram_key(GRAM_BLOCK, &[])
}

/// The number of a block's key.
pub fn gram_block_of(key: &[u8]) -> Option<u64> {
    number_of(key, &gram_blocks())
}

/// The key of a piece of a part of a block.
pub fn gram_postings(part: u8, block: u64, piece: u8) -> Vec<u8> {
    gram_key(GRAM_POSTINGS, &[&[part], &block.to_be_bytes(), &[piece]])
}

/// The key prefix of one part of all blocks.
pub fn gram_part(part: u8) -> Vec<u8> {
    gram_key(GRAM_POSTINGS, &[&[part]])
}

/// The key prefix of all parts.
pub fn gram_parts() -> Vec<u8> {
    gram_key(GRAM_POSTINGS, &[])
}

/// The part, the block and the piece of a key of [`gram_postings`].
pub fn gram_postings_of(key: &[u8]) -> Option<(u8, u64, u8)> {
    match *key.strip_prefix(&gram_parts()[..])? {
        [part, ref block @ .., piece] => Some((part, u64::from_be_bytes(block.try_into().ok()?), piece)),
        _ => None,
    }
}

fn gram_key(tag: u8, rest: &[&[u8]]) -> Vec<u8> {
    [&grams()[..], &[tag], &rest.concat()].concat()
}

fn number_of(key: &[u8], prefix: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.strip_prefix(prefix)?.try_into().ok()?))
}

/// The key of the names of a content in a language.
pub fn code_names(id: &ContentId, language: u8) -> Vec<u8> {
    [&code_of(NAMES, id)[..], &[language]].concat()
}

/// The key of a part of what is known of a content in a language.
pub fn code_facts(id: &ContentId, language: u8, part: u32) -> Vec<u8> {
    [&code_of(FACTS, id)[..], &[language], &part.to_be_bytes()].concat()
}

/// The key of a part of what an indexer says of the names of a content.
pub fn code_symbols(id: &ContentId, part: u32) -> Vec<u8> {
    [&code_of(SYMBOLS, id)[..], &part.to_be_bytes()].concat()
}

/// Returns the key prefixes of all source code data about a content.
pub fn code_below(id: &ContentId) -> [Vec<u8>; 3] {
    [code_of(NAMES, id), code_of(FACTS, id), code_of(SYMBOLS, id)]
}

/// The content of a key below [`code`].
pub fn code_content(key: &[u8]) -> Option<ContentId> {
    let rest = key.strip_prefix(&code()[..])?;
    Some(ContentId(rest.get(1..33)?.try_into().ok()?))
}

fn code_of(tag: u8, id: &ContentId) -> Vec<u8> {
    [&code()[..], &[tag], &id.0[..]].concat()
}

fn id_of(tag: u8, key: &[u8]) -> Option<ContentId> {
    Some(ContentId(key.strip_prefix(&[tag])?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_lies_under_them_and_sort_newest_first() {
        let (new, old) = (version("docs", "a/ü.md", 9), version("docs", "a/ü.md", 8));
        assert_eq!(version_of(&new), Some(("docs", "a/ü.md", 9)));
        assert!(new < old);
        assert!(new.starts_with(&versions_of("docs", "a/ü.md")) && new.starts_with(&versions_below("docs", "a/")));
        assert!(!version("docs", "a/b", 1).starts_with(&versions_of("docs", "a")), "no other path's");
        assert_eq!(changed_path("docs", &change("docs", 3, "x/y")).as_deref(), Some("x/y"));
        assert!(change("docs", 3, "z") < change("docs", 256, "a"));
        assert_eq!(snapshot_name("docs", &snapshot("docs", "v1")).as_deref(), Some("v1"));
        let id = ContentId([7; 32]);
        assert_eq!(content_of(&content(&id)), Some(id));
        assert_eq!(chunk_of(&content(&id)), None);
        assert_eq!(tree_of(&tree("docs")).as_deref(), Some("docs"));
        assert_eq!(gram_path_of(&gram_path(7, "docs", "a/ü.md", 9)), Some((7, "docs", "a/ü.md", 9)));
        assert_eq!(gram_number_of(&gram_number(&id)), Some(id));
        assert_eq!(gram_pending_of(&gram_pending(7)), Some(7));
        assert_eq!(gram_block_of(&gram_block(7)), Some(7));
        assert_eq!(gram_postings_of(&gram_postings(3, 7, 1)), Some((3, 7, 1)));
        assert!(grams() < code() && upload(1, 0) < grams());
    }
}
