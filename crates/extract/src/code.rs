//! Source code: sections by definition, found by tree-sitter grammars; other languages by blank lines.

mod grammar;

use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::PassageOptions;
use crate::passages::{Piece, Section, assemble};
use crate::split::Style;
use grammar::Grammar;

pub(crate) fn pieces(text: &str, lang: Option<&str>, options: &PassageOptions) -> Vec<Piece> {
    let sections = lang.and_then(grammar::of).and_then(|grammar| {
        let tree = parse(text, &grammar)?;
        let mut outline = Outline { text, grammar, target_bytes: options.target(), sections: Vec::new() };
        outline.members(tree.root_node(), 0..text.len(), &[]);
        Some(outline.sections)
    });
    let sections = sections.unwrap_or_else(|| vec![Section { range: 0..text.len(), heading: Vec::new() }]);
    assemble(text, sections, &[], Style::Lines, options)
}

/// Generated files of this size have no symbols that a person would be sent to.
const PARSED_BYTES_MAX: usize = 4 << 20;

/// How often the parser may report progress (every hundred steps or so) for each kilobyte. Of 16,000 files of published
/// crates none took more than 58; text that is no program can send error recovery and its memory far beyond, and is
/// then cut by lines.
const REPORTS_PER_KIB_MAX: usize = 100;

fn parse(text: &str, grammar: &Grammar) -> Option<Tree> {
    if text.len() > PARSED_BYTES_MAX || nests_too_deep(text.as_bytes()) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&grammar.language).ok()?;
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
    let bytes = text.as_bytes();
    let mut part = |at: usize, _| {
        let end = if read_too_often() { 0 } else { (at + READ_BYTES).min(bytes.len()) };
        let part = bytes.get(at..end).unwrap_or_default();
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

fn nests_too_deep(text: &[u8]) -> bool {
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
        brackets > NESTING_MAX || angles > OPEN_ANGLES_MAX
    })
}

/// Containers inside containers beyond this are one section: real code does not nest so, and the walk is recursive.
const CONTAINER_DEPTH_MAX: usize = 8;

struct Outline<'a> {
    text: &'a str,
    grammar: Grammar,
    target_bytes: usize,
    sections: Vec<Section>,
}

impl Outline<'_> {
    /// Sections that tile `range`, in which the children of `parent` stand: a definition each, and what lies between.
    fn members(&mut self, parent: Node, range: Range<usize>, path: &[String]) {
        let mut at = range.start;
        let mut cursor = parent.walk();
        for child in parent.children(&mut cursor) {
            let Some(definition) = self.grammar.definition(child) else { continue };
            let end = self.line_end(child.end_byte()).min(range.end);
            if child.start_byte() < at || end <= at {
                continue; // error recovery can leave nodes that overlap
            }
            let start = self.with_comments_above(at, child.start_byte());
            self.push(at..start, path);
            let mut inner = path.to_vec();
            inner.push(self.grammar.label(&definition, self.text));
            match definition.body {
                Some(body) if end - start > self.target_bytes && inner.len() < CONTAINER_DEPTH_MAX => {
                    self.members(body, start..end, &inner);
                }
                _ => self.push(start..end, &inner),
            }
            at = end;
        }
        self.push(at..range.end, path);
    }

    fn push(&mut self, range: Range<usize>, path: &[String]) {
        if !range.is_empty() {
            self.sections.push(Section { range, heading: path.iter().map(|name| Arc::from(name.as_str())).collect() });
        }
    }

    /// Past what still belongs to the statement that ends at `end`: a semicolon, and blanks up to the line end.
    fn line_end(&self, end: usize) -> usize {
        let rest = &self.text[end..];
        end + rest.len() - rest.trim_start_matches([' ', '\t', ';', ',']).len()
    }

    /// From where a definition is to be shown: the comments, attributes and annotations on the lines right above it are
    /// part of it.
    fn with_comments_above(&self, floor: usize, start: usize) -> usize {
        let mut from = start;
        let mut line_start = self.text[floor..start].rfind('\n').map_or(floor, |at| floor + at + 1);
        if self.text[line_start..start].trim().is_empty() {
            from = line_start;
        }
        while from == line_start && line_start > floor {
            let above = &self.text[floor..line_start - 1];
            let above_start = above.rfind('\n').map_or(floor, |at| floor + at + 1);
            let line = self.text[above_start..line_start - 1].trim_start();
            if !["//", "/*", "*", "#", "@"].iter().any(|mark| line.starts_with(mark)) {
                break;
            }
            (from, line_start) = (above_start, above_start);
        }
        from
    }
}
