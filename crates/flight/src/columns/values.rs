//! Columns of sparse vectors and of token vectors.
//!
//! A sparse vector is a struct of two lists, `indices` and `values`; token vectors are a list of vectors.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use nuthatch_link::{Error, Result, SparseVector, TokenVectors, VectorValue};

use crate::columns::strings::is_whole;
use crate::columns::vectors;

const INDICES: &str = "indices";
const VALUES: &str = "values";

fn item(kind: DataType) -> FieldRef {
    Arc::new(Field::new("item", kind, false))
}

fn of_sparse() -> Fields {
    Fields::from(vec![
        Field::new(INDICES, DataType::List(item(DataType::UInt32)), false),
        Field::new(VALUES, DataType::List(item(DataType::Float32)), false),
    ])
}

/// The type of a column of sparse vectors that is read.
pub fn sparse_kind() -> DataType {
    DataType::Struct(of_sparse())
}

/// The type of a column of token vectors that is read: 32-bit floats, whatever is stored.
pub fn tokens_kind() -> DataType {
    DataType::List(item(DataType::List(item(DataType::Float32))))
}

/// # Errors
/// `Invalid` for a type that holds no sparse vectors, with the one that does.
pub fn check_sparse(name: &str, kind: &DataType) -> Result<()> {
    let DataType::Struct(fields) = kind else { return Err(no_sparse(name, kind)) };
    let of = |name: &str| fields.iter().find(|field| field.name() == name).map(|field| field.data_type());
    match (of(INDICES), of(VALUES)) {
        (Some(DataType::List(index) | DataType::LargeList(index)), Some(values)) if fields.len() == 2 => {
            vectors::column(name, values)?;
            if is_whole(index.data_type()) { Ok(()) } else { Err(no_sparse(name, kind)) }
        }
        _ => Err(no_sparse(name, kind)),
    }
}

fn no_sparse(name: &str, kind: &DataType) -> Error {
    Error::invalid(format!(
        "column {name:?} is {kind}; sparse vectors are structs of two lists, `indices` (whole numbers) and `values` (numbers)"
    ))
}

/// # Errors
/// `Invalid` for a type that holds no token vectors, with the one that does.
pub fn check_tokens(name: &str, kind: &DataType) -> Result<()> {
    match kind {
        DataType::List(row) | DataType::LargeList(row) | DataType::FixedSizeList(row, _)
            if vectors::is_list(row.data_type()) =>
        {
            vectors::column(name, row.data_type()).map(drop)
        }
        _ => Err(Error::invalid(format!(
            "column {name:?} is {kind}; token vectors are lists of vectors, one for each token"
        ))),
    }
}

/// Sparse vectors of a column, `None` where there is none.
///
/// # Errors
/// `Invalid` for a missing number, and for weights that cannot be stored, with the row.
pub fn read_sparse(name: &str, column: &ArrayRef) -> Result<Vec<Option<VectorValue>>> {
    let parts = column.as_struct();
    let part = |of: &str| parts.column_by_name(of).ok_or_else(|| no_sparse(name, column.data_type()));
    let indices = vectors::read_whole(name, part(INDICES)?)?;
    let values = vectors::read(name, part(VALUES)?)?;
    let mut read = Vec::with_capacity(column.len());
    for (row, (indices, values)) in indices.into_iter().zip(values).enumerate() {
        let value = match (column.is_null(row), indices, values) {
            (false, Some(indices), Some(values)) => {
                let wrong =
                    |what: &dyn std::fmt::Display| Error::invalid(format!("row {row} of column {name:?}: {what}"));
                let index =
                    |index: i64| u32::try_from(index).map_err(|_| wrong(&format!("index {index} is no 32-bit number")));
                let indices = indices.into_iter().map(index).collect::<Result<Vec<u32>>>()?;
                Some(VectorValue::Sparse(SparseVector::new(indices, values).map_err(|error| wrong(&error))?))
            }
            _ => None,
        };
        read.push(value);
    }
    Ok(read)
}

/// Token vectors of a column, `None` where there is none.
///
/// # Errors
/// `Invalid` for a missing vector or component, and for vectors of different lengths, with the row.
pub fn read_tokens(name: &str, column: &ArrayRef) -> Result<Vec<Option<VectorValue>>> {
    let (rows, places) = vectors::parts(name, column)?;
    let mut rows = vectors::read(name, rows)?;
    let mut read = Vec::with_capacity(column.len());
    for (row, place) in places.into_iter().enumerate() {
        if column.is_null(row) {
            read.push(None);
            continue;
        }
        let wrong = |what: &str| Error::invalid(format!("row {row} of column {name:?}: {what}"));
        let tokens = rows[place].iter_mut().map(Option::take).collect::<Option<Vec<Vec<f32>>>>();
        let tokens = tokens.ok_or_else(|| wrong("it lacks a token vector; leave it out of the list"))?;
        let tokens = TokenVectors::of_rows(tokens).map_err(|error| wrong(&error.message))?;
        read.push(Some(VectorValue::Tokens(tokens)));
    }
    Ok(read)
}

/// A column of sparse vectors in the making.
pub struct Sparse {
    indices: ListBuilder<UInt32Builder>,
    values: ListBuilder<Float32Builder>,
    is_there: Vec<bool>,
}

impl Sparse {
    pub fn new() -> Self {
        let indices = ListBuilder::new(UInt32Builder::new()).with_field(item(DataType::UInt32));
        let values = ListBuilder::new(Float32Builder::new()).with_field(item(DataType::Float32));
        Self { indices, values, is_there: Vec::new() }
    }

    pub fn push(&mut self, row: usize, vector: &SparseVector) {
        self.fill(row);
        self.indices.values().append_slice(vector.indices());
        self.indices.append(true);
        self.values.values().append_slice(vector.values());
        self.values.append(true);
        self.is_there.push(true);
    }

    fn fill(&mut self, rows: usize) {
        while self.is_there.len() < rows {
            self.indices.append(true);
            self.values.append(true);
            self.is_there.push(false);
        }
    }

    /// # Errors
    /// `Internal` when the parts do not match.
    pub fn finish(mut self, rows: usize) -> Result<ArrayRef> {
        self.fill(rows);
        let nulls = Some(NullBuffer::from(self.is_there)).filter(|nulls| nulls.null_count() > 0);
        let columns: Vec<ArrayRef> = vec![Arc::new(self.indices.finish()), Arc::new(self.values.finish())];
        StructArray::try_new(of_sparse(), columns, nulls)
            .map(|column| Arc::new(column) as ArrayRef)
            .map_err(|error| Error::internal(format!("a column of sparse vectors: {error}")))
    }
}

/// A column of token vectors in the making.
pub struct Tokens {
    lists: ListBuilder<ListBuilder<Float32Builder>>,
    rows: usize,
}

impl Tokens {
    pub fn new() -> Self {
        let row = ListBuilder::new(Float32Builder::new()).with_field(item(DataType::Float32));
        Self { lists: ListBuilder::new(row).with_field(item(DataType::List(item(DataType::Float32)))), rows: 0 }
    }

    pub fn push(&mut self, row: usize, tokens: &TokenVectors) {
        self.fill(row);
        for vector in tokens.rows() {
            self.lists.values().values().append_slice(vector);
            self.lists.values().append(true);
        }
        self.lists.append(true);
        self.rows += 1;
    }

    fn fill(&mut self, rows: usize) {
        while self.rows < rows {
            self.lists.append(false);
            self.rows += 1;
        }
    }

    pub fn finish(mut self, rows: usize) -> ArrayRef {
        self.fill(rows);
        Arc::new(self.lists.finish())
    }
}
