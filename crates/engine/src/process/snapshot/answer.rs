//! Answering what another process asks of a snapshot that it has taken here.

use crate::codec::Bytes;
use crate::process::answer::Answering;
use crate::process::request::Encoded;
use crate::process::snapshot::request::{KeptCall, KeptKvCall, ShardAsk, SnapshotCall};
use crate::process::wire::SearchAsk;
use crate::snapshot::{Snapshot, SnapshotCollection, SnapshotKeyspace};
use crate::{EmbedderChoice, Error, ErrorKind, Result};

pub(crate) fn answer(answering: &mut Answering<'_>, id: u128, call: SnapshotCall) -> Result<Encoded> {
    match call {
        SnapshotCall::Take => match &mut answering.tethered {
            Some(tethered) => {
                tethered.take(id, answering.db)?;
                Encoded::of(&true)
            }
            None => Encoded::of(&false),
        },
        SnapshotCall::Collection(name) => {
            let collection = find(answering, id)?.collection(&name)?;
            Encoded::of(&Some(ShardAsk::from(collection.shard()?)))
        }
        SnapshotCall::Keyspace { name, kind, make } => {
            let kept = find(answering, id)?;
            if make {
                answering.db.keyspace(&name, kind, false)?;
            }
            let keyspace = kept.keyspace(&name, kind)?;
            Encoded::of(&keyspace.space.map(|space| ShardAsk::from(space.shard)))
        }
        SnapshotCall::In { collection, embedder, call } => {
            let asked = answering.call(answering.embedder(&embedder));
            let collection = find(answering, id)?.on_behalf_of(&asked).collection(&collection)?;
            in_collection(&collection, call)
        }
        SnapshotCall::InKeyspace { keyspace, kind, call } => {
            in_keyspace(&find(answering, id)?.keyspace(&keyspace, kind)?, call)
        }
        SnapshotCall::Commit { reads, batch } => match answering.repeated() {
            Some(_) => answering.once_more(&()),
            None => {
                let kept = find(answering, id)?;
                let reads = reads.reads()?;
                let kept = kept.on_behalf_of(&answering.call(EmbedderChoice::Auto));
                Encoded::of(&kept.commit(&reads, *batch)?)
            }
        },
    }
}

fn in_collection(collection: &SnapshotCollection, call: KeptCall) -> Result<Encoded> {
    match call {
        KeptCall::Get { ids, vectors } => Encoded::of(&collection.get(&ids, vectors)?),
        KeptCall::Count(filter) => Encoded::of(&collection.count(filter.as_deref())?),
        KeptCall::Scan(scan) => Encoded::of(&collection.scan(&scan.scan()?)?),
        KeptCall::Search(search) => Encoded::of(&collection.search(&search.search()?)?),
        KeptCall::SearchMany(searches) => Encoded::of(&collection.search_many(&SearchAsk::all(searches)?)?),
        KeptCall::Files(prefix) => Encoded::of(&collection.files(&prefix)?),
    }
}

fn in_keyspace(keyspace: &SnapshotKeyspace, call: KeptKvCall) -> Result<Encoded> {
    match call {
        KeptKvCall::MultiGet(keys) => {
            let values: Vec<_> = keyspace.multi_get(&keys)?.into_iter().map(|value| value.map(Bytes)).collect();
            Encoded::of(&values)
        }
        KeptKvCall::Scan(scan) => Encoded::of(&keyspace.scan(&scan)?),
        KeptKvCall::Entries(keys) => Encoded::of(&keyspace.entries(&keys)?),
    }
}

/// Numbers are never used again, so one that is not known here was taken of a holder that has gone.
fn find(answering: &Answering<'_>, id: u128) -> Result<Snapshot> {
    let found = answering.tethered.as_ref().and_then(|tethered| tethered.kept().get(id));
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::Conflict,
            "the process that held the folder has gone, and with it this snapshot or transaction; begin another one",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::call::Receipt;
    use crate::database::Database;
    use crate::process::answer::Brought;
    use crate::process::limits::Limits;
    use crate::process::meanwhile::Meanwhile;
    use crate::process::request::Request;
    use crate::process::snapshot::request::ReadsAsk;
    use crate::process::snapshot::{Kept, Tethered};
    use crate::transaction::{Reads, WriteBatch};
    use crate::{KeyScan, KvOp, Options};

    /// Asks as a lane does: of the holder that has its snapshots, or of one that has come after that.
    fn ask(db: &Database, tethered: Option<&mut Tethered>, number: u64, call: SnapshotCall) -> Result<Encoded> {
        let receipt = Receipt::read(&*db.inner.shared.store()?, "lane")?;
        let limits = Limits::default();
        let mut answering = Answering {
            db,
            turn: Some(("lane", number)),
            receipt,
            brought: Brought::Here(&EmbedderChoice::None),
            cancel: None,
            known: &mut Default::default(),
            tethered,
            listener: &mut Meanwhile::new(&EmbedderChoice::None, &limits),
        };
        answering.answer(Request::Snapshot { id: 7, call })
    }

    #[test]
    fn a_commit_that_is_asked_of_the_next_holder_is_done_once_or_conflicts() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let accounts = db.kv("accounts").unwrap();
        let shard = accounts.space.shard;
        let commit = |value: &str| {
            let mut reads = Reads::default();
            reads.key(nuthatch_store::Table::Kv, shard.key(b"a"));
            let mut batch = WriteBatch::new();
            batch.put("accounts", "a", value);
            SnapshotCall::Commit { reads: ReadsAsk::from(&reads), batch: Box::new(batch) }
        };
        let mut tethered = Tethered::of(Arc::<Kept>::default());
        ask(&db, Some(&mut tethered), 1, SnapshotCall::Take).unwrap();
        ask(&db, Some(&mut tethered), 2, commit("first")).unwrap();
        let op = KvOp::Put { key: b"a".to_vec(), value: b"by another".to_vec(), expires_in: None };
        accounts.multi_put(vec![op]).unwrap();
        ask(&db, None, 2, commit("first")).unwrap();
        assert_eq!(accounts.get("a").unwrap().unwrap(), b"by another", "done once");
        for holder in [Some(&mut tethered), None] {
            let error = ask(&db, holder, 3, commit("second")).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
        }
        assert_eq!(accounts.scan(&KeyScan::default()).unwrap().entries, [(b"a".to_vec(), b"by another".to_vec())]);
    }
}
