//! A column's description of itself: metadata of its field in the schema, which Arrow's tables carry along.
//!
//! **Useful for** writing back what was read: a search's own columns are told from a payload's fields of the same name, and JSON from
//! text. **Not for** anything that has to hold without it: pandas, for one, loses it.

use std::collections::HashMap;

use arrow_schema::Field;

/// The role of the column, where its name and type do not tell it.
const COLUMN: &str = "nuthatch.column";
/// The part of the column's values that is elsewhere, and was not read.
const LACKS: &str = "nuthatch.lacks";

/// The role of a column, where its name and type do not tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Of a search's answer and not of its records.
    Search,
    /// Each cell is JSON: the value of a payload's field.
    Json,
    /// Paths of the datetimes in the row's columns of JSON.
    Datetimes,
}

impl Mark {
    /// `None` for a column that is what its name says.
    pub fn of(field: &Field) -> Option<Self> {
        let name = field.metadata().get(COLUMN)?;
        [Self::Search, Self::Json, Self::Datetimes].into_iter().find(|mark| mark.name() == name)
    }

    /// Puts it on the field of a column.
    pub fn on(self, field: Field) -> Field {
        with(field, COLUMN, self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Json => "json",
            Self::Datetimes => "datetimes",
        }
    }
}

/// Says that a column of JSON has datetimes, and that the column that tells which they are was not read.
pub fn lacking_datetimes(field: Field) -> Field {
    with(field, LACKS, Mark::Datetimes.name())
}

/// Whether a column of JSON was read without the column that tells which of its strings are datetimes.
pub fn lacks_datetimes(field: &Field) -> bool {
    field.metadata().get(LACKS).is_some_and(|what| what == Mark::Datetimes.name())
}

fn with(field: Field, key: &str, value: &str) -> Field {
    let mut metadata: HashMap<String, String> = field.metadata().clone().into();
    metadata.insert(key.into(), value.into());
    field.with_metadata(metadata)
}
