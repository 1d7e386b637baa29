//! A request's patterns as one matcher, with ripgrep's settings.

use std::collections::HashSet;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::request::PROGRAM_BYTES_MAX;
use crate::{GrepError, Request};

/// The matcher of all patterns.
pub(crate) fn matcher(request: &Request) -> Result<RegexMatcher, GrepError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(!request.no_unicode)
        .octal(false)
        .fixed_strings(request.fixed_strings)
        .case_insensitive(request.ignore_case)
        .case_smart(request.smart_case && !request.ignore_case)
        .whole_line(request.line_regexp)
        .word(request.word && !request.line_regexp)
        .size_limit(PROGRAM_BYTES_MAX)
        .dfa_size_limit(PROGRAM_BYTES_MAX);
    if request.multiline {
        builder.dot_matches_new_line(request.multiline_dotall);
        if request.crlf {
            // Sets a line terminator that a match over lines must not have.
            builder.crlf(true).line_terminator(None);
        }
    } else {
        builder.line_terminator(Some(b'\n')).dot_matches_new_line(false);
        if request.crlf {
            builder.crlf(true);
        }
        if request.null_data {
            builder.line_terminator(Some(0));
        }
    }
    if !request.text && !request.null_data {
        builder.ban_byte(Some(0));
    }
    let mut seen = HashSet::new();
    let patterns: Vec<&String> = request.patterns.iter().filter(|pattern| seen.insert(pattern.as_str())).collect();
    builder.build_many(&patterns).map_err(|error| GrepError::Pattern { message: explain(&error.to_string()) })
}

/// The message, and which flag would allow the pattern where one would.
fn explain(message: &str) -> String {
    if message.contains("the literal") && message.contains("not allowed") {
        return format!("{message}\n\nWith -U/--multiline, a pattern may match the end of a line.");
    }
    if message.contains("pattern contains \"\\0\"") {
        return format!(
            "{message}\n\nWith -a/--text, a pattern may match NUL: without it, the search of a content ends there."
        );
    }
    if message.contains("look-around") || message.contains("backreferences") {
        return format!("{message}\n\n{}", GrepError::Pcre2);
    }
    message.to_owned()
}
