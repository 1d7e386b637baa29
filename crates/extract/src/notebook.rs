//! Notebooks (Jupyter): Markdown, code and output of each cell, under the headings of the Markdown.

mod json;

use crate::markdown;
use crate::part::{Part, Place};
use crate::read::Read;
use crate::split::Style;
use json::{Cell, Notebook};

/// For the output of a cell. Longer output is data, not text to search for.
const OUTPUT_BYTES_MAX: usize = 4 << 10;

pub(crate) fn read(text: &str) -> Result<Read, String> {
    if text.trim().is_empty() {
        return Ok(Read::default());
    }
    let notebook: Notebook = serde_json::from_str(text)
        .map_err(|error| format!("the notebook cannot be read: {error}; open it and save it again"))?;
    let title = notebook.title();
    let cells = notebook.cells().ok_or("it has no cells, as notebooks do; is it one?")?;
    let mut writer = Writer { part: Part::new(Style::Prose), first_h1: None, cut: Vec::new() };
    writer.part.place = Place::Numbered("cell");
    for (number, cell) in (1..).zip(cells) {
        writer.cell(number, cell);
    }
    let warnings = writer.cut_outputs().into_iter().collect();
    let mut read = Read { title: title.or(writer.first_h1), warnings, ..Read::default() };
    read.add(writer.part)?;
    Ok(read)
}

struct Writer {
    part: Part,
    first_h1: Option<String>,
    /// Cells whose output was cut.
    cut: Vec<u32>,
}

impl Writer {
    fn cell(&mut self, number: u32, cell: Cell) {
        self.part.mark(number);
        self.part.section();
        match (cell.kind.as_str(), cell.level) {
            ("markdown", _) => self.markdown(&cell.source.0),
            // Cells of earlier notebooks could be headings.
            ("heading", level) => {
                if let Some((start, _)) = self.part.lines(&cell.source.0) {
                    self.part.heading(level.unwrap_or(1).clamp(1, 6), start);
                }
            }
            ("code", _) => self.code(&cell.source.0),
            _ => drop(self.part.lines(&cell.source.0)),
        }
        self.part.lines(&cell.outputs.text);
        if cell.outputs.is_cut {
            self.cut.push(number);
        }
    }

    fn markdown(&mut self, source: &str) {
        let Some((start, source)) = self.part.lines(source) else { return };
        let Some(found) = markdown::structure(source) else { return };
        self.part.blocks(found.blocks.into_iter().map(|at| start + at));
        for (level, at, name) in found.headings {
            self.part.named(level, start + at, name);
        }
        self.first_h1 = self.first_h1.take().or(found.first_h1);
    }

    /// Cut, if it must be, where a statement begins that is in no other one.
    fn code(&mut self, source: &str) {
        let Some((start, source)) = self.part.lines(source) else { return };
        let begins =
            |at: &usize| source[*at..].starts_with(|c: char| !c.is_whitespace() && !matches!(c, ')' | ']' | '}'));
        let lines = memchr::memchr_iter(b'\n', source.as_bytes()).map(|at| at + 1);
        self.part.blocks(lines.filter(begins).map(|at| start + at));
    }

    fn cut_outputs(&self) -> Option<String> {
        let first = self.cut.first()?;
        let which = match self.cut.len() {
            1 => format!("the output of cell {first} is"),
            many => format!("the outputs of {many} cells, the first of them cell {first}, are"),
        };
        Some(format!("{which} read only to byte {OUTPUT_BYTES_MAX}"))
    }
}
