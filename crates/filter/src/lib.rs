//! Payload values, the `where` language, and the attribute columns that answer it for a whole segment at once.
//!
//! **What it is.** [`Value`] and [`Payload`] are what a record carries besides its text and its vector. [`parse`] turns
//! a SQL-like string into a [`Filter`]; [`Filter::matches`] judges one payload, [`Columns::evaluate`] judges every row
//! of a segment and answers with a bitmap of ordinals. [`Schema`] remembers which kinds each field has held, so that a
//! misspelt field is an error and not an empty answer.
//!
//! **What it is useful for.** Metadata filters of a search (`year >= 2024 and team in ('core', 'ops')`), payloads in and out
//! of a store ([`encode`], [`decode`]) and of JSON.
//!
//! **What it is not for.** It ranks nothing, joins nothing, computes nothing: no arithmetic, no comparison of one field with
//! another, no full-text search (`LIKE` looks at bytes, not at words).
//!
//! **The invariant it keeps.** A filter means the same thing row by row and column by column: for every payload and every
//! filter, `filter.matches(payload)` is true exactly when the row's ordinal is in `columns.evaluate(&filter)`.
//!
//! ```
//! use std::sync::Arc;
//! use nuthatch_filter::{Columns, ColumnsWriter, Payload, parse};
//!
//! let payloads = [2023, 2024, 2025].map(|year: i64| Payload::from([("year".to_owned(), year.into())]));
//! let filter = parse("year >= 2024 and not year = 2025")?;
//! assert!(filter.matches(&payloads[1]));
//!
//! let mut writer = ColumnsWriter::new();
//! payloads.iter().for_each(|payload| writer.push(payload));
//! let mut file = Vec::new();
//! writer.finish(&mut file)?;
//! let columns = Columns::open(Arc::new(tantivy_common::OwnedBytes::new(file)))?;
//! assert_eq!(columns.evaluate(&filter)?.iter().collect::<Vec<_>>(), [1]);
//! # Ok::<(), nuthatch_filter::FilterError>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod ast;
mod change;
mod codec;
mod columns;
mod compare;
mod datetimes;
mod display;
mod error;
mod interval;
mod json;
mod like;
mod matching;
mod parse;
mod partial;
mod scalar;
mod schema;
mod time;
mod validate;
mod value;

pub use ast::{CompareOp, Filter};
pub use change::FieldChange;
pub use codec::{CODEC_VERSION, decode, encode};
pub use columns::{COLUMNS_VERSION, Columns, ColumnsWriter};
pub use datetimes::{datetimes_of, payload_with_datetimes};
pub use error::{FilterError, SyntaxError};
pub use json::{payload_from_json, payload_to_json};
pub use parse::{NESTING_MAX, TEXT_BYTES_MAX, parse};
pub use scalar::Scalar;
pub use schema::{Kind, SCHEMA_FIELDS_MAX, Schema};
pub use time::{format_datetime, parse_datetime};
pub use validate::{FIELD_NAME_BYTES_MAX, PAYLOAD_FIELDS_MAX, VALUE_BYTES_MAX, VALUE_NESTING_MAX, validate};
pub use value::{Payload, Value};
