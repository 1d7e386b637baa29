//! The arguments of a command, read from left to right.

use crate::failure::{Failure, Outcome};
use crate::number;

/// The words that have not been read yet.
pub(crate) struct Words<'a> {
    rest: &'a [Vec<u8>],
}

impl<'a> Words<'a> {
    pub fn new(arguments: &'a [Vec<u8>]) -> Self {
        Self { rest: arguments }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn rest(&self) -> &'a [Vec<u8>] {
        self.rest
    }

    /// The next argument, which has to be there.
    pub fn word(&mut self) -> Outcome<&'a [u8]> {
        let (first, rest) = self.rest.split_first().ok_or_else(Failure::syntax)?;
        self.rest = rest;
        Ok(first)
    }

    /// Returns the next `count` arguments, which have to be there.
    pub fn take(&mut self, count: usize) -> Outcome<&'a [Vec<u8>]> {
        let (first, rest) = self.rest.split_at_checked(count).ok_or_else(Failure::syntax)?;
        self.rest = rest;
        Ok(first)
    }

    /// How many keys follow, and the keys.
    pub fn numbered_keys(&mut self) -> Outcome<&'a [Vec<u8>]> {
        let count = self.positive("numkeys")?;
        self.take(count)
    }

    /// The next argument in capitals, to be compared with the names of options.
    pub fn option(&mut self) -> Outcome<String> {
        Ok(String::from_utf8_lossy(self.word()?).to_uppercase())
    }

    pub fn integer(&mut self) -> Outcome<i64> {
        number::integer(self.word()?)
    }

    pub fn float(&mut self) -> Outcome<f64> {
        number::float(self.word()?)
    }

    /// A number above 0.
    pub fn positive(&mut self, what: &str) -> Outcome<usize> {
        let wrong = || Failure::error(format!("{what} must be a positive integer"));
        let number = self.integer().map_err(|_| wrong())?;
        usize::try_from(number).ok().filter(|number| *number > 0).ok_or_else(wrong)
    }
}
