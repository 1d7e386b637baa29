//! Hashes, lists, sets and sorted sets: many entries behind one key.
//!
//! A small one is one value of the keyspace, as a whole. A larger one has a row for each entry in a keyspace of its own, and the key
//! holds a head that names them: an operation on one entry then costs the same however many there are.
//!
//! | bytes behind the mark | what |
//! |---|---|
//! | `h` `l` `m` `z` | a hash, a list, a set, a sorted set: its entries follow |
//! | `H` `L` `M` `Z` | the same in rows: its head follows |
//!
//! Entries: each part is its length in four bytes, little endian, and its bytes. A hash has a field and its value, a sorted set a member
//! and its score (the eight bytes of an IEEE 754 double, big endian), the others one part an entry. They keep the order in which they came.
//!
//! A head: id, version and number of entries in eight bytes each, big endian; then the place of a list's first item.

pub(crate) mod rows;

/// The kind of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hash,
    List,
    Set,
    Sorted,
}

/// The value of a key with many entries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub kind: Kind,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Inline(Entries),
    Rows(Head),
}

/// Names with their values; the items of a list and the members of a set are names without one.
pub(crate) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// The metadata of rows, known without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub id: u64,
    /// Grows with each change, so that WATCH sees it.
    pub version: u64,
    pub count: u64,
    /// Of a list: the place of its first item.
    pub first: i64,
}

/// More entries get rows.
const INLINE_ENTRIES_MAX: usize = 128;
/// So do entries of more bytes.
const INLINE_BYTES_MAX: usize = 8 << 10;

impl Kind {
    const ALL: [Self; 4] = [Self::Hash, Self::List, Self::Set, Self::Sorted];

    /// Of the letter behind the mark; and whether rows follow.
    pub fn of(letter: u8) -> Option<(Self, bool)> {
        let kind = Self::ALL.into_iter().find(|kind| kind.letter() == letter.to_ascii_lowercase())?;
        Some((kind, letter.is_ascii_uppercase()))
    }

    fn letter(self) -> u8 {
        match self {
            Self::Hash => b'h',
            Self::List => b'l',
            Self::Set => b'm',
            Self::Sorted => b'z',
        }
    }

    fn has_values(self) -> bool {
        matches!(self, Self::Hash | Self::Sorted)
    }
}

impl Aggregate {
    pub fn new(kind: Kind) -> Self {
        Self { kind, body: Body::Inline(Vec::new()) }
    }

    pub fn decode(kind: Kind, has_rows: bool, mut bytes: &[u8]) -> Option<Self> {
        let body = match has_rows {
            true => Body::Rows(Head::decode(bytes)?),
            false => {
                let mut entries = Vec::new();
                while !bytes.is_empty() {
                    let name = take(&mut bytes)?.to_vec();
                    let value = if kind.has_values() { take(&mut bytes)?.to_vec() } else { Vec::new() };
                    entries.push((name, value));
                }
                Body::Inline(entries)
            }
        };
        Some(Self { kind, body })
    }

    /// The letter behind the mark, and what follows.
    pub fn encode(&self, mut out: Vec<u8>) -> Vec<u8> {
        match &self.body {
            Body::Rows(head) => {
                out.push(self.kind.letter().to_ascii_uppercase());
                head.encode(&mut out);
            }
            Body::Inline(entries) => {
                out.push(self.kind.letter());
                for (name, value) in entries {
                    put(&mut out, name);
                    if self.kind.has_values() {
                        put(&mut out, value);
                    }
                }
            }
        }
        out
    }

    pub fn len(&self) -> usize {
        match &self.body {
            Body::Inline(entries) => entries.len(),
            Body::Rows(head) => head.count as usize,
        }
    }

    /// The rows that it has, if it has any.
    pub fn rows(&self) -> Option<&Head> {
        match &self.body {
            Body::Rows(head) => Some(head),
            Body::Inline(_) => None,
        }
    }
}

impl Head {
    /// Of rows that nobody has used.
    pub fn new() -> Self {
        Self { id: fastrand::u64(..), version: 0, count: 0, first: 0 }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let first = rest.try_into().ok()?;
        let [id, version, count] = [id, version, count].map(|bytes| u64::from_be_bytes(*bytes));
        Some(Self { id, version, count, first: i64::from_be_bytes(first) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.id, self.version, self.count] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&self.first.to_be_bytes());
    }
}

/// Whether entries are to have rows.
pub(crate) fn are_many(entries: usize, bytes: usize) -> bool {
    entries > INLINE_ENTRIES_MAX || bytes > INLINE_BYTES_MAX
}

pub(crate) fn bytes_of(entries: &Entries) -> usize {
    entries.iter().map(|(name, value)| name.len() + value.len()).sum()
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    out.extend_from_slice(part);
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<Aggregate> {
        let (letter, rest) = bytes.split_first()?;
        let (kind, has_rows) = Kind::of(*letter)?;
        Aggregate::decode(kind, has_rows, rest)
    }

    #[test]
    fn entries_and_heads_come_back_as_they_were() {
        let entries: Entries = (0..100u32).map(|n| (n.to_string().into_bytes(), n.to_be_bytes().to_vec())).collect();
        for kind in Kind::ALL {
            let kept = entries.iter().cloned().map(|(name, value)| match kind.has_values() {
                true => (name, value),
                false => (name, Vec::new()),
            });
            let inline = Aggregate { kind, body: Body::Inline(kept.collect()) };
            assert_eq!(decoded(&inline.encode(Vec::new())), Some(inline.clone()));
            let rows = Aggregate { kind, body: Body::Rows(Head { id: 7, version: 8, count: 9, first: -10 }) };
            assert_eq!(decoded(&rows.encode(Vec::new())), Some(rows.clone()));
        }
    }

    #[test]
    fn bytes_that_are_no_aggregate_are_none() {
        let whole = Aggregate { kind: Kind::Hash, body: Body::Inline(vec![(b"a".to_vec(), b"b".to_vec())]) };
        let whole = whole.encode(Vec::new());
        (2..whole.len()).for_each(|end| assert_eq!(decoded(&whole[..end]), None));
        let head = Aggregate { kind: Kind::List, body: Body::Rows(Head::new()) }.encode(Vec::new());
        (1..head.len()).for_each(|end| assert_eq!(decoded(&head[..end]), None));
        assert_eq!(decoded(&[head.as_slice(), b"x"].concat()), None);
        assert_eq!(decoded(b"x"), None);
    }
}
