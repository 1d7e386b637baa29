//! Answering one request with the local engine: for a process that is served, or for this one right after it took over.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nuthatch_embed::{EmbedError, Embedder};
use nuthatch_store::Shard;
use serde::Serialize;

use crate::Result;
use crate::call::{Asked, Call, Done, Receipt};
use crate::collection::meta::EmbedderMeta;
use crate::collection::{Collection, CollectionOptions, Deleted, EmbedderChoice, Upserted};
use crate::database::Database;
use crate::files::Shelf;
use crate::process::long::Listener;
use crate::process::request::{self, Choice, Encoded, Opened, Place, Request};
use crate::process::snapshot::Tethered;
use crate::process::wire::SearchAsk;
use crate::process::{collection, graph, graph_answer, keyspace, keyspace_answer, long, snapshot};

/// Asks the process that is served to embed with what it brought: as a question or as passages.
pub(crate) type AskCaller = dyn Fn(bool, &[&str]) -> std::result::Result<Vec<Vec<f32>>, String> + Send + Sync;

/// Whose embedder a request means.
#[derive(Clone, Copy)]
pub(crate) enum Brought<'a> {
    /// It is in the other process.
    There(&'a Arc<AskCaller>),
    /// This process is the caller's own.
    Here(&'a EmbedderChoice),
}

/// Answers the requests of one lane.
pub(crate) struct Answering<'a> {
    pub db: &'a Database,
    /// Lane and number; absent for a request that nobody was asked before.
    pub turn: Option<(&'a str, u64)>,
    /// What the lane did last, if that may be this very request.
    pub receipt: Option<Receipt>,
    pub brought: Brought<'a>,
    /// Ends the request's searches.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Collections that this lane has asked before.
    pub known: &'a mut HashMap<Shard, Collection>,
    /// Snapshots that the connection has taken; absent when this process asks itself.
    pub tethered: Option<&'a mut Tethered>,
    /// Is told how far a long request is.
    pub listener: &'a mut dyn Listener,
}

impl Answering<'_> {
    pub fn answer(&mut self, request: Request) -> Result<Encoded> {
        match request {
            Request::Open { name, options, must_exist } => {
                let embedder = self.embedder(&options.embedder);
                let options = options.options(embedder)?;
                self.served(EmbedderChoice::Auto, |db| open(db, &name, options, must_exist))
            }
            Request::Names => Encoded::of(&self.db.collection_names()?),
            Request::Infos => Encoded::of(&self.db.collections()?),
            Request::Drop { name } => match self.repeated() {
                Some(done) => self.once_more(&(done.dropped > 0)),
                None => self.served(EmbedderChoice::Auto, |db| Encoded::of(&db.drop_collection(&name)?)),
            },
            Request::Stats => Encoded::of(&self.db.stats()?),
            Request::Doctor => Encoded::of(&self.db.doctor()?),
            Request::Reclaim(collection) => Encoded::of(&self.db.reclaim(collection.as_deref())?),
            Request::Erase { collection, what } => Encoded::of(&self.db.erase(&collection, &what)?),
            Request::Receipts => Encoded::of(&self.db.receipts()?),
            Request::OptimizeAll => Encoded::of(&self.db.optimize()?),
            Request::OpenKeyspace { name, kind, must_exist } => {
                Encoded::of(&self.db.keyspace(&name, kind, must_exist)?.space.shard.collection)
            }
            Request::Write(batch) => match self.repeated() {
                Some(_) => self.once_more(&()),
                None => self.served(EmbedderChoice::Auto, |db| Encoded::of(&db.write(*batch)?)),
            },
            Request::KeyspaceNames(kind) => Encoded::of(&self.db.names_of(kind)?),
            Request::DropKeyspace { name, kind } => match self.repeated() {
                Some(done) => self.once_more(&(done.dropped > 0)),
                None => self.served(EmbedderChoice::Auto, |db| Encoded::of(&db.drop_kind(&name, kind)?)),
            },
            Request::InKeyspace { keyspace, durability, call } => {
                let keyspace = keyspace::find(self.db, &keyspace)?.with_durability(durability);
                keyspace_answer::answer(self, &keyspace, call)
            }
            Request::InGraph { graph, durability, call } => {
                let graph = graph::find(self.db, &graph)?.with_durability(durability);
                graph_answer::answer(self, &graph, call)
            }
            Request::Limits => Encoded::of(&self.db.limits()?),
            Request::Usage => Encoded::of(&self.db.usage()?),
            Request::Of { tenant, request } => {
                let db = self.db.tenant_at(&tenant)?;
                Answering {
                    db: &db,
                    turn: self.turn,
                    receipt: self.receipt,
                    brought: self.brought,
                    cancel: self.cancel.clone(),
                    known: self.known,
                    tethered: self.tethered.as_deref_mut(),
                    listener: self.listener,
                }
                .answer(*request)
            }
            Request::CreateTenant(name) => match self.repeated() {
                Some(_) => self.once_more(&self.db.tenant(&name)?.tenant.place()),
                None => self.served(EmbedderChoice::Auto, |db| Encoded::of(&db.create_tenant(&name)?.tenant.place())),
            },
            Request::Tenant(name) => Encoded::of(&self.db.tenant(&name)?.tenant.place()),
            Request::TenantNames => Encoded::of(&self.db.tenant_names()?),
            Request::Tenants => Encoded::of(&self.db.tenants()?),
            Request::TenantInfo(name) => Encoded::of(&self.db.tenant_info(&name)?),
            Request::SetTenantLimits(name, limits) => Encoded::of(&self.db.set_tenant_limits(&name, limits)?),
            Request::DropTenant(name) => match self.repeated() {
                Some(_) => self.once_more(&self.db.receipt_of_drop(&name)?),
                None => self.served(EmbedderChoice::Auto, |db| Encoded::of(&db.drop_tenant(&name)?)),
            },
            Request::In { collection, embedder, durability, call } => {
                let embedder = self.embedder(&embedder);
                let collection = self.place(&collection)?.with_durability(durability);
                self.in_collection(&collection.on_behalf_of(&self.call(embedder)), call)
            }
            Request::Snapshot { id, call } => snapshot::answer(self, id, call),
            Request::Long(long) => long::answer(self, long),
        }
    }

    fn in_collection(&self, collection: &Collection, call: request::Call) -> Result<Encoded> {
        use request::Call;
        let before = collection.call.before();
        match (call, self.repeated()) {
            // These are one batch each: either it is there or it is not.
            (Call::Upsert(_), Some(Done { inserted, replaced, .. })) => {
                self.once_more(&Upserted { inserted, replaced })
            }
            (Call::Delete(_), Some(Done { deleted, .. })) => self.once_more(&Deleted { deleted }),
            (Call::Apply(_), Some(_)) => self.once_more(&()),
            // These are several; the rest of them is done now.
            (Call::DeleteWhere(filter), _) => {
                let Deleted { deleted } = collection.delete_where(&filter)?;
                Encoded::of(&Deleted { deleted: before.deleted + deleted })
            }
            (Call::DeletePrefix(prefix), _) => {
                let Deleted { deleted } = collection.delete_prefix(&prefix)?;
                Encoded::of(&Deleted { deleted: before.deleted + deleted })
            }
            (Call::RemoveFiles(path), _) => Encoded::of(&(before.files + collection.remove_files(&path)?)),
            (call, _) => Self::one(collection, call),
        }
    }

    fn one(collection: &Collection, call: request::Call) -> Result<Encoded> {
        use request::Call;
        match call {
            Call::Upsert(records) => Encoded::of(&collection.upsert(records)?),
            Call::Delete(ids) => Encoded::of(&collection.delete(&ids)?),
            Call::DeleteWhere(filter) => Encoded::of(&collection.delete_where(&filter)?),
            Call::DeletePrefix(prefix) => Encoded::of(&collection.delete_prefix(&prefix)?),
            Call::Get { ids, vectors } => Encoded::of(&collection.get(&ids, vectors)?),
            Call::Count(filter) => Encoded::of(&collection.count(filter.as_deref())?),
            Call::Scan(scan) => Encoded::of(&collection.scan(&scan.scan()?)?),
            Call::Search(search) => Encoded::of(&collection.search(&search.search()?)?),
            Call::SearchMany(searches) => Encoded::of(&collection.search_many(&SearchAsk::all(searches)?)?),
            Call::Info => {
                collection.core.check_open()?;
                Encoded::of(&collection.info())
            }
            Call::Len => Encoded::of(&collection.len()?),
            Call::Optimize(timeout) => Encoded::of(&collection.optimize(Some(timeout))?),
            Call::WaitUntilIndexed(timeout) => Encoded::of(&collection.wait_until_indexed(Some(timeout))?),
            Call::Files(prefix) => Encoded::of(&collection.files(&prefix)?),
            Call::RemoveFiles(path) => Encoded::of(&collection.remove_files(&path)?),
            Call::Apply(set) => {
                Shelf::apply(collection, *set)?;
                Encoded::of(&())
            }
            Call::PassageEmbedder => Encoded::of(&collection.embedder_fingerprint()?),
            Call::Embed(texts) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let embedder = collection.core.embedder_for_passages(&collection.call)?;
                Encoded::of(&embedder.map(|embedder| embedder.embed_passages(&texts)).transpose()?)
            }
            Call::VectorsOf(ids) => Encoded::of(&collection.vectors(ids)?),
            Call::FileEntry(path) => Encoded::of(&collection.entry(&path)?),
            Call::FileEntries(path) => Encoded::of(&collection.entries(&path)?),
        }
    }

    /// Asks the database on the caller's behalf.
    fn served(&self, embedder: EmbedderChoice, ask: impl FnOnce(&Database) -> Result<Encoded>) -> Result<Encoded> {
        ask(&self.db.on_behalf_of(&self.call(embedder)))
    }

    /// This request, as handles carry it.
    pub fn call(&self, embedder: EmbedderChoice) -> Call {
        Call::of(Asked {
            embedder,
            request: self.turn.map(|(lane, number)| (lane.to_string(), number)),
            before: self.repeated().unwrap_or_default(),
            cancel: self.cancel.clone(),
            ..Asked::default()
        })
    }

    /// What this very request has done already, in the hands of a holder that did not live to say so.
    pub fn repeated(&self) -> Option<Done> {
        let (_, number) = self.turn?;
        self.receipt.filter(|receipt| receipt.number == number).map(|receipt| receipt.done)
    }

    /// The answer of a write that was found done. It was not answered before, so its sync may not have happened.
    pub fn once_more(&self, answer: &impl Serialize) -> Result<Encoded> {
        self.db.inner.shared.store()?.sync_all()?;
        Encoded::of(answer)
    }

    fn place(&mut self, place: &Place) -> Result<Collection> {
        let shard = self.db.tenant.shard(place.id);
        if let Some(known) = self.known.get(&shard) {
            if !known.core.is_dropped() {
                return Ok(known.clone());
            }
            self.known.remove(&shard);
        }
        let found = collection::find(self.db, place)?;
        self.known.insert(shard, found.clone());
        Ok(found)
    }

    pub fn embedder(&self, choice: &Choice) -> EmbedderChoice {
        match (choice, &self.brought) {
            (Choice::Auto, _) => EmbedderChoice::Auto,
            (Choice::None, _) => EmbedderChoice::None,
            (Choice::BuiltIn, _) => EmbedderChoice::BuiltIn,
            (Choice::Given(_), Brought::Here(choice)) => (*choice).clone(),
            (Choice::Given(meta), Brought::There(ask)) => {
                EmbedderChoice::Given(Arc::new(CallersEmbedder { meta: meta.clone(), ask: (*ask).clone() }))
            }
        }
    }
}

fn open(db: &Database, name: &str, options: CollectionOptions, must_exist: bool) -> Result<Encoded> {
    let collection = match must_exist {
        true => db.existing_collection(name)?,
        false => db.collection(name, options)?,
    };
    let opened = Opened {
        id: collection.core.shard.collection,
        metric: collection.metric().to_string(),
        element: collection.element().to_string(),
    };
    Encoded::of(&opened)
}

/// An embedder that stayed in the process that asked.
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
    use crate::Options;
    use crate::codec::Bytes;
    use crate::durability::Durability;
    use crate::kv::Kind;
    use crate::process::frame;
    use crate::process::limits::Limits;
    use crate::process::meanwhile::Meanwhile;
    use crate::process::request::{Call, KvCall};
    use crate::process::wire::OptionsAsk;
    use crate::record::Record;

    /// Asks as a lane does that has found another holder: with what the store has stored of it.
    fn ask<T: serde::de::DeserializeOwned>(db: &Database, number: u64, request: &Request) -> T {
        let receipt = Receipt::read(&*db.inner.shared.store().unwrap(), "lane").unwrap();
        let limits = Limits::default();
        let mut answering = Answering {
            db,
            turn: Some(("lane", number)),
            receipt,
            brought: Brought::Here(&EmbedderChoice::None),
            cancel: None,
            known: &mut HashMap::new(),
            tethered: None,
            listener: &mut Meanwhile::new(&EmbedderChoice::None, &limits),
        };
        frame::value(&answering.answer(request.clone()).unwrap().0).unwrap()
    }

    #[test]
    fn a_write_that_is_asked_for_again_is_answered_and_not_done_again() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
        let open = Request::Open { name: "notes".into(), options: OptionsAsk::from(&options), must_exist: false };
        let opened: Opened = ask(&db, 1, &open);
        let call = |call: Call| Request::In {
            collection: Place { name: "notes".into(), id: opened.id },
            embedder: Choice::None,
            durability: Durability::Commit,
            call,
        };
        let record = |id: &str| Record::new(id).text("words").payload([("n".to_string(), 1.into())].into());
        let inserted = Upserted { inserted: 2, replaced: 0 };
        for _ in 0..3 {
            assert_eq!(ask::<Upserted>(&db, 2, &call(Call::Upsert(vec![record("a"), record("b")]))), inserted);
        }
        assert_eq!(
            ask::<Upserted>(&db, 3, &call(Call::Upsert(vec![record("a")]))),
            Upserted { inserted: 0, replaced: 1 },
            "the next number is the next write"
        );
        for _ in 0..3 {
            assert_eq!(ask::<Deleted>(&db, 4, &call(Call::Delete(vec!["a".into()]))), Deleted { deleted: 1 });
        }
        ask::<Upserted>(&db, 5, &call(Call::Upsert(vec![record("a")])));
        // One of several batches was written when the holder died; the answer counts it.
        for _ in 0..3 {
            assert_eq!(ask::<Deleted>(&db, 6, &call(Call::DeleteWhere("n = 1".into()))), Deleted { deleted: 2 });
        }

        let id: u32 = ask(&db, 7, &Request::OpenKeyspace { name: "keys".into(), kind: Kind::Plain, must_exist: false });
        let key = || Bytes::from(&b"k"[..]);
        let kv = |call: KvCall| Request::InKeyspace {
            keyspace: Place { name: "keys".into(), id },
            durability: Durability::Os,
            call,
        };
        for _ in 0..3 {
            assert_eq!(ask::<i64>(&db, 8, &kv(KvCall::Increment { key: key(), by: -5 })), -5);
        }
        for _ in 0..3 {
            assert_eq!(ask::<u64>(&db, 9, &kv(KvCall::Append { key: key(), more: key() })), 3);
        }
        let set =
            KvCall::CompareAndSet { key: key(), expected: Some(Bytes(b"-5k".to_vec())), new: None, expires_in: None };
        for _ in 0..3 {
            assert!(ask::<bool>(&db, 10, &kv(set.clone())));
        }
        for _ in 0..3 {
            assert!(ask::<bool>(&db, 11, &Request::Drop { name: "notes".into() }));
        }
        assert!(!ask::<bool>(&db, 12, &Request::Drop { name: "notes".into() }));
    }

    #[test]
    fn receipts_are_kept_until_their_lane_says_goodbye() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let store = db.inner.shared.store().unwrap();
        let write = |lane: &str| {
            let mut batch = nuthatch_store::Batch::new();
            Receipt::put(&mut batch, lane, 1, Done::default());
            nuthatch_store::Store::write(&*store, batch).unwrap();
        };
        write("one");
        write("two");
        Receipt::forget(&*store, "one").unwrap();
        Receipt::forget_old(&*store).unwrap();
        assert!(Receipt::read(&*store, "one").unwrap().is_none());
        assert!(Receipt::read(&*store, "two").unwrap().is_some());
    }
}
