//! A matcher for the JSON printer whose matches end where the printed lines end.
//!
//! The searcher stops growing a group of lines at `-m`, but the printer looks for matches in the group again, and one that
//! may span lines can begin inside and end behind it. The printer then slices beyond the lines and panics; ripgrep 15.2
//! does with `-U --multiline-dotall -m1 --json '.*'` where a line holds invalid UTF-8.
//!
//! **Invariant.** Matches that lie in the lines are given as they are.

use std::cell::Cell;

use grep_matcher::{ByteSet, LineTerminator, Match, Matcher};
use grep_regex::{RegexCaptures, RegexMatcher};

/// A matcher, and where the lines end in the bytes that it is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clipped<'a> {
    pub(crate) matcher: &'a RegexMatcher,
    pub(crate) lines_end: &'a Cell<usize>,
}

impl Matcher for Clipped<'_> {
    type Captures = RegexCaptures;
    type Error = <RegexMatcher as Matcher>::Error;

    fn find_at(&self, bytes: &[u8], at: usize) -> Result<Option<Match>, Self::Error> {
        let end = self.lines_end.get();
        let clip = |found: Match| if found.start() < end { found.with_end(found.end().min(end)) } else { found };
        Ok(self.matcher.find_at(bytes, at)?.map(clip))
    }

    fn new_captures(&self) -> Result<Self::Captures, Self::Error> {
        self.matcher.new_captures()
    }

    fn captures_at(&self, bytes: &[u8], at: usize, captures: &mut Self::Captures) -> Result<bool, Self::Error> {
        self.matcher.captures_at(bytes, at, captures)
    }

    fn capture_count(&self) -> usize {
        self.matcher.capture_count()
    }

    fn capture_index(&self, name: &str) -> Option<usize> {
        self.matcher.capture_index(name)
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.matcher.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.matcher.line_terminator()
    }
}
