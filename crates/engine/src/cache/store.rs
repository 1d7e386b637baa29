//! Keeping an answer.

use std::collections::HashSet;

use nuthatch_store::Reader;

use crate::cache::draft::Draft;
use crate::cache::key::{self, Hash};
use crate::cache::lookup::{Scopes, state};
use crate::cache::value::{Private, Source, Stored, Vectors, encode_vector};
use crate::cache::{Cache, CacheCost, CacheMode, CacheSettings, ShareWhen, SourceRef, StoreAnswer, StoredAnswer};
use crate::call::Outcome;
use crate::descriptor::meta::{self, Meta, meta_key};
use crate::kv::Rows;
use crate::subject::What;
use crate::{Error, ErrorKind, Result};

/// The part of a scope that names a user, where the call does not.
const USER: &str = "user";
/// Users' answers that are read to find whether enough agree.
const USERS_READ_MAX: usize = 1_000;

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
        let scopes = Scopes::of(&state.settings, &answer.scope, answer.user.as_deref().filter(|_| !answer.shared));
        if state.settings.is_shared_later() && scopes.own.is_none() && !answer.shared {
            return Err(Error::invalid(format!(
                "this cache shares an answer after {} users have it; give the `user` whose answer it is, or `shared` for one that all may get",
                state.settings.share_after
            )));
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
        let user = answer.user.as_deref().or(answer.scope.get(USER).map(String::as_str));
        let member = user.filter(|_| !answer.shared).map(key::member);
        if member.is_some() && state.settings.user_max_bytes != 0 && bytes > state.settings.user_max_bytes {
            let most = state.settings.user_max_bytes;
            let why = format!("the answer takes {bytes} bytes, and the cache holds {most} of one user at most");
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        let space = &*self.keyspace.space;
        let _room = space.shared.reserve_to_write(bytes * 3)?;
        let of = key::hashes(&scopes.first(), &answer.prompt).1;
        let stored = self.change(|draft| {
            if made_by.is_some() && draft.state.vectors.is_some() && draft.state.vectors != made_by {
                let why = "another caller has just settled how this cache gets its vectors; store the answer again";
                return Err(Error::new(ErrorKind::Conflict, why));
            }
            draft.state.vectors = draft.state.vectors.take().or(made_by);
            let now_ms = draft.now_ms();
            let ttl_ms = answer.ttl_ms.unwrap_or(draft.state.settings.ttl_ms);
            let kept = || Kept {
                prompt: &answer.prompt,
                response: &answer.response,
                tags: &answer.tags,
                sources: &answer.sources,
                created_ms: now_ms,
                expires_at_ms: (ttl_ms > 0).then(|| now_ms.saturating_add(ttl_ms)),
                cost: answer.cost,
                vector: vector.as_deref(),
            };
            let mut stored = keep(draft, kept(), &scopes, member.as_ref())?;
            if let Some(own) = &scopes.own
                && has_enough(draft, own, &answer)?
            {
                stored.evicted += keep(draft, kept(), &Scopes::at(own.scope, None), None)?.evicted;
                stored.private = false;
            }
            let outcome = Outcome {
                value: stored.entry as i64,
                replaced: stored.replaced.into(),
                deleted: stored.evicted,
                files: stored.private.into(),
                ..Outcome::default()
            };
            Ok((Some(stored), outcome))
        })?;
        self.attached.leases.answered(&of);
        Ok(stored)
    }
}

impl StoredAnswer {
    /// Returns the reply that was given when the answer was stored.
    pub(crate) fn again(outcome: Outcome) -> Self {
        Self {
            entry: outcome.value as u64,
            replaced: outcome.replaced > 0,
            evicted: outcome.deleted,
            private: outcome.files > 0,
        }
    }
}

/// Whether as many users have this answer as it takes to share it.
fn has_enough(draft: &Draft<'_>, own: &Private, answer: &StoreAnswer) -> Result<bool> {
    let CacheSettings { share_after, share_when, .. } = draft.state.settings;
    let (form, said) = (key::hashes(&own.scope, &answer.prompt).1, key::answer(&answer.response));
    let mut users = HashSet::new();
    for row in draft.keys(&key::held_for(&own.scope, &form), USERS_READ_MAX)? {
        let agrees = share_when == ShareWhen::Asked || draft.get::<Hash>(&row)? == Some(said);
        users.extend(key::user_of(&row).filter(|_| agrees));
        if users.len() as u64 >= share_after {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An answer as it is kept.
pub(crate) struct Kept<'a> {
    pub prompt: &'a str,
    pub response: &'a str,
    pub tags: &'a [String],
    pub sources: &'a [SourceRef],
    pub created_ms: u64,
    pub expires_at_ms: Option<u64>,
    pub cost: CacheCost,
    pub vector: Option<&'a [f32]>,
}

/// Keeps an answer, in the first of the scopes, and in the share of a user where users have shares. One for the same prompt in it is
/// replaced.
pub(crate) fn keep(
    draft: &mut Draft<'_>,
    answer: Kept<'_>,
    scopes: &Scopes,
    member: Option<&Hash>,
) -> Result<StoredAnswer> {
    let Kept { prompt, response, tags, created_ms, expires_at_ms, cost, vector, .. } = answer;
    let scope = scopes.first();
    let (exact, form) = key::hashes(&scope, prompt);
    let replaced = match draft.get::<u64>(&key::exact(&exact))? {
        Some(old) => draft.remove(old)?,
        None => false,
    };
    let entry = draft.state.next_entry;
    draft.state.next_entry += 1;
    let sources = answer.sources.iter().map(|of| source(draft, of.clone())).collect::<Result<Vec<_>>>()?;
    for source in &sources {
        draft.put(key::source(source.collection, &source.of.id, entry), &(), None)?;
    }
    for tag in tags {
        draft.put(key::tag(tag, entry), &(), None)?;
    }
    let bytes = Stored::size(prompt, response, vector.map_or(0, <[f32]>::len));
    let stored = Stored {
        prompt: prompt.into(),
        response: response.into(),
        scope,
        exact,
        form,
        tags: tags.to_vec(),
        sources,
        created_ms,
        bytes,
        cost,
        private: scopes.own.clone(),
    };
    if let Some(Private { scope, user }) = &scopes.own {
        let form = key::hashes(scope, prompt).1;
        draft.put(key::held_by(scope, &form, user, entry), &key::answer(response), None)?;
    }
    draft.put(key::entry(entry), &stored, expires_at_ms)?;
    draft.put(key::exact(&exact), &entry, None)?;
    draft.put(key::form(&form), &entry, None)?;
    draft.put_bytes(key::vector(&scope, entry), encode_vector(vector, expires_at_ms));
    draft.state.counts.stored += 1;
    let member = member.filter(|_| draft.state.settings.has_shares());
    let evicted = draft.admit(entry, bytes, member)?;
    Ok(StoredAnswer { entry, replaced, evicted, private: scopes.own.is_some() })
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
