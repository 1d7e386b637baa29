//! A columns file, opened: which columns there are is in memory, their values are not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy_columnar::{ColumnarReader, DynamicColumn};
use tantivy_common::HasLen;
use tantivy_common::file_slice::{FileHandle, FileSlice};

use super::evaluate::Evaluation;
use super::long_text::LongTexts;
use super::{COLUMNS_VERSION, ColumnKind, FOOTER_BYTES, MAGIC};
use crate::{Filter, FilterError};

/// The attribute columns of one segment. Opening reads a footer and the list of columns; a query reads the columns that its
/// filter names, holds them while it runs and keeps nothing.
pub struct Columns {
    columnar: ColumnarReader,
    long_texts: LongTexts,
    rows: u32,
}

impl Columns {
    /// # Errors
    /// [`FilterError::CorruptColumns`] for bytes that [`super::ColumnsWriter`] did not write or that another version did,
    /// [`FilterError::Io`] when the file cannot be read.
    pub fn open(file: Arc<dyn FileHandle>) -> Result<Self, FilterError> {
        contained(|| Self::open_file(FileSlice::new(file)))
    }

    fn open_file(file: FileSlice) -> Result<Self, FilterError> {
        let corrupt = |reason: String| FilterError::CorruptColumns { reason };
        if file.len() < FOOTER_BYTES {
            return Err(corrupt(format!("{} bytes are fewer than a footer", file.len())));
        }
        let (body, footer) = file.split_from_end(FOOTER_BYTES);
        let footer = footer.read_bytes()?;
        let number = |at: usize, bytes: usize| {
            footer[at..at + bytes].iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        if &footer[32..] != MAGIC {
            return Err(corrupt("the footer is not one of a columns file".into()));
        }
        if number(28, 4) != u64::from(COLUMNS_VERSION) {
            return Err(corrupt(format!("version {}, this build reads {COLUMNS_VERSION}", number(28, 4))));
        }
        let (columnar_bytes, text_bytes, index_bytes) = (number(0, 8), number(8, 8), number(16, 8));
        let total = columnar_bytes.checked_add(text_bytes).and_then(|sum| sum.checked_add(index_bytes));
        if total != Some(body.len() as u64) {
            return Err(corrupt(format!("its parts do not add up to {} bytes", body.len())));
        }
        let (columnar, rest) = body.split(columnar_bytes as usize);
        let (texts, index) = rest.split(text_bytes as usize);
        let columnar = ColumnarReader::open(columnar)?;
        let rows = number(24, 4) as u32;
        if columnar.num_docs() != rows {
            return Err(corrupt(format!("{} rows in the columns, {rows} in the footer", columnar.num_docs())));
        }
        Ok(Self { columnar, long_texts: LongTexts::open(texts, &index.read_bytes()?)?, rows })
    }

    /// How many rows there are; their ordinals are `0..rows`.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The ordinals of the rows that pass: exactly those whose payload [`Filter::matches`].
    ///
    /// # Errors
    /// [`FilterError::CorruptColumns`] and [`FilterError::Io`] as in [`Columns::open`].
    pub fn evaluate(&self, filter: &Filter) -> Result<RoaringBitmap, FilterError> {
        contained(|| Evaluation { columns: self }.rows(filter))
    }

    /// The column of a field that holds values of the kind, if any row has one. Reads it whole, its dictionary aside.
    pub(super) fn column(&self, field: &str, kind: ColumnKind) -> Result<Option<DynamicColumn>, FilterError> {
        let handles = self.columnar.read_columns(&format!("{field}{}", kind.suffix()))?;
        match handles.as_slice() {
            [] => Ok(None),
            [handle] => Ok(Some(handle.open()?)),
            _ => Err(FilterError::CorruptColumns { reason: format!("field `{field}` has two columns of one kind") }),
        }
    }

    pub(super) fn long_texts(&self) -> &LongTexts {
        &self.long_texts
    }
}

/// The columns library asserts what it reads. Verified bytes never fail an assertion; should damaged ones get here, they are
/// an error of this segment and not the end of the process.
fn contained<T>(read: impl FnOnce() -> Result<T, FilterError>) -> Result<T, FilterError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let said =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(FilterError::CorruptColumns { reason: said.unwrap_or_else(|| "an assertion failed".into()) })
    })
}
