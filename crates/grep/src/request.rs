//! The pattern of a search, its paths, and how to print the result: ripgrep's flags as a value.
//!
//! **Invariant.** Every field's default is what ripgrep does without the flag when its output is no terminal.

use serde::{Deserialize, Serialize};

use crate::{Grep, GrepError};

/// How many bytes all patterns of a request may have together.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;
/// How many globs and types a request may name.
pub const GLOBS_MAX: usize = 1000;
/// How large the compiled patterns, and the cache that runs them, may each grow. ripgrep allows 100 MB and 1,000 MB.
pub const PROGRAM_BYTES_MAX: usize = 32 << 20;

/// A search. Each field names the flag of ripgrep that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// `-e`: a line that one of them matches is a match. At least one.
    pub patterns: Vec<String>,
    /// `-F`: the patterns are texts, not regular expressions.
    pub fixed_strings: bool,
    /// `-i`. Goes before `smart_case`.
    pub ignore_case: bool,
    /// `-S`: as `-i` if the patterns have no upper-case letter.
    pub smart_case: bool,
    /// `-w`: a match begins and ends at a word's boundary.
    pub word: bool,
    /// `-x`: a match is a whole line. Goes before `word`.
    pub line_regexp: bool,
    /// `-v`: the lines that do not match.
    pub invert: bool,
    /// `-U`: a match may span lines.
    pub multiline: bool,
    /// `--multiline-dotall`: with `multiline`, a dot matches the end of a line, too.
    pub multiline_dotall: bool,
    /// `--crlf`: a line may end in `\r\n`, and `$` matches before it.
    pub crlf: bool,
    /// `--null-data`: lines end in NUL.
    pub null_data: bool,
    /// `--no-unicode`: `\w`, `.` and `-i` are about bytes.
    pub no_unicode: bool,
    /// `-P`. Refused: see [`GrepError::Pcre2`].
    pub pcre2: bool,
    /// `-m`: how many matching lines of a content to print.
    pub max_count: Option<u64>,
    /// `--stop-on-nonmatch`: stop at the first line that does not match after one that does.
    pub stop_on_nonmatch: bool,
    /// `-a`: a NUL does not end the search of a content.
    pub text: bool,
    /// `--binary`: search on behind a NUL, and say `binary file matches` instead of printing lines.
    pub binary: bool,
    /// `-E`: a label of the Encoding Standard, or `none` to heed no byte order mark.
    pub encoding: Option<String>,

    /// `-g`: gitignore's patterns, turned round. With `!` in front, paths to leave out. The last that matches decides.
    pub globs: Vec<String>,
    /// `--iglob`: as `globs`, without regard to case, and after them.
    pub iglobs: Vec<String>,
    /// `-t`: names of file types.
    pub types: Vec<String>,
    /// `-T`: names of file types to leave out. They go before `types`.
    pub types_not: Vec<String>,

    /// The kind of output.
    pub output: Output,
    /// `-q`: print nothing, and stop at the first match.
    pub quiet: bool,
    /// `-o`: only what matches, each match on a line of its own. Makes `-c` count matches.
    pub only_matching: bool,
    /// `--vimgrep`: a line for each match, with the line's and the column's number.
    pub vimgrep: bool,
    /// `-r`: print this instead of what matches. `$1` and `$name` are what groups matched.
    pub replace: Option<String>,
    /// `-B`: lines before a match.
    pub before_context: u32,
    /// `-A`: lines after a match.
    pub after_context: u32,
    /// `--passthru`: print all lines.
    pub passthru: bool,
    /// `-n`, `-N`. Unset: only where `column` or `vimgrep` asks for it, and in JSON.
    pub line_number: Option<bool>,
    /// `--column`, in bytes from 1. Unset: only with `vimgrep`.
    pub column: Option<bool>,
    /// `-b`: where in the content each line begins, in bytes from 0.
    pub byte_offset: bool,
    /// `-H`, `-I`: the path before each line.
    pub with_filename: bool,
    /// `--heading`: the path above its lines.
    pub heading: bool,
    /// `-0`: a NUL behind each path.
    pub null: bool,
    /// `--include-zero`: counts of zero, too.
    pub include_zero: bool,
    /// `--trim`: without the white space that a line begins with.
    pub trim: bool,
    /// `-M`: leave out what a line has beyond as many bytes.
    pub max_columns: Option<u64>,
    /// `--max-columns-preview`: with `max_columns`, the beginning of a long line.
    pub max_columns_preview: bool,
    /// `--color=always`: with the control codes of a terminal.
    pub color: bool,
    /// `--stats`: counts at the end.
    pub stats: bool,
}

/// The output of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// The lines that match.
    #[default]
    Lines,
    /// `-c`: how many lines match, a line for each path.
    Count,
    /// `--count-matches`: how many matches there are, a line for each path.
    CountMatches,
    /// `-l`: the paths of the contents that match.
    FilesWithMatches,
    /// `--files-without-match`: the paths of the contents that do not match.
    FilesWithoutMatch,
    /// `--json`: ripgrep's messages, one a line.
    Json,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            fixed_strings: false,
            ignore_case: false,
            smart_case: false,
            word: false,
            line_regexp: false,
            invert: false,
            multiline: false,
            multiline_dotall: false,
            crlf: false,
            null_data: false,
            no_unicode: false,
            pcre2: false,
            max_count: None,
            stop_on_nonmatch: false,
            text: false,
            binary: false,
            encoding: None,
            globs: Vec::new(),
            iglobs: Vec::new(),
            types: Vec::new(),
            types_not: Vec::new(),
            output: Output::Lines,
            quiet: false,
            only_matching: false,
            vimgrep: false,
            replace: None,
            before_context: 0,
            after_context: 0,
            passthru: false,
            line_number: None,
            column: None,
            byte_offset: false,
            with_filename: true,
            heading: false,
            null: false,
            include_zero: false,
            trim: false,
            max_columns: None,
            max_columns_preview: false,
            color: false,
            stats: false,
        }
    }
}

impl Request {
    /// Everything that can be wrong with it, found by compiling it.
    ///
    /// # Errors
    /// As [`Grep::new`].
    pub fn check(&self) -> Result<(), GrepError> {
        Grep::new(self).map(drop)
    }

    /// Applies ripgrep's defaults for a terminal: colours, headings (but not with `vimgrep`), and line numbers unless
    /// the caller has chosen.
    pub fn for_terminal(mut self) -> Self {
        self.color = true;
        self.heading = !self.vimgrep;
        self.line_number = self.line_number.or(Some(true));
        self
    }

    /// The output after the rules by which ripgrep changes it: `-v --count-matches` is `-c`, and `-o -c` is
    /// `--count-matches`.
    pub(crate) fn real_output(&self) -> Output {
        match self.output {
            Output::CountMatches if self.invert => Output::Count,
            Output::Count if self.only_matching => Output::CountMatches,
            other => other,
        }
    }

    pub(crate) fn keeps_stats(&self) -> bool {
        self.stats || self.output == Output::Json
    }

    pub(crate) fn shows_column(&self) -> bool {
        self.column.unwrap_or(self.vimgrep)
    }

    pub(crate) fn counts_lines(&self) -> bool {
        self.line_number.unwrap_or(match self.output {
            _ if self.quiet => false,
            Output::Json => true,
            Output::Lines => self.shows_column() || self.vimgrep,
            Output::Count | Output::CountMatches | Output::FilesWithMatches | Output::FilesWithoutMatch => false,
        })
    }

    /// Whether anything can match. ripgrep prints nothing at all, no statistics either, where nothing can.
    pub(crate) fn can_match(&self) -> bool {
        self.max_count != Some(0)
    }

    /// Fails where the request is longer than anybody needs.
    pub(crate) fn check_limits(&self) -> Result<(), GrepError> {
        if self.patterns.is_empty() {
            return Err(GrepError::NoPattern);
        }
        if self.pcre2 {
            return Err(GrepError::Pcre2);
        }
        let bytes = self.patterns.iter().map(String::len).sum();
        if bytes > PATTERN_BYTES_MAX {
            return Err(GrepError::TooLong { what: "patterns", unit: "bytes", is: bytes, limit: PATTERN_BYTES_MAX });
        }
        let globs = self.globs.len() + self.iglobs.len() + self.types.len() + self.types_not.len();
        if globs > GLOBS_MAX {
            return Err(GrepError::TooLong { what: "globs and types", unit: "entries", is: globs, limit: GLOBS_MAX });
        }
        Ok(())
    }
}
