//! Making pending vectors in the background.
//!
//! **Invariant:** after each opening of the folder, every collection of every tenant is searched for pending vectors; a
//! vector in the making when the folder closes is written, or made again after the next opening.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Instant;

use nuthatch_embed::Embedder;
use nuthatch_store::{Shard, Table};

use crate::collection::Core;
use crate::collection::lanes::embed_texts;
use crate::collection::pending::has_todo_rows;
use crate::database::Registry;
use crate::database::maintenance::{AFTER_FAILURE, ROUND};
use crate::descriptor::meta::{Meta, listed, meta_key};
use crate::runtime::{Runtime, yield_to_others};
use crate::scan::first_shard;
use crate::tenant::{DEFAULT, records};
use crate::{Error, Result};

/// Bytes of vectors that are kept for texts that come again.
const RECENT_BYTES: usize = 1 << 20;

pub(crate) fn start(registry: &Arc<Registry>) -> Result<JoinHandle<()>> {
    let registry = registry.clone();
    let thread = std::thread::Builder::new().name("nuthatch-embed".into()).spawn(move || run(&registry));
    thread.map_err(|error| Error::internal(format!("starting nuthatch-embed: {error}")))
}

fn run(registry: &Registry) {
    let shared = &registry.shared;
    yield_to_others();
    let mut asleep: Option<VecDeque<Shard>> = None;
    let mut recent = Recent::default();
    let mut failed = false;
    loop {
        {
            let mut signal = shared.background.signal.lock();
            let until = Instant::now() + if failed { AFTER_FAILURE } else { ROUND };
            while !signal.stop && !shared.background.woken.wait_until(&mut signal, until).timed_out() {}
            if signal.stop {
                return;
            }
        }
        let outcome = round(registry, &mut asleep, &mut recent);
        recent.rest();
        failed = outcome.is_err();
        shared.background.signal.lock().embed_error = outcome.err();
        shared.background.relieved.notify_all();
    }
}

/// Runs until nothing is left to do. Every open collection gets its turn, then the closed ones.
fn round(registry: &Registry, asleep: &mut Option<VecDeque<Shard>>, recent: &mut Recent) -> Result<()> {
    let shared = &registry.shared;
    let asleep = match asleep {
        Some(asleep) => asleep,
        None => asleep.insert(registry.shards_with_todo()?),
    };
    loop {
        let mut outcome = Ok(false);
        for core in registry.open_collections() {
            if shared.background.is_stopping() {
                return Ok(());
            }
            let did = lot(shared, &core, recent);
            outcome = match (outcome, did) {
                (Err(first), _) => Err(first),
                (Ok(before), did) => did.map(|did| did || before),
            };
        }
        if outcome? {
            continue;
        }
        let Some(shard) = asleep.pop_front() else { return Ok(()) };
        let Some(core) = registry.core_of(shard)? else { continue };
        while !shared.background.is_stopping() && lot(shared, &core, recent)? {}
        registry.let_go(core);
    }
}

fn lot(shared: &Runtime, core: &Core, recent: &mut Recent) -> Result<bool> {
    let stop = &shared.background.stopping;
    let did = core.embed_lot(&mut |embedder, texts| recent.embed(embedder, texts, stop));
    shared.background.relieved.notify_all();
    match did {
        Err(_) if shared.background.is_stopping() || core.is_dropped() => Ok(false),
        Err(error) => {
            // Waiters of every tenant may be told, so none of another tenant's names may be in it.
            let message = match core.tenant.is_default() {
                true => format!("embedding for collection {:?}: {error}", core.name),
                false => format!("embedding: {error}"),
            };
            Err(Error::new(error.kind, message))
        }
        did => did,
    }
}

impl Registry {
    /// Collections that have rows without the vector that they want.
    fn shards_with_todo(&self) -> Result<VecDeque<Shard>> {
        let mut found = VecDeque::new();
        let mut from = Vec::new();
        while let Some(shard) = first_shard(&self.shared.store, Table::Catalog, &from, &[])? {
            if has_todo_rows(&self.shared.store, shard)? {
                found.push_back(shard);
            }
            from = shard.end();
        }
        Ok(found)
    }

    /// The collection with that number; `None` when it was dropped.
    fn core_of(&self, shard: Shard) -> Result<Option<Arc<Core>>> {
        let tenant = match shard.tenant {
            DEFAULT => self.tenants.lock()[&DEFAULT].clone(),
            number => {
                let mut records = records(&*self.shared.store()?)?.into_iter();
                let Some((name, record)) = records.find(|(_, record)| record.id == number && record.dropping.is_none())
                else {
                    return Ok(None);
                };
                self.tenant_of(&name, &record)
            }
        };
        let metas: Vec<(String, Meta)> = listed(&self.shared.store, &meta_key(shard.tenant, ""))?;
        let Some((name, _)) = metas.into_iter().find(|(_, meta)| meta.id == shard.collection) else { return Ok(None) };
        match self.existing_core(&tenant, &name) {
            Ok(core) => Ok(Some(core).filter(|core| core.shard == shard)),
            Err(error) if error.kind == crate::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Vectors that were made lately: licence headers, templates and generated pages repeat their passages.
#[derive(Default)]
struct Recent {
    /// That made them.
    embedder: Option<Arc<dyn Embedder>>,
    vectors: HashMap<[u8; 16], Vec<f32>>,
    bytes: usize,
}

impl Recent {
    /// Nothing is to be done for now.
    fn rest(&self) {
        if let Some(embedder) = &self.embedder {
            embedder.rest();
        }
    }

    fn embed(
        &mut self,
        embedder: &Arc<dyn Embedder>,
        texts: &[String],
        stop: &AtomicBool,
    ) -> Result<Vec<Option<Vec<f32>>>> {
        let is_same = self.embedder.as_ref().is_some_and(|known| known.fingerprint() == embedder.fingerprint());
        if !is_same || self.bytes > RECENT_BYTES {
            self.rest();
            (self.vectors, self.bytes) = (HashMap::new(), 0);
        }
        self.embedder = Some(embedder.clone());
        let hashes: Vec<[u8; 16]> = texts.iter().map(|text| hash(text)).collect();
        let mut wanted: HashMap<[u8; 16], &String> =
            hashes.iter().copied().zip(texts).filter(|(hash, _)| !self.vectors.contains_key(hash)).collect();
        let (hashes_of_new, new): (Vec<[u8; 16]>, Vec<String>) =
            wanted.drain().map(|(hash, text)| (hash, text.clone())).unzip();
        for (hash, vector) in hashes_of_new.into_iter().zip(embed_texts(&**embedder, &new, stop)?) {
            if let Some(vector) = vector {
                self.bytes += vector.len() * size_of::<f32>();
                self.vectors.insert(hash, vector);
            }
        }
        Ok(hashes.iter().map(|hash| self.vectors.get(hash).cloned()).collect())
    }
}

fn hash(text: &str) -> [u8; 16] {
    blake3::hash(text.as_bytes()).as_bytes()[..16].try_into().expect("a hash has 32 bytes")
}
