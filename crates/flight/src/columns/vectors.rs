//! Columns of vectors.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Int8Type, UInt8Type};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use nuthatch_link::{Element, Error, PassingVector, Result};

/// Room that a column of vectors begins with, at most.
const ROOM_BYTES_MAX: usize = 4 << 20;

/// Whether columns of this type are vectors, unless they are of a payload's field.
pub fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_))
}

/// Components of a column's vectors.
///
/// # Errors
/// `Invalid` for a type that holds no vectors, with the one that does.
pub fn dim(name: &str, kind: &DataType) -> Result<usize> {
    let DataType::FixedSizeList(item, dim) = kind else {
        return Err(Error::invalid(format!(
            "column {name:?} is {kind}; vectors are a fixed_size_list of float32, float16, int8 or uint8"
        )));
    };
    let is_component =
        matches!(item.data_type(), DataType::Float32 | DataType::Float16 | DataType::Int8 | DataType::UInt8);
    if !is_component {
        return Err(Error::invalid(format!(
            "column {name:?} has components of {}; cast them to float32, float16, int8 or uint8",
            item.data_type()
        )));
    }
    usize::try_from(*dim).map_err(|_| Error::invalid(format!("column {name:?} has lists of {dim} components")))
}

/// Vectors of a column, `None` where there is none. Each is copied once, from the message into the record.
///
/// # Errors
/// `Invalid` for a vector with a missing component.
pub fn read(name: &str, column: &ArrayRef) -> Result<Vec<Option<Vec<f32>>>> {
    let list = column.as_fixed_size_list();
    match list.value_type() {
        DataType::Float32 => rows::<Float32Type>(name, list, |values| values.to_vec()),
        DataType::Float16 => rows::<Float16Type>(name, list, |values| values.iter().map(|x| x.to_f32()).collect()),
        DataType::Int8 => rows::<Int8Type>(name, list, |values| values.iter().map(|x| f32::from(*x)).collect()),
        DataType::UInt8 => rows::<UInt8Type>(name, list, |values| values.iter().map(|x| f32::from(*x)).collect()),
        other => Err(Error::invalid(format!("column {name:?} has components of {other}"))),
    }
}

fn rows<T: ArrowPrimitiveType>(
    name: &str,
    list: &FixedSizeListArray,
    components: impl Fn(&[T::Native]) -> Vec<f32>,
) -> Result<Vec<Option<Vec<f32>>>> {
    let (dim, values) = (list.value_length() as usize, list.values().as_primitive::<T>());
    let mut vectors = Vec::with_capacity(list.len());
    for row in 0..list.len() {
        if list.is_null(row) {
            vectors.push(None);
            continue;
        }
        let from = list.value_offset_at(row);
        if values.nulls().is_some_and(|nulls| (from..from + dim).any(|at| nulls.is_null(at))) {
            return Err(Error::invalid(format!(
                "row {row} of column {name:?} lacks a component; fill it, or leave the vector out"
            )));
        }
        vectors.push(Some(components(&values.values()[from..from + dim])));
    }
    Ok(vectors)
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
    use super::*;

    #[test]
    fn vectors_of_every_element_come_back() {
        let vectors = [Some(vec![0.0, 1.0]), None, Some(vec![1.0, 1.0]), None];
        for element in [Element::F32, Element::F16, Element::Int8, Element::Uint8, Element::Binary] {
            let column = of(element, 2, &vectors.each_ref().map(Option::as_deref));
            assert_eq!(column.data_type(), &kind(element, 2));
            assert_eq!(dim("v", column.data_type()).unwrap(), 2);
            assert_eq!(read("v", &column).unwrap(), vectors);
            assert_eq!(read("v", &column.slice(1, 2)).unwrap(), vectors[1..3]);
        }
    }

    #[test]
    fn what_holds_no_vectors_is_refused_with_the_remedy() {
        let of = |item| DataType::FixedSizeList(Arc::new(Field::new("item", item, true)), 4);
        assert!(dim("v", &of(DataType::Float64)).unwrap_err().message.contains("cast them to float32"));
        assert!(dim("v", &DataType::Utf8).unwrap_err().message.contains("fixed_size_list"));
        let list = DataType::List(Arc::new(Field::new("item", DataType::Float32, true)));
        assert!(dim("v", &list).unwrap_err().message.contains("fixed_size_list"));
    }
}
