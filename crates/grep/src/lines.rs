//! The lines that matched as values, for callers that do not print.
//!
//! **Invariant.** `text[span.start..span.end]` is what matched, in UTF-8, for every span of a line.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use serde::{Deserialize, Serialize};

/// How far a match may look beyond the lines it lies in: for `\b` and `$` at their end. The printers look as far.
const LOOK_AHEAD_BYTES: usize = 128;

/// What [`Grep::search_lines`](crate::Grep::search_lines) found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Those that matched and their context, in the content's order.
    pub lines: Vec<Line>,
    /// Whether there are more matching lines than the caller wanted.
    pub truncated: bool,
    /// Where a NUL ended the search.
    pub binary_at: Option<u64>,
}

/// A line, or several where a match spans them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Of its first line, from 1.
    pub number: u64,
    /// Where it begins in the content, in bytes from 0 (UTF-16: in its decoded form).
    pub offset: u64,
    /// Without its last end of line. What is no UTF-8 is replaced by U+FFFD.
    pub text: String,
    /// What matched. Empty for context, and with `invert`.
    pub matches: Vec<Span>,
    /// Whether it is only here because of `before_context`, `after_context` or `passthru`.
    pub context: bool,
    /// Whether `max_columns` cut the text. Matches behind the cut are not in `matches`.
    pub cut: bool,
}

/// A part of a line's text, in bytes of its UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// One behind its last byte.
    pub end: usize,
}

/// Takes what the searcher finds, until there is enough.
pub(crate) struct Collected<'a> {
    matcher: &'a RegexMatcher,
    left: usize,
    bytes_max: usize,
    found: Lines,
}

impl<'a> Collected<'a> {
    pub(crate) fn new(matcher: &'a RegexMatcher, lines_max: usize, max_columns: Option<u64>) -> Self {
        let bytes_max = max_columns.map_or(usize::MAX, |columns| usize::try_from(columns).unwrap_or(usize::MAX));
        Self { matcher, left: lines_max, bytes_max, found: Lines::default() }
    }

    pub(crate) fn finish(self) -> Lines {
        self.found
    }

    fn push(&mut self, number: Option<u64>, offset: u64, bytes: &[u8], spans: &[(usize, usize)], context: bool) {
        let (text, matches) = decode(bytes, spans);
        let mut line = Line { number: number.unwrap_or(0), offset, text, matches, context, cut: false };
        if line.text.len() > self.bytes_max {
            let end = (0..=self.bytes_max).rev().find(|&end| line.text.is_char_boundary(end)).unwrap_or(0);
            line.text.truncate(end);
            line.matches.retain(|span| span.end <= end);
            line.cut = true;
        }
        self.found.lines.push(line);
    }
}

impl Sink for Collected<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.left == 0 {
            self.found.truncated = true;
            return Ok(false);
        }
        self.left -= 1;
        let bytes = without_end(searcher, found.bytes());
        let spans = if searcher.invert_match() { Vec::new() } else { self.spans(searcher, found, bytes.len())? };
        self.push(found.line_number(), found.absolute_byte_offset(), bytes, &spans, false);
        Ok(true)
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let bytes = without_end(searcher, context.bytes());
        self.push(context.line_number(), context.absolute_byte_offset(), bytes, &[], true);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.found.binary_at = finish.binary_byte_offset();
        Ok(())
    }
}

impl Collected<'_> {
    /// Where in the first `len` bytes of the found lines the pattern matches.
    fn spans(&self, searcher: &Searcher, found: &SinkMatch<'_>, len: usize) -> io::Result<Vec<(usize, usize)>> {
        let range = found.bytes_range_in_buffer();
        let end = if searcher.multi_line_with_matcher(self.matcher) {
            found.buffer().len().min(range.end + LOOK_AHEAD_BYTES)
        } else {
            range.start + len
        };
        let mut spans = Vec::new();
        self.matcher
            .find_iter_at(&found.buffer()[..end], range.start, |at| {
                if at.start() > range.start + len {
                    return false;
                }
                // A match of the line's end alone lies behind the text that a line has here.
                spans.push((at.start() - range.start, (at.end() - range.start).min(len)));
                true
            })
            .map_err(io::Error::other)?;
        // As the printers do: nothing matches behind the last byte.
        spans.pop_if(|(start, end)| start == end && range.start + *start >= range.end);
        Ok(spans)
    }
}

/// The bytes as text, and the spans in it: decoded piece by piece, so that what is no UTF-8 moves no span.
fn decode(bytes: &[u8], spans: &[(usize, usize)]) -> (String, Vec<Span>) {
    let (mut text, mut matches, mut at) = (String::with_capacity(bytes.len()), Vec::with_capacity(spans.len()), 0);
    for &(start, end) in spans {
        text.push_str(&String::from_utf8_lossy(&bytes[at..start]));
        let first = text.len();
        text.push_str(&String::from_utf8_lossy(&bytes[start..end]));
        matches.push(Span { start: first, end: text.len() });
        at = end;
    }
    text.push_str(&String::from_utf8_lossy(&bytes[at..]));
    (text, matches)
}

fn without_end<'b>(searcher: &Searcher, bytes: &'b [u8]) -> &'b [u8] {
    let end = searcher.line_terminator();
    let bytes = bytes.strip_suffix(&[end.as_byte()]).unwrap_or(bytes);
    if end.is_crlf() { bytes.strip_suffix(b"\r").unwrap_or(bytes) } else { bytes }
}
