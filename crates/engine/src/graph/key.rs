//! Where rows lie in a graph's keyspace.
//!
//! | bytes | row |
//! |---|---|
//! | `n` id | a node |
//! | `e` source 0 type 0 target | an edge |
//! | `i` target 0 type 0 source | a pointer to that edge |
//!
//! No word has a byte 0 in it, so no key is another's beginning up to one, and rows sort as their words do.

use crate::graph::EdgeId;

const NODE: u8 = b'n';
const EDGE: u8 = b'e';
const POINTER: u8 = b'i';
/// Ends a word.
const END: u8 = 0;

/// The kind of row under a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GraphRow {
    Node(String),
    Edge(EdgeId),
    Pointer(EdgeId),
}

impl GraphRow {
    /// `None` for a key that no row of a graph has.
    pub fn of(key: &[u8]) -> Option<Self> {
        let (tag, rest) = key.split_first()?;
        let rest = std::str::from_utf8(rest).ok()?;
        if *tag == NODE {
            return (!rest.is_empty() && !rest.contains('\0')).then(|| Self::Node(rest.into()));
        }
        let mut words = rest.split('\0');
        let (near, kind, far) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || near.is_empty() || kind.is_empty() || far.is_empty() {
            return None;
        }
        match *tag {
            EDGE => Some(Self::Edge(EdgeId::new(near, kind, far))),
            POINTER => Some(Self::Pointer(EdgeId::new(far, kind, near))),
            _ => None,
        }
    }
}

/// The key of a node.
pub fn node(id: &str) -> Vec<u8> {
    [&[NODE], id.as_bytes()].concat()
}

/// The key of an edge.
pub fn edge(edge: &EdgeId) -> Vec<u8> {
    three(EDGE, &edge.source, &edge.kind, &edge.target)
}

pub(crate) fn pointer(edge: &EdgeId) -> Vec<u8> {
    three(POINTER, &edge.target, &edge.kind, &edge.source)
}

/// Returns the prefix of the keys of all nodes whose ids begin with `prefix`.
pub fn nodes(prefix: &str) -> Vec<u8> {
    node(prefix)
}

/// Returns the prefix of the keys of all edges.
pub(crate) fn edges() -> Vec<u8> {
    vec![EDGE]
}

/// Returns the prefix of the keys of a node's edges, or of its edges of one type; for incoming edges, these keys are
/// pointers.
pub(crate) fn edges_of(id: &str, kind: Option<&str>, incoming: bool) -> Vec<u8> {
    let mut key = vec![if incoming { POINTER } else { EDGE }];
    for word in std::iter::once(id).chain(kind) {
        key.extend_from_slice(word.as_bytes());
        key.push(END);
    }
    key
}

fn three(tag: u8, near: &str, kind: &str, far: &str) -> Vec<u8> {
    [&[tag], near.as_bytes(), &[END], kind.as_bytes(), &[END], far.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_lies_under_it() {
        let id = EdgeId::new("docs/a.md", "links to", "ß");
        assert_eq!(GraphRow::of(&node("a b")), Some(GraphRow::Node("a b".into())));
        assert_eq!(GraphRow::of(&edge(&id)), Some(GraphRow::Edge(id.clone())));
        assert_eq!(GraphRow::of(&pointer(&id)), Some(GraphRow::Pointer(id.clone())));
        assert!(edge(&id).starts_with(&edges_of("docs/a.md", None, false)));
        assert!(edge(&id).starts_with(&edges_of("docs/a.md", Some("links to"), false)));
        assert!(pointer(&id).starts_with(&edges_of("ß", Some("links to"), true)));
        assert!(!edge(&id).starts_with(&edges_of("docs/a", None, false)), "no other node's");
        assert!(!edge(&id).starts_with(&edges_of("docs/a.md", Some("links"), false)), "no other type's");
    }

    #[test]
    fn other_keys_are_none() {
        for key in ["", "n", "na\0b", "x", "ea", "ea\0b", "e\0b\0c", "ea\0\0c", "ea\0b\0", "ea\0b\0c\0d", "settings"] {
            assert_eq!(GraphRow::of(key.as_bytes()), None, "{key:?}");
        }
        assert_eq!(GraphRow::of(&[NODE, 0xff]), None);
    }
}
