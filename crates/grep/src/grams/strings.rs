//! Small sets of byte strings: what a part of a pattern matches, begins with or ends with.

/// Strings of a set; a part of a pattern with more is described otherwise.
const STRINGS_MAX: usize = 24;
/// Longest string: a repetition of repetitions has very long ones.
const STRING_BYTES_MAX: usize = 256;
/// Bytes of what a match begins or ends with that are worth keeping.
const EDGE_BYTES: usize = 16;

/// A sorted set of strings in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strings(pub Vec<Vec<u8>>);

impl Strings {
    pub fn one(bytes: &[u8]) -> Self {
        Self(vec![bytes.to_ascii_lowercase()])
    }

    /// The empty string alone: nothing is known.
    pub fn unknown() -> Self {
        Self::one(b"")
    }

    /// `None` when they are too many.
    pub fn of(mut strings: Vec<Vec<u8>>) -> Option<Self> {
        strings.iter_mut().for_each(|string| string.make_ascii_lowercase());
        strings.sort_unstable();
        strings.dedup();
        (strings.len() <= STRINGS_MAX).then_some(Self(strings))
    }

    pub fn or(&self, other: &Self) -> Option<Self> {
        Self::of(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// Each of these followed by each of those.
    pub fn then(&self, other: &Self) -> Option<Self> {
        let longest = |strings: &Self| strings.0.iter().map(Vec::len).max().unwrap_or(0);
        if self.0.len() * other.0.len() > STRINGS_MAX || longest(self) + longest(other) > STRING_BYTES_MAX {
            return None;
        }
        Self::of(self.0.iter().flat_map(|one| other.0.iter().map(|next| [&one[..], next].concat())).collect())
    }

    /// How they begin.
    pub fn heads(&self) -> Self {
        let cut = |bytes: usize| self.0.iter().map(|string| string[..string.len().min(bytes)].to_vec()).collect();
        Self::of(cut(EDGE_BYTES)).unwrap_or_else(Self::unknown)
    }

    /// How they end.
    pub fn tails(&self) -> Self {
        let cut = |string: &Vec<u8>| string[string.len() - string.len().min(EDGE_BYTES)..].to_vec();
        Self::of(self.0.iter().map(cut).collect()).unwrap_or_else(Self::unknown)
    }
}
