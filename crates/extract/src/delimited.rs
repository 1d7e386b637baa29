//! Tables as text (CSV, TSV): passages are rows as they stand in the file, under the names of the columns.

use csv::{ByteRecord, ReaderBuilder};

use crate::PassageOptions;
use crate::part::range;
use crate::passages::{Piece, Section, assemble, heading_name};
use crate::split::Style;

/// Rows are shorter, unless a quotation mark is meant as a character.
const ROW_BYTES_MAX: usize = 256 << 10;

/// Names of columns are shorter.
const NAME_CHARS_MAX: usize = 100;

pub(crate) fn pieces(text: &str, lang: &str, options: &PassageOptions) -> Vec<Piece> {
    let delimiter = if lang == "tsv" { b'\t' } else { delimiter(text) };
    let table =
        Table::read(text, delimiter, true).unwrap_or_else(|| Table::read(text, delimiter, false).unwrap_or_default());
    let whole =
        Section { range: 0..text.len(), heading: table.header.iter().map(|names| names.as_str().into()).collect() };
    let mut pieces = assemble(text, vec![whole], &table.starts, Style::Lines, options);
    for piece in &mut pieces {
        piece.place = Some(range("row", table.row(piece.start), table.row(piece.end - 1)));
    }
    pieces
}

/// Detects the separator between the cells of the first line. Programs in countries with a decimal comma write
/// semicolons.
fn delimiter(text: &str) -> u8 {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let (mut counts, mut quoted) = ([(b',', 0_usize), (b';', 0), (b'\t', 0), (b'|', 0)], false);
    for byte in line.bytes() {
        quoted ^= byte == b'"';
        for (delimiter, count) in &mut counts {
            *count += usize::from(!quoted && byte == *delimiter);
        }
    }
    // The first of those that occur equally often.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(delimiter, _)| *delimiter)
}

#[derive(Default)]
struct Table {
    /// Where rows begin; blank lines before a row are part of it.
    starts: Vec<usize>,
    /// Rows, from 1, that blank lines precede, with all blank lines up to there.
    blank: Vec<(usize, usize)>,
    header: Option<String>,
}

impl Table {
    /// `None` when a quotation mark that never ends makes one row of many.
    fn read(text: &str, delimiter: u8, quoting: bool) -> Option<Self> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(delimiter).quoting(quoting).has_headers(false).flexible(true);
        let (mut reader, mut row) = (builder.from_reader(text.as_bytes()), ByteRecord::new());
        let mut table = Table::default();
        // Of bytes in memory, in rows of any length: nothing is left that could fail.
        while reader.read_byte_record(&mut row).unwrap_or(false) {
            if quoting && row.as_slice().len() > ROW_BYTES_MAX {
                return None;
            }
            if table.starts.is_empty() {
                table.header = header(&row);
            }
            let at = row.position().map_or(0, |at| at.byte() as usize);
            // The reader ends a row after the first byte of `\r\n`.
            let start = if text[..at].ends_with('\r') && text[at..].starts_with('\n') { at + 1 } else { at };
            table.starts.push(start);
            let lines = text.as_bytes()[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let blank = lines.filter(|byte| **byte == b'\n').count();
            if blank > 0 {
                let before = table.blank.last().map_or(0, |(_, blank)| *blank);
                table.blank.push((table.starts.len(), before + blank));
            }
        }
        let last = &text[table.starts.last().copied().unwrap_or(0)..];
        let never_ends = !last.matches('"').count().is_multiple_of(2) && last.trim().contains('\n');
        (!(quoting && never_ends)).then_some(table)
    }

    /// The number of the row at `offset`, as a spreadsheet shows it: blank lines have numbers, too.
    fn row(&self, offset: usize) -> usize {
        let row = self.starts.partition_point(|start| *start <= offset);
        let blank = self.blank.partition_point(|(at, _)| *at <= row);
        row + blank.checked_sub(1).map_or(0, |last| self.blank[last].1)
    }
}

/// The names of the columns, if the first row has those: words, no numbers.
fn header(row: &ByteRecord) -> Option<String> {
    let cells: Vec<_> = row.iter().map(|cell| String::from_utf8_lossy(cell)).collect();
    let named = cells.iter().filter(|cell| !cell.trim().is_empty());
    (named.clone().count() >= 2 && named.clone().all(|cell| is_name(cell.trim())))
        .then(|| heading_name(&cells.iter().map(|cell| cell.trim()).collect::<Vec<_>>().join(" | ")))
}

fn is_name(cell: &str) -> bool {
    let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
    let begins = cell.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '#'));
    cell.chars().count() <= NAME_CHARS_MAX && letters > 0 && (begins || 2 * letters >= cell.chars().count())
}
