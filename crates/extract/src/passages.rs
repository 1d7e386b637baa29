//! Sections of a format to passages: what is tiny joins a neighbour, what is large is cut.

use std::ops::Range;
use std::sync::Arc;

use crate::PassageOptions;
use crate::split::{Style, split, trim};

/// A stretch of text under one heading path. Sections share names: a few bytes make one, below headings of any length.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) range: Range<usize>,
    pub(crate) heading: Vec<Arc<str>>,
}

/// Sections under their headings, of a text that is read from the front.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    sections: Vec<Section>,
    /// Where the last section begins.
    start: usize,
    above: Vec<(u8, Arc<str>)>,
}

impl Outline {
    /// One section up to `end`.
    pub(crate) fn whole(heading: Vec<String>, end: usize) -> Self {
        let heading = heading.into_iter().map(Arc::from).collect();
        Outline { sections: vec![Section { range: 0..end, heading }], start: end, above: Vec::new() }
    }

    /// A section under a heading of this level begins at `at`; an empty name is none.
    pub(crate) fn begin(&mut self, level: u8, at: usize, name: String) {
        self.end(at);
        self.above.retain(|(above, _)| *above < level);
        if !name.is_empty() {
            self.above.push((level, name.into()));
        }
    }

    /// All sections of a text of this length.
    pub(crate) fn finish(mut self, end: usize) -> Vec<Section> {
        self.end(end);
        self.sections
    }

    fn end(&mut self, at: usize) {
        let heading = self.above.iter().map(|(_, name)| name.clone()).collect();
        self.sections.push(Section { range: self.start..at, heading });
        self.start = at;
    }
}

/// Every section below repeats a heading, so a long one would cost its length as often.
const HEADING_CHARS_MAX: usize = 200;

/// A heading's words, one space between them.
pub(crate) fn heading_name(text: &str) -> String {
    let mut name = String::new();
    for word in text.split_whitespace() {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
        if let Some((end, _)) = name.char_indices().nth(HEADING_CHARS_MAX) {
            name.truncate(end);
            break;
        }
    }
    name
}

/// A passage before its offsets are made lines and bytes of the file.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) heading: Vec<String>,
    pub(crate) place: Option<String>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Passages of a text without structure.
pub(crate) fn plain(text: &str, options: &PassageOptions) -> Vec<Piece> {
    let whole = Section { range: 0..text.len(), heading: Vec::new() };
    assemble(text, vec![whole], &[], Style::Prose, options)
}

/// Passages of `sections`, which follow one another in `text`. `blocks` are offsets where blocks begin, ascending.
pub(crate) fn assemble(
    text: &str,
    sections: Vec<Section>,
    blocks: &[usize],
    style: Style,
    options: &PassageOptions,
) -> Vec<Piece> {
    let groups = join_backward(join_forward(measure(text, sections), options), options);
    let mut pieces = Vec::new();
    for group in groups {
        for range in split(text, group.range, blocks, style, options) {
            let heading = group.heading.iter().map(|name| name.to_string()).collect();
            pieces.push(Piece {
                text: text[range.clone()].to_owned(),
                heading,
                place: None,
                start: range.start,
                end: range.end,
            });
        }
    }
    pieces
}

struct Group {
    range: Range<usize>,
    heading: Vec<Arc<str>>,
    chars: usize,
}

/// Sections without white space around them, those of white space alone left out.
fn measure(text: &str, sections: Vec<Section>) -> Vec<Group> {
    let measured = sections.into_iter().filter_map(|section| {
        let range = trim(text, section.range)?;
        let chars = text[range.clone()].chars().count();
        Some(Group { range, heading: section.heading, chars })
    });
    measured.collect()
}

/// A tiny section joins the one after it: always when that one lies below it (a title and its first subsection; should
/// the two be too large together they are cut again, but not between them for the sake of it), otherwise when both fit
/// into one passage and belong together.
fn join_forward(sections: Vec<Group>, options: &PassageOptions) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for next in sections {
        match groups.last_mut() {
            Some(last)
                if last.chars < options.tiny()
                    && (next.heading.starts_with(&last.heading) || fit(last, &next, options)) =>
            {
                join(last, next);
            }
            _ => groups.push(next),
        }
    }
    groups
}

/// Joins each section that stayed tiny (a closing brace, a last short section) to the one before it.
fn join_backward(sections: Vec<Group>, options: &PassageOptions) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for next in sections {
        match groups.last_mut() {
            Some(last)
                if next.chars < options.tiny()
                    && last.heading.starts_with(&next.heading)
                    && small(last, &next, options) =>
            {
                // The end of the enclosing section belongs to that section, but the passage is about the section that
                // ends here.
                last.range.end = next.range.end;
                last.chars += next.chars;
            }
            Some(last) if next.chars < options.tiny() && fit(last, &next, options) => join(last, next),
            _ => groups.push(next),
        }
    }
    groups
}

fn small(a: &Group, b: &Group, options: &PassageOptions) -> bool {
    a.chars + b.chars + (b.range.start - a.range.end) <= options.target()
}

/// Whether two neighbours may share a passage: small enough, and under one heading, unless both are tiny.
fn fit(a: &Group, b: &Group, options: &PassageOptions) -> bool {
    let both_tiny = a.chars < options.tiny() && b.chars < options.tiny();
    let related = a.heading.is_empty() || b.heading.is_empty() || a.heading.first() == b.heading.first();
    small(a, b, options) && (related || both_tiny)
}

/// The joined passage stands under the deeper heading when one holds the other, else under what they share.
fn join(last: &mut Group, next: Group) {
    if next.heading.starts_with(&last.heading) {
        last.heading = next.heading;
    } else if !last.heading.starts_with(&next.heading) {
        let shared = last.heading.iter().zip(&next.heading).take_while(|(a, b)| a == b).count();
        last.heading.truncate(shared);
    }
    last.chars += next.chars + (next.range.start - last.range.end);
    last.range.end = next.range.end;
}
