//! Everything that can be wrong with a filter, a payload or a columns file.

use std::{fmt, io};

/// How many known fields an error lists before it says how many more there are.
const LISTED_FIELDS_MAX: usize = 30;
/// How many characters of the offending line are shown on each side of the caret.
const SHOWN_CHARS_EACH_SIDE: usize = 60;

/// Why a filter was not run, or a payload not stored or not read.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The text is not a filter; the error points at the character.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The filter names a field that no record of the collection has had.
    #[error("no field `{field}` in this collection{}; {}", suggest(.suggestion), list(.known))]
    UnknownField {
        /// The path that the filter names.
        field: String,
        /// The known field that it resembles most, if any comes near.
        suggestion: Option<String>,
        /// The fields that there are.
        known: Vec<String>,
    },
    /// A literal that no value of the field can ever equal or be ordered with.
    #[error("field `{field}` holds {kinds}, so it never matches {literal}; {remedy}")]
    KindMismatch {
        /// Dotted path of the field.
        field: String,
        /// The kinds that it has held, joined by commas.
        kinds: String,
        /// The literal, with its kind in front.
        literal: String,
        /// The suggested alternative.
        remedy: String,
    },
    /// The payload cannot be stored.
    #[error("payload field `{field}`: {reason}")]
    InvalidPayload {
        /// Dotted path of the field; empty when it is the payload as a whole.
        field: String,
        /// The problem with the field.
        reason: String,
    },
    /// Stored payload or schema bytes that were not written by this library, or are damaged.
    #[error("cannot read stored {what}: {reason}; the bytes are damaged or from a newer version")]
    Decode {
        /// `payload` or `schema`.
        what: &'static str,
        /// The part that could not be read.
        reason: String,
    },
    /// The attribute columns of a segment cannot be read.
    #[error("cannot read attribute columns: {reason}; rebuild them from the stored payloads")]
    CorruptColumns {
        /// The problem with the columns.
        reason: String,
    },
    /// Attribute columns could not be written, or not read, because the operating system refused.
    #[error("attribute columns: {0}")]
    Io(#[from] io::Error),
}

/// Where and why a text is not a filter. Its `Display` shows the line with a caret under the character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The message, without the place: what the parser expected or found.
    pub message: String,
    /// In characters from the beginning of the text, from 0.
    pub offset: usize,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    excerpt: String,
    caret_at: usize,
}

impl SyntaxError {
    pub(crate) fn new(message: impl Into<String>, text: &str, byte_offset: usize) -> Self {
        let before = &text[..byte_offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column_zero = before[line_start..].chars().count();
        let line_text = text[line_start..].lines().next().unwrap_or_default();
        let skipped = column_zero.saturating_sub(SHOWN_CHARS_EACH_SIDE);
        // Tabs and other control characters would move the caret away from what it points at.
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        Self {
            message: message.into(),
            offset: before.chars().count(),
            line: before.matches('\n').count() + 1,
            column: column_zero + 1,
            excerpt: line_text.chars().skip(skipped).take(2 * SHOWN_CHARS_EACH_SIDE).map(shown).collect(),
            caret_at: column_zero - skipped,
        }
    }
}

impl std::error::Error for SyntaxError {}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "filter, line {} column {}: {}", self.line, self.column, self.message)?;
        writeln!(f, "  {}", self.excerpt)?;
        write!(f, "  {:width$}^", "", width = self.caret_at)
    }
}

fn suggest(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

fn list(known: &[String]) -> String {
    if known.is_empty() {
        return "none of its records has had a payload field".into();
    }
    let mut listed = format!("known fields: {}", known[..known.len().min(LISTED_FIELDS_MAX)].join(", "));
    if known.len() > LISTED_FIELDS_MAX {
        listed.push_str(&format!(" and {} more", known.len() - LISTED_FIELDS_MAX));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_stands_under_the_character_in_lines_and_wide_text() {
        let text = "a = 1 and\n  größe ? 3";
        let error = SyntaxError::new("unexpected `?`", text, text.find('?').unwrap());
        assert_eq!((error.offset, error.line, error.column), (18, 2, 9));
        assert_eq!(error.to_string(), "filter, line 2 column 9: unexpected `?`\n    größe ? 3\n          ^");
    }

    #[test]
    fn long_lines_are_shown_around_the_caret_only() {
        let text = format!("{}?{}", "x".repeat(1000), "y".repeat(1000));
        let shown = SyntaxError::new("unexpected", &text, 1000).to_string();
        assert!(shown.len() < 300, "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].find('?'), lines[2].find('^'));
    }
}
