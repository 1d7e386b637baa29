//! Columns of vectors.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use nuthatch_link::{Element, Error, PassingVector, Result};

use crate::columns::strings::is_whole;

/// Room that a column of vectors begins with, at most.
const ROOM_BYTES_MAX: usize = 4 << 20;

/// Whether columns of this type are vectors, unless they are of a payload's field.
pub fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_))
}

/// The type of a column of vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column<'a> {
    /// Components of each vector; `None` where each list has a length of its own.
    pub dim: Option<usize>,
    /// The type of a component.
    pub component: &'a DataType,
}

/// # Errors
/// `Invalid` for a type that holds no vectors, with the one that does.
pub fn column<'a>(name: &str, kind: &'a DataType) -> Result<Column<'a>> {
    let (item, dim) = match kind {
        DataType::FixedSizeList(item, dim) => (item, Some(*dim)),
        DataType::List(item) | DataType::LargeList(item) => (item, None),
        _ => return Err(Error::invalid(format!("column {name:?} is {kind}; vectors are lists of numbers"))),
    };
    let component = item.data_type();
    if !(component.is_floating() || is_whole(component)) {
        return Err(Error::invalid(format!(
            "column {name:?} has components of {component}; give floating-point or whole numbers"
        )));
    }
    let whole = |dim| {
        usize::try_from(dim).map_err(|_| Error::invalid(format!("column {name:?} has lists of {dim} components")))
    };
    Ok(Column { dim: dim.map(whole).transpose()?, component })
}

impl Column<'_> {
    /// Describes how components that no stored vector has are converted.
    pub fn note(&self, name: &str) -> Option<String> {
        match self.component {
            DataType::Float32 | DataType::Float16 | DataType::Int8 | DataType::UInt8 => None,
            other => Some(format!("column {name:?}: components of {other} are read as float32")),
        }
    }

    /// The type in which vectors of such components are stored.
    pub fn element(&self) -> Element {
        match self.component {
            DataType::Float16 => Element::F16,
            DataType::Int8 => Element::Int8,
            DataType::UInt8 => Element::Uint8,
            _ => Element::F32,
        }
    }
}

/// Vectors of a column, `None` where there is none. Each is copied once, from the message into the record.
///
/// # Errors
/// `Invalid` for a vector with a missing component.
pub fn read(name: &str, column: &ArrayRef) -> Result<Vec<Option<Vec<f32>>>> {
    let lists = Lists::of(name, column)?;
    macro_rules! cast {
        ($kind:ty) => {
            lists.rows::<$kind, f32>(name, |values| values.iter().map(|x| *x as f32).collect())
        };
    }
    match lists.values.data_type() {
        DataType::Float32 => lists.rows::<Float32Type, f32>(name, |values| values.to_vec()),
        DataType::Float16 => lists.rows::<Float16Type, f32>(name, |values| values.iter().map(|x| x.to_f32()).collect()),
        DataType::Float64 => cast!(Float64Type),
        DataType::Int8 => cast!(Int8Type),
        DataType::Int16 => cast!(Int16Type),
        DataType::Int32 => cast!(Int32Type),
        DataType::Int64 => cast!(Int64Type),
        DataType::UInt8 => cast!(UInt8Type),
        DataType::UInt16 => cast!(UInt16Type),
        DataType::UInt32 => cast!(UInt32Type),
        DataType::UInt64 => cast!(UInt64Type),
        other => Err(Error::invalid(format!("column {name:?} has components of {other}"))),
    }
}

/// Lists of whole numbers, `None` where there is none. Those over 63 bits become negative, which no index is.
///
/// # Errors
/// `Invalid` for a list with a missing number.
pub fn read_whole(name: &str, column: &ArrayRef) -> Result<Vec<Option<Vec<i64>>>> {
    let lists = Lists::of(name, column)?;
    macro_rules! cast {
        ($kind:ty) => {
            lists.rows::<$kind, i64>(name, |values| values.iter().map(|x| i64::try_from(*x).unwrap_or(-1)).collect())
        };
    }
    match lists.values.data_type() {
        DataType::Int8 => cast!(Int8Type),
        DataType::Int16 => cast!(Int16Type),
        DataType::Int32 => cast!(Int32Type),
        DataType::Int64 => cast!(Int64Type),
        DataType::UInt8 => cast!(UInt8Type),
        DataType::UInt16 => cast!(UInt16Type),
        DataType::UInt32 => cast!(UInt32Type),
        DataType::UInt64 => cast!(UInt64Type),
        other => Err(Error::invalid(format!("column {name:?} has indices of {other}; give whole numbers"))),
    }
}

/// The items of a column of lists, and which of them are each row's.
///
/// # Errors
/// `Invalid` for another type.
pub fn parts<'a>(name: &str, column: &'a ArrayRef) -> Result<(&'a ArrayRef, Vec<Range<usize>>)> {
    let lists = Lists::of(name, column)?;
    Ok((lists.values, lists.parts))
}

/// A column of lists, whose rows are parts of one array.
struct Lists<'a> {
    values: &'a ArrayRef,
    nulls: Option<&'a NullBuffer>,
    parts: Vec<Range<usize>>,
}

impl<'a> Lists<'a> {
    fn of(name: &str, column: &'a ArrayRef) -> Result<Self> {
        let rows = 0..column.len();
        let (values, parts) = match column.data_type() {
            DataType::FixedSizeList(..) => {
                let list = column.as_fixed_size_list();
                let part = |row| list.value_offset_at(row)..list.value_offset_at(row) + list.value_length() as usize;
                (list.values(), rows.map(part).collect())
            }
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                let ends = list.value_offsets();
                (list.values(), rows.map(|row| ends[row] as usize..ends[row + 1] as usize).collect())
            }
            DataType::LargeList(_) => {
                let list = column.as_list::<i64>();
                let ends = list.value_offsets();
                (list.values(), rows.map(|row| ends[row] as usize..ends[row + 1] as usize).collect())
            }
            other => return Err(Error::invalid(format!("column {name:?} is {other}; vectors are lists of numbers"))),
        };
        Ok(Self { values, nulls: column.nulls(), parts })
    }

    fn rows<T: ArrowPrimitiveType, V>(
        self,
        name: &str,
        components: impl Fn(&[T::Native]) -> Vec<V>,
    ) -> Result<Vec<Option<Vec<V>>>> {
        let values: &PrimitiveArray<T> = self.values.as_primitive();
        let mut vectors = Vec::with_capacity(self.parts.len());
        for (row, part) in self.parts.into_iter().enumerate() {
            if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
                vectors.push(None);
                continue;
            }
            if values.nulls().is_some_and(|nulls| part.clone().any(|at| nulls.is_null(at))) {
                return Err(Error::invalid(format!(
                    "row {row} of column {name:?} lacks a component; fill it, or leave the vector out"
                )));
            }
            vectors.push(Some(components(&values.values()[part])));
        }
        Ok(vectors)
    }
}

/// The type of a column of stored vectors.
pub fn kind(element: Element, dim: usize) -> DataType {
    DataType::FixedSizeList(item(element), i32::try_from(dim).expect("vectors have few thousand components"))
}

fn item(element: Element) -> FieldRef {
    let component = match element {
        Element::F32 => DataType::Float32,
        Element::F16 => DataType::Float16,
        Element::Int8 => DataType::Int8,
        Element::Uint8 | Element::Binary => DataType::UInt8,
    };
    Arc::new(Field::new("item", component, false))
}

/// A column of stored vectors in the making: of the type in which they are stored, ones and zeros as bytes.
pub struct Vectors {
    element: Element,
    dim: usize,
    /// Components, as Arrow has them; zeros where there is no vector.
    values: MutableBuffer,
    is_there: Vec<bool>,
}

impl Vectors {
    pub fn new(element: Element, dim: usize, rows: usize) -> Self {
        let values = MutableBuffer::with_capacity((rows * row_bytes(element, dim)).min(ROOM_BYTES_MAX));
        Self { element, dim, values, is_there: Vec::with_capacity(rows) }
    }

    /// Adds the vector of a row behind those that have come. Stored ones are copied as they are: components are little endian there, as
    /// they are in the memory of all machines that this is built for.
    ///
    /// # Errors
    /// `Internal` for a vector of another dimension, or with a component that this type has not.
    pub fn push(&mut self, row: usize, vector: PassingVector<'_>) -> Result<()> {
        self.fill(row);
        match vector {
            PassingVector::Stored(bytes) => self.push_stored(bytes)?,
            PassingVector::Value(value) => {
                return Err(Error::internal(format!("a column of vectors got a value that is {}", value.kind())));
            }
            PassingVector::Components(components) => {
                let stored = self.element.encode(components);
                self.push_stored(&stored.map_err(|error| Error::internal(format!("a stored vector: {error}")))?)?;
            }
        }
        self.is_there.push(true);
        Ok(())
    }

    fn push_stored(&mut self, bytes: &[u8]) -> Result<()> {
        let wanted = self.element.row_bytes(self.dim);
        if bytes.len() != wanted {
            return Err(Error::internal(format!("a stored vector has {} bytes, and not {wanted}", bytes.len())));
        }
        match self.element {
            Element::Binary => {
                let bits = (0..self.dim).map(|at| bytes[at / 8] >> (at % 8) & 1);
                self.values.extend(bits);
            }
            Element::F32 | Element::F16 | Element::Int8 | Element::Uint8 => self.values.extend_from_slice(bytes),
        }
        Ok(())
    }

    /// Rows up to this one have no vector, unless it has come.
    fn fill(&mut self, rows: usize) {
        if self.is_there.len() < rows {
            self.is_there.resize(rows, false);
            self.values.resize(rows * row_bytes(self.element, self.dim), 0);
        }
    }

    /// # Errors
    /// `Internal` for too many components.
    pub fn finish(mut self, rows: usize) -> Result<ArrayRef> {
        self.fill(rows);
        match self.element {
            Element::F32 => self.column::<Float32Type>(),
            Element::F16 => self.column::<Float16Type>(),
            Element::Int8 => self.column::<Int8Type>(),
            Element::Uint8 | Element::Binary => self.column::<UInt8Type>(),
        }
    }

    fn column<T: ArrowPrimitiveType>(self) -> Result<ArrayRef> {
        let nulls = Some(NullBuffer::from(self.is_there)).filter(|nulls| nulls.null_count() > 0);
        let values = PrimitiveArray::<T>::new(Buffer::from(self.values).into(), None);
        let size = i32::try_from(self.dim).map_err(|_| Error::internal("too many components"))?;
        FixedSizeListArray::try_new(item(self.element), size, Arc::new(values), nulls)
            .map(|column| Arc::new(column) as ArrayRef)
            .map_err(|error| Error::internal(format!("a column of vectors: {error}")))
    }
}

/// Of a row in a column.
fn row_bytes(element: Element, dim: usize) -> usize {
    match element {
        Element::Binary => dim,
        Element::F32 | Element::F16 | Element::Int8 | Element::Uint8 => element.row_bytes(dim),
    }
}

/// A column of these vectors.
#[cfg(test)]
pub fn of(element: Element, dim: usize, vectors: &[Option<&[f32]>]) -> ArrayRef {
    let mut column = Vectors::new(element, dim, vectors.len());
    for (row, vector) in vectors.iter().enumerate() {
        if let Some(vector) = vector {
            column.push(row, PassingVector::Components(vector)).unwrap();
        }
    }
    column.finish(vectors.len()).unwrap()
}

#[cfg(test)]
mod tests {
    use arrow_array::{LargeListArray, ListArray};

    use super::*;

    #[test]
    fn vectors_of_every_element_come_back() {
        let vectors = [Some(vec![0.0, 1.0]), None, Some(vec![1.0, 1.0]), None];
        for element in [Element::F32, Element::F16, Element::Int8, Element::Uint8, Element::Binary] {
            let column = of(element, 2, &vectors.each_ref().map(Option::as_deref));
            assert_eq!(column.data_type(), &kind(element, 2));
            let found = super::column("v", column.data_type()).unwrap();
            assert_eq!((found.dim, found.note("v")), (Some(2), None));
            assert_eq!(read("v", &column).unwrap(), vectors);
            assert_eq!(read("v", &column.slice(1, 2)).unwrap(), vectors[1..3]);
        }
    }

    #[test]
    fn lists_and_components_of_other_types_are_read_as_float32() {
        let some = vec![Some(vec![Some(1.5), Some(-2.0)]), None, Some(vec![Some(3.0), Some(4.0)])];
        let wanted = [Some(vec![1.5, -2.0]), None, Some(vec![3.0, 4.0])];
        let doubles = ListArray::from_iter_primitive::<Float64Type, _, _>(some.clone());
        let large = LargeListArray::from_iter_primitive::<Float64Type, _, _>(some.clone());
        let fixed = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(some, 2);
        for array in [Arc::new(doubles) as ArrayRef, Arc::new(large), Arc::new(fixed)] {
            assert_eq!(read("v", &array).unwrap(), wanted);
            assert_eq!(read("v", &array.slice(1, 2)).unwrap(), wanted[1..]);
            let note = column("v", array.data_type()).unwrap().note("v").unwrap();
            assert!(note.contains("Float64 are read as float32"), "{note}");
        }
        let whole = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(7), Some(-8)])]);
        assert_eq!(read("v", &(Arc::new(whole) as ArrayRef)).unwrap(), [Some(vec![7.0, -8.0])]);
        let lacking = ListArray::from_iter_primitive::<Float32Type, _, _>([Some([Some(7.0), None])]);
        assert!(read("v", &(Arc::new(lacking) as ArrayRef)).unwrap_err().message.contains("lacks a component"));
    }

    #[test]
    fn what_holds_no_vectors_is_refused_with_the_remedy() {
        let of = |item| DataType::FixedSizeList(Arc::new(Field::new("item", item, true)), 4);
        assert!(column("v", &of(DataType::Utf8)).unwrap_err().message.contains("give floating-point or whole numbers"));
        assert!(column("v", &DataType::Utf8).unwrap_err().message.contains("vectors are lists of numbers"));
    }
}
