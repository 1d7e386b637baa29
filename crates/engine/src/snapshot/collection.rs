//! A collection as it was.

use std::sync::Arc;

use nuthatch_store::{Reader, Shard};

use crate::Result;
use crate::call::Call;
use crate::collection::meta::{self, COUNTERS, Counters, Meta, meta_key};
use crate::collection::{Answer, Core, Page, Place, Scan, Search, Visitor, Wanted, at_once};
use crate::files::FileInfo;
use crate::record::StoredRecord;
use crate::snapshot::View;

/// A collection of a [`crate::Snapshot`].
#[derive(Clone)]
pub struct SnapshotCollection {
    pub(crate) view: Arc<View>,
    pub(crate) name: String,
    pub(crate) call: Call,
}

impl SnapshotCollection {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records by id, in the order of the ids; `None` for those that were not there.
    pub fn get<I: AsRef<str>>(&self, ids: &[I], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
        self.with(|core, place| core.get(place.reader, ids, vectors))
    }

    /// Number of records, or of those whose payload passes the filter.
    pub fn count(&self, filter: Option<&str>) -> Result<u64> {
        self.with(|core, place| match filter {
            None => Ok(counters(place.reader, core.shard)?.rows),
            Some(filter) => core.count_matching(place, &nuthatch_filter::parse(filter)?),
        })
    }

    /// One page of a listing.
    pub fn scan(&self, scan: &Scan) -> Result<Page> {
        self.with(|core, place| core.page(place.reader, scan))
    }

    /// Shows one page of a listing, and gives where to go on; `None` at the end.
    pub fn visit(&self, scan: &Scan, wanted: &Wanted, visitor: &mut dyn Visitor) -> Result<Option<String>> {
        self.with(|core, place| core.visit(place.reader, &core.fields(), scan, wanted, visitor))
    }

    /// Finds the best `limit` records, as [`crate::Collection::search`].
    pub fn search(&self, search: &Search) -> Result<Answer> {
        self.with(|core, place| core.search(place, search, &self.call))
    }

    /// Several searches at once, as [`crate::Collection::search_many`].
    pub fn search_many(&self, searches: &[Search]) -> Result<Vec<Answer>> {
        at_once(searches, |search| self.search(search))
    }

    /// Files that had been added at or below `prefix` (all with ""), by path.
    pub fn files(&self, prefix: &str) -> Result<Vec<FileInfo>> {
        self.with(|core, place| core.files(place.reader, prefix))
    }

    pub(crate) fn shard(&self) -> Result<Shard> {
        self.with(|core, _| Ok(core.shard))
    }

    fn with<T>(&self, ask: impl FnOnce(&Arc<Core>, Place<'_>) -> Result<T>) -> Result<T> {
        self.view.with(|held| {
            let pinned = self.view.pinned(held, &self.name)?;
            ask(&pinned.core, Place { state: &pinned.state, reader: &held.store })
        })
    }
}

/// The id of a collection and its last change.
pub(crate) fn stored(reader: &dyn Reader, tenant: u32, name: &str) -> Result<Option<(u32, u64)>> {
    let Some(meta) = meta::read::<Meta>(reader, &meta_key(tenant, name))? else { return Ok(None) };
    let shard = Shard { tenant, collection: meta.id };
    Ok(Some((meta.id, counters(reader, shard)?.sequence)))
}

fn counters(reader: &dyn Reader, shard: Shard) -> Result<Counters> {
    Ok(meta::read(reader, &shard.key(COUNTERS))?.unwrap_or_default())
}
