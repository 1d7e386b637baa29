//! The contents of a cache's rows. Each begins with the number of its layout.

use nuthatch_cache::{Classes, Features, Ledger, Odds, Score};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cache::before::{FirstDecision, FirstState, SecondDecision, SecondState, SecondStored, ThirdState};
use crate::cache::explain::CacheCounts;
use crate::cache::key::Hash;
use crate::cache::{CacheCost, CacheSettings, MissReason, SourceRef};
use crate::embedder::EmbedderMeta;
use crate::kv::row;

const LAYOUT: u8 = 4;
/// Those before it, which are read, too.
const LAYOUT_THIRD: u8 = 3;
const LAYOUT_SECOND: u8 = 2;
const LAYOUT_FIRST: u8 = 1;
/// The approximate bytes of an entry besides its texts and its vector: its other rows.
const ENTRY_OVERHEAD_BYTES: u64 = 256;

/// Everything of a cache that is not of one answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub settings: CacheSettings,
    pub next_entry: u64,
    pub next_hit: u64,
    pub next_tick: u64,
    pub entries: u64,
    /// Of these, as `max_bytes` counts them.
    pub bytes: u64,
    pub vectors: Option<Vectors>,
    pub ledger: Ledger,
    pub score: Score,
    pub classes: Classes,
    pub counts: CacheCounts,
    /// Answers that were held back for a later verdict, and have none.
    pub offered: u64,
}

/// Where the vectors of prompts come from. Settled by the first of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Vectors {
    /// From the installed model.
    Made(EmbedderMeta),
    /// From the callers, with this many components.
    Given(u64),
}

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub prompt: String,
    pub response: String,
    pub scope: Hash,
    pub exact: Hash,
    pub form: Hash,
    pub tags: Vec<String>,
    pub sources: Vec<Source>,
    pub created_ms: u64,
    /// As `max_bytes` counts it.
    pub bytes: u64,
    pub cost: CacheCost,
    /// Of an answer that is not shared: the scope in which it may be, and whose it is.
    pub private: Option<Private>,
}

/// Whose an answer is, as long as it is given to nobody else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Private {
    /// The scope of all users together.
    pub scope: Hash,
    /// Of the user's name, within that scope.
    pub user: Hash,
}

/// The contents of one user's share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub entries: u64,
    /// Of these, as `user_max_bytes` counts them.
    pub bytes: u64,
}

/// A record that an answer was made from, as it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    pub of: SourceRef,
    /// The collection's number.
    pub collection: u32,
    /// The row, whose number is never given again.
    pub row: u64,
}

/// A decision about an answer by meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decision {
    pub entry: u64,
    pub prompt: String,
    pub scope: Hash,
    /// Absent in rows of the first layout, whose features were others.
    pub features: Option<Features>,
    pub risk: f64,
    pub class: u64,
    pub outcome: Decided,
    pub verdict: Option<bool>,
    pub at_ms: u64,
    /// The cost that giving it avoids.
    pub cost: CacheCost,
    /// Why it was not given; absent for one that was, and in rows of earlier layouts.
    pub why: Option<MissReason>,
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Decided {
    /// It was given, and its coin fell or not.
    Served { odds: Odds, fell: bool },
    /// It may be given once it is judged right. It was chosen for that with these odds.
    Candidate { odds: Odds },
    /// The cache only watches. It was chosen to be judged with these odds.
    Shadow { odds: Odds },
    /// It was held back for a later judge. Once it is judged right, the next caller that asks the same gets it.
    Offered,
}

impl Stored {
    /// Returns the bytes that `max_bytes` counts for an answer.
    pub fn size(prompt: &str, response: &str, dim: usize) -> u64 {
        (prompt.len() + response.len() + dim) as u64 + ENTRY_OVERHEAD_BYTES
    }
}

/// A vector of bytes, and its length: near enough for the cosine of two prompts, at a quarter of the size.
pub(crate) struct Codes<'v> {
    pub expires_at_ms: u64,
    norm: f32,
    codes: &'v [u8],
}

/// A vector as it is stored: when it expires, its length, its components in a byte each.
pub(crate) fn encode_vector(vector: Option<&[f32]>, expires_at_ms: Option<u64>) -> Vec<u8> {
    let expires = expires_at_ms.unwrap_or(u64::MAX).to_be_bytes();
    let Some(vector) = vector else { return expires.to_vec() };
    let largest = vector.iter().fold(0f32, |most, x| most.max(x.abs()));
    let codes: Vec<i8> = vector.iter().map(|x| (x / largest * 127.0).round() as i8).collect();
    let norm = codes.iter().map(|code| f32::from(*code) * f32::from(*code)).sum::<f32>().sqrt();
    let mut bytes = [&expires[..], &norm.to_be_bytes()].concat();
    bytes.extend(codes.iter().map(|code| *code as u8));
    bytes
}

/// The vector of a row; `None` for a row without one.
pub(crate) fn decode_vector(row: &[u8]) -> Option<Codes<'_>> {
    let (expires, rest) = row.split_first_chunk::<8>()?;
    let (norm, codes) = rest.split_first_chunk::<4>()?;
    Some(Codes { expires_at_ms: u64::from_be_bytes(*expires), norm: f32::from_be_bytes(*norm), codes })
}

impl Codes<'_> {
    /// The components, as far as a byte has them, of no particular length.
    pub fn components(&self) -> Vec<f32> {
        self.codes.iter().map(|code| f32::from(*code as i8)).collect()
    }

    /// The components as they are stored.
    pub fn bytes(&self) -> Vec<i8> {
        self.codes.iter().map(|code| *code as i8).collect()
    }

    /// The cosine with a vector of length 1; `None` for one of another dimension.
    pub fn cosine(&self, unit: &[f32]) -> Option<f32> {
        if unit.len() != self.codes.len() {
            return None;
        }
        // Sixteen sums at once, which the compiler lays side by side.
        let mut sums = [0f32; 16];
        let (units, codes) = (unit.chunks_exact(16), self.codes.chunks_exact(16));
        let rest: f32 =
            units.remainder().iter().zip(codes.remainder()).map(|(x, code)| x * f32::from(*code as i8)).sum();
        for (units, codes) in units.zip(codes) {
            for at in 0..16 {
                sums[at] += units[at] * f32::from(codes[at] as i8);
            }
        }
        Some((sums.iter().sum::<f32>() + rest) / self.norm)
    }
}

/// A vector of length 1.
pub(crate) fn unit(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    row::encode(value, LAYOUT, "a cache")
}

pub(crate) fn decode<T: Row>(bytes: &[u8]) -> Result<T> {
    match bytes.first() {
        Some(&LAYOUT_FIRST) => row::decode::<T::First>(bytes, LAYOUT_FIRST, "a cache").map(Into::into),
        Some(&LAYOUT_SECOND) => row::decode::<T::Second>(bytes, LAYOUT_SECOND, "a cache").map(Into::into),
        Some(&LAYOUT_THIRD) => row::decode::<T::Third>(bytes, LAYOUT_THIRD, "a cache").map(Into::into),
        _ => row::decode(bytes, LAYOUT, "a cache"),
    }
}

/// The value of a row, with its types in the earlier layouts.
pub(crate) trait Row: DeserializeOwned {
    type First: DeserializeOwned + Into<Self>;
    type Second: DeserializeOwned + Into<Self>;
    type Third: DeserializeOwned + Into<Self>;
}

impl Row for u64 {
    type First = Self;
    type Second = Self;
    type Third = Self;
}

impl Row for Hash {
    type First = Self;
    type Second = Self;
    type Third = Self;
}

impl Row for Share {
    type First = Self;
    type Second = Self;
    type Third = Self;
}

impl Row for Stored {
    type First = SecondStored;
    type Second = SecondStored;
    type Third = Self;
}

impl Row for State {
    type First = FirstState;
    type Second = SecondState;
    type Third = ThirdState;
}

impl Row for Decision {
    type First = FirstDecision;
    type Second = SecondDecision;
    type Third = Self;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_of_bytes_keeps_the_cosine() {
        let mut random = fastrand::Rng::with_seed(7);
        for dim in [3, 16, 100, 384] {
            let mut some = || -> Vec<f32> { (0..dim).map(|_| random.f32() - 0.5).collect() };
            let (a, b) = (some(), some());
            let wanted: f32 = unit(&a).iter().zip(unit(&b)).map(|(a, b)| a * b).sum();
            let row = encode_vector(Some(&a), None);
            let codes = decode_vector(&row).unwrap();
            assert!((codes.cosine(&unit(&b)).unwrap() - wanted).abs() < 0.01, "{dim}");
            assert!((codes.cosine(&unit(&a)).unwrap() - 1.0).abs() < 0.001, "{dim}");
            assert!(codes.cosine(&[1.0; 2]).is_none() && codes.expires_at_ms == u64::MAX);
        }
        assert!(decode_vector(&encode_vector(None, Some(3))).is_none());
    }

    #[test]
    fn rows_come_back_and_foreign_bytes_are_refused() {
        let state = State { next_entry: 7, vectors: Some(Vectors::Given(3)), ..State::default() };
        assert_eq!(decode::<State>(&encode(&state).unwrap()).unwrap(), state);
        for bytes in [&b""[..], &[1, 9], &[2, 9], &[3, 9], &[4, 9], &[5, 0, 0]] {
            assert!(decode::<State>(bytes).is_err());
        }
    }
}
