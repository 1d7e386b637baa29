//! Everything that can be wrong with a search.

use std::io;

/// Why a search was not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum GrepError {
    /// A request without any pattern.
    #[error("no pattern: give at least one, as in `patterns: [\"TODO\"]`")]
    NoPattern,
    /// A pattern is no regular expression, or too large a one. The message is ripgrep's, with the place marked.
    #[error("{message}")]
    Pattern {
        /// The problem with it, and its position.
        message: String,
    },
    /// `-P`.
    #[error(
        "-P/--pcre2 is not supported: patterns are Rust's regular expressions, which have no look-around and no \
         backreferences. Use -w or \\b for words, a group with -r '$1' for a part of a match, and -v on the output of a \
         first search for what must not be there"
    )]
    Pcre2,
    /// A glob that cannot be read.
    #[error("glob `{glob}`: {reason}")]
    Glob {
        /// The glob.
        glob: String,
        /// The problem with the glob.
        reason: String,
    },
    /// A name of a file type that ripgrep does not know.
    #[error("{reason}; `rg --type-list` names those that there are")]
    Type {
        /// The problem with the name.
        reason: String,
    },
    /// An encoding that nobody knows.
    #[error(
        "unknown encoding `{label}`; use a label of the Encoding Standard such as `utf-16le` or `latin1`, or `none`"
    )]
    Encoding {
        /// As the request names it.
        label: String,
    },
    /// A request that is longer than anybody needs.
    #[error("{what}: {is} {unit}, over the limit of {limit}; split the search")]
    TooLong {
        /// The thing that is too long.
        what: &'static str,
        /// The unit of its length.
        unit: &'static str,
        /// How long it is.
        is: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A content could not be searched.
    #[error("{path}: {source}")]
    Content {
        /// The path that the caller named it by.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// The end of the output could not be written.
    #[error("cannot write the end of the output: {0}")]
    End(#[from] serde_json::Error),
}
