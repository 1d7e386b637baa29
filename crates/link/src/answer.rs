//! Answering one request with the local engine: for a process that is served, or for this one right after it took over.

use std::collections::HashMap;
use std::sync::Arc;

use nuthatch_embed::{EmbedError, Embedder};
use nuthatch_engine::call::{Asked, Call, Choice, IdempotencyRecord, Outcome, Waits};
use nuthatch_engine::collection::Collection;
use nuthatch_engine::database::Database;
use nuthatch_engine::embedder::{EmbedderChoice, EmbedderMeta};
use nuthatch_engine::ops::{self, Repeat, View};
use nuthatch_engine::snapshot::Snapshot;
use nuthatch_engine::{Error, ErrorKind, Result};
use nuthatch_store::Shard;

use crate::long::Listener;
use crate::request::{Ask, Encoded, ObjectRef, Of, Request, SnapshotPart};
use crate::tethered::Tethered;
use crate::{find, long_work};

/// Asks the served process to embed with its own embedder: as a question or as passages.
pub(crate) type AskCaller = dyn Fn(bool, &[&str]) -> std::result::Result<Vec<Vec<f32>>, String> + Send + Sync;

/// Whose embedder a request means.
#[derive(Clone, Copy)]
pub(crate) enum Brought<'a> {
    /// It is in the other process.
    There(&'a Arc<AskCaller>),
    /// This process is the caller's own.
    Here(&'a EmbedderChoice),
}

/// Answers the requests of one session.
pub(crate) struct Answering<'a> {
    pub db: &'a Database,
    /// Session and number; absent for a request that cannot be a repetition.
    pub request_id: Option<(&'a str, u64)>,
    /// The session's last action, if that may be this very request.
    pub idempotency: Option<IdempotencyRecord>,
    pub brought: Brought<'a>,
    /// The limits that end the request, if it only reads.
    pub waits: Waits,
    /// Collections that this session has asked before.
    pub known: &'a mut HashMap<Shard, Collection>,
    /// Snapshots that the connection has taken; absent when this process asks itself.
    pub tethered: Option<&'a mut Tethered>,
    /// Is told how far a long request is.
    pub listener: &'a mut dyn Listener,
}

impl Answering<'_> {
    pub fn answer(&mut self, request: Request) -> Result<Encoded> {
        if let Some(tenant) = &request.tenant {
            let db = self.db.tenant_at(tenant)?;
            let request = Request { tenant: None, ..request };
            return Answering {
                db: &db,
                request_id: self.request_id,
                idempotency: self.idempotency,
                brought: self.brought,
                waits: self.waits.clone(),
                known: self.known,
                tethered: self.tethered.as_deref_mut(),
                listener: self.listener,
            }
            .answer(request);
        }
        match request.ask {
            Ask::Operation { of, embedder, name, operation } => self.operate(of, &embedder, &name, &operation.0),
            Ask::Take(id) => match &mut self.tethered {
                Some(tethered) => {
                    tethered.take(id, self.db)?;
                    Encoded::of(&true)
                }
                None => Encoded::of(&false),
            },
            Ask::Long(long) => long_work::answer(self.db, self.listener, long),
        }
    }

    fn operate(&mut self, of: Of, embedder: &Choice, name: &str, operation: &[u8]) -> Result<Encoded> {
        let entry = ops::find(name)?;
        if let (Repeat::Once, Some(outcome)) = (entry.repeat, self.repeated()) {
            // It was not answered before, so its sync may not have happened.
            self.db.sync()?;
            return (entry.again)(self.db, operation, outcome).map(Encoded);
        }
        let call = self.call(self.embedder(embedder));
        let run = |view: View<'_>| (entry.run)(&view, operation).map(Encoded);
        match of {
            Of::Everything => run(View::Everything(&self.db.on_behalf_of(&call))),
            Of::Records { place, durability } => {
                let collection = self.place(&place)?.with_durability(durability).on_behalf_of(&call);
                run(View::Records(ops::Records::Live(&collection)))
            }
            Of::Keys { place, kind, durability } => {
                let keyspace = find::keyspace(self.db, &place, kind)?.with_durability(durability).on_behalf_of(&call);
                run(View::Keys(ops::Keys::Live(&keyspace)))
            }
            Of::Snapshot { id, of } => {
                let snapshot = self.snapshot(id)?.on_behalf_of(&call);
                match of {
                    SnapshotPart::Everything => run(View::ReadPoint(&snapshot)),
                    SnapshotPart::Records(name) => run(View::Records(ops::Records::At(&snapshot.collection(&name)?))),
                    SnapshotPart::Keys(name, kind) => run(View::Keys(ops::Keys::At(&snapshot.keyspace(&name, kind)?))),
                }
            }
        }
    }

    /// This request, as handles carry it.
    fn call(&self, embedder: EmbedderChoice) -> Call {
        Call::of(Asked {
            embedder,
            request: self.request_id.map(|(session, number)| (session.to_string(), number)),
            before: self.repeated().unwrap_or_default(),
            ..Asked::default()
        })
        .waiting(self.waits.clone())
    }

    /// Returns what this very request has already done under a holder that died before it answered.
    fn repeated(&self) -> Option<Outcome> {
        let (_, number) = self.request_id?;
        self.idempotency.filter(|idempotency| idempotency.number == number).map(|idempotency| idempotency.outcome)
    }

    fn place(&mut self, place: &ObjectRef) -> Result<Collection> {
        let shard = Shard { tenant: self.db.tenant_place().number, collection: place.id };
        if let Some(known) = self.known.get(&shard) {
            if !known.is_dropped() {
                return Ok(known.clone());
            }
            self.known.remove(&shard);
        }
        let found = find::collection(self.db, place)?;
        self.known.insert(shard, found.clone());
        Ok(found)
    }

    /// Numbers are never used again, so an unknown one belongs to a holder that has gone.
    fn snapshot(&self, id: u128) -> Result<Snapshot> {
        let found = self.tethered.as_ref().and_then(|tethered| tethered.get(id, self.db));
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::Conflict,
                "the process that held the folder has ended, and this snapshot or transaction with it; begin another one",
            )
        })
    }

    fn embedder(&self, choice: &Choice) -> EmbedderChoice {
        match (choice, &self.brought) {
            (Choice::Auto, _) => EmbedderChoice::Auto,
            (Choice::None, _) => EmbedderChoice::None,
            (Choice::BuiltIn(model), _) => EmbedderChoice::BuiltIn(*model),
            (Choice::Given(_), Brought::Here(choice)) => (*choice).clone(),
            (Choice::Given(meta), Brought::There(ask)) => {
                EmbedderChoice::Given(Arc::new(CallersEmbedder { meta: meta.clone(), ask: (*ask).clone() }))
            }
        }
    }
}

/// The embedder of the process that asked.
struct CallersEmbedder {
    meta: EmbedderMeta,
    ask: Arc<AskCaller>,
}

impl CallersEmbedder {
    fn ask(&self, query: bool, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = (self.ask)(query, texts).map_err(EmbedError::Elsewhere)?;
        if vectors.len() != texts.len() {
            let (name, expected, found) = (self.meta.name.clone(), texts.len(), vectors.len());
            return Err(EmbedError::WrongCount { name, expected, found });
        }
        if let Some(wrong) = vectors.iter().find(|vector| vector.len() != self.meta.dim) {
            let (name, expected, found) = (self.meta.name.clone(), self.meta.dim, wrong.len());
            return Err(EmbedError::WrongDimension { name, expected, found });
        }
        Ok(vectors)
    }
}

impl Embedder for CallersEmbedder {
    fn name(&self) -> &str {
        &self.meta.name
    }

    fn dim(&self) -> usize {
        self.meta.dim
    }

    fn fingerprint(&self) -> &str {
        &self.meta.fingerprint
    }

    fn embed_passages(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        self.ask(false, texts)
    }

    fn embed_query(&self, text: &str) -> std::result::Result<Vec<f32>, EmbedError> {
        Ok(self.ask(true, &[text])?.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;
    use crate::meanwhile::Meanwhile;
    use crate::snapshot::{KeepPolicy, KeptSnapshots};
    use nuthatch_engine::codec::Bytes;
    use nuthatch_engine::collection::{CollectionOptions, Deleted, Upserted};
    use nuthatch_engine::durability::Durability;
    use nuthatch_engine::kv::Kind;
    use nuthatch_engine::ops::read_point::{Commit, ReadsAsk};
    use nuthatch_engine::ops::{Op, collections, keys, keyspaces, records};
    use nuthatch_engine::record::Record;
    use nuthatch_engine::transaction::{Reads, WriteBatch};
    use nuthatch_engine::{KeyScan, KvOp, Options};

    fn database() -> Database {
        Database::in_memory(Options { background: false, ..Options::default() }).unwrap()
    }

    fn tethered() -> Tethered {
        Tethered::of(Arc::new(KeptSnapshots::new(KeepPolicy::of(&Options::default()))))
    }

    /// Asks as a session does that has found another holder: with what the store has stored of it.
    fn ask(db: &Database, tethered: Option<&mut Tethered>, number: u64, ask: Ask) -> Result<Encoded> {
        let idempotency = db.last_write_of("lane")?;
        let waits = Default::default();
        let mut answering = Answering {
            db,
            request_id: Some(("lane", number)),
            idempotency,
            brought: Brought::Here(&EmbedderChoice::None),
            waits: Waits::default(),
            known: &mut HashMap::new(),
            tethered,
            listener: &mut Meanwhile::new(&EmbedderChoice::None, &waits),
        };
        answering.answer(Request { tenant: None, wait: None, ask })
    }

    fn operation<O: Op>(of: Of, op: &O) -> Ask {
        let operation = Bytes(postcard::to_stdvec(op).unwrap());
        Ask::Operation { of, embedder: Choice::None, name: O::NAME.into(), operation }
    }

    fn answer<O: Op>(db: &Database, number: u64, of: &Of, op: O) -> O::Answer {
        frame::value(&ask(db, None, number, operation(of.clone(), &op)).unwrap().0).unwrap()
    }

    #[test]
    fn a_write_that_is_asked_for_again_is_answered_and_not_done_again() {
        let db = database();
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
        let everything = Of::Everything;
        let open = collections::Open { name: "notes".into(), options: (&options).into(), must_exist: false };
        let opened = answer(&db, 1, &everything, open);
        let place = ObjectRef { name: "notes".into(), id: opened.id };
        let notes = Of::Records { place, durability: Durability::Commit };
        let record = |id: &str| Record::new(id).text("words").payload([("n".to_string(), 1.into())].into());
        for _ in 0..3 {
            let upsert = records::Upsert(vec![record("a"), record("b")]);
            assert_eq!(answer(&db, 2, &notes, upsert), Upserted { inserted: 2, replaced: 0 });
        }
        assert_eq!(
            answer(&db, 3, &notes, records::Upsert(vec![record("a")])),
            Upserted { inserted: 0, replaced: 1 },
            "the next number is the next write"
        );
        for _ in 0..3 {
            assert_eq!(answer(&db, 4, &notes, records::Delete(vec!["a".into()])), Deleted { deleted: 1 });
        }
        answer(&db, 5, &notes, records::Upsert(vec![record("a")]));
        // One of several batches was written when the holder died; the answer counts it.
        for _ in 0..3 {
            assert_eq!(answer(&db, 6, &notes, records::DeleteWhere("n = 1".into())), Deleted { deleted: 2 });
        }

        let open = keyspaces::Open { name: "keys".into(), kind: Kind::Plain, must_exist: false };
        let place = ObjectRef { name: "keys".into(), id: answer(&db, 7, &everything, open) };
        let of = Of::Keys { place, kind: Kind::Plain, durability: Durability::Os };
        let key = || Bytes::from(&b"k"[..]);
        for _ in 0..3 {
            assert_eq!(answer(&db, 8, &of, keys::Increment { key: key(), by: -5 }), -5);
        }
        for _ in 0..3 {
            assert_eq!(answer(&db, 9, &of, keys::Append { key: key(), more: key() }), 3);
        }
        for _ in 0..3 {
            let expected = Some(Bytes(b"-5k".to_vec()));
            assert!(answer(&db, 10, &of, keys::CompareAndSet { key: key(), expected, new: None, expires_in: None }));
        }
        for _ in 0..3 {
            assert!(answer(&db, 11, &everything, collections::Drop("notes".into())));
        }
        assert!(!answer(&db, 12, &everything, collections::Drop("notes".into())));
    }

    #[test]
    fn a_commit_that_is_asked_of_the_next_holder_is_done_once_or_conflicts() {
        let db = database();
        let accounts = db.keyspace("accounts", Kind::Plain, false).unwrap();
        let shard = Shard { tenant: 0, collection: accounts.id() };
        let commit = |value: &str| {
            let mut reads = Reads::default();
            reads.key(nuthatch_store::Table::Kv, shard.key(b"a"));
            let mut batch = WriteBatch::new();
            batch.put("accounts", "a", value);
            let of = Of::Snapshot { id: 7, of: SnapshotPart::Everything };
            operation(of, &Commit { reads: ReadsAsk::from(&reads), batch })
        };
        let mut tethered = tethered();
        ask(&db, Some(&mut tethered), 1, Ask::Take(7)).unwrap();
        ask(&db, Some(&mut tethered), 2, commit("first")).unwrap();
        let op = KvOp::Put { key: b"a".to_vec(), value: b"by another".to_vec(), expires_in: None };
        accounts.multi_put(vec![op]).unwrap();
        ask(&db, None, 2, commit("first")).unwrap();
        let stored = || accounts.scan(&KeyScan::default()).unwrap().entries;
        assert_eq!(stored(), [(b"a".to_vec(), b"by another".to_vec())], "done once");
        for holder in [Some(&mut tethered), None] {
            let error = ask(&db, holder, 3, commit("second")).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
        }
        assert_eq!(stored(), [(b"a".to_vec(), b"by another".to_vec())]);
    }

    #[test]
    fn what_writes_is_refused_in_a_snapshot_and_what_reads_is_not() {
        let db = database();
        db.keyspace("keys", Kind::Plain, false).unwrap().increment("n", 7).unwrap();
        let mut tethered = tethered();
        ask(&db, Some(&mut tethered), 1, Ask::Take(7)).unwrap();
        let of = Of::Snapshot { id: 7, of: SnapshotPart::Keys("keys".into(), Kind::Plain) };
        let key = || Bytes::from(&b"n"[..]);
        let write = operation(of.clone(), &keys::Increment { key: key(), by: 1 });
        assert_eq!(ask(&db, Some(&mut tethered), 2, write).unwrap_err().kind, ErrorKind::Invalid);
        let read = operation(of, &keys::Contains(key()));
        let answer = ask(&db, Some(&mut tethered), 3, read).unwrap();
        assert!(frame::value::<<keys::Contains as Op>::Answer>(&answer.0).unwrap());
    }
}
