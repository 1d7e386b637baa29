//! The object that a handle refers to, found by its name and identified by its id.

use nuthatch_engine::collection::Collection;
use nuthatch_engine::database::Database;
use nuthatch_engine::kv::{Keyspace, Kind};
use nuthatch_engine::tree::TREES;
use nuthatch_engine::{Error, ErrorKind, Result, What};

use crate::request::ObjectRef;

/// The collection that a handle means, unless it was dropped.
pub(crate) fn collection(db: &Database, place: &ObjectRef) -> Result<Collection> {
    let found = if place.name == TREES { db.passages_of_trees() } else { db.existing_collection(&place.name) };
    the_same(What::Collection, place, found, Collection::id)
}

/// The keyspace or graph that a handle means, unless it was dropped.
pub(crate) fn keyspace(db: &Database, place: &ObjectRef, kind: Kind) -> Result<Keyspace> {
    the_same(kind.what(), place, db.keyspace(&place.name, kind, true), Keyspace::id)
}

/// The object found under a handle's name, unless the handle's own was dropped since.
fn the_same<T>(what: What, place: &ObjectRef, found: Result<T>, id: impl FnOnce(&T) -> u32) -> Result<T> {
    let dropped = || Error::dropped(what, &place.name);
    match found {
        Ok(found) if id(&found) == place.id => Ok(found),
        Err(error) if error.kind != ErrorKind::NotFound => Err(error),
        Ok(_) | Err(_) => Err(dropped()),
    }
}
