//! Rows of a sheet to a part: a line a row, the header row as the heading of all passages.

use crate::part::{Part, Place};
use crate::passages::heading_name;
use crate::split::Style;

/// Text of all sheets. Their file may say one long string in very many cells.
pub(crate) const TEXT_BYTES_MAX: usize = 48 << 20;

/// Cells between two that hold something are written as separators; beyond these the distance says nothing.
const GAP_CELLS_MAX: u32 = 16;

/// The header is looked for in this many rows.
const HEADER_ROWS: usize = 5;

pub(crate) struct Table {
    name: String,
    part: Part,
    row: Option<Row>,
    rows: u32,
    /// Bytes that may still be written, separators included.
    left: usize,
    columns: Option<(u32, u32)>,
    /// The first rows, until one of them proves to be the header.
    candidates: usize,
    header: Option<String>,
}

struct Row {
    number: u32,
    last_column: Option<u32>,
    cells: Vec<String>,
    /// Every cell so far is a text, as names of columns are.
    all_names: bool,
}

impl Table {
    /// `text_bytes` is what may be written into it.
    pub(crate) fn new(name: &str, text_bytes: usize) -> Self {
        Table {
            name: name.to_owned(),
            part: Part::new(Style::Lines),
            row: None,
            rows: 0,
            left: text_bytes,
            columns: None,
            candidates: 0,
            header: None,
        }
    }

    /// The number of the last row that was seen, from 1.
    pub(crate) fn rows(&self) -> u32 {
        self.row.as_ref().map_or(self.rows, |row| row.number.saturating_add(1))
    }

    /// The next cell that holds something. Rows and columns count from 0. `is_name` when it could name a column.
    pub(crate) fn cell(&mut self, row: u32, column: u32, text: &str, is_name: bool) -> Result<(), String> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if self.row.as_ref().is_none_or(|at| at.number != row) {
            self.end_row();
            self.row = Some(Row { number: row, last_column: None, cells: Vec::new(), all_names: true });
        }
        if let Some(at) = &mut self.row {
            let first = self.columns.map_or(column, |(first, _)| first);
            let skipped = match at.last_column {
                Some(last) => column.saturating_sub(last).saturating_sub(1),
                None => column.saturating_sub(first),
            };
            let skipped = skipped.min(GAP_CELLS_MAX);
            let left = self.left.checked_sub(text.len() + 3 * (1 + skipped as usize));
            self.left = left.ok_or_else(|| format!("there are more than {TEXT_BYTES_MAX} bytes of text; split it"))?;
            at.cells.extend((0..skipped).map(|_| String::new()));
            at.cells.push(text.to_owned());
            at.all_names &= is_name;
            at.last_column = Some(column);
        }
        let (first, last) = self.columns.unwrap_or((column, column));
        self.columns = Some((first.min(column), last.max(column)));
        Ok(())
    }

    fn end_row(&mut self) {
        let Some(row) = self.row.take() else { return };
        self.rows = row.number.saturating_add(1);
        if self.candidates < HEADER_ROWS && self.header.is_none() {
            self.candidates += 1;
            let named = row.cells.iter().filter(|cell| !cell.is_empty()).count();
            if row.all_names && named >= 2 {
                self.header = Some(heading_name(&row.cells.join(" | ")));
            }
        }
        self.part.mark(self.rows);
        for cell in &row.cells {
            self.part.words(cell);
            self.part.end_cell();
        }
        self.part.end_row();
    }

    /// Bytes that may still be written into the next table.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    pub(crate) fn finish(mut self) -> Part {
        self.end_row();
        let (first_column, last_column) = self.columns.unwrap_or((0, 0));
        self.part.place = Place::Rows { sheet: self.name.clone(), first_column, last_column };
        self.part.name_all([Some(heading_name(&self.name)), self.header].into_iter().flatten().collect());
        self.part
    }
}
