//! Columns of strings, in whichever of Arrow's layouts they come.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};
use arrow_schema::DataType;
use nuthatch_link::{Error, Result};

/// A column of strings.
#[derive(Clone, Copy)]
pub enum Strings<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Strings<'a> {
    pub fn is_type(kind: &DataType) -> bool {
        matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    }

    /// `None` for a column of something else.
    pub fn of(column: &'a ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => column.as_string_opt().map(Self::Small),
            DataType::LargeUtf8 => column.as_string_opt().map(Self::Large),
            DataType::Utf8View => column.as_string_view_opt().map(Self::View),
            _ => None,
        }
    }

    /// `None` where there is none.
    pub fn get(self, row: usize) -> Option<&'a str> {
        match self {
            Self::Small(column) => column.is_valid(row).then(|| column.value(row)),
            Self::Large(column) => column.is_valid(row).then(|| column.value(row)),
            Self::View(column) => column.is_valid(row).then(|| column.value(row)),
        }
    }
}

pub fn is_whole(kind: &DataType) -> bool {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    matches!(kind, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
}

/// Ids, of which whole numbers are written with their digits.
///
/// # Errors
/// `Invalid` with the row that has none.
pub fn ids(column: &ArrayRef) -> Result<Vec<String>> {
    let none = |row: usize| Error::invalid(format!("row {row} of the batch has no id; give each record one"));
    if let Some(strings) = Strings::of(column) {
        return (0..column.len()).map(|row| strings.get(row).map(str::to_string).ok_or_else(|| none(row))).collect();
    }
    macro_rules! numbers {
        ($kind:ty) => {
            column
                .as_primitive::<$kind>()
                .iter()
                .enumerate()
                .map(|(row, id)| id.map(|id| id.to_string()).ok_or_else(|| none(row)))
                .collect()
        };
    }
    match column.data_type() {
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        other => Err(Error::invalid(format!("column \"id\" is {other}; give strings or whole numbers"))),
    }
}
