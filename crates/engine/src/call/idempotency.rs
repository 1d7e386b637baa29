//! Exactly once: what a served process wrote last is stored in the same batch as the write itself.
//!
//! A process that is served has **sessions**. A session does one request at a time and numbers them. When the holder dies between a
//! write and its answer, the session asks the next holder again with the same number, and the idempotency record says whether the write
//! happened, and what its answer was. One idempotency record a session is enough, and the next write replaces it.

use std::ops::ControlFlow;
use std::time::Duration;

use nuthatch_store::{Batch, Direction, Store, Table};
use serde::{Deserialize, Serialize};

use crate::call::Outcome;
use crate::catalog::catalog_of;
use crate::clock::Clock;
use crate::tenant::DEFAULT;
use crate::{Error, Result};

const VERSION: u8 = 1;
const PREFIX: &[u8] = b"receipt/";
/// `0` follows `/`.
const PREFIX_END: &[u8] = b"receipt0";
/// A session asks again within seconds, or not at all; a process that died left older records behind.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The last write of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// The number that the session gave to the request.
    pub number: u64,
    /// The outcome of the request.
    pub outcome: Outcome,
    at_unix_seconds: i64,
}

impl IdempotencyRecord {
    /// Puts it into the batch that it is about.
    pub fn put(batch: &mut Batch, session: &str, number: u64, outcome: Outcome) {
        let idempotency = Self { number, outcome, at_unix_seconds: now() };
        let value = postcard::to_extend(&idempotency, vec![VERSION]).expect("numbers always encode");
        batch.put(Table::Catalog, key(session), value);
    }

    /// The last write of a session, if it is kept.
    pub fn read(store: &dyn Store, session: &str) -> Result<Option<Self>> {
        store.get(Table::Catalog, &key(session))?.as_deref().map(Self::decode).transpose()
    }

    /// Removes a session's idempotency record. Not worth a sync: an idempotency record that comes back is forgotten by age.
    pub fn forget(store: &dyn Store, session: &str) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(Table::Catalog, key(session));
        store.write(batch)?;
        Ok(())
    }

    /// Removes the idempotency records that no session will ask for.
    pub fn forget_old(store: &dyn Store) -> Result<()> {
        let before = now() - KEPT.as_secs() as i64;
        let mut batch = Batch::new();
        let (from, to) = (catalog_of(DEFAULT).key(PREFIX), catalog_of(DEFAULT).key(PREFIX_END));
        store.scan(Table::Catalog, &from, &to, Direction::Forward, &mut |key, value| {
            if Self::decode(value).is_ok_and(|idempotency| idempotency.at_unix_seconds < before) {
                batch.delete(Table::Catalog, key.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        if !batch.is_empty() {
            store.write(batch)?;
        }
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => postcard::from_bytes(rest)
                .map_err(|error| Error::internal(format!("an idempotency record cannot be decoded: {error}"))),
            _ => Err(Error::internal(
                "an idempotency record has a version that this program cannot read; use a newer Nuthatch",
            )),
        }
    }
}

fn key(session: &str) -> Vec<u8> {
    catalog_of(DEFAULT).key(&[PREFIX, session.as_bytes()].concat())
}

fn now() -> i64 {
    Clock::system().now().as_second()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::database::Database;

    #[test]
    fn idempotency_records_are_kept_until_their_session_says_goodbye() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let store = db.inner.shared.store().unwrap();
        let write = |session: &str| {
            let mut batch = nuthatch_store::Batch::new();
            IdempotencyRecord::put(&mut batch, session, 1, Outcome::default());
            store.write(batch).unwrap();
        };
        write("one");
        write("two");
        IdempotencyRecord::forget(&*store, "one").unwrap();
        IdempotencyRecord::forget_old(&*store).unwrap();
        assert!(IdempotencyRecord::read(&*store, "one").unwrap().is_none());
        assert!(IdempotencyRecord::read(&*store, "two").unwrap().is_some());
    }
}
