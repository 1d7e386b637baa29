//! Spreadsheets of Office: the cells' values, a row a line, the header above every passage.

use std::fmt::Display;
use std::io::{self, Cursor, Seek, SeekFrom};

use calamine::{Cell, DataRef, ExcelDateTime, Reader, Xlsb, Xlsx};

use crate::ooxml;
use crate::package::Package;
use crate::read::Read;
use crate::table::{TEXT_BYTES_MAX, Table};

/// Strings that cells share are kept in memory while the sheets are read. Sheets are read cell by cell.
const SHARED_BYTES_MAX: u64 = 64 << 20;
const SHEET_BYTES_MAX: u64 = 256 << 20;

pub(crate) fn read_xlsx(package: &mut Package, bytes: &[u8]) -> Result<Read, String> {
    let title = title(package)?;
    let mut book = Xlsx::new(Metered::new(bytes)).map_err(|error| broken(&error))?;
    sheets(title, &book.sheet_names(), |name, table| {
        let mut cells = book.worksheet_cells_reader(name).map_err(|error| error.to_string())?;
        fill(table, || cells.next_cell())
    })
}

pub(crate) fn read_xlsb(package: &mut Package, bytes: &[u8]) -> Result<Read, String> {
    let title = title(package)?;
    let mut book = Xlsb::new(Metered::new(bytes)).map_err(|error| broken(&error))?;
    sheets(title, &book.sheet_names(), |name, table| {
        let mut cells = book.worksheet_cells_reader(name).map_err(|error| error.to_string())?;
        fill(table, || cells.next_cell())
    })
}

/// The workbook's title, once everything that the library may unpack has been bounded: which members it reads is for the
/// file to say.
fn title(package: &mut Package) -> Result<Option<String>, String> {
    package.refuse_bombs(|name| if name.contains("worksheets/") { SHEET_BYTES_MAX } else { SHARED_BYTES_MAX })?;
    ooxml::title(package)
}

fn fill<'a, E: Display>(
    table: &mut Table,
    mut next: impl FnMut() -> Result<Option<Cell<DataRef<'a>>>, E>,
) -> Result<(), String> {
    while let Some(cell) = next().map_err(|error| error.to_string())? {
        put(table, &cell)?;
    }
    Ok(())
}

fn broken(error: &dyn std::error::Error) -> String {
    format!("the workbook cannot be read: {error}; open it and save it again")
}

/// The file, until it has been read a few times over: its sheets may all be one member, and that a large one.
struct Metered<'a> {
    bytes: Cursor<&'a [u8]>,
    left: usize,
}

impl<'a> Metered<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Metered { bytes: Cursor::new(bytes), left: 4 * bytes.len() + (1 << 20) }
    }
}

impl io::Read for Metered<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        let left = self.left.checked_sub(count);
        self.left = left.ok_or_else(|| io::Error::other("its parts are read too often"))?;
        Ok(count)
    }
}

impl Seek for Metered<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

/// Every sheet by itself: a damaged one costs a warning.
fn sheets(
    title: Option<String>,
    names: &[String],
    mut fill: impl FnMut(&str, &mut Table) -> Result<(), String>,
) -> Result<Read, String> {
    let (mut read, mut left) = (Read { title, ..Read::default() }, TEXT_BYTES_MAX);
    for name in names {
        let mut table = Table::new(name, left);
        if let Err(what) = fill(name, &mut table) {
            read.warnings.push(format!("sheet {name:?} is left out from row {}: {what}", table.rows()));
        }
        left = table.left();
        read.add(table.finish())?;
    }
    read.unless_lost("sheet")
}

fn put(table: &mut Table, cell: &Cell<DataRef<'_>>) -> Result<(), String> {
    let (row, column) = cell.get_position();
    let number = |text: String| (text, false);
    let (text, is_name) = match cell.get_value() {
        DataRef::Empty => return Ok(()),
        DataRef::String(text) => (text.clone(), true),
        DataRef::SharedString(text) => ((*text).to_owned(), true),
        DataRef::Int(int) => number(int.to_string()),
        // Shortest form that reads back the same: 0.1, 1200000, not 1.2e6.
        DataRef::Float(float) => number(float.to_string()),
        DataRef::Bool(true) => number("TRUE".to_owned()),
        DataRef::Bool(false) => number("FALSE".to_owned()),
        DataRef::DateTime(time) => number(date(time)),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => number(text.clone()),
        DataRef::Error(error) => number(error.to_string()),
    };
    table.cell(row, column, &text, is_name)
}

/// ISO 8601, as far as the value goes: a date, a time, or both. Durations in hours, as spreadsheets show them.
fn date(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        let seconds = (time.as_f64() * 86_400.0).round();
        let (minutes, second) = ((seconds / 60.0).floor(), seconds.rem_euclid(60.0));
        return format!("{}:{:02}:{second:02}", (minutes / 60.0).floor(), minutes.rem_euclid(60.0));
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let (whole_day, no_day) = (time.as_f64().fract() == 0.0, time.as_f64() < 1.0);
    match (whole_day, no_day) {
        (true, _) => format!("{year}-{month:02}-{day:02}"),
        (_, true) => format!("{hour:02}:{minute:02}:{second:02}"),
        _ => format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
    }
}
