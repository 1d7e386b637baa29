//! A collection as it was, here or in the holder.

use std::sync::Arc;

use nuthatch_store::Shard;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::collection::{Answer, Page, Scan, Search, Visitor, Wanted, visit};
use crate::files::FileInfo;
use crate::process::collection::{limits, refuse_cancelled, strings};
use crate::process::limits::Limits;
use crate::process::request::Choice;
use crate::process::snapshot::Remote;
use crate::process::snapshot::request::{KeptCall, SnapshotCall};
use crate::process::wire::{ScanAsk, SearchAsk};
use crate::record::StoredRecord;
use crate::snapshot::SnapshotCollection as LocalCollection;

/// A collection of a [`crate::Snapshot`].
#[derive(Clone)]
pub struct SnapshotCollection {
    at: At,
}

#[derive(Clone)]
enum At {
    Here(LocalCollection),
    There { remote: Arc<Remote>, name: String, shard: Shard },
}

impl SnapshotCollection {
    pub(crate) fn here(local: LocalCollection) -> Self {
        Self { at: At::Here(local) }
    }

    pub(crate) fn there(remote: Arc<Remote>, name: &str, shard: Shard) -> Self {
        Self { at: At::There { remote, name: name.into(), shard } }
    }

    pub fn name(&self) -> &str {
        match &self.at {
            At::Here(local) => local.name(),
            At::There { name, .. } => name,
        }
    }

    /// Records by id, in the order of the ids; `None` for those that were not there.
    pub fn get<I: AsRef<str>>(&self, ids: &[I], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
        self.either(|local| local.get(ids, vectors), || KeptCall::Get { ids: strings(ids), vectors })
    }

    /// Number of records, or of those whose payload passes the filter.
    pub fn count(&self, filter: Option<&str>) -> Result<u64> {
        self.either(|local| local.count(filter), || KeptCall::Count(filter.map(Into::into)))
    }

    /// One page of a listing.
    pub fn scan(&self, scan: &Scan) -> Result<Page> {
        self.either(|local| local.scan(scan), || KeptCall::Scan(ScanAsk::from(scan)))
    }

    /// Shows one page of a listing to a visitor, part by part, instead of making records of it. Gives where to go on; `None` at the
    /// end. `scan.vectors` has no meaning: `wanted` says what is shown.
    pub fn visit(&self, scan: &Scan, wanted: &Wanted, visitor: &mut dyn Visitor) -> Result<Option<String>> {
        match &self.at {
            At::Here(local) => local.visit(scan, wanted, visitor),
            At::There { .. } => {
                let page = self.scan(&Scan { vectors: !wanted.vectors.is_empty(), ..scan.clone() })?;
                visit::show(page.records, wanted, visitor)?;
                Ok(page.cursor)
            }
        }
    }

    /// Finds the best `limit` records, as [`crate::Collection::search`].
    pub fn search(&self, search: &Search) -> Result<Answer> {
        let one = std::slice::from_ref(search);
        self.either_within(one, |local| local.search(search), || KeptCall::Search(Box::new(SearchAsk::from(search))))
    }

    /// Several searches at once, as [`crate::Collection::search_many`].
    pub fn search_many(&self, searches: &[Search]) -> Result<Vec<Answer>> {
        let there = || KeptCall::SearchMany(searches.iter().map(SearchAsk::from).collect());
        self.either_within(searches, |local| local.search_many(searches), there)
    }

    /// Files that had been added at or below `prefix` (all with ""), by path.
    pub fn files(&self, prefix: &str) -> Result<Vec<FileInfo>> {
        self.either(|local| local.files(prefix), || KeptCall::Files(prefix.into()))
    }

    pub(crate) fn shard(&self) -> Result<Shard> {
        match &self.at {
            At::Here(local) => local.shard(),
            At::There { shard, .. } => Ok(*shard),
        }
    }

    fn either<T: DeserializeOwned>(
        &self,
        here: impl FnOnce(&LocalCollection) -> Result<T>,
        there: impl FnOnce() -> KeptCall,
    ) -> Result<T> {
        self.either_within(&[], here, there)
    }

    fn either_within<T: DeserializeOwned>(
        &self,
        searches: &[Search],
        here: impl FnOnce(&LocalCollection) -> Result<T>,
        there: impl FnOnce() -> KeptCall,
    ) -> Result<T> {
        match &self.at {
            At::Here(local) => here(local),
            At::There { remote, name, .. } => {
                refuse_cancelled(searches)?;
                let embedder = remote.link.here()?.given_embedder(name);
                let limits = if searches.is_empty() { Limits::default() } else { limits(searches) };
                let call =
                    SnapshotCall::In { collection: name.clone(), embedder: Choice::from(&embedder), call: there() };
                remote.ask(call, &embedder, &limits)
            }
        }
    }
}
