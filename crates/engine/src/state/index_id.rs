//! The names of the indexes of a collection.

/// Vectors and the columns of the payloads.
pub(crate) const SEGMENTS: IndexId = IndexId { folder: "segments", holds: "vectors and filters" };
/// Words.
pub(crate) const TEXT: IndexId = IndexId { folder: "text", holds: "texts" };

/// Which index: the key of its health, and the names that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexId {
    /// Its folder among the collection's indexes.
    pub folder: &'static str,
    /// The data that is searched with it, in the plural: "texts are searched exactly, without their index".
    pub holds: &'static str,
}
