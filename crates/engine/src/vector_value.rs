//! The value of a record's named vector field: one dense vector, one sparse vector, or a dense vector for each token.
//!
//! **Useful for** everything that carries vectors without comparing them: records, searches, exports, clients. **Not for** the unnamed
//! field, whose vectors are dense.
//!
//! **Invariant:** the rows of [`TokenVectors`] have one length, and there is at least one.

use nuthatch_sparse::SparseVector;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// Vectors of one record in one field at most.
pub const TOKENS_MAX: usize = 8_192;

/// A value of a named vector field.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorValue {
    /// `dim` f32 components.
    Dense(Vec<f32>),
    /// Weights of terms.
    Sparse(SparseVector),
    /// A vector of `dim` components for each token, for late interaction.
    Tokens(TokenVectors),
}

/// The vectors of a record's tokens, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TokenParts")]
pub struct TokenVectors {
    dim: usize,
    components: Vec<f32>,
}

/// As it is sent; nothing is checked yet.
#[derive(Deserialize)]
struct TokenParts {
    dim: usize,
    components: Vec<f32>,
}

impl TryFrom<TokenParts> for TokenVectors {
    type Error = Error;

    fn try_from(TokenParts { dim, components }: TokenParts) -> Result<Self> {
        Self::new(dim, components)
    }
}

impl TokenVectors {
    /// Of components, row by row: `tokens * dim` of them.
    ///
    /// # Errors
    /// `Invalid` when there is no whole row, or more than [`TOKENS_MAX`].
    pub fn new(dim: usize, components: Vec<f32>) -> Result<Self> {
        if dim == 0 || components.is_empty() || !components.len().is_multiple_of(dim) {
            return Err(Error::invalid(format!(
                "{} components are no rows of {dim}; give one vector for each token, all of one length",
                components.len()
            )));
        }
        let tokens = components.len() / dim;
        if tokens > TOKENS_MAX {
            return Err(Error::invalid(format!(
                "a record has {tokens} token vectors, and the limit is {TOKENS_MAX}; split its text into passages"
            )));
        }
        Ok(Self { dim, components })
    }

    /// Of one vector for each token.
    ///
    /// # Errors
    /// `Invalid` when there is none, or lengths differ.
    pub fn of_rows(rows: Vec<Vec<f32>>) -> Result<Self> {
        let dim = rows.first().map_or(0, Vec::len);
        if let Some((at, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != dim) {
            return Err(Error::invalid(format!("token vector {at} has {} components, the first has {dim}", row.len())));
        }
        Self::new(dim, rows.concat())
    }

    /// Components of each vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many vectors there are.
    pub fn tokens(&self) -> usize {
        self.components.len() / self.dim
    }

    /// All components, row by row.
    pub fn components(&self) -> &[f32] {
        &self.components
    }

    /// The vector of each token.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.components.chunks_exact(self.dim)
    }
}

impl VectorValue {
    /// The dense vector that it is.
    pub fn dense(&self) -> Option<&[f32]> {
        match self {
            Self::Dense(vector) => Some(vector),
            Self::Sparse(_) | Self::Tokens(_) => None,
        }
    }

    /// The same, without a copy.
    pub fn into_dense(self) -> Option<Vec<f32>> {
        match self {
            Self::Dense(vector) => Some(vector),
            Self::Sparse(_) | Self::Tokens(_) => None,
        }
    }

    /// `dense`, `sparse` or `tokens`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Dense(_) => "dense",
            Self::Sparse(_) => "sparse",
            Self::Tokens(_) => "tokens",
        }
    }

    /// Bytes of memory of its numbers.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Dense(vector) => vector.len() * 4,
            Self::Sparse(vector) => vector.len() * 8,
            Self::Tokens(tokens) => tokens.components.len() * 4,
        }
    }
}

impl From<Vec<f32>> for VectorValue {
    fn from(vector: Vec<f32>) -> Self {
        Self::Dense(vector)
    }
}

impl From<SparseVector> for VectorValue {
    fn from(vector: SparseVector) -> Self {
        Self::Sparse(vector)
    }
}

impl From<TokenVectors> for VectorValue {
    fn from(tokens: TokenVectors) -> Self {
        Self::Tokens(tokens)
    }
}

/// Between processes, where a form says what it is. Written by reference, read as owned values.
#[derive(Serialize, Deserialize)]
enum Tagged<D, S, T> {
    Dense(D),
    Sparse(S),
    Tokens(T),
}

/// In JSON, where the form shows it: numbers, `{"indices": […], "values": […]}`, or lists of numbers.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Shown<D, S, T> {
    Dense(D),
    Sparse(S),
    Tokens(T),
}

/// Token vectors as a list of lists.
struct Lists<'a>(&'a TokenVectors);

impl Serialize for Lists<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(self.0.rows())
    }
}

impl Serialize for VectorValue {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match to.is_human_readable() {
            true => match self {
                Self::Dense(vector) => Shown::Dense(vector),
                Self::Sparse(vector) => Shown::Sparse(vector),
                Self::Tokens(tokens) => Shown::Tokens(Lists(tokens)),
            }
            .serialize(to),
            false => match self {
                Self::Dense(vector) => Tagged::Dense(vector),
                Self::Sparse(vector) => Tagged::Sparse(vector),
                Self::Tokens(tokens) => Tagged::Tokens(tokens),
            }
            .serialize(to),
        }
    }
}

impl<'d> Deserialize<'d> for VectorValue {
    fn deserialize<D: Deserializer<'d>>(from: D) -> std::result::Result<Self, D::Error> {
        Ok(match from.is_human_readable() {
            true => match Shown::<Vec<f32>, SparseVector, Vec<Vec<f32>>>::deserialize(from)? {
                Shown::Dense(vector) => Self::Dense(vector),
                Shown::Sparse(vector) => Self::Sparse(vector),
                Shown::Tokens(rows) => Self::Tokens(TokenVectors::of_rows(rows).map_err(serde::de::Error::custom)?),
            },
            false => match Tagged::<Vec<f32>, SparseVector, TokenVectors>::deserialize(from)? {
                Tagged::Dense(vector) => Self::Dense(vector),
                Tagged::Sparse(vector) => Self::Sparse(vector),
                Tagged::Tokens(tokens) => Self::Tokens(tokens),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_each_kind_comes_back_from_json_and_from_another_process() {
        let sparse = SparseVector::new(vec![3, 70_000], vec![0.1, 2.0]).unwrap();
        let tokens = TokenVectors::of_rows(vec![vec![0.1, -0.0], vec![f32::MAX, 1.0 / 3.0]]).unwrap();
        let values: [VectorValue; 3] = [vec![0.1, 1.0 / 3.0].into(), sparse.into(), tokens.into()];
        for value in values {
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<VectorValue>(&json).unwrap(), value, "{json}");
            let sent = postcard::to_stdvec(&value).unwrap();
            assert_eq!(postcard::from_bytes::<VectorValue>(&sent).unwrap(), value);
        }
        for wrong in [r#"[[1.0], [1.0, 2.0]]"#, r#"{"indices": [1], "values": []}"#, r#"{"indices": [1]}"#, "[\"a\"]"] {
            assert!(serde_json::from_str::<VectorValue>(wrong).is_err(), "{wrong}");
        }
    }
}
