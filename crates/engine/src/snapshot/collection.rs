//! A collection as it was.

use std::sync::Arc;

use nuthatch_store::{Reader, Shard};

use crate::Result;
use crate::call::{Call, Watched};
use crate::collection::{Answer, CollectionInfo, Core, ReadSource, Scan, Search, Visitor, Wanted};
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, meta_key};
use crate::snapshot::View;

/// A collection of a [`crate::Snapshot`].
#[derive(Clone)]
pub struct SnapshotCollection {
    pub(crate) view: Arc<View>,
    pub(crate) name: String,
    pub(crate) call: Call,
}

impl SnapshotCollection {
    /// The name within its tenant.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Shows one page of a listing, and gives where to go on; `None` at the end.
    pub fn visit(&self, scan: &Scan, wanted: &Wanted, visitor: &mut dyn Visitor) -> Result<Option<String>> {
        self.with(|core, place| core.visit(place, &core.fields(), scan, wanted, visitor))
    }

    /// Finds the best `limit` records, as [`crate::Collection::search`].
    pub fn search(&self, search: &Search) -> Result<Answer> {
        self.with(|core, place| core.search(place, search, &self.call))
    }

    /// Describes the collection as it was. Segments, vector graphs, fresh rows and degradation are those of the indexes
    /// that answer for the snapshot; builds under way are those of now.
    pub fn info(&self) -> Result<CollectionInfo> {
        self.with(|core, place| core.info_at(place))
    }

    /// Where its rows lie.
    pub fn shard(&self) -> Result<Shard> {
        self.with(|core, _| Ok(core.shard))
    }

    pub(crate) fn with<T>(&self, ask: impl FnOnce(&Arc<Core>, ReadSource<'_>) -> Result<T>) -> Result<T> {
        self.view.with(|held| {
            let pinned = self.view.pinned(held, &self.name)?;
            let waits = self.call.waits();
            let reader = Watched::new(&held.store, waits);
            ask(&pinned.core, ReadSource { state: &pinned.state, reader: &reader, waits })
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
