//! Attribute columns: the payloads of one segment turned on their side, so that a filter reads only the fields it names, and
//! of those only what lies between the ends of its ranges.
//!
//! A column is an index and nothing else: its values in order, and for each the rows that hold it. A field gets one column for
//! each kind that it has held. Columns are cut into *chunks*: the rows of a chunk lie in one container of a Roaring bitmap
//! (65,536 rows), so that an answer is made container by container, a row takes two bytes, and writing holds one chunk.
//!
//! ```text
//! file      │ column chunks │ directory: columns, offset of each from the first u64 │ footer, 40 bytes
//! footer    │ chunk bytes u64 │ columns u64 │ directory bytes u64 │ rows u32 │ version u32 │ "NUTCOLMN"
//! column    │ name bytes u32 │ name │ chunks u32 │ { container u32, bytes u32, offset u64 } …      columns ascend by name
//! name        dotted path, 0x01, one letter: b bool, i int, f float, s text, t datetime, x there but no value of its own
//! ```
//!
//! [`chunk`] shows the layout of a column chunk, and [`dictionary`] that of a dictionary of texts. [`version_1`] reads
//! files of version 1.
//!
//! The file carries no checksum of its own: its container verifies the bytes before they arrive here.

mod block;
mod bytes;
mod chunk;
mod chunk_writer;
mod count;
mod dictionary;
mod directory;
mod evaluate;
mod index;
mod keys;
mod reader;
mod version_1;
mod writer;

pub(crate) use keys::{float_of_key, key_of_float};
pub use reader::Columns;
pub use writer::ColumnsWriter;

/// The layout drawn above; version 1 is read as well.
pub const COLUMNS_VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"NUTCOLMN";
const FOOTER_BYTES: usize = 40;

/// The kind of a field's column; the letter ends the column's name.
#[derive(Clone, Copy)]
enum ColumnKind {
    Bool,
    Int,
    Float,
    Text,
    Datetime,
    /// Rows where the path reaches a map or an array without a value of its own: there, and in no other column.
    Presence,
}

impl ColumnKind {
    const ALL: [ColumnKind; 6] = [
        ColumnKind::Bool,
        ColumnKind::Int,
        ColumnKind::Float,
        ColumnKind::Text,
        ColumnKind::Datetime,
        ColumnKind::Presence,
    ];

    fn suffix(self) -> &'static str {
        match self {
            ColumnKind::Bool => "\u{1}b",
            ColumnKind::Int => "\u{1}i",
            ColumnKind::Float => "\u{1}f",
            ColumnKind::Text => "\u{1}s",
            ColumnKind::Datetime => "\u{1}t",
            ColumnKind::Presence => "\u{1}x",
        }
    }
}
