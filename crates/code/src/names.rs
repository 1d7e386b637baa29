//! Which names a file may have, in about two bytes each: so that a question reads the facts of few files.

use std::collections::BTreeSet;

use crate::encode::{put_number, take_number};
use crate::facts::{Facts, Reading};

/// Bits of a name's hash. Of 10,000 files with 200 names each about two are read in vain.
const HASH_BITS: u32 = 20;

/// The hashes of a file's names, and which of them it defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Hash and `defines` in the lowest bit, ascending.
    sorted: Vec<u32>,
}

/// The hash of a name (FNV-1a, folded), the same for ever and everywhere.
pub fn hash_of(name: &str) -> u32 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 23) ^ (hash >> 44)) as u32 & ((1 << HASH_BITS) - 1)
}

impl Names {
    /// Those of a file.
    pub fn of(facts: &Facts) -> Self {
        let mut sorted = BTreeSet::new();
        for definition in &facts.definitions {
            sorted.insert(hash_of(&definition.name) * 2 + 1);
        }
        let references = facts.references.iter().map(|reference| reference.name.as_str());
        let imports = facts.imports.iter().flat_map(|import| [import.name.as_deref(), import.alias.as_deref()]);
        for name in references.chain(imports.flatten()) {
            sorted.insert(hash_of(name) * 2);
        }
        Self { sorted: sorted.into_iter().collect() }
    }

    /// Whether the file may define a name of this hash.
    pub fn may_define(&self, hash: u32) -> bool {
        self.sorted.binary_search(&(hash * 2 + 1)).is_ok()
    }

    /// Whether the file may use or take over a name of this hash.
    pub fn may_use(&self, hash: u32) -> bool {
        self.sorted.binary_search(&(hash * 2)).is_ok()
    }

    /// As bytes: how the file was read, and the distances between the numbers.
    pub fn encode(&self, reading: Reading) -> Vec<u8> {
        let mut out = vec![reading as u8];
        let mut before = 0;
        for number in &self.sorted {
            put_number(&mut out, u64::from(number - before));
            before = *number;
        }
        out
    }

    /// Of what [`encode`](Self::encode) gave.
    pub fn decode(bytes: &[u8]) -> Option<(Self, Reading)> {
        let (reading, mut rest) = bytes.split_first()?;
        let reading = reading_of(*reading)?;
        let (mut sorted, mut before) = (Vec::with_capacity(rest.len() / 2), 0_u32);
        while !rest.is_empty() {
            before = before.checked_add(take_number(&mut rest)?.try_into().ok()?)?;
            sorted.push(before);
        }
        Some((Self { sorted }, reading))
    }
}

/// The result of [`look`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// How the file was read.
    pub reading: Reading,
    /// Whether it may define one of the names.
    pub defines: bool,
    /// Whether it may use or take over one of the names.
    pub uses: bool,
}

/// Looks for names in what [`Names::encode`] gave, without taking memory. `hashes` ascend.
pub fn look(bytes: &[u8], hashes: &[u32]) -> Option<Found> {
    let (reading, mut rest) = bytes.split_first()?;
    let mut found = Found { reading: reading_of(*reading)?, defines: false, uses: false };
    let (mut before, mut wanted) = (0_u32, hashes.iter().copied().peekable());
    while wanted.peek().is_some() && !rest.is_empty() {
        before = before.checked_add(take_number(&mut rest)?.try_into().ok()?)?;
        while wanted.peek().is_some_and(|hash| *hash < before / 2) {
            wanted.next();
        }
        if wanted.peek().is_some_and(|hash| *hash == before / 2) {
            found.defines |= before % 2 == 1;
            found.uses |= before % 2 == 0;
        }
    }
    Some(found)
}

fn reading_of(number: u8) -> Option<Reading> {
    [Reading::Whole, Reading::WithErrors, Reading::Unparsed].get(usize::from(number)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_hash_stays_what_it_is() {
        assert_eq!(
            (hash_of("parse"), hash_of("")),
            (HASH_OF_PARSE, HASH_OF_NOTHING),
            "stored names would not be found"
        );
    }

    const HASH_OF_PARSE: u32 = 620_071;
    const HASH_OF_NOTHING: u32 = 480_516;
}
