//! Columns of payload fields.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use nuthatch_link::{Error, Result, Value};

use crate::columns::strings::{Strings, is_whole};

const MICROS_PER_SECOND: i64 = 1_000_000;
const NANOS_PER_MICRO: i64 = 1000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Values of one batch's payloads, those inside of lists and structs included: some take a bit in a message, and all of them take
/// some dozens of bytes in a record.
pub const VALUES_MAX: usize = 4 << 20;
/// Lists and structs inside each other.
const DEPTH_MAX: usize = 16;

/// # Errors
/// `Invalid` for a type that no payload holds, with what to do.
pub fn check(name: &str, kind: &DataType) -> Result<()> {
    check_at(name, kind, 0)
}

fn check_at(name: &str, kind: &DataType, depth: usize) -> Result<()> {
    let refused = |remedy: &str| Err(Error::invalid(format!("column {name:?} is {kind}; {remedy}")));
    if depth > DEPTH_MAX {
        return refused("lists and structs may be 16 deep");
    }
    match kind {
        DataType::Null | DataType::Boolean | DataType::Float16 | DataType::Float32 | DataType::Float64 => Ok(()),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Ok(()),
        kind if is_whole(kind) || Strings::is_type(kind) => Ok(()),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            check_at(name, item.data_type(), depth + 1)
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_at(name, field.data_type(), depth + 1)),
        DataType::Dictionary(..) => refused("only strings are read dictionary-encoded; cast it to its values"),
        DataType::Decimal128(..) | DataType::Decimal256(..) => refused("cast it to float64, or to strings"),
        _ => refused(
            "a payload holds booleans, 64-bit whole numbers, floats, strings, timestamps, dates, lists and structs",
        ),
    }
}

/// The value of one row; `None` where there is none. `room`: values that the batch may still have.
///
/// # Errors
/// `Invalid` for a number or a time that 64 bits do not hold, for nanoseconds, and when there is no room.
pub fn value(name: &str, column: &ArrayRef, row: usize, room: &mut usize) -> Result<Option<Value>> {
    *room = room.checked_sub(1).ok_or_else(|| {
        Error::invalid(format!("the batch has over {VALUES_MAX} values in payload columns; send fewer rows at a time"))
    })?;
    if column.is_null(row) {
        return Ok(None);
    }
    macro_rules! at {
        ($kind:ty) => {
            column.as_primitive::<$kind>().value(row)
        };
    }
    let too_large = || {
        Error::invalid(format!("column {name:?}: row {row} of the batch does not fit 64 bits; store it as a string"))
    };
    if let Some(strings) = Strings::of(column) {
        return Ok(strings.get(row).map(Value::from));
    }
    Ok(Some(match column.data_type() {
        DataType::Null => return Ok(None),
        DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
        DataType::Int8 => Value::Int(at!(Int8Type).into()),
        DataType::Int16 => Value::Int(at!(Int16Type).into()),
        DataType::Int32 => Value::Int(at!(Int32Type).into()),
        DataType::Int64 => Value::Int(at!(Int64Type)),
        DataType::UInt8 => Value::Int(at!(UInt8Type).into()),
        DataType::UInt16 => Value::Int(at!(UInt16Type).into()),
        DataType::UInt32 => Value::Int(at!(UInt32Type).into()),
        DataType::UInt64 => Value::Int(i64::try_from(at!(UInt64Type)).map_err(|_| too_large())?),
        DataType::Float16 => Value::Float(at!(Float16Type).to_f64()),
        DataType::Float32 => Value::Float(at!(Float32Type).into()),
        DataType::Float64 => Value::Float(at!(Float64Type)),
        DataType::Date64 => Value::Datetime(at!(Date64Type).checked_mul(1000).ok_or_else(too_large)?),
        DataType::Date32 => Value::Datetime(i64::from(at!(Date32Type)) * MICROS_PER_DAY),
        DataType::Timestamp(unit, _) => Value::Datetime(match unit {
            TimeUnit::Second => at!(TimestampSecondType).checked_mul(MICROS_PER_SECOND).ok_or_else(too_large)?,
            TimeUnit::Millisecond => at!(TimestampMillisecondType).checked_mul(1000).ok_or_else(too_large)?,
            TimeUnit::Microsecond => at!(TimestampMicrosecondType),
            TimeUnit::Nanosecond => match at!(TimestampNanosecondType) {
                nanos if nanos % NANOS_PER_MICRO == 0 => nanos / NANOS_PER_MICRO,
                nanos => {
                    return Err(Error::invalid(format!(
                        "column {name:?}: row {row} of the batch has {nanos} ns, but datetimes are whole \
                        microseconds; round the \
                         column to timestamp[us], or store the nanoseconds as a whole number"
                    )));
                }
            },
        }),
        DataType::List(_) => Value::Array(all(name, &column.as_list::<i32>().value(row), room)?),
        DataType::LargeList(_) => Value::Array(all(name, &column.as_list::<i64>().value(row), room)?),
        DataType::FixedSizeList(..) => Value::Array(all(name, &column.as_fixed_size_list().value(row), room)?),
        DataType::Struct(fields) => {
            let columns = column.as_struct().columns().iter();
            let values = fields
                .iter()
                .zip(columns)
                .map(|(field, column)| Ok(value(name, column, row, room)?.map(|value| (field.name().clone(), value))));
            Value::Map(values.filter_map(Result::transpose).collect::<Result<_>>()?)
        }
        other => return Err(Error::invalid(format!("column {name:?} is {other}, which a payload cannot hold"))),
    }))
}

fn all(name: &str, items: &ArrayRef, room: &mut usize) -> Result<Vec<Value>> {
    (0..items.len()).map(|row| Ok(value(name, items, row, room)?.unwrap_or(Value::Null))).collect()
}
