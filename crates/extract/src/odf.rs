//! OpenDocument: text, slides and spreadsheets, whose content is one member.

use crate::package::{ENCRYPTED, Package};
use crate::part::{Gap, Part};
use crate::read::{PARTS_MAX, Read};
use crate::split::Style;
use crate::table::{TEXT_BYTES_MAX, Table};
use crate::xml::{Tag, Visit, element_text, walk};

pub(crate) fn read(package: &mut Package) -> Result<Read, String> {
    let manifest = package.optional_text("META-INF/manifest.xml")?.unwrap_or_default();
    if manifest.contains("encryption-data") {
        return Err(ENCRYPTED.to_owned());
    }
    let content = package.text("content.xml")?;
    let mut flow = Flow { left: TEXT_BYTES_MAX, ..Flow::default() };
    walk(&content, "content.xml", &mut flow)?;
    let title = match package.optional_text("meta.xml")? {
        Some(meta) => element_text(&meta, "meta.xml", "title")?,
        None => None,
    };
    let own_title = flow.title.take().or(flow.first_heading.take());
    let mut read = flow.finish()?;
    read.title = title.or(own_title);
    Ok(read)
}

/// A cell that says it repeats is written this often.
const REPEATS_MAX: u32 = 64;

/// Elements without text that people read, or with text that was deleted or counts pages.
const PASSED_OVER: &[&str] = &[
    "annotation",
    "forms",
    "note-citation",
    "page-number",
    "scripts",
    "tracked-changes",
    "automatic-styles",
    "font-face-decls",
    "ruby-text",
];

/// Copies content: into one part, or one for each slide, or one for each sheet.
#[derive(Default)]
struct Flow {
    parts: Vec<Part>,
    warnings: Vec<String>,
    title: Option<String>,
    first_heading: Option<String>,
    /// Begun paragraphs, which nest in notes and frames: level of a heading, and where it begins.
    paragraphs: Vec<(Option<u8>, Option<usize>)>,
    tables: usize,
    slides: u32,
    in_title_frame: bool,
    sheets: bool,
    sheet: Option<Sheet>,
    /// Text that further sheets may have, in bytes.
    left: usize,
}

/// The sheet at hand.
struct Sheet {
    table: Table,
    /// Of the next row and the next column, from 0.
    row: u32,
    column: u32,
    rows_repeated: u32,
    columns_repeated: u32,
    cell: String,
    is_name: bool,
    is_full: bool,
}

impl Flow {
    fn part(&mut self) -> &mut Part {
        if self.parts.is_empty() {
            self.parts.push(Part::new(Style::Prose));
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }

    fn gap(&mut self, gap: Gap) {
        match &mut self.sheet {
            Some(sheet) => sheet.cell.push(' '),
            None if self.tables > 0 => self.part().gap(Gap::Space),
            None => self.part().gap(gap),
        }
    }

    fn end_paragraph(&mut self) {
        let Some((Some(level), Some(start))) = self.paragraphs.pop() else { return };
        if self.tables > 0 {
            return;
        }
        let name = self.part().heading(level, start);
        match level {
            0 => self.title = self.title.take().or(name),
            1 => self.first_heading = self.first_heading.take().or(name),
            _ => {}
        }
    }

    fn begin_slide(&mut self) {
        self.slides += 1;
        // Slides without a word leave nothing behind.
        if self.parts.last().is_some_and(Part::is_empty) {
            self.parts.pop();
        }
        let mut part = Part::new(Style::Prose);
        part.page = Some(self.slides);
        self.add(part);
    }

    /// One part more than there may be is enough for its refusal.
    fn add(&mut self, part: Part) {
        if self.parts.len() <= PARTS_MAX {
            self.parts.push(part);
        }
    }

    fn finish(mut self) -> Result<Read, String> {
        self.end_sheet();
        let mut read = Read { warnings: self.warnings, ..Read::default() };
        self.parts.into_iter().try_for_each(|part| read.add(part))?;
        Ok(read)
    }

    fn end_sheet(&mut self) {
        let Some(sheet) = self.sheet.take() else { return };
        self.left = sheet.table.left();
        let part = sheet.table.finish();
        if !part.is_empty() {
            self.add(part);
        }
    }

    fn open_table(&mut self, tag: &Tag) {
        match tag.name() {
            "table" if self.sheets && self.sheet.is_none() => {
                let name = tag.attribute("name").unwrap_or_default();
                self.sheet = Some(Sheet::new(&name, self.left));
            }
            "table" => {
                self.gap(Gap::Block);
                self.tables += 1;
            }
            "table-row" => {
                if let Some(sheet) = &mut self.sheet {
                    sheet.rows_repeated = tag.number("number-rows-repeated").unwrap_or(1);
                    sheet.column = 0;
                }
            }
            _ => {
                if let Some(sheet) = &mut self.sheet {
                    sheet.columns_repeated = tag.number("number-columns-repeated").unwrap_or(1);
                    sheet.is_name = matches!(tag.attribute("value-type").as_deref(), None | Some("string"));
                    sheet.cell.clear();
                }
            }
        }
    }

    fn close_table(&mut self, name: &str) {
        match (name, &mut self.sheet) {
            ("table", Some(_)) => self.end_sheet(),
            ("table-row", Some(sheet)) => sheet.row = sheet.row.saturating_add(sheet.rows_repeated),
            (_, Some(sheet)) => {
                if let Err(what) = sheet.end_cell() {
                    self.warnings.push(what);
                }
            }
            ("table", None) => {
                self.tables = self.tables.saturating_sub(1);
                self.gap(Gap::Block);
            }
            ("table-row", None) => self.part().end_row(),
            (_, None) => self.part().end_cell(),
        }
    }
}

impl Sheet {
    fn new(name: &str, text_bytes: usize) -> Self {
        Sheet {
            table: Table::new(name, text_bytes),
            row: 0,
            column: 0,
            rows_repeated: 1,
            columns_repeated: 1,
            cell: String::new(),
            is_name: true,
            is_full: false,
        }
    }

    fn end_cell(&mut self) -> Result<(), String> {
        let (first, repeated) = (self.column, self.columns_repeated);
        self.column = self.column.saturating_add(repeated);
        if self.is_full || self.cell.trim().is_empty() {
            return Ok(());
        }
        for column in (first..).take(repeated.min(REPEATS_MAX) as usize) {
            if let Err(what) = self.table.cell(self.row, column, &self.cell, self.is_name) {
                self.is_full = true;
                return Err(format!("a sheet is left out from row {}: {what}", self.table.rows()));
            }
        }
        Ok(())
    }
}

impl Visit for Flow {
    fn open(&mut self, tag: &Tag) -> bool {
        match tag.name() {
            name if PASSED_OVER.contains(&name) => return false,
            "spreadsheet" => self.sheets = true,
            "page" => self.begin_slide(),
            "frame" => self.in_title_frame = tag.attribute("class").as_deref() == Some("title"),
            "table" | "table-row" | "table-cell" | "covered-table-cell" => self.open_table(tag),
            "h" => {
                self.gap(Gap::Block);
                let level = tag.number("outline-level").unwrap_or(1).clamp(1, 10) as u8;
                self.paragraphs.push((Some(level), None));
            }
            "p" => {
                self.gap(Gap::Block);
                let is_title = tag.attribute("style-name").as_deref() == Some("Title");
                let level = if self.in_title_frame { Some(1) } else { is_title.then_some(0) };
                self.paragraphs.push((level, None));
            }
            "s" | "tab" => self.gap(Gap::Space),
            "line-break" => self.gap(Gap::Line),
            _ => {}
        }
        true
    }

    fn close(&mut self, name: &str) {
        match name {
            "h" | "p" => {
                self.end_paragraph();
                self.gap(Gap::Block);
            }
            "frame" => self.in_title_frame = false,
            "table" | "table-row" | "table-cell" | "covered-table-cell" => self.close_table(name),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.paragraphs.is_empty() {
            return;
        }
        if let Some(sheet) = &mut self.sheet {
            return sheet.cell.push_str(text);
        }
        let start = self.part().words(text);
        if let Some((_, begins @ None)) = self.paragraphs.last_mut() {
            *begins = start;
        }
    }
}
