//! A columns file, opened: nothing of it stays in memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy_common::HasLen;
use tantivy_common::file_slice::{FileHandle, FileSlice};

use super::bytes::{Section, corrupt, number, u32_at};
use super::directory::Directory;
use super::evaluate::{Tests, evaluate};
use super::index::Index;
use super::version_1::Version1;
use super::{COLUMNS_VERSION, FOOTER_BYTES, MAGIC};
use crate::{Filter, FilterError, Scalar};

/// The attribute columns of one segment. Opening reads a footer; a query reads the parts of the columns that its filter
/// names, holds them while it runs and keeps nothing.
pub struct Columns {
    tests: Box<dyn Tests>,
    version: u32,
}

impl Columns {
    /// # Errors
    /// [`FilterError::CorruptColumns`] for bytes that [`super::ColumnsWriter`] did not write or that a newer version did,
    /// [`FilterError::Io`] when the file cannot be read.
    pub fn open(file: Arc<dyn FileHandle>) -> Result<Self, FilterError> {
        contained(|| Self::open_file(FileSlice::new(file)))
    }

    fn open_file(file: FileSlice) -> Result<Self, FilterError> {
        if file.len() < FOOTER_BYTES {
            return Err(corrupt(format!("{} bytes are fewer than a footer", file.len())));
        }
        let (body, footer) = file.split_from_end(FOOTER_BYTES);
        let footer = footer.read_bytes()?;
        if &footer[32..] != MAGIC {
            return Err(corrupt("the footer is not one of a columns file"));
        }
        let rows = u32_at(&footer, 24);
        let version = u32_at(&footer, 28);
        let tests: Box<dyn Tests> = match version {
            1 => Box::new(Version1::open(body, &footer, rows)?),
            COLUMNS_VERSION => {
                let body = Section::new(body);
                let (chunks_bytes, columns, directory_bytes) =
                    (number(&footer, 0, 8), number(&footer, 8, 8), number(&footer, 16, 8));
                if chunks_bytes.checked_add(directory_bytes) != Some(body.len() as u64) {
                    return Err(corrupt(format!("its parts do not add up to {} bytes", body.len())));
                }
                let directory = body.part(chunks_bytes as usize, directory_bytes as usize)?;
                Box::new(Index {
                    directory: Directory::open(&directory, columns)?,
                    chunks: body.part(0, chunks_bytes as usize)?,
                    rows,
                })
            }
            version => return Err(corrupt(format!("version {version}, this build reads 1 to {COLUMNS_VERSION}"))),
        };
        Ok(Self { tests, version })
    }

    /// The version of its layout.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// How many rows there are; their ordinals are `0..rows`.
    pub fn rows(&self) -> u32 {
        self.tests.row_count()
    }

    /// The ordinals of the rows that pass: exactly those whose payload [`Filter::matches`].
    ///
    /// # Errors
    /// [`FilterError::CorruptColumns`] and [`FilterError::Io`] as in [`Columns::open`].
    pub fn evaluate(&self, filter: &Filter) -> Result<RoaringBitmap, FilterError> {
        let found = contained(|| evaluate(&*self.tests, filter))?;
        match found.max() {
            Some(row) if row >= self.rows() => {
                Err(FilterError::CorruptColumns { reason: format!("row {row} of {}", self.rows()) })
            }
            _ => Ok(found),
        }
    }

    /// Counts, of these rows, those that hold each value of the field; `count` takes a value several times, and ends it with false.
    /// Answers with the rows that hold any value; `None` for columns of version 1, which cannot count.
    ///
    /// # Errors
    /// As [`Columns::evaluate`].
    pub fn count_values(
        &self,
        field: &str,
        rows: &RoaringBitmap,
        count: &mut dyn FnMut(Scalar, u64) -> bool,
    ) -> Result<Option<RoaringBitmap>, FilterError> {
        contained(|| self.tests.count_values(field, rows, count).transpose())
    }
}

/// Offsets are checked, and version 1's library asserts what it reads. Verified bytes never fail that; should damaged ones
/// get here, they are an error of this segment and not the end of the process.
fn contained<T>(read: impl FnOnce() -> Result<T, FilterError>) -> Result<T, FilterError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let said =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(FilterError::CorruptColumns { reason: said.unwrap_or_else(|| "an assertion failed".into()) })
    })
}
