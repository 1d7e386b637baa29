//! Ranked keyword search: BM25 over the rows of one collection, with tantivy underneath.
//!
//! **Useful for** finding passages by their words: [`TextIndex`] for rows that were committed to it, [`TextMemtable`] for rows that the
//! store holds but the index does not yet, [`scan`] when there is no (sound) index, [`snippet`] to show what was found.
//! **Not for** phrases or a query language (any text is a query, a bag of words), not for storing the text, and not for writing
//! Chinese, Japanese or Thai, whose words no tokenizer here separates.
//!
//! **Invariant:** a row's score depends on the live rows and nothing else. Index, memtable and scan give the same scores bit for
//! bit, however rows are spread over them and whatever was deleted or merged before; ties go to the lower row id.
//! All files are checksummed block files read through one bounded cache; the index is derived and may be thrown away.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod analyzer;
mod bm25;
mod candidates;
mod commit;
mod directory;
mod error;
mod hits;
mod index;
mod memtable;
mod merge;
mod removal;
mod scan;
mod schema;
mod search;
mod snapshot;
mod snippet;
mod verify;
mod wide;
mod words;

pub use analyzer::{Analyzer, Token, WORD_BYTES_MAX};
pub use bm25::QUERY_WORDS_MAX;
pub use commit::{TextRow, Unpublished, WRITER_BUDGET_BYTES_MIN};
pub use error::{Result, TextError};
pub use hits::{RowFilter, TextHit};
pub use index::{TextIndex, TextView};
pub use memtable::{RowWords, TextMemtable};
pub use scan::{RowsError, scan};
pub use snippet::{Snippet, snippet};
pub use verify::DamagedFile;
pub use wide::TextQuery;
