//! The stored value of a node or an edge.
//!
//! | bytes | of a node |
//! |---|---|
//! | 1 | length of the type |
//! | that many | the type |
//! | the rest | properties, as a record's payload; nothing when there are none |
//!
//! | bytes | of an edge |
//! |---|---|
//! | 1 | flags: 1 = it has a weight |
//! | 8, when it has one | f64, big endian; without one it is 1 |
//! | the rest | properties, in the same way |

use nuthatch_filter::Payload;

use crate::graph::{Edge, EdgeId, Node};
use crate::{Error, Result};

const HAS_WEIGHT: u8 = 1;

/// The node must have been checked.
pub(crate) fn of_node(node: &Node) -> Vec<u8> {
    let mut bytes = vec![node.kind.len() as u8];
    bytes.extend_from_slice(node.kind.as_bytes());
    push_properties(&mut bytes, &node.properties);
    bytes
}

pub(crate) fn node(id: String, bytes: &[u8]) -> Result<Node> {
    let (kind, properties) = parts_of_node(bytes)?;
    Ok(Node { id, kind: kind.into(), properties: self::properties(properties)? })
}

/// Type and stored properties.
pub(crate) fn parts_of_node(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let split = bytes.split_first().and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
    let (kind, properties) = split.filter(|(kind, _)| !kind.is_empty()).ok_or_else(broken)?;
    Ok((std::str::from_utf8(kind).map_err(|_| broken())?, properties))
}

pub(crate) fn of_edge(edge: &Edge) -> Vec<u8> {
    let mut bytes = match edge.weight == 1.0 {
        true => vec![0],
        false => [&[HAS_WEIGHT][..], &edge.weight.to_be_bytes()].concat(),
    };
    push_properties(&mut bytes, &edge.properties);
    bytes
}

pub(crate) fn edge(id: EdgeId, bytes: &[u8]) -> Result<Edge> {
    let (weight, rest) = match bytes.split_first() {
        Some((0, rest)) => (1.0, rest),
        Some((&HAS_WEIGHT, rest)) => {
            let (weight, rest) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
            (f64::from_be_bytes(*weight), rest)
        }
        _ => return Err(broken()),
    };
    Ok(id.edge(weight, properties(rest)?))
}

fn push_properties(bytes: &mut Vec<u8>, properties: &Payload) {
    if !properties.is_empty() {
        bytes.extend(nuthatch_filter::encode(properties));
    }
}

fn properties(bytes: &[u8]) -> Result<Payload> {
    match bytes {
        [] => Ok(Payload::new()),
        bytes => nuthatch_filter::decode(bytes).map_err(|_| broken()),
    }
}

fn broken() -> Error {
    Error::internal("a stored node or edge cannot be decoded; run `nuthatch doctor`")
}

#[cfg(test)]
mod tests {
    use nuthatch_filter::Value;

    use super::*;

    #[test]
    fn what_is_stored_comes_back() {
        for properties in [Payload::new(), Payload::from([("line".into(), Value::Int(7))])] {
            for kind in ["f", &"t".repeat(255)] {
                let stored = Node::new("a", kind).properties(properties.clone());
                assert_eq!(node("a".into(), &of_node(&stored)).unwrap(), stored);
            }
            for weight in [1.0, 0.0, -2.5, f64::MAX] {
                let stored = Edge::new("a", "calls", "b").weight(weight).properties(properties.clone());
                assert_eq!(edge(stored.id(), &of_edge(&stored)).unwrap(), stored);
            }
        }
        assert_eq!(of_edge(&Edge::new("a", "calls", "b")), [0], "a plain edge is one byte");
    }

    #[test]
    fn bytes_that_are_none_are_refused() {
        for bytes in [&[][..], &[0], &[3, b'a'], &[1, 0xff], &[1, b'a', 9]] {
            assert!(node("a".into(), bytes).is_err(), "{bytes:?}");
        }
        for bytes in [&[][..], &[2], &[1, 0, 0], &[0, 9]] {
            assert!(edge(EdgeId::new("a", "b", "c"), bytes).is_err(), "{bytes:?}");
        }
    }
}
