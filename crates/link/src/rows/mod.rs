//! Asking keyspaces and graphs: as they are now, as a snapshot has them, or as a transaction sees them.

mod within;

use std::sync::Arc;

use nuthatch_engine::codec::Bytes;
use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::{Entry, KeyPage, KeyScan, Keyspace as LocalKeyspace, Kind, Rows};
use nuthatch_engine::ops::{self, Op, View, keys};
use nuthatch_engine::snapshot::SnapshotKeyspace as LocalKept;
use nuthatch_engine::{EmbedderChoice, Result};

use crate::find;
use crate::remote::Remote;
use crate::request::{self, ObjectRef};
use crate::route::Route;
use crate::side::{Anchor, Side};

pub(crate) use within::Within;

#[derive(Clone)]
pub(crate) enum From<'t> {
    Now(Arc<Inner>),
    Then(SnapshotRows),
    Within(Arc<Within<'t>>),
}

/// State shared by all handles on a live keyspace or graph.
pub(crate) struct Inner {
    anchor: Anchor<LocalKeyspace>,
    kind: Kind,
}

/// A keyspace or graph of a snapshot.
#[derive(Clone)]
pub(crate) enum SnapshotRows {
    Here(LocalKept),
    There { remote: Remote, name: String, kind: Kind },
}

impl From<'_> {
    pub fn name(&self) -> &str {
        match self {
            Self::Now(inner) => inner.name(),
            Self::Then(SnapshotRows::Here(local)) => local.name(),
            Self::Then(SnapshotRows::There { name, .. }) => name,
            Self::Within(rows) => &rows.name,
        }
    }

    pub fn ask<O: Op>(&self, op: O) -> Result<O::Answer> {
        match self {
            Self::Now(inner) => inner.ask(op, Durability::default()),
            Self::Then(kept) => kept.ask(op),
            Self::Within(rows) => op.run(&View::Keys(ops::Keys::At(&**rows))),
        }
    }
}

impl Inner {
    pub fn held(link: Route, local: LocalKeyspace) -> Self {
        let place = ObjectRef { name: local.name().to_string(), id: local.id() };
        Self { kind: local.kind(), anchor: Anchor::held(link, place, local) }
    }

    pub fn served(link: Route, name: &str, kind: Kind, id: u32) -> Self {
        Self { kind, anchor: Anchor::served(link, ObjectRef { name: name.to_string(), id }) }
    }

    pub fn name(&self) -> &str {
        &self.anchor.place.name
    }

    pub fn ask<O: Op>(&self, op: O, durability: Durability) -> Result<O::Answer> {
        let place = &self.anchor.place;
        let hand = |local: &LocalKeyspace| local.with_durability(durability);
        match self.anchor.side(hand, |db| find::keyspace(db, place, self.kind))? {
            Side::Here(local) => op.run(&View::Keys(ops::Keys::Live(&local))),
            Side::There(link) => {
                let of = request::Of::Keys { place: place.clone(), kind: self.kind, durability };
                link.ask(of, &EmbedderChoice::None, &op)
            }
        }
    }
}

impl SnapshotRows {
    pub fn ask<O: Op>(&self, op: O) -> Result<O::Answer> {
        match self {
            Self::Here(local) => op.run(&View::Keys(ops::Keys::At(local))),
            Self::There { remote, name, kind } => {
                remote.ask(request::SnapshotPart::Keys(name.clone(), *kind), &EmbedderChoice::None, &op)
            }
        }
    }
}

impl SnapshotRows {
    /// The time in the process that keeps it.
    pub fn clock_ms(&self) -> u64 {
        match self {
            Self::Here(local) => local.clock_ms(),
            Self::There { remote, .. } => remote.link.now_ms(),
        }
    }
}

impl Rows for SnapshotRows {
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>> {
        self.ask(keys::Entries(keys.iter().cloned().map(Bytes).collect()))
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.ask(scan.clone())
    }

    fn now_ms(&self) -> u64 {
        match self {
            Self::Here(local) => local.now_ms(),
            Self::There { remote, .. } => remote.taken_at_ms(),
        }
    }

    fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        self.ask(keys::CountEstimate(prefix.into()))
    }
}
