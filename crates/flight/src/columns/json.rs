//! Cells of JSON: whole payloads and values of fields, with a list of which of their strings are datetimes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use nuthatch_link::{Error, Payload, Result, payload_with_datetimes};
use serde_json::{Map, Value as Json};

use crate::columns::PAYLOAD;
use crate::columns::strings::Strings;

/// Whether columns of this type can be paths of datetimes.
pub fn is_paths(kind: &DataType) -> bool {
    matches!(kind, DataType::List(item) | DataType::LargeList(item) if Strings::is_type(item.data_type()))
}

/// Which columns of a schema are JSON.
#[derive(Debug, Default)]
pub struct JsonColumns {
    pub payload: Option<usize>,
    /// Those of fields, with the fields' names.
    pub fields: Vec<(usize, String)>,
    pub datetimes: Option<usize>,
}

impl JsonColumns {
    /// Returns the part of a row's payload that they hold.
    ///
    /// # Errors
    /// `Invalid` for what is no JSON, a field that is there twice, and a path to no datetime.
    pub fn payload(&self, columns: &[ArrayRef], row: usize) -> Result<Payload> {
        let cell = |at: usize| Strings::of(&columns[at]).and_then(|column| column.get(row));
        let mut map = match self.payload.and_then(cell) {
            Some(json) => match serde_json::from_str(json) {
                Ok(Json::Object(map)) => map,
                Ok(_) => return Err(refused(row, PAYLOAD, "a payload has named values; write a JSON object")),
                Err(error) => return Err(refused(row, PAYLOAD, &format!("{error}; write a JSON object"))),
            },
            None => Map::new(),
        };
        for (at, name) in &self.fields {
            let Some(json) = cell(*at) else { continue };
            let value = serde_json::from_str(json).map_err(|error| {
                refused(
                    row,
                    name,
                    &format!("{error}; the column's metadata says that it is JSON: write JSON, or remove the metadata"),
                )
            })?;
            if map.insert(name.clone(), value).is_some() {
                return Err(twice(row, name));
            }
        }
        let paths = match self.datetimes {
            Some(at) => paths(&columns[at], row),
            None => Vec::new(),
        };
        payload_with_datetimes(map, &paths).map_err(|error| Error::invalid(format!("row {row} of the batch: {error}")))
    }
}

/// A field of the payload that two columns of a row have.
pub fn twice(row: usize, name: &str) -> Error {
    Error::invalid(format!(
        "row {row} of the batch has {name:?} in column \"payload\" and in its own column; leave one out"
    ))
}

fn refused(row: usize, column: &str, why: &str) -> Error {
    Error::invalid(format!("row {row} of column {column:?}: {why}"))
}

fn paths(column: &ArrayRef, row: usize) -> Vec<String> {
    if column.is_null(row) {
        return Vec::new();
    }
    let items = match column.data_type() {
        DataType::List(_) => column.as_list::<i32>().value(row),
        _ => column.as_list::<i64>().value(row),
    };
    let Some(strings) = Strings::of(&items) else { return Vec::new() };
    (0..items.len()).filter_map(|at| strings.get(at)).map(str::to_string).collect()
}
