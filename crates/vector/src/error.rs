use nuthatch_segment::SegmentError;

use crate::Element;

/// Errors in a vector, or in the files that hold its codes.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The vector does not belong into this collection.
    #[error(
        "the vector has {found} dimensions, the collection has {expected}; use the embedder that the collection was made with"
    )]
    WrongDimension {
        /// The collection's dimension.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// No index is built for vectors of this dimension.
    #[error("{dim} dimensions are not supported; choose a dimension from {min} to {max}", min = crate::DIM_MIN, max = crate::DIM_MAX)]
    UnsupportedDimension {
        /// The requested dimension.
        dim: usize,
    },
    /// An element is infinite or no number.
    #[error("element {position} of the vector is {value}; every element must be a finite number")]
    NotFinite {
        /// Of the element, from 0.
        position: usize,
        /// The element.
        value: f32,
    },
    /// A vector without a direction, under a metric that compares directions.
    #[error(
        "the vector is zero, and cosine similarity is undefined for it; store the row without a vector, or use metric \
        \"dot\" or \"l2\""
    )]
    Zero,
    /// 32-bit sums of this vector would be too inexact, or overflow.
    #[error(
        "the length of the vector is {norm:e}, outside {min:e} to {max:e} where 32-bit sums are exact enough; scale the vectors of this collection"
    )]
    LengthOutOfRange {
        /// The vector's Euclidean length.
        norm: f64,
        /// The least length.
        min: f64,
        /// The greatest length.
        max: f64,
    },
    /// No metric goes by this name.
    #[error("unknown metric \"{name}\"; use \"cosine\", \"dot\", \"l2\" or \"hamming\"")]
    UnknownMetric {
        /// The given name.
        name: String,
    },
    /// No element type goes by this name.
    #[error("unknown element type \"{name}\"; use \"f32\", \"f16\", \"int8\", \"uint8\" or \"binary\"")]
    UnknownElement {
        /// The given name.
        name: String,
    },
    /// The vector would lose what the element type cannot hold.
    #[error("element {position} of the vector is {value}, which {element} cannot hold: {}", holds(*element))]
    NotRepresentable {
        /// Of the element, from 0.
        position: usize,
        /// The element.
        value: f32,
        /// The type that the collection stores.
        element: Element,
    },
    /// An accuracy outside of what can be asked for.
    #[error("{what}")]
    Accuracy {
        /// The given accuracy, and the accepted range.
        what: String,
    },
    /// Slots are 32-bit numbers, and all are taken.
    #[error("a segment holds at most 4,294,967,295 rows; seal it and begin another")]
    SegmentFull,
    /// The caller's check said so; nothing is returned of what was found.
    #[error("the search was stopped: its time was up, or it was cancelled")]
    Stopped,
    /// A file of the segment is damaged, or the system refused to read it.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// A value, or the error of this crate.
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
