//! Counts what passes on its way to a printer.

use std::cell::Cell;
use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// A printer's sink, and what was seen on the way to it.
pub(crate) struct Counted<'a, S> {
    pub(crate) inner: S,
    /// Where the lines end that are printed: see [`Clipped`](crate::clipped::Clipped).
    lines_end: Option<&'a Cell<usize>>,
    pub(crate) matched_lines: u64,
    pub(crate) bytes_searched: u64,
    pub(crate) binary_at: Option<u64>,
}

impl<'a, S> Counted<'a, S> {
    pub(crate) fn new(inner: S, lines_end: Option<&'a Cell<usize>>) -> Self {
        Self { inner, lines_end, matched_lines: 0, bytes_searched: 0, binary_at: None }
    }
}

impl<S: Sink<Error = io::Error>> Sink for Counted<'_, S> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matched_lines += if searcher.multi_line() { found.lines().count() as u64 } else { 1 };
        if let Some(end) = self.lines_end {
            end.set(found.bytes_range_in_buffer().end);
        }
        self.inner.matched(searcher, found)
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if let Some(end) = self.lines_end {
            end.set(context.bytes().len());
        }
        self.inner.context(searcher, context)
    }

    fn context_break(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.inner.context_break(searcher)
    }

    fn binary_data(&mut self, searcher: &Searcher, at: u64) -> io::Result<bool> {
        self.inner.binary_data(searcher, at)
    }

    fn begin(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.inner.begin(searcher)
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.bytes_searched = finish.byte_count();
        self.binary_at = finish.binary_byte_offset();
        self.inner.finish(searcher, finish)
    }
}
