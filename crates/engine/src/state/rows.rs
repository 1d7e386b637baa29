//! Stored rows, for callers that read many of them.

use std::ops::ControlFlow;

use nuthatch_store::{Reader, Table};
use nuthatch_text::{RowWords, TextIndex};

use crate::Result;
use crate::record::{Row, row_of};
use crate::scan::until_error;

/// The words of a row's text, if it has one and there is an index to analyse them for.
pub(crate) fn words_of(stored: &Row, index: Option<&TextIndex>) -> Option<RowWords> {
    let (text, index) = (stored.searchable()?, index?);
    Some(RowWords::of(&text, stored.code, index.analyzer()))
}

/// Visits the rows of a table whose keys are in a range.
pub(crate) fn each_row_in(
    reader: &dyn Reader,
    table: Table,
    (from, to): (Vec<u8>, Vec<u8>),
    visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    until_error(
        |visit| reader.scan_once(table, &from, &to, visit),
        |key, bytes| visit(row_of(key), bytes).map(ControlFlow::Continue),
    )
}
