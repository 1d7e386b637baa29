//! Cursors of answers: a place to go on from, bound to what was asked.
//!
//! **Invariant:** a cursor is taken with the arguments that it was given for, and with no others: a place in one list is none in another.
//! How much an answer may have is not among them.

use blake3::Hasher;
use nuthatch_link::{Error, Result};

/// Hexadecimal digits of the arguments' hash: enough to notice a mistake, which is all that it is for.
const HASH_DIGITS: usize = 8;

/// The part that the cursors of one list share.
pub struct Cursors {
    hash: String,
}

impl Cursors {
    /// Of a tool's list, for these arguments.
    pub fn of(tool: &str, arguments: &[Option<&str>]) -> Self {
        let mut hasher = Hasher::new();
        for argument in [Some(tool)].iter().chain(arguments) {
            // Told apart: left out and empty, and where one ends.
            hasher.update(&argument.map_or(u64::MAX, |argument| argument.len() as u64).to_le_bytes());
            hasher.update(argument.unwrap_or_default().as_bytes());
        }
        Self { hash: hasher.finalize().to_hex()[..HASH_DIGITS].to_string() }
    }

    /// The cursor for a place.
    pub fn at(&self, place: impl std::fmt::Display) -> String {
        format!("{}.{place}", self.hash)
    }

    /// The place of a cursor that a call was given, if it was given one.
    ///
    /// # Errors
    /// `Invalid` for what is no cursor of this list.
    pub fn place<'c>(&self, cursor: Option<&'c str>) -> Result<Option<&'c str>> {
        let Some(cursor) = cursor else { return Ok(None) };
        match cursor.split_once('.') {
            Some((hash, place)) if hash == self.hash => Ok(Some(place)),
            _ => Err(no_cursor(cursor)),
        }
    }
}

/// The error for a cursor that no page gave, or that belongs to another list.
pub fn no_cursor(cursor: &str) -> Error {
    Error::invalid(format!("{cursor:?} is not a cursor; use the cursor of the previous page, with the same arguments"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_taken_with_the_arguments_that_it_was_given_for_alone() {
        let (asked, other) = (Cursors::of("search", &[Some("a"), None]), Cursors::of("search", &[Some("a"), Some("")]));
        let cursor = asked.at("7.1/b");
        assert_eq!(asked.place(Some(&cursor)).unwrap(), Some("7.1/b"));
        assert_eq!(asked.place(None).unwrap(), None);
        for wrong in [other.at(7), Cursors::of("list", &[Some("a"), None]).at(7), "7".into(), String::new()] {
            assert!(asked.place(Some(&wrong)).unwrap_err().message.contains("with the same arguments"), "{wrong}");
        }
    }
}
