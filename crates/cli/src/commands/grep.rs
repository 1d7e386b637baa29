//! `nuthatch grep`: ripgrep over a tree, as it is, as it was, or over all its versions.

use clap::Args;
use nuthatch_link::{Error, GREP_BYTES_MAX, GrepIndex, GrepOutput, GrepRead, GrepRequest, GrepTree};

use crate::args::{Color, Globals};
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, Out};
use crate::tree_at::inside;
use crate::units::{bytes, count, thousands};

/// Bytes of print that are held at once.
const PAGE_BYTES: usize = 1 << 20;

#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Flags, patterns and output are ripgrep's, in the order of the paths. Exit codes too: 0 a match,
1 none, 2 something could not be searched.

nuthatch grep -n 'fn \\w+_at' --tree code -g '*.rs'
nuthatch grep -i password --tree notes --as-of v1
nuthatch grep TODO --tree code --history -l      # PATH@SEQUENCE, for `nuthatch get --as-of`
nuthatch grep --explain mutex_lock --tree code   # what was read; `nuthatch index` makes the index"
)]
pub struct Grep {
    /// Regular expression to search for
    #[arg(value_name = "PATTERN", required_unless_present = "regexp")]
    pattern: Option<String>,
    /// Only at or below this path of the tree
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// The tree
    #[arg(long, value_name = "NAME")]
    tree: String,
    /// As it was: the name of a snapshot, a sequence or a time
    #[arg(long, value_name = "AS_OF")]
    as_of: Option<String>,
    /// Only files that pass this condition on their fields, such as "tags contains 'draft'"
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// Search every version that is kept; a path is followed by @ and the sequence
    #[arg(long)]
    history: bool,
    /// Read every file, without asking the index which ones can match
    #[arg(long, conflicts_with = "index")]
    no_index: bool,
    /// Ask the index also where reading every file seems quicker
    #[arg(long)]
    index: bool,
    /// Say on standard error what was read, and why
    #[arg(long)]
    explain: bool,
    /// A pattern; may be given several times
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    regexp: Vec<String>,
    /// The patterns are texts
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Without regard to case
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Without regard to case, unless a pattern has an upper-case letter
    #[arg(short = 'S', long)]
    smart_case: bool,
    /// Whole words
    #[arg(short = 'w', long = "word-regexp")]
    word: bool,
    /// Whole lines
    #[arg(short = 'x', long)]
    line_regexp: bool,
    /// Lines that do not match
    #[arg(short = 'v', long = "invert-match")]
    invert: bool,
    /// A match may span lines
    #[arg(short = 'U', long)]
    multiline: bool,
    /// With -U, a dot matches the end of a line
    #[arg(long)]
    multiline_dotall: bool,
    /// A line may end in \r\n
    #[arg(long)]
    crlf: bool,
    /// Lines end in NUL
    #[arg(long)]
    null_data: bool,
    /// \w and the dot are about bytes
    #[arg(long)]
    no_unicode: bool,
    /// Refused: look-around and backreferences are not supported
    #[arg(short = 'P', long, hide = true)]
    pcre2: bool,
    /// Matching lines of a file
    #[arg(short = 'm', long, value_name = "N")]
    max_count: Option<u64>,
    /// Stop at the first line that does not match after one that does
    #[arg(long)]
    stop_on_nonmatch: bool,
    /// Search binary files as if they were text
    #[arg(short = 'a', long)]
    text: bool,
    /// Search binary files, and say that they match
    #[arg(long)]
    binary: bool,
    /// The encoding of the files [default: UTF-8, or what the byte order mark says]
    #[arg(short = 'E', long, value_name = "NAME")]
    encoding: Option<String>,
    /// Only paths that match; with ! in front, all but those
    #[arg(short = 'g', long = "glob", value_name = "GLOB")]
    globs: Vec<String>,
    /// The same, without regard to case
    #[arg(long = "iglob", value_name = "GLOB")]
    iglobs: Vec<String>,
    /// Only files of this type: rust, py, md …
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Not files of this type
    #[arg(short = 'T', long = "type-not", value_name = "TYPE")]
    types_not: Vec<String>,
    /// Print the number of matching lines of each file
    #[arg(short = 'c', long, group = "what")]
    count: bool,
    /// Print the number of matches of each file
    #[arg(long, group = "what")]
    count_matches: bool,
    /// Print the paths of files that match
    #[arg(short = 'l', long, group = "what")]
    files_with_matches: bool,
    /// Print the paths of files that do not match
    #[arg(long, group = "what")]
    files_without_match: bool,
    /// Print ripgrep's messages, one JSON object a line
    #[arg(long, group = "what")]
    json: bool,
    /// Print nothing; the exit code says whether something matches
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Print only what matches
    #[arg(short = 'o', long)]
    only_matching: bool,
    /// A line for each match, with line and column
    #[arg(long)]
    vimgrep: bool,
    /// Print this instead of what matches; $1 is the first group
    #[arg(short = 'r', long, value_name = "TEXT", allow_hyphen_values = true)]
    replace: Option<String>,
    /// Lines after a match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<u32>,
    /// Lines before a match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<u32>,
    /// Lines before and after a match
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<u32>,
    /// Print all lines
    #[arg(long)]
    passthru: bool,
    /// Show line numbers; the default for a terminal
    #[arg(short = 'n', long, overrides_with = "no_line_number")]
    line_number: bool,
    /// Show no line numbers
    #[arg(short = 'N', long)]
    no_line_number: bool,
    /// Show columns
    #[arg(long)]
    column: bool,
    /// Show where each line begins, in bytes
    #[arg(short = 'b', long)]
    byte_offset: bool,
    /// Show no paths
    #[arg(short = 'I', long)]
    no_filename: bool,
    /// Show paths; the default
    #[arg(short = 'H', long, overrides_with = "no_filename")]
    with_filename: bool,
    /// Show the path above its lines; the default for a terminal
    #[arg(long, overrides_with = "no_heading")]
    heading: bool,
    /// Show the path before each line
    #[arg(long)]
    no_heading: bool,
    /// A NUL after each path
    #[arg(short = '0', long)]
    null: bool,
    /// Counts of zero, too
    #[arg(long)]
    include_zero: bool,
    /// Without the white space that a line begins with
    #[arg(long)]
    trim: bool,
    /// Leave out lines that are longer than N bytes
    #[arg(short = 'M', long, value_name = "N")]
    max_columns: Option<u64>,
    /// With -M, show how a long line begins
    #[arg(long)]
    max_columns_preview: bool,
    /// Print counts at the end
    #[arg(long)]
    stats: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

impl Grep {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let tree = database.existing_tree(&self.tree)?;
        let ask = GrepTree {
            at: tree.at(self.as_of.as_deref()),
            below: inside(self.below()).into(),
            request: self.request(globals),
            history: self.history,
            cursor: None,
            filter: self.filter.clone(),
            bytes_max: PAGE_BYTES.min(GREP_BYTES_MAX),
            index: match (self.no_index, self.index) {
                (true, _) => GrepIndex::Never,
                (_, true) => GrepIndex::Always,
                _ => GrepIndex::Auto,
            },
        };
        let report = tree.grep(ask, |print| output::raw(out, print).map_err(Failure::from))?;
        for cut in &report.cut {
            output::error(&format!("{}: {}", cut.path, cut.why));
        }
        if self.explain {
            output::note(&explained(&report.read));
        }
        database.close()?;
        match (report.cut.is_empty(), report.matched) {
            (false, _) => Err(Error::invalid("not everything was searched; see above").into()),
            (true, true) => Ok(Outcome::Done),
            (true, false) => Ok(Outcome::NothingFound),
        }
    }

    /// With `-e` the first argument is a path.
    fn below(&self) -> &str {
        let path = if self.regexp.is_empty() { &self.path } else { &self.pattern };
        path.as_deref().unwrap_or_default()
    }

    fn request(&self, globals: &Globals) -> GrepRequest {
        let patterns = match &self.pattern {
            Some(pattern) if self.regexp.is_empty() => vec![pattern.clone()],
            _ => self.regexp.clone(),
        };
        let output = match () {
            () if self.count => GrepOutput::Count,
            () if self.count_matches => GrepOutput::CountMatches,
            () if self.files_with_matches => GrepOutput::FilesWithMatches,
            () if self.files_without_match => GrepOutput::FilesWithoutMatch,
            () if self.json => GrepOutput::Json,
            () => GrepOutput::Lines,
        };
        let (is_seen, asked) =
            (output::is_seen(), |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) });
        let of_terminal = |request: GrepRequest| if is_seen { request.for_terminal() } else { request };
        let request = of_terminal(GrepRequest {
            line_number: asked(self.line_number, self.no_line_number),
            vimgrep: self.vimgrep,
            ..GrepRequest::default()
        });
        GrepRequest {
            patterns,
            fixed_strings: self.fixed_strings,
            ignore_case: self.ignore_case,
            smart_case: self.smart_case,
            word: self.word,
            line_regexp: self.line_regexp,
            invert: self.invert,
            multiline: self.multiline,
            multiline_dotall: self.multiline_dotall,
            crlf: self.crlf,
            null_data: self.null_data,
            no_unicode: self.no_unicode,
            pcre2: self.pcre2,
            max_count: self.max_count,
            stop_on_nonmatch: self.stop_on_nonmatch,
            text: self.text,
            binary: self.binary,
            encoding: self.encoding.clone(),
            globs: self.globs.clone(),
            iglobs: self.iglobs.clone(),
            types: self.types.clone(),
            types_not: self.types_not.clone(),
            output,
            quiet: self.quiet,
            only_matching: self.only_matching,
            replace: self.replace.clone(),
            before_context: self.before_context.or(self.context).unwrap_or(0),
            after_context: self.after_context.or(self.context).unwrap_or(0),
            passthru: self.passthru,
            column: self.column.then_some(true),
            byte_offset: self.byte_offset,
            with_filename: !self.no_filename,
            heading: asked(self.heading, self.no_heading).unwrap_or(request.heading),
            null: self.null,
            include_zero: self.include_zero,
            trim: self.trim,
            max_columns: self.max_columns,
            max_columns_preview: self.max_columns_preview,
            color: match globals.color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => request.color,
            },
            stats: self.stats,
            ..request
        }
    }
}

/// Describes in a sentence or two what was read.
fn explained(read: &GrepRead) -> String {
    let searched = format!("{} searched, {} read", count(read.files, "file"), bytes(read.bytes));
    let asked = (read.contents + read.pending > 0).then(|| {
        format!(
            " The index, of which {} were read, has {}; {} can match by {} or are not in it yet ({}).",
            bytes(read.index_bytes),
            count(read.contents, "content"),
            thousands(read.candidates),
            count(read.grams, "gram"),
            thousands(read.pending)
        )
    });
    let asked = asked.unwrap_or_default();
    match &read.scanned {
        Some(why) => format!("Every file was read: {why}. {searched}.{asked}"),
        None => format!("The index told which files to read: {searched}.{asked}"),
    }
}
