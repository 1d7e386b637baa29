//! How similar two vectors are.

use nuthatch_distance::{dot, l2_squared};

use crate::VectorError;

/// The similarity of a collection, fixed when it is created.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Metric {
    /// Cosine of the angle: -1 to 1, blind to length.
    Cosine,
    /// Dot product.
    Dot,
    /// Euclidean distance.
    L2,
    /// Hamming distance of binary vectors: the number of components that differ.
    Hamming,
}

impl Metric {
    /// Exact similarity of two raw vectors; **higher is better** under every metric: the cosine, the dot product, or minus
    /// the squared Euclidean distance, which between zeros and ones is minus the Hamming distance. A zero vector has cosine 0
    /// with everything.
    ///
    /// # Panics
    /// When the lengths differ; [`validate`](crate::validate) both first.
    pub fn similarity(self, query: &[f32], row: &[f32]) -> f32 {
        match self {
            Self::Dot => dot(query, row),
            Self::L2 | Self::Hamming => -l2_squared(query, row),
            Self::Cosine => {
                let lengths = dot(query, query).sqrt() * dot(row, row).sqrt();
                if lengths > 0.0 { dot(query, row) / lengths } else { 0.0 }
            }
        }
    }

    /// Returns the score that users see: the cosine, the dot product, the Euclidean distance itself (lower is better,
    /// not squared), or the number of components that differ (lower is better).
    pub fn score(self, similarity: f32) -> f32 {
        match self {
            Self::Cosine | Self::Dot => similarity,
            Self::L2 => (-similarity).max(0.0).sqrt(),
            Self::Hamming => (-similarity).max(0.0),
        }
    }

    /// The name in options and in messages; [`std::str::FromStr`] reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Dot => "dot",
            Self::L2 => "l2",
            Self::Hamming => "hamming",
        }
    }

    /// Whether a smaller score is the better one.
    pub fn lower_is_better(self) -> bool {
        matches!(self, Self::L2 | Self::Hamming)
    }

    pub(crate) const ALL: [Self; 4] = [Self::Cosine, Self::Dot, Self::L2, Self::Hamming];
}

impl std::fmt::Display for Metric {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

impl std::str::FromStr for Metric {
    type Err = VectorError;

    fn from_str(name: &str) -> Result<Self, VectorError> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.as_str() == name)
            .ok_or_else(|| VectorError::UnknownMetric { name: name.into() })
    }
}
