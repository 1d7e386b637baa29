//! The searcher that a request asks for, with ripgrep's settings, and how a content is handed to it.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Encoding, Searcher, SearcherBuilder, Sink};

use crate::{GrepError, Request};

/// The error message where the library panics.
const GAVE_UP: &str = "the search library gave up on this content, as ripgrep does; leave out -U, -v or -m";

/// A searcher that counts lines or does not.
pub(crate) fn searcher(request: &Request, line_number: bool) -> Result<Searcher, GrepError> {
    let terminator = if request.crlf {
        LineTerminator::crlf()
    } else if request.null_data {
        LineTerminator::byte(0)
    } else {
        LineTerminator::byte(b'\n')
    };
    let mut builder = SearcherBuilder::new();
    builder
        .binary_detection(binary_detection(request))
        .max_matches(request.max_count)
        .line_terminator(terminator)
        .invert_match(request.invert)
        .line_number(line_number)
        .multi_line(request.multiline)
        .stop_on_nonmatch(request.stop_on_nonmatch);
    if request.passthru {
        builder.passthru(true);
    } else {
        builder.before_context(request.before_context as usize).after_context(request.after_context as usize);
    }
    match request.encoding.as_deref() {
        None | Some("auto") => {}
        Some("none") => {
            builder.bom_sniffing(false);
        }
        Some(label) => {
            let encoding = Encoding::new(label).map_err(|_| GrepError::Encoding { label: label.to_owned() })?;
            builder.encoding(Some(encoding));
        }
    }
    Ok(builder.build())
}

/// ripgrep's treatment of a NUL in a file that it found in a folder.
fn binary_detection(request: &Request) -> BinaryDetection {
    if request.text || request.null_data {
        BinaryDetection::none()
    } else if request.binary {
        BinaryDetection::convert(0)
    } else {
        BinaryDetection::quit(0)
    }
}

/// A content in memory, or one that is read as the search goes on. Where a match may span lines, the library reads all of
/// it before it begins.
pub(crate) enum Content<'c, R> {
    Slice(&'c [u8]),
    Stream(R),
}

/// Searches as ripgrep searches a file of a folder: through a buffer, line by line, unless a match may span lines.
///
/// A slice without a NUL is searched in place. In another one the library would look for NUL in the first 64 KiB and in
/// matching lines alone, so that one further on would not end the search where it does in a file.
///
/// The library has assertions that rare combinations fail: ripgrep 15.2 panics at `-Uvx -A1 -m2 '\s'` over blank lines.
/// The state of a searcher and a printer is reset when the next search begins, so such a panic is caught and ends only
/// this one.
pub(crate) fn run<S>(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    content: Content<'_, impl Read>,
    sink: S,
) -> io::Result<()>
where
    S: Sink<Error = io::Error>,
{
    let search = AssertUnwindSafe(|| match content {
        Content::Slice(content)
            if searcher.multi_line_with_matcher(matcher) || memchr::memchr(0, content).is_none() =>
        {
            searcher.search_slice(matcher, content, sink)
        }
        Content::Slice(content) => searcher.search_reader(matcher, content, sink),
        Content::Stream(content) => searcher.search_reader(matcher, content, sink),
    });
    catch_unwind(search).unwrap_or_else(|_| Err(io::Error::other(GAVE_UP)))
}
