//! Parsing with bounds: on the size of a file, on how deep it nests, and on what the parser may do for each byte.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Duration;

use cpu_time::ThreadTime;
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::Language;

/// Generated files of this size have no symbols that a person would be sent to.
pub const PARSED_BYTES_MAX: usize = 4 << 20;

/// How often the parser may report progress (every hundred steps or so) for each kilobyte. Of 16,000 files of published
/// crates none took more than 58; text that is no program can send error recovery and its memory far beyond, and is
/// then cut by lines.
const REPORTS_PER_KIB_MAX: usize = 100;

/// The syntax tree of a file; `None` where a bound ended the parser. The bytes should be UTF-8.
pub fn parse(language: Language, text: &[u8]) -> Option<Tree> {
    parse_within(language, text, OPEN_ANGLES_MAX)
}

/// The same, without a bound on less-than signs where none of them opens type arguments: a page of comparisons or of shifts
/// is a program in these languages. (Passages keep it, so that they stay what they are.)
pub(crate) fn parse_for_facts(language: Language, text: &[u8]) -> Option<Tree> {
    let has_angles = !matches!(language, Language::Python | Language::C | Language::Go);
    parse_within(language, text, if has_angles { OPEN_ANGLES_MAX } else { usize::MAX })
}

fn parse_within(language: Language, text: &[u8], open_angles_max: usize) -> Option<Tree> {
    if text.len() > PARSED_BYTES_MAX || nests_too_deep(text, open_angles_max) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let kib = text.len() / 1024 + 4;
    let (mut reports, read) = (0, Cell::new(0));
    let read_too_often = || read.get() > READS_PER_BYTE_MAX * 1024 * kib;
    let (begun, limit) = (ThreadTime::now(), PARSE_CPU * (1 + kib as u32 / 1024));
    let mut progress = |_: &ParseState| {
        reports += 1;
        let give_up = reports > REPORTS_PER_KIB_MAX * kib || read_too_often() || begun.elapsed() > limit;
        if give_up { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // In small parts, so that reading ahead is seen; and an end of file when it has been too much, since a search for
    // the next token that fits makes no reports.
    let mut part = |at: usize, _| {
        let end = if read_too_often() { 0 } else { (at + READ_BYTES).min(text.len()) };
        let part = text.get(at..end).unwrap_or_default();
        read.set(read.get() + part.len());
        part
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut part, None, Some(options));
    tree.filter(|_| !read_too_often())
}

/// Processor time of the parser for each megabyte begun; programs take a tenth of it. The last resort, and the only
/// place where equal bytes may give other passages on another machine: recovering from errors in some heaps of
/// operators takes the square of their length (8 kB: 7 s) while the parser reports and reads no more than in a program,
/// so nothing countable tells them apart.
const PARSE_CPU: Duration = Duration::from_secs(2);

/// How often the parser may read the file; programs are read twice. A token whose end is missing is read to the end of
/// the file at every attempt.
const READS_PER_BYTE_MAX: usize = 16;
const READ_BYTES: usize = 2048;

/// Brackets left open at once, in strings and comments too. Programs stay far below.
const NESTING_MAX: usize = 256;

/// Less-than signs in one statement that nothing has closed. Every one of them may open type arguments, and a parser
/// that follows both readings takes memory with the square of their number (16 kB of `a<a<a<` as Java: 650 MB).
const OPEN_ANGLES_MAX: usize = 32;

fn nests_too_deep(text: &[u8], open_angles_max: usize) -> bool {
    let (mut brackets, mut angles) = (0_usize, 0_usize);
    text.iter().any(|byte| {
        match byte {
            b'(' | b'[' => brackets += 1,
            b'{' => (brackets, angles) = (brackets + 1, 0),
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b'}' => (brackets, angles) = (brackets.saturating_sub(1), 0),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b';' => angles = 0,
            _ => {}
        }
        brackets > NESTING_MAX || angles > open_angles_max
    })
}
