//! What a reader of a format gives, before it is cut into passages.

use crate::part::Part;

/// A document that was copied out of its format.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) title: Option<String>,
    pub(crate) parts: Vec<Part>,
    pub(crate) warnings: Vec<String>,
}

/// Slides, sheets, chapters.
pub(crate) const PARTS_MAX: usize = 100_000;

impl Read {
    /// Adds a part that holds something.
    pub(crate) fn add(&mut self, part: Part) -> Result<(), String> {
        if self.parts.len() >= PARTS_MAX {
            return Err(format!("it has more than {PARTS_MAX} parts; split it"));
        }
        if !part.is_empty() {
            self.parts.push(part);
        }
        Ok(())
    }

    /// Fails when nothing could be read. `part` is what one is called.
    pub(crate) fn unless_lost(self, part: &str) -> Result<Self, String> {
        match self.warnings.first() {
            Some(what) if self.parts.is_empty() => Err(format!("no {part} can be read; {what}")),
            _ => Ok(self),
        }
    }
}
