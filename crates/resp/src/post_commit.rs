//! The work that follows a committed write: removing collections of vector sets and rows of aggregates that no key
//! names any more.
//!
//! The key goes first and the collection after it. When something comes between the two, the collection is left without a key;
//! FLUSHDB and FLUSHALL drop such ones, too.

use std::sync::Arc;

use nuthatch_link::{Durability, ErrorKind, KvOp};

use crate::failure::Outcome;
use crate::purge::purge;
use crate::tenant::{Space, Tenant};
use crate::value::{Type, Value};

#[derive(Clone, Debug)]
pub(crate) enum PostCommit {
    /// The collection of a vector set that was deleted or overwritten.
    Drop(String),
    /// A vector set that may have lost its last element.
    DropIfEmpty(Vec<u8>),
    /// A vector set that has expired, or whose collection is gone.
    Purge(Vec<u8>),
    /// Rows of aggregates that were deleted or overwritten.
    PurgeRows,
}

impl PostCommit {
    pub fn run(self, tenant: &Tenant, space: &Arc<Space>, durability: Durability, now_ms: u64) -> Outcome<()> {
        let key = match self {
            Self::Drop(name) => return tenant.drop_collection(&name),
            Self::PurgeRows => return purge(space, tenant, durability),
            Self::DropIfEmpty(key) | Self::Purge(key) => key,
        };
        // No one adds an element while this is held.
        let _alone = tenant.sets.write();
        let Some(entry) = space.keyspace.entries(&[&key])?.pop().flatten() else { return Ok(()) };
        if Type::of(&entry.value) != Type::Set {
            return Ok(());
        }
        let Value::Set(set) = Value::decode(entry.value.clone())? else { return Ok(()) };
        let expired = set.expires_at_ms.is_some_and(|at| at <= now_ms);
        let gone = match tenant.collection(&set.collection).and_then(|collection| collection.is_empty()) {
            Ok(empty) => empty || expired,
            Err(error) if error.kind == ErrorKind::NotFound => true,
            Err(error) => return Err(error.into()),
        };
        if gone && space.keyspace.with_durability(durability).write_if(Some(&entry), KvOp::Delete { key })? {
            tenant.drop_collection(&set.collection)?;
        }
        Ok(())
    }
}
