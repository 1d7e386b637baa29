//! Columns: what of a record is in which column, in both directions.
//!
//! | column | Arrow type | of a record |
//! |---|---|---|
//! | `id` | string, or a whole number | its id |
//! | `text`, `context` | string | the same |
//! | `code` | bool | its text is source code (written, not read) |
//! | `vector` | list of numbers; read as fixed_size_list of float32, float16, int8 or uint8 | its unnamed vector |
//! | a vector field's name | the same; of a sparse field struct of `indices` and `values`; of token vectors list of lists | its value of that field |
//! | `payload` | string | its payload, as JSON |
//! | `datetimes` | list of strings | which strings of its JSON are datetimes, as dotted paths |
//! | any other, and `payload.` with any name | bool, whole number, float, string, timestamp, date, list or struct of these | the payload's field of that name |
//!
//! Strings may be dictionary-encoded.
//!
//! **Invariant:** writing the columns that were read restores what was there, except nulls in a field that has a type
//! of its own: nothing distinguishes them from an absent field. A write that would lose data is refused.

mod json;
mod mark;
mod outgoing;
mod payload;
mod records;
#[cfg(test)]
mod round_trip;
mod shape;
mod strings;
mod values;
pub mod vectors;

pub use records::{Holder, Layout, Queries};
pub use shape::Shape;
pub use strings::Strings;

pub const ID: &str = "id";
pub const TEXT: &str = "text";
pub const CONTEXT: &str = "context";
pub const CODE: &str = "code";
pub const VECTOR: &str = "vector";
/// The engine's name for the field of the column `vector`.
const UNNAMED: &str = "";
pub const PAYLOAD: &str = "payload";
/// In front of a payload's field whose name is a column's own, or may be.
const OF_PAYLOAD: &str = "payload.";
pub const DATETIMES: &str = "datetimes";
/// Of a search: how good a hit is, and which question of the stream it answers.
pub const SCORE: &str = "score";
pub const QUERY: &str = "query";
