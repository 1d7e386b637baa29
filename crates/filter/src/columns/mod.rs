//! Attribute columns: the payloads of one segment turned on their side, so that a filter reads only the fields it names.
//!
//! The columns themselves are `tantivy-columnar`'s (bit-packed, dictionary-encoded, multi-valued). A field gets one column
//! for each kind that it has held, named by its path and the kind, so that the library's coercion between number types never
//! has anything to coerce. Texts longer than the library's dictionaries hold follow in a section of their own.
//!
//! ```text
//! ┌───────────────┬──────────────┬──────────────────┬────────────────────────────────────────────────────────────────────┐
//! │ columnar      │ long texts   │ long text index  │ footer, 40 bytes, little endian:                                   │
//! │ C bytes       │ L bytes      │ I bytes (CBOR)   │ C u64 │ L u64 │ I u64 │ rows u32 │ version u32 │ "NUTCOLMN"         │
//! └───────────────┴──────────────┴──────────────────┴────────────────────────────────────────────────────────────────────┘
//! column name     = dotted path, 0x01, one letter: b bool, i int, f float, s text, t datetime, x there but no value of its own
//! long texts      = for each path together: { ordinal u32, length u32, bytes }
//! long text index = array of [path, offset u64 in the section, length u64]
//! ```
//!
//! The file carries no checksum of its own: whoever stores it verifies the bytes before they arrive here.

mod evaluate;
mod long_text;
mod reader;
mod writer;

pub use reader::Columns;
pub use writer::ColumnsWriter;

/// The layout drawn above.
pub const COLUMNS_VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"NUTCOLMN";
const FOOTER_BYTES: usize = 40;

/// Longest text that goes into a dictionary, in bytes. The library cuts dictionary keys off at 64 KiB without a word.
const DICTIONARY_TEXT_BYTES_MAX: usize = 32 << 10;

/// What a column of a field holds; the letter ends the column's name.
#[derive(Clone, Copy)]
enum ColumnKind {
    Bool,
    Int,
    Float,
    Text,
    Datetime,
    /// Rows where the path reaches a map, an array without a value of its own, or a long text: there, and in no other column.
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
