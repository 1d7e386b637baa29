//! Payloads to columns.

use std::io::Write;

use tantivy_columnar::ColumnarWriter;
use tantivy_common::CountingWriter;

use super::long_text::LongTextWriter;
use super::{COLUMNS_VERSION, ColumnKind, DICTIONARY_TEXT_BYTES_MAX, MAGIC};
use crate::validate::name_fault;
use crate::{FilterError, Payload, Value};

/// Collects the payloads of a segment in the order of their ordinals. Holds them in memory until [`ColumnsWriter::finish`];
/// [`ColumnsWriter::resident_bytes`] says how much that is.
#[derive(Default)]
pub struct ColumnsWriter {
    columns: ColumnarWriter,
    long_texts: LongTextWriter,
    rows: u32,
    /// The name of the column at hand; a field, so that its allocation is used again.
    path: String,
    /// Paths already marked as present in this row: a row counts once, however many maps an array holds.
    present: Vec<String>,
    /// The first thing that could not be written, reported by `finish`: a column that lacks a value would answer wrongly.
    fault: Option<FilterError>,
}

impl ColumnsWriter {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row; its ordinal is the number of rows before it. The payload has passed [`crate::validate`]: a field name
    /// that it would refuse, or more rows than ordinals, makes `finish` fail.
    pub fn push(&mut self, payload: &Payload) {
        self.present.clear();
        self.path.clear();
        self.push_map(payload);
        match self.rows.checked_add(1) {
            Some(rows) => self.rows = rows,
            None => self.set_fault(String::new(), format!("a segment has at most {} rows", u32::MAX)),
        }
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// What the rows so far take in memory.
    pub fn resident_bytes(&self) -> usize {
        self.columns.mem_usage() + self.long_texts.resident_bytes()
    }

    /// Writes the columns of every row.
    ///
    /// # Errors
    /// [`FilterError::InvalidPayload`] for a payload that [`crate::validate`] would have refused, [`FilterError::Io`] for
    /// what `out` refuses.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<(), FilterError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut counted = CountingWriter::wrap(out);
        self.columns.serialize(self.rows, None, &mut counted)?;
        let columnar_bytes = counted.written_bytes();
        let out = counted.finish();
        let (text_bytes, index_bytes) = self.long_texts.write(out)?;
        for length in [columnar_bytes, text_bytes, index_bytes] {
            out.write_all(&length.to_le_bytes())?;
        }
        out.write_all(&self.rows.to_le_bytes())?;
        out.write_all(&COLUMNS_VERSION.to_le_bytes())?;
        out.write_all(MAGIC)?;
        Ok(())
    }

    fn push_map(&mut self, map: &Payload) {
        let parent_len = self.path.len();
        for (name, value) in map {
            if let Some(reason) = name_fault(name) {
                self.set_fault(name.clone(), reason);
                continue;
            }
            if parent_len > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.push_value(value);
            self.path.truncate(parent_len);
        }
    }

    /// Whether the value put something at the current path.
    fn push_value(&mut self, value: &Value) -> bool {
        let row = self.rows;
        match value {
            Value::Null => return false,
            Value::Bool(value) => self.named(ColumnKind::Bool, |columns, name| columns.record_bool(row, name, *value)),
            Value::Int(value) => {
                self.named(ColumnKind::Int, |columns, name| columns.record_numerical(row, name, *value))
            }
            Value::Float(value) => {
                self.named(ColumnKind::Float, |columns, name| columns.record_numerical(row, name, *value))
            }
            // The library's own datetimes are nanoseconds, which reach only from 1677 to 2262.
            Value::Datetime(value) => {
                self.named(ColumnKind::Datetime, |columns, name| columns.record_numerical(row, name, *value))
            }
            Value::Text(text) => self.push_text(text),
            Value::Array(values) => {
                let any = values.iter().fold(false, |any, value| any | self.push_value(value));
                if !any {
                    self.mark_present();
                }
            }
            Value::Map(map) => {
                self.mark_present();
                self.push_map(map);
            }
        }
        true
    }

    fn push_text(&mut self, text: &str) {
        if text.len() <= DICTIONARY_TEXT_BYTES_MAX {
            let row = self.rows;
            self.named(ColumnKind::Text, |columns, name| columns.record_str(row, name, text));
        } else if u32::try_from(text.len()).is_ok() {
            self.long_texts.push(&self.path, self.rows, text);
            self.mark_present();
        } else {
            self.set_fault(self.path.clone(), format!("a text of {} bytes", text.len()));
        }
    }

    fn mark_present(&mut self) {
        if !self.present.contains(&self.path) {
            self.present.push(self.path.clone());
            let row = self.rows;
            self.named(ColumnKind::Presence, |columns, name| columns.record_bool(row, name, true));
        }
    }

    fn named(&mut self, kind: ColumnKind, record: impl FnOnce(&mut ColumnarWriter, &str)) {
        let path_len = self.path.len();
        self.path.push_str(kind.suffix());
        record(&mut self.columns, &self.path);
        self.path.truncate(path_len);
    }

    fn set_fault(&mut self, field: String, reason: String) {
        self.fault.get_or_insert(FilterError::InvalidPayload { field, reason });
    }
}
