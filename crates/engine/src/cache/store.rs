//! Keeping an answer.

use nuthatch_store::Reader;

use crate::cache::draft::Draft;
use crate::cache::key;
use crate::cache::lookup::state;
use crate::cache::value::{Source, Stored, Vectors, encode_vector};
use crate::cache::{Cache, CacheMode, SourceRef, StoreAnswer, StoredAnswer};
use crate::call::Outcome;
use crate::descriptor::meta::{self, Meta, meta_key};
use crate::kv::Rows;
use crate::subject::What;
use crate::{Error, ErrorKind, Result};

/// Answers that one that is stored may push out.
const EVICTED_AT_ONCE: usize = 1_000;

impl Cache {
    /// Keeps an answer. One for the same prompt in the same scope is replaced. A cache that is switched off keeps nothing, and says so
    /// with `None`.
    ///
    /// # Errors
    /// As [`lookup`](Self::lookup); `NotFound` for a source that is not there; `Exhausted` for an answer that is too large for the
    /// cache, or over 4 MiB.
    pub fn store(&self, answer: StoreAnswer) -> Result<Option<StoredAnswer>> {
        answer.check()?;
        let state = self.keyspace.at_once(state)?;
        state.settings.check_scope(answer.scope.keys())?;
        if state.settings.mode == CacheMode::Off {
            return Ok(None);
        }
        let (vector, made_by) = match (&state.vectors, answer.vector.as_deref()) {
            (None, Some(vector)) => (Some(vector.to_vec()), Some(Vectors::Given(vector.len() as u64))),
            (None, None) if state.settings.budget == 0.0 => (None, None),
            (None, None) => {
                let (vector, meta) = self.embed(None, &answer.prompt)?;
                (Some(vector), Some(Vectors::Made(meta)))
            }
            (Some(Vectors::Made(_)), None) if state.settings.budget == 0.0 => (None, None),
            (Some(known), given) => (self.vector(&state, &answer.prompt, given)?, Some(known.clone())),
        };
        let bytes = Stored::size(&answer.prompt, &answer.response, vector.as_ref().map_or(0, Vec::len));
        if state.settings.max_bytes != 0 && bytes > state.settings.max_bytes {
            let why =
                format!("the answer takes {bytes} bytes, and the cache holds {} at most", state.settings.max_bytes);
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        let space = &*self.keyspace.space;
        let _room = space.shared.reserve_to_write(bytes * 3)?;
        self.change(|draft| {
            if made_by.is_some() && draft.state.vectors.is_some() && draft.state.vectors != made_by {
                let why = "another caller has just settled how this cache gets its vectors; store the answer again";
                return Err(Error::new(ErrorKind::Conflict, why));
            }
            draft.state.vectors = draft.state.vectors.take().or(made_by);
            let stored = keep(draft, answer, vector.as_deref(), bytes)?;
            let outcome = Outcome {
                value: stored.entry as i64,
                replaced: stored.replaced.into(),
                deleted: stored.evicted,
                ..Outcome::default()
            };
            Ok((Some(stored), outcome))
        })
    }
}

impl StoredAnswer {
    /// What was answered when the answer was stored.
    pub(crate) fn again(outcome: Outcome) -> Self {
        Self { entry: outcome.value as u64, replaced: outcome.replaced > 0, evicted: outcome.deleted }
    }
}

fn keep(draft: &mut Draft<'_>, answer: StoreAnswer, vector: Option<&[f32]>, bytes: u64) -> Result<StoredAnswer> {
    let scope = key::scope(&answer.scope);
    let (exact, form) = key::hashes(&scope, &answer.prompt);
    let replaced = match draft.get::<u64>(&key::exact(&exact))? {
        Some(old) => draft.remove(old)?,
        None => false,
    };
    let entry = draft.state.next_entry;
    draft.state.next_entry += 1;
    let now_ms = draft.now_ms();
    let ttl_ms = answer.ttl_ms.unwrap_or(draft.state.settings.ttl_ms);
    let expires_at_ms = (ttl_ms > 0).then(|| now_ms.saturating_add(ttl_ms));
    let sources = answer.sources.into_iter().map(|of| source(draft, of)).collect::<Result<Vec<_>>>()?;
    for source in &sources {
        draft.put(key::source(source.collection, &source.of.id, entry), &(), None)?;
    }
    for tag in &answer.tags {
        draft.put(key::tag(tag, entry), &(), None)?;
    }
    let stored = Stored {
        prompt: answer.prompt,
        response: answer.response,
        scope,
        exact,
        form,
        tags: answer.tags,
        sources,
        created_ms: now_ms,
        bytes,
    };
    draft.put(key::entry(entry), &stored, expires_at_ms)?;
    draft.put(key::exact(&exact), &entry, None)?;
    draft.put(key::form(&form), &entry, None)?;
    draft.put_bytes(key::vector(&scope, entry), encode_vector(vector, expires_at_ms));
    draft.tick(entry)?;
    draft.state.entries += 1;
    draft.state.bytes += bytes;
    draft.state.counts.stored += 1;
    let evicted = draft.evict(Some(entry), EVICTED_AT_ONCE)?;
    Ok(StoredAnswer { entry, replaced, evicted })
}

/// The row that a record has now.
fn source(draft: &Draft<'_>, of: SourceRef) -> Result<Source> {
    let collection = collection_of(draft.reader, draft.space.shard.tenant, &of.collection)?;
    match draft.stored().row_of(collection, &of.id)? {
        Some(row) => Ok(Source { of, collection, row }),
        None => Err(Error::not_found(format!(
            "the answer names record {:?} of collection {:?}, which is not there; answer again from what there is",
            of.id, of.collection
        ))
        .about(What::Record, &of.id)),
    }
}

/// The number of a collection.
pub(crate) fn collection_of(reader: &dyn Reader, tenant: u32, name: &str) -> Result<u32> {
    let found: Option<Meta> = meta::read(reader, &meta_key(tenant, name))?;
    let missing = || Error::not_found(format!("the answer names collection {name:?}, which does not exist"));
    found.map(|meta| meta.id).ok_or_else(|| missing().about(What::Collection, name))
}
