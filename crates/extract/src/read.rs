//! What a reader of a format gives, before it is cut into passages.

use crate::part::Part;

/// A document that was copied out of its format.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) title: Option<String>,
    pub(crate) parts: Vec<Part>,
    pub(crate) warnings: Vec<String>,
}
