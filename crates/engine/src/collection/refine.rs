//! What a search wants besides the best rows: what is told with them, and which of them are hits.
//!
//! **Useful for** whoever adds such a wish: its field and what it does stand here, and [`Search`] carries it.
//! **Not for** finding and ranking.
//!
//! [`Search`]: crate::collection::Search

use nuthatch_filter::Schema;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::collection::values::{self, FieldValues};
use crate::collection::{Core, ReadSource, Search};

/// Values of each field that a search tells.
const FACET_VALUES: usize = 10;

/// Everything is left out at first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Refine {
    /// Fields whose values are counted among all records that pass the filter, hits or not.
    pub facets: Vec<String>,
}

impl Refine {
    /// # Errors
    /// `Invalid` for fields that the collection never had.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        match self.facets.is_empty() {
            true => Ok(()),
            false => values::check(&self.facets, schema),
        }
    }
}

impl Core {
    /// What is told with the hits.
    pub(crate) fn facets_of(&self, place: ReadSource<'_>, search: &Search) -> Result<Vec<FieldValues>> {
        match &search.refine.facets[..] {
            [] => Ok(Vec::new()),
            fields => self.count_values(place, fields, search.filter.as_ref(), FACET_VALUES),
        }
    }
}
