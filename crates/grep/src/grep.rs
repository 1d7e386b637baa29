//! A compiled search, and what it found in a content.
//!
//! **Invariant.** What [`Grep::search`] and [`Grep::finish`] append, taken together in the order of the calls, is what
//! ripgrep prints for files of these paths and bytes in this order; elapsed times apart.

use std::cell::Cell;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use grep_printer::Stats;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;

use serde::{Deserialize, Serialize};

use crate::clipped::Clipped;
use crate::paths::Paths;
use crate::printer::Printer;
use crate::searcher::{Content, run, searcher};
use crate::sink::Counted;
use crate::{GrepError, Output, Request, end, pattern};

/// A compiled [`Request`]. Compiling costs from microseconds to milliseconds and searching keeps buffers, so keep it for
/// all contents of a search.
#[derive(Debug)]
pub struct Grep {
    request: Request,
    paths: Paths,
    matcher: RegexMatcher,
    searcher: Searcher,
    printer: Printer,
    stats: Option<Stats>,
    output_bytes_max: usize,
    matched: bool,
    /// Something was printed, so that what comes next may need a separator.
    printed: bool,
    spent_before: Duration,
    started: Instant,
}

/// How far a search has come: what [`Grep::go_on`] needs to end it as if it had never stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Some content counted as a match.
    pub matched: bool,
    /// Something was printed.
    pub printed: bool,
    /// Contents that were searched, as far as the request counts them.
    pub searches: u64,
    /// Of these, those with a match.
    pub searches_with_match: u64,
    /// After decoding.
    pub bytes_searched: u64,
    /// Without what stands between contents.
    pub bytes_printed: u64,
    /// Lines that matched.
    pub matched_lines: u64,
    /// Matches on them.
    pub matches: u64,
    /// Time spent on contents.
    pub searching: Duration,
    /// Time since the search began.
    pub total: Duration,
}

/// The result of searching a content apart from all others.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The output of the search.
    pub out: Vec<u8>,
    /// The findings of the search.
    pub found: Found,
    counts: Progress,
    goes_on: bool,
}

/// The findings of a search of one content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Whether the content counts as a match for ripgrep's exit status: with
    /// [`Output::FilesWithoutMatch`], that nothing in it matched.
    pub matched: bool,
    /// Lines that matched, as far as the search went: `-l` and `-q` stop at the first.
    pub matched_lines: u64,
    /// Matches on these lines. Only counted with [`Request::stats`] and [`Output::Json`], because it takes time.
    pub matches: Option<u64>,
    /// How much of the content was looked at, in bytes after decoding.
    pub bytes_searched: u64,
    /// Where the first NUL was found that made ripgrep take the content as binary.
    pub binary_at: Option<u64>,
    /// Whether [`Grep::set_output_bytes_max`] ended the search. The output then ends with a whole line, if one fits.
    pub truncated: bool,
}

impl Grep {
    /// Compiles a request.
    ///
    /// # Errors
    /// A pattern, glob, type or encoding that cannot be read, `-P`, or a request over a limit.
    pub fn new(request: &Request) -> Result<Self, GrepError> {
        request.check_limits()?;
        Ok(Self {
            paths: Paths::new(request)?,
            matcher: pattern::matcher(request)?,
            searcher: searcher(request, request.counts_lines())?,
            printer: Printer::new(request),
            stats: request.keeps_stats().then(Stats::new),
            output_bytes_max: usize::MAX,
            matched: false,
            printed: false,
            spent_before: Duration::ZERO,
            started: Instant::now(),
            request: request.clone(),
        })
    }

    /// The same search for another thread, which shares what was compiled and has printed nothing yet.
    ///
    /// # Errors
    /// None: the request was compiled before.
    pub fn another(&self) -> Result<Self, GrepError> {
        Ok(Self {
            paths: self.paths.clone(),
            matcher: self.matcher.clone(),
            searcher: searcher(&self.request, self.request.counts_lines())?,
            printer: Printer::new(&self.request),
            stats: self.request.keeps_stats().then(Stats::new),
            output_bytes_max: self.output_bytes_max,
            matched: false,
            printed: false,
            spent_before: Duration::ZERO,
            started: self.started,
            request: self.request.clone(),
        })
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let counts = self.stats.as_ref().map(|stats| Progress {
            searches: stats.searches(),
            searches_with_match: stats.searches_with_match(),
            bytes_searched: stats.bytes_searched(),
            bytes_printed: stats.bytes_printed(),
            matched_lines: stats.matched_lines(),
            matches: stats.matches(),
            searching: stats.elapsed(),
            ..Progress::default()
        });
        let total = self.spent_before + self.started.elapsed();
        Progress { matched: self.matched, printed: self.printed, total, ..counts.unwrap_or_default() }
    }

    /// Goes on where a search of the same request stopped. Call it before the first content.
    pub fn go_on(&mut self, from: &Progress) {
        (self.matched, self.printed, self.spent_before) = (from.matched, from.printed, from.total);
        self.count(from);
    }

    fn count(&mut self, counts: &Progress) {
        let Some(stats) = &mut self.stats else { return };
        stats.add_elapsed(counts.searching);
        stats.add_searches(counts.searches);
        stats.add_searches_with_match(counts.searches_with_match);
        stats.add_bytes_searched(counts.bytes_searched);
        stats.add_bytes_printed(counts.bytes_printed);
        stats.add_matched_lines(counts.matched_lines);
        stats.add_matches(counts.matches);
    }

    /// Takes over what [`another`](Self::another) has found in one content: its print goes behind that of the contents
    /// before.
    pub fn join(&mut self, found: &Apart, out: &mut Vec<u8>) {
        self.matched |= found.found.matched;
        if !found.found.truncated {
            self.count(&found.counts); // else it is searched once more
        }
        match found.goes_on {
            true => out.extend_from_slice(&found.out),
            false => self.paste(&found.out, out),
        }
    }

    /// Appends what one content printed, behind a separator where ripgrep has one.
    fn paste(&mut self, printed: &[u8], out: &mut Vec<u8>) {
        if printed.is_empty() {
            return;
        }
        if let Some(separator) = self.separator() {
            out.extend_from_slice(&separator);
        }
        self.printed = true;
        out.extend_from_slice(printed);
    }

    /// Returns the separator before the output for the next content.
    fn separator(&self) -> Option<Vec<u8>> {
        let separator = self.printer.separator(&self.request).filter(|_| self.printed)?;
        Some([separator, self.searcher.line_terminator().as_bytes()].concat())
    }

    /// Searches one content apart from all others; [`join`](Self::join) puts the pieces together. It leaves out the first `from`
    /// bytes of what it prints: a search that was [truncated](Found::truncated) goes on there.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn search_apart(&mut self, path: &str, content: &[u8], from: usize) -> Result<Apart, GrepError> {
        self.apart(path, Content::Slice::<&[u8]>(content), from)
    }

    /// The same for a content that is read as the search goes on.
    ///
    /// # Errors
    /// As [`search`](Self::search), and those of reading.
    pub fn search_stream(&mut self, path: &str, content: impl Read, from: usize) -> Result<Apart, GrepError> {
        self.apart(path, Content::Stream(content), from)
    }

    fn apart<R: Read>(&mut self, path: &str, content: Content<'_, R>, from: usize) -> Result<Apart, GrepError> {
        if let Some(stats) = &mut self.stats {
            *stats = Stats::new();
        }
        let mut out = Vec::new();
        self.printer.sheet().skip = from;
        let found = self.search_content(path, content, &mut out);
        self.printer.sheet().skip = 0;
        Ok(Apart { out, found: found?, counts: self.progress(), goes_on: from > 0 })
    }

    /// Counts contents that nothing is printed of, and that need not be searched to know that, as if they had been.
    pub fn pass_over(&mut self, contents: u64, bytes: u64) {
        self.count(&Progress { searches: contents, bytes_searched: bytes, ..Progress::default() });
    }

    /// Whether it counts what it searches, for `--stats` or the summary of `--json`.
    pub fn counts(&self) -> bool {
        self.request.keeps_stats()
    }

    /// How long the output of a caller may become: [`Grep::search`] stops where `out` would be longer, and says so. No
    /// limit until it is set.
    pub fn set_output_bytes_max(&mut self, bytes: usize) {
        self.output_bytes_max = bytes;
    }

    /// Whether globs and types let a path of a tree through: relative, with `/` between its parts.
    pub fn wants(&self, path: &str) -> bool {
        self.request.can_match() && self.paths.wants(path)
    }

    /// Whether another content could change anything: not with `-m 0`, and with `-q` not once something matched.
    pub fn wants_more(&self) -> bool {
        self.request.can_match() && !(self.matched && self.request.quiet && !self.request.keeps_stats())
    }

    /// Whether any content counted as a match so far. ripgrep's exit status is 0 then, and 1 otherwise.
    pub fn matched(&self) -> bool {
        self.matched
    }

    /// Searches one content and appends what ripgrep prints about it.
    ///
    /// # Errors
    /// The content could not be searched. Its output so far stays.
    pub fn search(&mut self, path: &str, content: &[u8], out: &mut Vec<u8>) -> Result<Found, GrepError> {
        let mut printed = Vec::new();
        let before = out.len() + self.separator().map_or(0, |separator| separator.len());
        let room = self.output_bytes_max.saturating_sub(before);
        let all = std::mem::replace(&mut self.output_bytes_max, room);
        let found = self.search_content(path, Content::Slice::<&[u8]>(content), &mut printed);
        self.output_bytes_max = all;
        self.paste(&printed, out);
        found
    }

    fn search_content<R: Read>(
        &mut self,
        path: &str,
        content: Content<'_, R>,
        out: &mut Vec<u8>,
    ) -> Result<Found, GrepError> {
        if !self.request.can_match() {
            return Ok(Found::default());
        }
        let before = out.len();
        let sheet = self.printer.sheet();
        std::mem::swap(&mut sheet.bytes, out);
        sheet.end = self.output_bytes_max;
        sheet.full = false;
        let result = self.print(path, content);
        let sheet = self.printer.sheet();
        std::mem::swap(&mut sheet.bytes, out);
        if sheet.full {
            if let Some(at) = out[before..].iter().rposition(|&byte| byte == b'\n') {
                out.truncate(before + at + 1);
            }
            self.matched = true;
            return Ok(Found { matched: true, truncated: true, ..Found::default() });
        }
        let found = result.map_err(|source| GrepError::Content { path: path.to_owned(), source })?;
        self.matched |= found.matched;
        Ok(found)
    }

    /// Appends what ripgrep prints behind the last file: the counts of `--stats`, or the last message of `--json`.
    ///
    /// # Errors
    /// None that anybody has seen: the counts could not be written as JSON.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), GrepError> {
        let Some(stats) = self.stats.as_ref().filter(|_| self.request.can_match()) else { return Ok(()) };
        let total = self.spent_before + self.started.elapsed();
        let text = match self.request.output {
            Output::Json => end::json(stats, total)?,
            _ => end::text(stats, total),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn print<R: Read>(&mut self, path: &str, content: Content<'_, R>) -> io::Result<Found> {
        let (searcher, matcher) = (&mut self.searcher, &self.matcher);
        let (found, stats) = match &mut self.printer {
            Printer::Lines(printer) => {
                let mut sink = Counted::new(printer.sink_with_path(matcher, path), None);
                run(searcher, matcher, content, &mut sink)?;
                (found(&sink, sink.inner.has_match()), sink.inner.stats().cloned())
            }
            Printer::Summary(printer) => {
                let mut sink = Counted::new(printer.sink_with_path(matcher, path), None);
                run(searcher, matcher, content, &mut sink)?;
                (found(&sink, sink.inner.has_match()), sink.inner.stats().cloned())
            }
            Printer::Json(printer) => {
                let lines_end = Cell::new(0);
                let clipped = Clipped { matcher, lines_end: &lines_end };
                let mut sink = Counted::new(printer.sink_with_path(clipped, path), Some(&lines_end));
                run(searcher, matcher, content, &mut sink)?;
                (found(&sink, sink.inner.has_match()), Some(sink.inner.stats().clone()))
            }
        };
        if let (Some(sum), Some(stats)) = (&mut self.stats, &stats) {
            *sum += stats;
        }
        Ok(Found { matches: stats.map(|stats| stats.matches()), ..found })
    }
}

fn found<S>(sink: &Counted<'_, S>, matched: bool) -> Found {
    Found {
        matched,
        matched_lines: sink.matched_lines,
        matches: None,
        bytes_searched: sink.bytes_searched,
        binary_at: sink.binary_at,
        truncated: false,
    }
}
