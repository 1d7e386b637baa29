use nuthatch_segment::SegmentError;

use crate::Element;

/// What can be wrong with a vector, or with the files that hold its codes.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    #[error(
        "the vector has {found} dimensions, the collection has {expected}; use the embedder that the collection was made with"
    )]
    WrongDimension { expected: usize, found: usize },
    #[error("{dim} dimensions are not supported; choose a dimension from {min} to {max}", min = crate::DIM_MIN, max = crate::DIM_MAX)]
    UnsupportedDimension { dim: usize },
    #[error("element {position} of the vector is {value}; every element must be a finite number")]
    NotFinite { position: usize, value: f32 },
    #[error(
        "the vector is zero, and cosine similarity has no answer for it; leave the row without a vector, or use metric \"dot\" or \"l2\""
    )]
    Zero,
    #[error(
        "the length of the vector is {norm:e}, outside {min:e} to {max:e} where 32-bit sums are exact enough; scale the vectors of this collection"
    )]
    LengthOutOfRange { norm: f64, min: f64, max: f64 },
    #[error("unknown metric \"{name}\"; use \"cosine\", \"dot\", \"l2\" or \"hamming\"")]
    UnknownMetric { name: String },
    #[error("unknown element type \"{name}\"; use \"f32\", \"f16\", \"int8\", \"uint8\" or \"binary\"")]
    UnknownElement { name: String },
    #[error("element {position} of the vector is {value}, which {element} cannot hold: {}", holds(*element))]
    NotRepresentable { position: usize, value: f32, element: Element },
    #[error("{what}")]
    Accuracy { what: String },
    #[error("a segment holds at most 4,294,967,295 rows; seal it and begin another")]
    SegmentFull,
    #[error("the search was stopped: its time was up, or it was cancelled")]
    Stopped,
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

pub type Result<T> = std::result::Result<T, VectorError>;

fn holds(element: Element) -> &'static str {
    match element {
        Element::F32 => "finite numbers",
        Element::F16 => "numbers from -65504 to 65504",
        Element::Int8 => "whole numbers from -128 to 127; quantise the vectors first, or use f16",
        Element::Uint8 => "whole numbers from 0 to 255; quantise the vectors first, or use f16",
        Element::Binary => "zeros and ones",
    }
}
