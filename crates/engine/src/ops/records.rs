//! Operations on the records of a collection, except searches.

use std::time::Duration;

use nuthatch_filter::FieldChange;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::collection::{
    CollectionInfo, Deleted, FieldValues, Include, Mode, Page, RecordChange, Scan, Search, Upserted,
};
use crate::database::Database;
use crate::ops::{Op, Records, Repeat, Scope, View, on};
use crate::record::{Record, StoredRecord};

/// Records by id, in the order of the ids; `None` for those that are not there.
#[derive(Serialize, Deserialize)]
pub struct Get {
    /// The records' ids.
    pub ids: Vec<String>,
    /// Whether the records come with their vectors.
    pub vectors: bool,
}

impl Op for Get {
    type On = on::Records;
    type Answer = Vec<Option<StoredRecord>>;
    const NAME: &'static str = "records.get";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.records()?.read(|core, place| core.get(place, &self.ids, self.vectors))
    }
}

/// How many records there are, or how many pass a condition.
#[derive(Serialize, Deserialize)]
pub struct Count(pub Option<String>);

impl Op for Count {
    type On = on::Records;
    type Answer = u64;
    const NAME: &'static str = "records.count";

    fn run(self, view: &View<'_>) -> Result<u64> {
        view.records()?.ask(|core, place| match &self.0 {
            None => core.count(place),
            Some(condition) => core.count_matching(place, &nuthatch_filter::parse(condition)?),
        })
    }
}

/// How many records hold each value of some fields, of those that pass a condition.
#[derive(Serialize, Deserialize)]
pub struct Facets {
    /// Paths in the payload.
    pub fields: Vec<String>,
    /// A condition in the `where` language; without one, every record counts.
    pub filter: Option<String>,
    /// Values of each field.
    pub limit: usize,
}

impl Op for Facets {
    type On = on::Records;
    type Answer = Vec<FieldValues>;
    const NAME: &'static str = "records.facets";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.records()?.count_values(&self.fields, self.filter.as_deref(), self.limit)
    }
}

/// Pairs of records whose vectors are nearly the same, page by page of the records. Nothing is done with them.
#[derive(Serialize, Deserialize)]
pub struct Duplicates {
    /// The cosine from which on two records are a pair.
    pub threshold: f64,
    /// Nearest records that are compared with each.
    pub neighbors: usize,
    /// Records of one page, 1 to 1,000.
    pub limit: usize,
    /// Only records that pass this condition, on both sides.
    pub filter: Option<String>,
    /// Continue after the page that gave this cursor.
    pub cursor: Option<String>,
}

/// Two records, the one with the lower id first, and the cosine of their vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicatePair {
    /// The lower id.
    pub first: String,
    /// The other one.
    pub second: String,
    /// From the threshold to 1.
    pub similarity: f64,
}

/// Pairs by their ids. A pair may come on two pages, once for each of its records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DuplicatePage {
    /// Each pair once.
    pub pairs: Vec<DuplicatePair>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

impl Op for Duplicates {
    type On = on::Records;
    type Answer = DuplicatePage;
    const NAME: &'static str = "records.duplicates";

    fn run(self, view: &View<'_>) -> Result<DuplicatePage> {
        let parsed = self.filter.as_deref().map(nuthatch_filter::parse).transpose()?;
        let scan = Scan { cursor: self.cursor, limit: self.limit, filter: parsed.clone(), vectors: true };
        let page = scan.run(view)?;
        let mut pairs: Vec<DuplicatePair> = Vec::new();
        for record in &page.records {
            let Some(vector) = &record.vector else { continue };
            let search = Search {
                mode: Some(Mode::Vector),
                filter: parsed.clone(),
                limit: self.neighbors,
                include: Include { text: false, payload: false, vector: false },
                ..Search::like(&record.id)
            };
            let near: Vec<String> = search.run(view)?.hits.into_iter().map(|hit| hit.id).collect();
            for other in (Get { ids: near, vectors: true }).run(view)?.into_iter().flatten() {
                let similarity = other.vector.as_deref().map_or(0.0, |other| cosine(vector, other));
                if similarity >= self.threshold && other.id != record.id {
                    let (first, second) = match record.id < other.id {
                        true => (record.id.clone(), other.id),
                        false => (other.id, record.id.clone()),
                    };
                    pairs.push(DuplicatePair { first, second, similarity });
                }
            }
        }
        pairs.sort_by(|one, other| (&one.first, &one.second).cmp(&(&other.first, &other.second)));
        pairs.dedup_by(|next, kept| (&next.first, &next.second) == (&kept.first, &kept.second));
        Ok(DuplicatePage { pairs, cursor: page.cursor })
    }
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot =
        |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    if lengths > 0.0 { (dot(one, other) / lengths).min(1.0) } else { 0.0 }
}

impl Op for Scan {
    type On = on::Records;
    type Answer = Page;
    const NAME: &'static str = "records.scan";

    fn run(self, view: &View<'_>) -> Result<Page> {
        view.records()?.read(|core, place| core.page(place, &self))
    }
}

/// The description of a collection and its contents.
#[derive(Serialize, Deserialize)]
pub struct Info;

impl Op for Info {
    type On = on::Records;
    type Answer = CollectionInfo;
    const NAME: &'static str = "records.info";

    fn run(self, view: &View<'_>) -> Result<CollectionInfo> {
        match view.records()? {
            Records::Live(collection) => {
                collection.core.check_open()?;
                Ok(collection.info())
            }
            Records::At(kept) => kept.info(),
        }
    }
}

/// Inserts records, replacing those with the same id.
#[derive(Serialize, Deserialize)]
pub struct Upsert(pub Vec<Record>);

impl Op for Upsert {
    type On = on::Records;
    type Answer = Upserted;
    const NAME: &'static str = "records.upsert";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<Upserted> {
        view.collection()?.upsert(self.0)
    }

    fn again(self, _: &Database, Outcome { inserted, replaced, .. }: Outcome) -> Result<Upserted> {
        Ok(Upserted { inserted, replaced })
    }
}

/// Changes fields of records by id; unknown ones are passed over.
#[derive(Serialize, Deserialize)]
pub struct Update(pub Vec<RecordChange>);

impl Op for Update {
    type On = on::Records;
    /// How many records changed.
    type Answer = u64;
    const NAME: &'static str = "records.update";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        view.collection()?.update(&self.0)
    }

    fn again(self, _: &Database, Outcome { replaced, .. }: Outcome) -> Result<u64> {
        Ok(replaced)
    }
}

/// Changes fields of the records that pass a condition, in as many batches as that takes.
#[derive(Serialize, Deserialize)]
pub struct UpdateWhere {
    /// A condition in the `where` language.
    pub filter: String,
    /// The change to the records' fields.
    #[serde(with = "crate::codec::change")]
    pub change: FieldChange,
}

impl Op for UpdateWhere {
    type On = on::Records;
    /// How many records changed.
    type Answer = u64;
    const NAME: &'static str = "records.update_where";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let collection = view.collection()?;
        let updated = collection.update_where(&self.filter, &self.change)?;
        Ok(collection.call.before().replaced + updated)
    }
}

/// Deletes records by id; unknown ones are passed over.
#[derive(Serialize, Deserialize)]
pub struct Delete(pub Vec<String>);

impl Op for Delete {
    type On = on::Records;
    type Answer = Deleted;
    const NAME: &'static str = "records.delete";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<Deleted> {
        view.collection()?.delete(&self.0)
    }

    fn again(self, _: &Database, Outcome { deleted, .. }: Outcome) -> Result<Deleted> {
        Ok(Deleted { deleted })
    }
}

/// Deletes the records that pass a condition, in as many batches as that takes.
#[derive(Serialize, Deserialize)]
pub struct DeleteWhere(pub String);

impl Op for DeleteWhere {
    type On = on::Records;
    type Answer = Deleted;
    const NAME: &'static str = "records.delete_where";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<Deleted> {
        let collection = view.collection()?;
        let Deleted { deleted } = collection.delete_where(&self.0)?;
        Ok(Deleted { deleted: collection.call.before().deleted + deleted })
    }
}

/// Deletes the records whose ids begin so, in as many batches as that takes.
#[derive(Serialize, Deserialize)]
pub struct DeletePrefix(pub String);

impl Op for DeletePrefix {
    type On = on::Records;
    type Answer = Deleted;
    const NAME: &'static str = "records.delete_prefix";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<Deleted> {
        let collection = view.collection()?;
        let Deleted { deleted } = collection.delete_prefix(&self.0)?;
        Ok(Deleted { deleted: collection.call.before().deleted + deleted })
    }
}

/// Merges segments, for as long as this at most. True when nothing is left to merge.
#[derive(Serialize, Deserialize)]
pub struct Optimize(pub Option<Duration>);

impl Op for Optimize {
    type On = on::Records;
    type Answer = bool;
    const NAME: &'static str = "records.optimize";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.collection()?.optimize(self.0)
    }
}

/// Waits until every record has the vector that it is to have, for as long as this at most. True when it has.
#[derive(Serialize, Deserialize)]
pub struct WaitUntilEmbedded(pub Option<Duration>);

impl Op for WaitUntilEmbedded {
    type On = on::Records;
    type Answer = bool;
    const NAME: &'static str = "records.wait_until_embedded";

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.collection()?.wait_until_embedded(self.0)
    }
}

/// Waits until everything is indexed, for as long as this at most. True when it is.
#[derive(Serialize, Deserialize)]
pub struct WaitUntilIndexed(pub Option<Duration>);

impl Op for WaitUntilIndexed {
    type On = on::Records;
    type Answer = bool;
    const NAME: &'static str = "records.wait_until_indexed";
    const SCOPE: Scope = Scope::Write; // who waits is who wrote

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.collection()?.wait_until_indexed(self.0)
    }
}
