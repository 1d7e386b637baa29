//! Columns of vectors.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Int8Type, UInt8Type};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef};
use half::f16;
use nuthatch_engine::{Element, Error, Result};

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

/// A column of stored vectors: of the type in which they are stored, ones and zeros as bytes.
///
/// # Errors
/// `Internal` for a vector of another dimension.
pub fn write<'a>(
    element: Element,
    dim: usize,
    vectors: impl ExactSizeIterator<Item = Option<&'a [f32]>>,
) -> Result<ArrayRef> {
    match element {
        Element::F32 => column::<Float32Type>(element, dim, vectors, |into, vector| into.extend_from_slice(vector)),
        Element::F16 => column::<Float16Type>(element, dim, vectors, |into, vector| {
            into.extend(vector.iter().map(|x| f16::from_f32(*x)));
        }),
        Element::Int8 => column::<Int8Type>(element, dim, vectors, |into, vector| {
            into.extend(vector.iter().map(|x| *x as i8));
        }),
        Element::Uint8 | Element::Binary => column::<UInt8Type>(element, dim, vectors, |into, vector| {
            into.extend(vector.iter().map(|x| *x as u8));
        }),
    }
}

fn column<'a, T: ArrowPrimitiveType>(
    element: Element,
    dim: usize,
    vectors: impl ExactSizeIterator<Item = Option<&'a [f32]>>,
    extend: impl Fn(&mut Vec<T::Native>, &[f32]),
) -> Result<ArrayRef> {
    let rows = vectors.len();
    let (mut values, mut is_there) = (Vec::with_capacity(rows * dim), Vec::with_capacity(rows));
    for vector in vectors {
        is_there.push(vector.is_some());
        extend(&mut values, vector.unwrap_or_default());
        values.resize(is_there.len() * dim, T::default_value());
    }
    let nulls = Some(NullBuffer::from(is_there)).filter(|nulls| nulls.null_count() > 0);
    let values = PrimitiveArray::<T>::new(values.into(), None);
    let size = i32::try_from(dim).map_err(|_| Error::internal("too many components"))?;
    FixedSizeListArray::try_new(item(element), size, Arc::new(values), nulls)
        .map(|column| Arc::new(column) as ArrayRef)
        .map_err(|error| Error::internal(format!("a column of vectors: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_every_element_come_back() {
        let vectors = [Some(vec![0.0, 1.0]), None, Some(vec![1.0, 1.0])];
        for element in [Element::F32, Element::F16, Element::Int8, Element::Uint8, Element::Binary] {
            let column = write(element, 2, vectors.iter().map(Option::as_deref)).unwrap();
            assert_eq!(column.data_type(), &kind(element, 2));
            assert_eq!(dim("v", column.data_type()).unwrap(), 2);
            assert_eq!(read("v", &column).unwrap(), vectors);
            assert_eq!(read("v", &column.slice(1, 2)).unwrap(), vectors[1..]);
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
