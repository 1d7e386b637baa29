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
//! | 0x09 (255)×8 1 BLAKE3 language | which names a content has, as source code |
//! | 0x09 (255)×8 2 BLAKE3 language part | what is known of it |
//!
//! The last two are derived, and spelt as uploads without chunks under a number that no upload reaches: an earlier program
//! takes them for what uploads have left, and removes them before it does anything else with trees. So they never outlive
//! their content there.
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
const NAMES: u8 = 1;
const FACTS: u8 = 2;
/// Ends a name or a path.
const END: u8 = 0;

/// What every keyspace of trees begins with.
pub const SIGNATURE: &[u8] = &[0];

/// The key of what all trees count.
pub fn totals() -> Vec<u8> {
    vec![TOTALS]
}

/// The key of a tree.
pub fn tree(name: &str) -> Vec<u8> {
    [&[TREE], name.as_bytes()].concat()
}

/// What the keys of all trees begin with.
pub fn trees() -> Vec<u8> {
    vec![TREE]
}

/// The name of the tree under a key of [`tree`].
pub fn tree_of(key: &[u8]) -> Option<String> {
    let name = key.strip_prefix(&[TREE])?;
    String::from_utf8(name.to_vec()).ok()
}

/// What the keys of all versions begin with.
pub fn all_versions() -> Vec<u8> {
    vec![VERSION]
}

/// What the keys of a tree's versions begin with whose paths begin with `prefix`.
pub fn versions_below(tree: &str, prefix: &str) -> Vec<u8> {
    [&[VERSION], tree.as_bytes(), &[END], prefix.as_bytes()].concat()
}

/// What the keys of a path's versions begin with.
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
    let rest = key.strip_prefix(&[VERSION])?;
    let (rest, sequence) = rest.split_last_chunk::<8>()?;
    let names = rest.strip_suffix(&[END])?;
    let (tree, path) = std::str::from_utf8(names).ok()?.split_once('\0')?;
    Some((tree, path, !u64::from_be_bytes(*sequence)))
}

/// What the keys of a tree's changes begin with.
pub fn changes(tree: &str) -> Vec<u8> {
    [&[CHANGE], tree.as_bytes(), &[END]].concat()
}

/// What the keys of the changes of one write begin with.
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

/// What the keys of a tree's snapshots begin with.
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

/// What the keys of all contents begin with.
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

/// What the keys of all chunks begin with.
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

/// What the keys of an upload's parts begin with.
pub fn upload_parts(upload: u64) -> Vec<u8> {
    [&[UPLOAD], &upload.to_be_bytes()[..]].concat()
}

/// What the keys of all uploads begin with.
pub fn uploads() -> Vec<u8> {
    vec![UPLOAD]
}

/// What the keys of all that is known of source code begin with.
pub fn code() -> Vec<u8> {
    upload_parts(u64::MAX)
}

/// The key of the names of a content in a language.
pub fn code_names(id: &ContentId, language: u8) -> Vec<u8> {
    [&code_of(NAMES, id)[..], &[language]].concat()
}

/// The key of a part of what is known of a content in a language.
pub fn code_facts(id: &ContentId, language: u8, part: u32) -> Vec<u8> {
    [&code_of(FACTS, id)[..], &[language], &part.to_be_bytes()].concat()
}

/// What the keys of the names and of the facts of a content begin with.
pub fn code_below(id: &ContentId) -> [Vec<u8>; 2] {
    [code_of(NAMES, id), code_of(FACTS, id)]
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
    }
}
