//! Text that was copied out of a document that is no text itself: a slide, a sheet, a chapter, or all of it.

use crate::lines::Lines;
use crate::passages::{Outline, assemble, heading_name};
use crate::split::{Style, trim};
use crate::{Passage, PassageOptions};

/// The gap between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    None,
    Space,
    Line,
    Block,
}

/// Where the passages of a part stand in its document, in addition to their page.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The page, or the lines, say it.
    Unnamed,
    /// Everywhere the same: `section 3`.
    Named(String),
    /// By the part's marks, which count what the word says: `cells 3-5`.
    Numbered(&'static str),
    /// By the part's marks, which are rows: `Prices!A2:F20`.
    Rows { sheet: String, first_column: u32, last_column: u32 },
}

/// Grows from the front. White space is collapsed, and written only between words.
pub(crate) struct Part {
    pub(crate) page: Option<u32>,
    pub(crate) place: Place,
    text: String,
    style: Style,
    gap: Gap,
    line_start: usize,
    /// Cells of a table's row that ended since the last word.
    cells: usize,
    blocks: Vec<usize>,
    marks: Vec<(usize, u32)>,
    outline: Outline,
}

impl Part {
    pub(crate) fn new(style: Style) -> Self {
        Part {
            page: None,
            place: Place::Unnamed,
            text: String::new(),
            style,
            gap: Gap::None,
            line_start: 0,
            cells: 0,
            blocks: Vec::new(),
            marks: Vec::new(),
            outline: Outline::default(),
        }
    }

    /// Text that has been read already. `blocks` and the outline's sections are offsets in it.
    pub(crate) fn read(text: String, blocks: Vec<usize>, outline: Outline) -> Self {
        Part { text, blocks, outline, ..Part::new(Style::Prose) }
    }

    /// A page of text without structure.
    pub(crate) fn plain(page: u32, text: String) -> Self {
        Part { page: Some(page), text, ..Part::new(Style::Prose) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// At least this stands before the next word.
    pub(crate) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// A cell of a table's row ends.
    pub(crate) fn end_cell(&mut self) {
        self.cells += 1;
    }

    /// A table's row ends. Empty cells at its end leave nothing behind.
    pub(crate) fn end_row(&mut self) {
        self.cells = 0;
        self.gap(Gap::Line);
    }

    /// Words, or pieces of words. Gives where the line begins that they were written into, unless there were none.
    pub(crate) fn words(&mut self, text: &str) -> Option<usize> {
        let before = self.text.len();
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            if !word.is_empty() {
                self.separate();
                self.text.push_str(word);
            }
            if word.len() < piece.len() {
                self.gap(Gap::Space);
            }
        }
        (self.text.len() > before).then_some(self.line_start)
    }

    fn separate(&mut self) {
        let first = self.text.is_empty();
        match self.gap {
            _ if first => self.blocks.push(0),
            Gap::Block => {
                self.text.push_str("\n\n");
                self.blocks.push(self.text.len());
            }
            Gap::Line => {
                self.text.push('\n');
                if self.style == Style::Lines {
                    self.blocks.push(self.text.len());
                }
            }
            Gap::Space if self.cells == 0 => self.text.push(' '),
            Gap::Space | Gap::None => {}
        }
        if first || self.gap >= Gap::Line {
            self.line_start = self.text.len();
        }
        for _ in 0..std::mem::take(&mut self.cells) {
            let bare = self.text.is_empty() || self.text.ends_with(['\n', ' ']);
            self.text.push_str(if bare { "| " } else { " | " });
        }
        self.gap = Gap::None;
    }

    /// Lines as they stand, without white space around them: a block of its own. Gives where they begin, and them, unless
    /// there are no words.
    pub(crate) fn lines<'t>(&mut self, text: &'t str) -> Option<(usize, &'t str)> {
        let text = &text[trim(text, 0..text.len())?];
        self.gap(Gap::Block);
        self.separate();
        let start = self.text.len();
        self.text.push_str(text);
        self.gap(Gap::Block);
        Some((start, text))
    }

    /// Blocks begin at these offsets, too: ascending, and behind those that are known.
    pub(crate) fn blocks(&mut self, at: impl Iterator<Item = usize>) {
        let last = self.blocks.last().copied();
        self.blocks.extend(at.filter(|at| Some(*at) > last));
    }

    /// Gives the text written from here on this number, until the next mark.
    pub(crate) fn mark(&mut self, number: u32) {
        self.marks.push((self.text.len(), number));
    }

    /// Makes a heading of the text written from `start` on: a section begins with it.
    pub(crate) fn heading(&mut self, level: u8, start: usize) -> Option<String> {
        let name = heading_name(self.text.get(start..)?);
        if name.is_empty() {
            return None;
        }
        self.outline.begin(level, start, name.clone());
        Some(name)
    }

    /// The same for a heading whose name is known.
    pub(crate) fn named(&mut self, level: u8, start: usize, name: String) {
        self.outline.begin(level, start, name);
    }

    /// A section begins, under the headings that are there.
    pub(crate) fn section(&mut self) {
        self.outline.begin(u8::MAX, self.text.len(), String::new());
    }

    /// A name for what follows that is not written itself.
    pub(crate) fn under(&mut self, level: u8, name: &str) {
        self.outline.begin(level, self.text.len(), heading_name(name));
    }

    /// One heading path for all of it.
    pub(crate) fn name_all(&mut self, heading: Vec<String>) {
        self.outline = Outline::whole(heading, self.text.len());
    }

    /// All that was written.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Its passages, in order.
    pub(crate) fn passages(mut self, options: &PassageOptions) -> Vec<Passage> {
        let sections = std::mem::take(&mut self.outline).finish(self.text.len());
        let pieces = assemble(&self.text, sections, &self.blocks, self.style, options);
        let lines = Lines::new(&self.text);
        let located = pieces.into_iter().map(|piece| Passage {
            start_line: lines.line(piece.start),
            end_line: lines.line(piece.end - 1),
            start_byte: piece.start as u64,
            end_byte: piece.end as u64,
            page: self.page,
            place: self.place(piece.start, piece.end),
            text: piece.text,
            heading: piece.heading,
        });
        located.collect()
    }

    fn place(&self, start: usize, end: usize) -> Option<String> {
        // The mark at or before an offset; a gap may have been written after it.
        let mark = |at: usize| self.marks[..self.marks.partition_point(|(from, _)| *from <= at)].last();
        let numbers = || Some((mark(start)?.1, mark(end - 1)?.1));
        match &self.place {
            Place::Unnamed => None,
            Place::Named(name) => Some(name.clone()),
            Place::Numbered(what) => numbers().map(|(first, last)| range(what, first as usize, last as usize)),
            Place::Rows { sheet, first_column, last_column } => numbers().map(|(first, last)| {
                let (from, to) = (column(*first_column), column(*last_column));
                let plain = sheet.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
                let quote = if plain { "" } else { "'" };
                format!("{quote}{sheet}{quote}!{from}{first}:{to}{last}")
            }),
        }
    }
}

/// `row 3`, or `rows 3-5`.
pub(crate) fn range(what: &str, first: usize, last: usize) -> String {
    if first == last { format!("{what} {first}") } else { format!("{what}s {first}-{last}") }
}

/// A column's letters, as spreadsheets write them; columns count from 0.
fn column(number: u32) -> String {
    let (mut left, mut letters) = (u64::from(number) + 1, Vec::new());
    while left > 0 {
        letters.push(b'A' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_like_a_spreadsheet() {
        let letters: Vec<String> = [0, 25, 26, 701, 702, 16_383].into_iter().map(column).collect();
        assert_eq!(letters, ["A", "Z", "AA", "ZZ", "AAA", "XFD"]);
    }

    #[test]
    fn rows_keep_empty_cells_between_words_and_none_at_their_end() {
        let mut part = Part::new(Style::Lines);
        for row in [["a", "", "c", ""], ["", "b", "", ""]] {
            for cell in row {
                part.words(cell);
                part.end_cell();
            }
            part.end_row();
        }
        assert_eq!(part.passages(&PassageOptions::default())[0].text, "a | | c\n| b");
    }
}
