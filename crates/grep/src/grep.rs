//! A compiled search, and what it found in a content.
//!
//! **Invariant.** What [`Grep::search`] and [`Grep::finish`] append, taken together in the order of the calls, is what
//! ripgrep prints for files of these paths and bytes in this order; elapsed times apart.

use std::cell::Cell;
use std::io;
use std::time::Instant;

use grep_printer::Stats;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;

use crate::clipped::Clipped;
use crate::paths::Paths;
use crate::printer::Printer;
use crate::searcher::{run, searcher};
use crate::sink::Counted;
use crate::{GrepError, Lines, Output, Request, end, lines, pattern};

/// A compiled [`Request`]. Compiling costs from microseconds to milliseconds and searching keeps buffers, so keep it for
/// all contents of a search.
#[derive(Debug)]
pub struct Grep {
    request: Request,
    paths: Paths,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// Counts lines, whatever the request says. Made when somebody first asks for lines as values.
    line_searcher: Option<Searcher>,
    printer: Printer,
    stats: Option<Stats>,
    output_bytes_max: usize,
    matched: bool,
    started: Instant,
}

/// What a search of one content found.
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
    /// Whether [`Grep::set_output_bytes_max`] ended the search. What was printed ends with a whole line.
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
            line_searcher: None,
            printer: Printer::new(request),
            stats: request.keeps_stats().then(Stats::new),
            output_bytes_max: usize::MAX,
            matched: false,
            started: Instant::now(),
            request: request.clone(),
        })
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
    /// The content could not be searched. What was printed of it until then stays.
    pub fn search(&mut self, path: &str, content: &[u8], out: &mut Vec<u8>) -> Result<Found, GrepError> {
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
            let whole = out[before..].iter().rposition(|&byte| byte == b'\n').map_or(before, |at| before + at + 1);
            out.truncate(whole);
            self.matched = true;
            return Ok(Found { matched: true, truncated: true, ..Found::default() });
        }
        let found = result.map_err(|source| GrepError::Content { path: path.to_owned(), source })?;
        self.matched |= found.matched;
        Ok(found)
    }

    /// Searches one content and gives its lines as values, at most `lines_max` of them that match. Globs, case, `-v`,
    /// `-m`, context and all else that decides what matches hold; what is about print does not, `replace` included.
    ///
    /// # Errors
    /// The content could not be searched.
    pub fn search_lines(&mut self, path: &str, content: &[u8], lines_max: usize) -> Result<Lines, GrepError> {
        if !self.request.can_match() {
            return Ok(Lines::default());
        }
        let mut lines = lines::Collected::new(&self.matcher, lines_max, self.request.max_columns);
        let searcher = match &mut self.line_searcher {
            Some(searcher) => searcher,
            none => none.insert(searcher(&self.request, true)?),
        };
        run(searcher, &self.matcher, content, &mut lines)
            .map_err(|source| GrepError::Content { path: path.to_owned(), source })?;
        let lines = lines.finish();
        self.matched |= !lines.lines.is_empty();
        Ok(lines)
    }

    /// Appends what ripgrep prints behind the last file: the counts of `--stats`, or the last message of `--json`.
    ///
    /// # Errors
    /// None that anybody has seen: the counts could not be written as JSON.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), GrepError> {
        let Some(stats) = self.stats.as_ref().filter(|_| self.request.can_match()) else { return Ok(()) };
        let total = self.started.elapsed();
        let text = match self.request.output {
            Output::Json => end::json(stats, total)?,
            _ => end::text(stats, total),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn print(&mut self, path: &str, content: &[u8]) -> io::Result<Found> {
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
