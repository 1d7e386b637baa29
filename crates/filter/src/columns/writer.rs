//! Payloads to columns.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use super::chunk_writer::ChunkWriter;
use super::directory::{self, ChunkLocation};
use super::keys::Key;
use super::{COLUMNS_VERSION, ColumnKind, MAGIC};
use crate::validate::name_fault;
use crate::{FilterError, Payload, Value};

/// A chunk that takes this much memory is written before its container is full.
const CHUNK_BYTES_MAX: usize = 12 << 20;
/// The memory of a column beyond its name and its values: its places in the maps.
const COLUMN_BYTES: usize = 128;

/// Collects the payloads of a segment in the order of their ordinals. Holds one chunk as values, and finished chunks as bytes
/// until [`ColumnsWriter::write_ready`] or [`ColumnsWriter::finish`]; [`ColumnsWriter::resident_bytes`] says how much that is.
#[derive(Default)]
pub struct ColumnsWriter {
    chunk: HashMap<String, ChunkWriter>,
    chunk_bytes: usize,
    /// Chunks that are finished and not yet written.
    ready: Vec<Vec<u8>>,
    ready_bytes: usize,
    /// Where the next chunk begins in the file.
    offset: u64,
    columns: BTreeMap<String, Vec<ChunkLocation>>,
    column_bytes: usize,
    rows: u32,
    /// The name of the column at hand; a field, so that its allocation is used again.
    path: String,
    /// The first thing that could not be written, reported by `finish`: a column that lacks a value would answer wrongly.
    fault: Option<FilterError>,
}

impl ColumnsWriter {
    /// Without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row; its ordinal is the number of rows before it. The payload has passed [`crate::validate`]: a field name
    /// that it would refuse, or more rows than ordinals, makes `finish` fail.
    pub fn push(&mut self, payload: &Payload) {
        self.path.clear();
        self.push_map(payload);
        let next = self.rows.checked_add(1);
        if self.chunk_bytes >= CHUNK_BYTES_MAX || next.is_none_or(|rows| rows as u16 == 0) {
            self.end_chunk();
        }
        match next {
            Some(rows) => self.rows = rows,
            None => self.set_fault(String::new(), format!("a segment has at most {} rows", u32::MAX)),
        }
    }

    /// Rows that were pushed.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the memory that the rows so far take.
    pub fn resident_bytes(&self) -> usize {
        self.chunk_bytes + self.ready_bytes + self.column_bytes
    }

    /// Whether a chunk is finished and not yet written.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Writes what is finished to the file that [`ColumnsWriter::finish`] will get, so that it need not be held until then.
    ///
    /// # Errors
    /// [`FilterError::Io`] for what `out` refuses.
    pub fn write_ready(&mut self, out: &mut dyn Write) -> Result<(), FilterError> {
        self.ready_bytes = 0;
        for chunk in self.ready.drain(..) {
            out.write_all(&chunk)?;
        }
        Ok(())
    }

    /// Writes the columns of every row, or what [`ColumnsWriter::write_ready`] has not written of them.
    ///
    /// # Errors
    /// [`FilterError::InvalidPayload`] for a payload that [`crate::validate`] would have refused, [`FilterError::Io`] for
    /// what `out` refuses.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<(), FilterError> {
        self.end_chunk();
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.write_ready(out)?;
        let directory_bytes = directory::write(&self.columns, out)?;
        for number in [self.offset, self.columns.len() as u64, directory_bytes] {
            out.write_all(&number.to_le_bytes())?;
        }
        out.write_all(&self.rows.to_le_bytes())?;
        out.write_all(&COLUMNS_VERSION.to_le_bytes())?;
        out.write_all(MAGIC)?;
        Ok(())
    }

    /// Turns the values at hand into bytes.
    fn end_chunk(&mut self) {
        self.chunk_bytes = 0;
        let container = self.rows >> 16;
        let mut chunk: Vec<(String, ChunkWriter)> = std::mem::take(&mut self.chunk).into_iter().collect();
        // Equal rows give equal files.
        chunk.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, column) in chunk {
            let bytes = column.finish();
            let Ok(length) = u32::try_from(bytes.len()) else {
                self.set_fault(name, format!("{} bytes in one chunk of rows", bytes.len()));
                continue;
            };
            let place = ChunkLocation { container, bytes: length, offset: self.offset };
            self.offset += bytes.len() as u64;
            self.ready_bytes += bytes.len();
            self.ready.push(bytes);
            self.column_bytes += size_of::<ChunkLocation>();
            match self.columns.get_mut(&name) {
                Some(places) => places.push(place),
                None => {
                    self.column_bytes += COLUMN_BYTES + name.len();
                    self.columns.insert(name, vec![place]);
                }
            }
        }
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
        match value {
            Value::Null => return false,
            Value::Bool(value) => self.push_key(ColumnKind::Bool, value.key()),
            Value::Int(value) => self.push_key(ColumnKind::Int, value.key()),
            Value::Float(value) => self.push_key(ColumnKind::Float, value.key()),
            Value::Datetime(micros) => self.push_key(ColumnKind::Datetime, micros.key()),
            Value::Text(text) => {
                if u32::try_from(text.len()).is_ok() {
                    self.in_column(ColumnKind::Text, ChunkWriter::texts, |column, row| column.push_text(text, row));
                } else {
                    self.set_fault(self.path.clone(), format!("a text of {} bytes", text.len()));
                }
            }
            Value::Array(values) => {
                let any = values.iter().fold(false, |any, value| any | self.push_value(value));
                if !any {
                    self.push_key(ColumnKind::Presence, true.key());
                }
            }
            Value::Map(map) => {
                self.push_key(ColumnKind::Presence, true.key());
                self.push_map(map);
            }
        }
        true
    }

    fn push_key(&mut self, kind: ColumnKind, key: u64) {
        self.in_column(kind, ChunkWriter::numbers, |column, row| column.push_key(key, row));
    }

    fn in_column(
        &mut self,
        kind: ColumnKind,
        new: fn() -> ChunkWriter,
        push: impl FnOnce(&mut ChunkWriter, u16) -> usize,
    ) {
        let path_len = self.path.len();
        self.path.push_str(kind.suffix());
        // The low half of the ordinal: the place in the container.
        let row = self.rows as u16;
        self.chunk_bytes += match self.chunk.get_mut(&self.path) {
            Some(column) => push(column, row),
            None => {
                let mut column = new();
                let bytes = push(&mut column, row);
                self.chunk.insert(self.path.clone(), column);
                bytes + COLUMN_BYTES + self.path.len()
            }
        };
        self.path.truncate(path_len);
    }

    fn set_fault(&mut self, field: String, reason: String) {
        self.fault.get_or_insert(FilterError::InvalidPayload { field, reason });
    }
}
