use nuthatch_segment::SegmentError;

/// Errors in a sparse vector, or in a file of posting lists.
#[derive(Debug, thiserror::Error)]
pub enum SparseError {
    /// As many weights as terms are needed.
    #[error("a sparse vector has {indices} indices and {values} values; give one value for each index")]
    Lengths {
        /// Indices given.
        indices: usize,
        /// Values given.
        values: usize,
    },
    /// More terms than [`TERMS_MAX`](crate::TERMS_MAX).
    #[error("a sparse vector has {0} indices, and the limit is {max}; keep those with the greatest values", max = crate::TERMS_MAX)]
    TooMany(usize),
    /// A term has two weights.
    #[error("index {0} of a sparse vector occurs twice; give each index once")]
    Twice(u32),
    /// A weight that cannot be stored.
    #[error(
        "the value of index {index} of a sparse vector is {value}; give finite numbers above 0, and leave out the others"
    )]
    Weight {
        /// The index.
        index: u32,
        /// The value given.
        value: f32,
    },
    /// Bytes that are no stored sparse vector.
    #[error("a stored sparse vector cannot be decoded")]
    Stored,
    /// The caller ended the search.
    #[error("the search was stopped")]
    Stopped,
    /// A file, or its contents.
    #[error(transparent)]
    File(#[from] SegmentError),
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
