//! Reading records: as they are now, as a snapshot has them, or as a transaction sees them.

use std::sync::Arc;

use nuthatch_engine::collection::meta::COUNTERS;
use nuthatch_engine::collection::{
    Answer, Collection as LocalCollection, CollectionInfo, CollectionOptions, Page, Scan, Search, Visitor, Wanted,
    visit,
};
use nuthatch_engine::durability::Durability;
use nuthatch_engine::files::FileInfo;
use nuthatch_engine::ops::records::{Count, Get};
use nuthatch_engine::ops::search::SearchMany;
use nuthatch_engine::ops::{self, Op, View, files, on};
use nuthatch_engine::record::StoredRecord;
use nuthatch_engine::snapshot::SnapshotCollection as LocalKept;
use nuthatch_engine::{EmbedderChoice, Result};
use nuthatch_store::{Shard, Table};
use nuthatch_vector::{Element, Metric};

use crate::find;
use crate::remote::Remote;
use crate::request;
use crate::side::{Anchor, Side};
use crate::work::Working;

/// The reads of a collection. A [`Collection`](crate::Collection), a snapshot's collection and a transaction's
/// collection all offer them.
///
/// A transaction's own writes are seen by [`get`](Self::get) only. Its searches, counts and listings show the moment
/// when it began, and conflict with any later change of the collection.
#[derive(Clone)]
pub struct Records<'t> {
    pub(crate) from: From<'t>,
}

#[derive(Clone)]
pub(crate) enum From<'t> {
    Now(Arc<Inner>),
    Then(SnapshotRecords),
    Within(&'t Working, SnapshotRecords),
}

/// State shared by all handles on a live collection.
pub(crate) struct Inner {
    pub anchor: Anchor<LocalCollection>,
    pub metric: Metric,
    pub element: Element,
    /// The caller's choice when opening it.
    pub embedder: EmbedderChoice,
}

/// A collection of a snapshot.
#[derive(Clone)]
pub(crate) enum SnapshotRecords {
    Here(LocalKept),
    There { remote: Remote, name: String, shard: Shard },
}

impl Records<'_> {
    /// The collection's name.
    pub fn name(&self) -> &str {
        match &self.from {
            From::Now(inner) => &inner.anchor.place.name,
            From::Then(kept) | From::Within(_, kept) => kept.name(),
        }
    }

    /// Records by id, in the order of the ids; `None` for those that are not there.
    pub fn get<I: AsRef<str>>(&self, ids: &[I], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
        match &self.from {
            From::Within(work, kept) => work.get(kept, &strings(ids), vectors),
            _ => self.ask(Get { ids: strings(ids), vectors }),
        }
    }

    /// Number of records, or of those whose payload passes the filter.
    pub fn count(&self, filter: Option<&str>) -> Result<u64> {
        self.ask(Count(filter.map(Into::into)))
    }

    /// Number of records.
    pub fn len(&self) -> Result<u64> {
        self.count(None)
    }

    /// True when there is no record.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// One page of a listing.
    pub fn scan(&self, scan: &Scan) -> Result<Page> {
        self.ask(scan.clone())
    }

    /// Finds the best `limit` records; returns that many whenever that many match.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, a limit of 0 or over 10,000, an unknown field in the filter; `Unavailable` when
    /// a text must be embedded and there is no embedder.
    pub fn search(&self, search: &Search) -> Result<Answer> {
        self.ask(search.clone())
    }

    /// Several searches at once, on as many threads as there are CPUs; the answers in the order of the searches. Ends soon after
    /// the first error, whose message says which search it was.
    pub fn search_many(&self, searches: &[Search]) -> Result<Vec<Answer>> {
        self.ask(SearchMany(searches.to_vec()))
    }

    /// Describes the collection and its contents. In a snapshot, as they were then; segments, vector graphs, fresh rows
    /// and anything degraded are those of the indexes that answer for the snapshot, and builds in progress are those of
    /// now.
    pub fn info(&self) -> Result<CollectionInfo> {
        self.ask(ops::records::Info)
    }

    /// Files that were added at or below `prefix` (all with ""), by path.
    pub fn files(&self, prefix: &str) -> Result<Vec<FileInfo>> {
        self.ask(files::Files(prefix.into()))
    }

    /// Shows one page of a listing to a visitor, part by part, without building records. Returns where to go on; `None`
    /// at the end. `scan.vectors` has no meaning: `wanted` selects what is shown.
    pub fn visit(&self, scan: &Scan, wanted: &Wanted, visitor: &mut dyn Visitor) -> Result<Option<String>> {
        if let From::Then(SnapshotRecords::Here(local)) = &self.from {
            return local.visit(scan, wanted, visitor);
        }
        let page = self.scan(&Scan { vectors: !wanted.vectors.is_empty(), ..scan.clone() })?;
        visit::show(page.records, wanted, visitor)?;
        Ok(page.cursor)
    }

    /// Runs any operation on records.
    pub fn ask<O: Op<On = on::Records>>(&self, op: O) -> Result<O::Answer> {
        match &self.from {
            From::Now(inner) => inner.ask(op, Durability::default()),
            From::Then(kept) => kept.ask(op),
            From::Within(work, kept) => {
                work.depend_on_collection(kept)?;
                kept.ask(op)
            }
        }
    }
}

impl Inner {
    pub fn ask<O: Op<On = on::Records>>(&self, op: O, durability: Durability) -> Result<O::Answer> {
        match self.side(durability)? {
            Side::Here(local) => op.run(&View::Records(ops::Records::Live(&local))),
            Side::There(link) => {
                let of = request::Of::Records { place: self.anchor.place.clone(), durability };
                link.ask(of, &self.embedder, &op)
            }
        }
    }

    pub fn side(&self, durability: Durability) -> Result<Side<LocalCollection>> {
        let hand = |local: &LocalCollection| local.with_durability(durability);
        self.anchor.side(hand, |db| {
            find::collection(db, &self.anchor.place)?;
            let options = CollectionOptions { embedder: self.embedder.clone(), ..Default::default() };
            db.collection(&self.anchor.place.name, options)
        })
    }
}

impl SnapshotRecords {
    pub fn name(&self) -> &str {
        match self {
            Self::Here(local) => local.name(),
            Self::There { name, .. } => name,
        }
    }

    pub fn ask<O: Op<On = on::Records>>(&self, op: O) -> Result<O::Answer> {
        match self {
            Self::Here(local) => op.run(&View::Records(ops::Records::At(local))),
            Self::There { remote, name, .. } => {
                let embedder = remote.link.here()?.given_embedder(name);
                remote.ask(request::SnapshotPart::Records(name.clone()), &embedder, &op)
            }
        }
    }

    pub fn shard(&self) -> Result<Shard> {
        match self {
            Self::Here(local) => local.shard(),
            Self::There { shard, .. } => Ok(*shard),
        }
    }
}

impl Working {
    /// Depends on the whole collection, as a search, a count or a listing does.
    // Every write to it moves its counters.
    pub(crate) fn depend_on_collection(&self, kept: &SnapshotRecords) -> Result<()> {
        let key = kept.shard()?.key(COUNTERS);
        self.with(|work| {
            work.reads.key(Table::Catalog, key);
            Ok(())
        })
    }

    /// Records with this transaction's own writes.
    fn get(&self, kept: &SnapshotRecords, ids: &[String], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
        let shard = kept.shard()?;
        let written = self.with(|work| {
            let written = |id: &String| work.batch.changed_record(kept.name(), id).cloned();
            let written: Vec<_> = ids.iter().map(written).collect();
            for id in ids {
                work.reads.key(Table::Ids, shard.key(id.as_bytes()));
            }
            Ok(written)
        })?;
        let found = kept.ask(Get { ids: ids.to_vec(), vectors })?;
        let now = written.into_iter().zip(found).map(|(written, found)| match written {
            None => found,
            Some(written) => written.map(|record| StoredRecord {
                vector: record.vector.filter(|_| vectors),
                vectors: if vectors { record.vectors } else { Default::default() },
                id: record.id,
                text: record.text,
                context: record.context,
                payload: record.payload,
            }),
        });
        Ok(now.collect())
    }
}

pub(crate) fn strings<I: AsRef<str>>(ids: &[I]) -> Vec<String> {
    ids.iter().map(|id| id.as_ref().to_string()).collect()
}
