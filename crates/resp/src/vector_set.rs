//! The value of a vector set's key; the set's elements are records of a collection.

use serde::{Deserialize, Serialize};

/// The value of a vector set's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Set {
    /// Where its elements are.
    pub collection: String,
    /// Components of the vectors as they are stored.
    pub dim: usize,
    /// Components of the vectors as they are given, where they are projected.
    pub input_dim: Option<usize>,
    pub quantization: Quantization,
    pub links: usize,
    pub uid: u64,
    /// Milliseconds since 1970.
    pub expires_at_ms: Option<u64>,
}

/// The format in which a set was asked to store vectors. It determines what VEMB and VINFO show; the index has its own
/// codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quantization {
    F32,
    Int8,
    Bin,
}

impl Quantization {
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
            Self::Bin => "bin",
        }
    }
}
