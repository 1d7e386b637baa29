use serde::{Deserialize, Serialize};

use crate::SparseError;

/// Terms of one vector at most.
pub const TERMS_MAX: usize = 16_384;

/// Terms with their weights.
///
/// Indices ascend, each once; values are finite and above 0. It may be empty: such a vector shares no term with any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct SparseVector {
    indices: Vec<u32>,
    values: Vec<f32>,
}

/// As it is spelt; nothing is checked yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl TryFrom<Parts> for SparseVector {
    type Error = SparseError;

    fn try_from(Parts { indices, values }: Parts) -> Result<Self, SparseError> {
        Self::new(indices, values)
    }
}

impl SparseVector {
    /// In whatever order the indices come.
    ///
    /// # Errors
    /// Different lengths, more than [`TERMS_MAX`] terms, an index twice, a value that is not finite and above 0.
    pub fn new(indices: Vec<u32>, values: Vec<f32>) -> Result<Self, SparseError> {
        if indices.len() != values.len() {
            return Err(SparseError::Lengths { indices: indices.len(), values: values.len() });
        }
        if indices.len() > TERMS_MAX {
            return Err(SparseError::TooMany(indices.len()));
        }
        let mut terms: Vec<(u32, f32)> = indices.into_iter().zip(values).collect();
        if let Some(&(index, value)) = terms.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return Err(SparseError::Weight { index, value });
        }
        if !terms.is_sorted_by(|a, b| a.0 < b.0) {
            terms.sort_unstable_by_key(|(index, _)| *index);
        }
        if let Some(pair) = terms.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(SparseError::Twice(pair[0].0));
        }
        let (indices, values) = terms.into_iter().unzip();
        Ok(Self { indices, values })
    }

    /// Ascending.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// In the order of the indices.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// How many terms have a weight.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// No term has a weight.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Terms and weights, ascending.
    pub fn terms(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// The sum of the products over the shared terms; `None` when there is none.
    pub fn dot(&self, other: &Self) -> Option<f32> {
        let (mut at, mut sum) = (0, None);
        for (term, weight) in self.terms() {
            at += other.indices[at..].iter().take_while(|index| **index < term).count();
            if other.indices.get(at) == Some(&term) {
                sum = Some(sum.unwrap_or(0.0) + weight * other.values[at]);
            }
        }
        sum
    }

    /// As it lies in the store: how many terms, the gaps between them, then the weights; all little-endian, numbers and gaps as varints.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * 6 + 3);
        put_varint(&mut bytes, self.len() as u32);
        let mut before = 0;
        for index in &self.indices {
            put_varint(&mut bytes, index - before);
            before = *index;
        }
        self.values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        bytes
    }

    /// Of what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`SparseError::Stored`] for anything else.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, SparseError> {
        let len = take_varint(&mut bytes)? as usize;
        if len > TERMS_MAX {
            return Err(SparseError::Stored);
        }
        let (mut indices, mut before) = (Vec::with_capacity(len), 0u32);
        for _ in 0..len {
            before = before.checked_add(take_varint(&mut bytes)?).ok_or(SparseError::Stored)?;
            indices.push(before);
        }
        if bytes.len() != len * 4 {
            return Err(SparseError::Stored);
        }
        let values = bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect();
        Self::new(indices, values).map_err(|_| SparseError::Stored)
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u32, SparseError> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or(SparseError::Stored)?;
        *bytes = rest;
        number |= u64::from(first & 0x7F) << shift;
        if first & 0x80 == 0 {
            return u32::try_from(number).map_err(|_| SparseError::Stored);
        }
    }
    Err(SparseError::Stored)
}
