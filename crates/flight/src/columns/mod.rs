//! Columns: what of a record is in which column, in both directions.
//!
//! | column | Arrow type | of a record |
//! |---|---|---|
//! | `id` | string, or a whole number | its id |
//! | `text`, `context` | string | the same |
//! | `code` | bool | its text is source code (written, not read) |
//! | `vector` | fixed_size_list of float32, float16, int8 or uint8 | its unnamed vector |
//! | a vector field's name | the same | its vector of that field |
//! | `payload` | string | its payload, as JSON |
//! | any other | bool, whole number, float, string, timestamp, list or struct of these | the payload's field of that name |
//!
//! **Invariant:** what is written with the columns that were read is what was there; only times come back as strings out of `payload`,
//! because JSON has none, and as times out of a column of their own.

mod outgoing;
mod payload;
mod records;
mod shape;
mod strings;
mod vectors;

pub use records::{Layout, Queries};
pub use shape::Shape;

pub const ID: &str = "id";
pub const TEXT: &str = "text";
pub const CONTEXT: &str = "context";
pub const CODE: &str = "code";
pub const VECTOR: &str = "vector";
/// What the engine calls the field of the column `vector`.
const UNNAMED: &str = "";
pub const PAYLOAD: &str = "payload";
/// Of a search: how good a hit is, and which question of the stream it answers.
pub const SCORE: &str = "score";
pub const QUERY: &str = "query";
