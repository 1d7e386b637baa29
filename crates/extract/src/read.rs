//! The output of a format's reader, before it is cut into passages.

use crate::part::Part;
use crate::{Passage, PassageOptions};

/// A document that was copied out of its format.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) title: Option<String>,
    pub(crate) parts: Vec<Content>,
    pub(crate) warnings: Vec<String>,
}

/// A stretch of a document that shares no passage with another.
pub(crate) enum Content {
    Part(Part),
    /// Of a file within the file.
    Passages(Vec<Passage>),
}

impl Content {
    pub(crate) fn passages(self, options: &PassageOptions) -> Vec<Passage> {
        match self {
            Content::Part(part) => part.passages(options),
            Content::Passages(passages) => passages,
        }
    }
}

/// Slides, sheets, chapters, mails.
pub(crate) const PARTS_MAX: usize = 100_000;

impl Read {
    /// Adds a part that holds something.
    pub(crate) fn add(&mut self, part: Part) -> Result<(), String> {
        let is_empty = part.is_empty();
        self.add_content(Content::Part(part), is_empty)
    }

    /// Adds what has been cut already.
    pub(crate) fn add_passages(&mut self, passages: Vec<Passage>) -> Result<(), String> {
        let is_empty = passages.is_empty();
        self.add_content(Content::Passages(passages), is_empty)
    }

    fn add_content(&mut self, content: Content, is_empty: bool) -> Result<(), String> {
        if self.parts.len() >= PARTS_MAX {
            return Err(format!("it has more than {PARTS_MAX} parts; split it"));
        }
        if !is_empty {
            self.parts.push(content);
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
