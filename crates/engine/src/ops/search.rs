//! Searches, one and many at once.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Waits;
use crate::collection::{Answer, Search, at_once};
use crate::ops::{Op, Records, View, on};

impl Op for Search {
    type On = on::Records;
    type Answer = Answer;
    const NAME: &'static str = "records.search";

    fn run(self, view: &View<'_>) -> Result<Answer> {
        search(view.records()?, &self)
    }

    fn waits(&self) -> Waits {
        Waits::of(self.time_limit, self.cancel.as_ref())
    }
}

/// Several searches, on as many threads as there are CPUs; the answers in the order of the searches.
#[derive(Serialize, Deserialize)]
pub struct SearchMany(pub Vec<Search>);

impl Op for SearchMany {
    type On = on::Records;
    type Answer = Vec<Answer>;
    const NAME: &'static str = "records.search_many";

    fn run(self, view: &View<'_>) -> Result<Vec<Answer>> {
        let records = view.records()?;
        at_once(&self.0, |one| search(records, one))
    }

    /// They run side by side, but each has its time from its own beginning.
    fn waits(&self) -> Waits {
        let time_limit = if let [one] = &self.0[..] { one.time_limit } else { None };
        Waits::of(time_limit, self.0.iter().find_map(|search| search.cancel.as_ref()))
    }
}

fn search(records: Records<'_>, search: &Search) -> Result<Answer> {
    match records {
        Records::Live(collection) => collection.search(search),
        Records::At(kept) => kept.search(search),
    }
}
