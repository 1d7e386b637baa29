//! Answers one after the other: to list them, to carry them to another cache, and to give them other vectors.
//!
//! A scope is known only by its hash, so answers are carried with the hash, and any caller that asks in that scope
//! finds them again.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::cache::ask::{CacheCost, SourceRef, StoreAnswer, check_vector};
use crate::cache::key::{self, Hash};
use crate::cache::lookup::{Scopes, state};
use crate::cache::store::{Kept, keep};
use crate::cache::value::{Private, Stored, Vectors, decode, decode_vector, encode_vector};
use crate::call::Outcome;
use crate::embedder::EmbedderMeta;
use crate::kv::{KeyScan, Rows};
use crate::{Error, Result};

/// Answers of one page, and their bytes, about.
const PAGE_MAX: usize = 1_000;
const PAGE_BYTES_MAX: usize = 16 << 20;
/// Answers that one batch gives vectors.
const EMBEDDED_AT_ONCE: usize = 64;

/// Where the vectors of a cache come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheVectors {
    /// From its callers.
    Given {
        /// Components of each.
        dim: u64,
    },
    /// From an installed model.
    Made {
        /// The model, for people.
        name: String,
        /// Components of each.
        dim: u64,
        /// Equal for models that make the same vectors.
        fingerprint: String,
    },
}

/// Which answers to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListAnswers {
    /// Only those whose number is greater.
    pub after: Option<u64>,
    /// Answers of the page, 1 to 1,000. Long answers make it shorter.
    pub limit: usize,
    /// Only those of a scope; of all its users.
    pub scope: Option<BTreeMap<String, String>>,
    /// Only those with a tag.
    pub tag: Option<String>,
    /// With their prompts' vectors.
    pub vectors: bool,
}

/// An answer with everything that is kept of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// Its number.
    pub entry: u64,
    /// The prompt that it was stored for.
    pub prompt: String,
    /// JSON.
    pub response: String,
    /// The hash of its scope; of a user's own, of the scope of all users.
    pub scope: [u8; 32],
    /// Of a user's own: the hash of the user within the scope.
    pub user: Option<[u8; 32]>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The records that it was made from.
    pub sources: Vec<SourceRef>,
    /// When it was stored, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it expires; absent: never.
    pub expires_at_ms: Option<u64>,
    /// Its cost.
    pub cost: CacheCost,
    /// Its prompt's vector, a byte a component, of no particular length.
    pub vector: Option<Vec<i8>>,
}

/// A page of answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswersPage {
    /// By their numbers.
    pub answers: Vec<KeptAnswer>,
    /// The number to go on after; absent on the last page.
    pub next: Option<u64>,
    /// Where the vectors come from.
    pub vectors: Option<CacheVectors>,
}

/// Answers to keep as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImportAnswers {
    /// As they were listed. Their numbers are given again.
    pub answers: Vec<KeptAnswer>,
    /// Where their vectors come from.
    pub vectors: Option<CacheVectors>,
}

/// Other vectors for the prompts of a cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reembed {
    /// Forget all vectors first. Until an answer has one again, it is found by its prompt, form and aliases only.
    pub restart: bool,
    /// Vectors by the numbers of answers; absent: the installed model makes those that are missing.
    pub given: Option<Vec<(u64, Vec<f32>)>>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reembedded {
    /// Answers that got a vector.
    pub embedded: u64,
    /// The installed model has more to do: ask again, without `restart`.
    pub more: bool,
}

/// A page of answers.
pub(crate) fn list(rows: &dyn Rows, wanted: &ListAnswers) -> Result<AnswersPage> {
    if !(1..=PAGE_MAX).contains(&wanted.limit) {
        return Err(Error::invalid(format!("a page has 1 to {PAGE_MAX} answers, not {}", wanted.limit)));
    }
    let state = state(rows)?;
    let scope = wanted.scope.as_ref().map(key::scope);
    let mut page =
        AnswersPage { answers: Vec::new(), next: None, vectors: state.vectors.as_ref().map(CacheVectors::of) };
    let mut bytes = 0;
    let mut from = wanted.after.map_or(Bound::Unbounded, |after| Bound::Excluded(key::entry(after)));
    loop {
        let scan = KeyScan { from: from.clone(), limit: 64, keys_only: true, ..KeyScan::prefix(key::all_entries()) };
        let keys: Vec<Vec<u8>> = rows.page(&scan)?.entries.into_iter().map(|(key, _)| key).collect();
        let Some(last) = keys.last() else { return Ok(page) };
        from = Bound::Excluded(last.clone());
        for row in &keys {
            let Some(entry) = key::number_of(row) else { continue };
            let Some(found) = rows.entries(std::slice::from_ref(row))?.pop().flatten() else { continue };
            let stored: Stored = decode(&found.value)?;
            let of = stored.private.as_ref().map_or(stored.scope, |own| own.scope);
            let is_wanted = scope.is_none_or(|scope| scope == of)
                && wanted.tag.as_ref().is_none_or(|tag| stored.tags.contains(tag));
            if !is_wanted {
                continue;
            }
            if page.answers.len() == wanted.limit || bytes > PAGE_BYTES_MAX {
                page.next = page.answers.last().map(|answer| answer.entry);
                return Ok(page);
            }
            bytes += stored.bytes as usize;
            let vector = match wanted.vectors {
                true => vector(rows, &stored.scope, entry)?,
                false => None,
            };
            page.answers.push(KeptAnswer {
                entry,
                scope: of,
                user: stored.private.map(|own| own.user),
                prompt: stored.prompt,
                response: stored.response,
                tags: stored.tags,
                sources: stored.sources.into_iter().map(|source| source.of).collect(),
                created_ms: stored.created_ms,
                expires_at_ms: found.expires_at_ms,
                cost: stored.cost,
                vector,
            });
        }
    }
}

fn vector(rows: &dyn Rows, scope: &Hash, entry: u64) -> Result<Option<Vec<i8>>> {
    let row = rows.values(&[key::vector(scope, entry)])?.pop().flatten();
    Ok(row.as_deref().and_then(decode_vector).map(|codes| codes.bytes()))
}

impl Cache {
    /// Keeps answers as another cache had them; those of the same prompt and scope are replaced, and those that have expired are left out.
    /// Says how many were kept.
    ///
    /// # Errors
    /// `Invalid` for vectors from elsewhere than those of this cache; those of storing.
    pub fn import(&self, import: &ImportAnswers) -> Result<u64> {
        let now_ms = self.keyspace.now_ms();
        let is_living = |answer: &&KeptAnswer| answer.expires_at_ms.is_none_or(|at| at > now_ms);
        let mut bytes = 0;
        for answer in &import.answers {
            let KeptAnswer { prompt, response, tags, sources, .. } = answer.clone();
            StoreAnswer { prompt, response, tags, sources, ..StoreAnswer::default() }.check()?;
            bytes += Stored::size(&answer.prompt, &answer.response, answer.vector.as_ref().map_or(0, Vec::len));
        }
        let _room = self.keyspace.space.shared.reserve_to_write(bytes * 3)?;
        self.change(|draft| {
            let has_vectors = import.answers.iter().any(|answer| answer.vector.is_some());
            let theirs = import.vectors.as_ref().filter(|_| has_vectors).map(CacheVectors::to_stored);
            if let (Some(own), Some(theirs)) = (&draft.state.vectors, &theirs)
                && own != theirs
            {
                return Err(Error::invalid(
                    "the vectors of these answers come from elsewhere than those of this cache; export without vectors, and give them new ones with `reembed`",
                ));
            }
            draft.state.vectors = draft.state.vectors.take().or(theirs);
            let dim = draft.state.vectors.as_ref().map(|vectors| CacheVectors::of(vectors).dim());
            let mut kept = 0;
            for answer in import.answers.iter().filter(is_living) {
                let own = answer.user.map(|user| Private { scope: answer.scope, user });
                if own.is_some() && !draft.state.settings.is_shared_later() {
                    return Err(Error::invalid(
                        "some answers are their users' own; import them into a cache with `share_after`",
                    ));
                }
                let vector = answer.vector.as_ref().filter(|codes| codes.iter().any(|code| *code != 0));
                if vector.is_some_and(|codes| Some(codes.len() as u64) != dim) {
                    return Err(Error::invalid("a vector has another number of components than those of this cache"));
                }
                let vector: Option<Vec<f32>> = vector.map(|codes| codes.iter().map(|code| f32::from(*code)).collect());
                let kept_answer = Kept {
                    prompt: &answer.prompt,
                    response: &answer.response,
                    tags: &answer.tags,
                    sources: &answer.sources,
                    created_ms: answer.created_ms.min(now_ms),
                    expires_at_ms: answer.expires_at_ms,
                    cost: answer.cost,
                    vector: vector.as_deref(),
                };
                keep(draft, kept_answer, &Scopes::at(answer.scope, own), None)?;
                kept += 1;
            }
            Ok((kept, Outcome { inserted: kept, ..Outcome::default() }))
        })
    }

    /// Gives answers other vectors.
    ///
    /// # Errors
    /// `Unavailable` when the installed model is asked for and there is none; `Invalid` for vectors of different sizes.
    pub fn reembed(&self, wanted: &Reembed) -> Result<Reembedded> {
        if wanted.restart {
            let vectors = match &wanted.given {
                Some(given) => given.first().map(|(_, vector)| Vectors::Given(vector.len() as u64)),
                None => Some(Vectors::Made(self.embed(None, "the dimension")?.1)),
            };
            self.forget_vectors(vectors)?;
        }
        match &wanted.given {
            Some(given) => {
                given.iter().try_for_each(|(_, vector)| check_vector(Some(vector.as_slice())))?;
                let embedded = self.give_vectors(given)?;
                Ok(Reembedded { embedded, more: false })
            }
            None => self.make_missing(),
        }
    }

    /// Some answers without a vector get theirs from the installed model.
    fn make_missing(&self) -> Result<Reembedded> {
        let state = self.keyspace.at_once(state)?;
        let Some(Vectors::Made(meta)) = &state.vectors else {
            return Err(Error::invalid(
                "the callers of this cache bring its vectors; give them, or ask with `restart`",
            ));
        };
        let (missing, more) = self.keyspace.at_once(|rows| without_vector(rows))?;
        let mut given = Vec::with_capacity(missing.len());
        for (entry, prompt) in missing {
            given.push((entry, self.embed(Some(meta), &prompt)?.0));
        }
        Ok(Reembedded { embedded: self.give_vectors(&given)?, more })
    }

    fn forget_vectors(&self, vectors: Option<Vectors>) -> Result<()> {
        let mut cursor = None;
        loop {
            let scan = KeyScan { keys_only: true, cursor: cursor.take(), ..KeyScan::prefix(key::all_vectors()) };
            let page = self.keyspace.page(&scan)?;
            let is_last = page.cursor.is_none();
            self.change(|draft| {
                for (row, _) in &page.entries {
                    let Some((_, entry)) = key::vector_of(row) else { continue };
                    let expires = draft.expires_at(&key::entry(entry))?;
                    if draft.has(row)? {
                        draft.put_bytes(row.clone(), encode_vector(None, expires));
                    }
                }
                if is_last {
                    draft.state.vectors = vectors.clone();
                }
                Ok(((), Outcome::default()))
            })?;
            cursor = page.cursor;
            if is_last {
                let space = &self.keyspace.space;
                space.shared.memory.signs.forget(space.shard);
                return Ok(());
            }
        }
    }

    fn give_vectors(&self, given: &[(u64, Vec<f32>)]) -> Result<u64> {
        let mut embedded = 0;
        for some in given.chunks(EMBEDDED_AT_ONCE) {
            embedded += self.change(|draft| {
                let mut changed = 0;
                for (entry, vector) in some {
                    let Some(stored) = draft.get::<Stored>(&key::entry(*entry))? else { continue };
                    let dim = match &draft.state.vectors {
                        Some(vectors) => CacheVectors::of(vectors).dim(),
                        None => {
                            draft.state.vectors = Some(Vectors::Given(vector.len() as u64));
                            vector.len() as u64
                        }
                    };
                    if dim != vector.len() as u64 {
                        return Err(Error::invalid(format!(
                            "the vector of answer {entry} has {} components, and those of this cache have {dim}; ask with `restart` for others",
                            vector.len()
                        )));
                    }
                    let expires = draft.expires_at(&key::entry(*entry))?;
                    draft.put_bytes(key::vector(&stored.scope, *entry), encode_vector(Some(vector), expires));
                    changed += 1;
                }
                Ok((changed, Outcome { replaced: changed, ..Outcome::default() }))
            })?;
        }
        Ok(embedded)
    }
}

/// Some answers without a vector, and whether there are more.
fn without_vector(rows: &dyn Rows) -> Result<(Vec<(u64, String)>, bool)> {
    let mut missing: Vec<u64> = Vec::new();
    rows.each(KeyScan::prefix(key::all_vectors()), &mut |row, value| {
        if let Some(entry) = key::number_of(row).filter(|_| decode_vector(value).is_none()) {
            missing.push(entry);
        }
        Ok(match missing.len() > EMBEDDED_AT_ONCE {
            true => std::ops::ControlFlow::Break(()),
            false => std::ops::ControlFlow::Continue(()),
        })
    })?;
    let more = missing.len() > EMBEDDED_AT_ONCE;
    missing.truncate(EMBEDDED_AT_ONCE);
    let mut prompts = Vec::with_capacity(missing.len());
    for entry in missing {
        if let Some(row) = rows.values(&[key::entry(entry)])?.pop().flatten() {
            prompts.push((entry, decode::<Stored>(&row)?.prompt));
        }
    }
    Ok((prompts, more))
}

impl CacheVectors {
    fn of(vectors: &Vectors) -> Self {
        match vectors {
            Vectors::Given(dim) => Self::Given { dim: *dim },
            Vectors::Made(EmbedderMeta { name, dim, fingerprint }) => {
                Self::Made { name: name.clone(), dim: *dim as u64, fingerprint: fingerprint.clone() }
            }
        }
    }

    fn to_stored(&self) -> Vectors {
        match self {
            Self::Given { dim } => Vectors::Given(*dim),
            Self::Made { name, dim, fingerprint } => {
                Vectors::Made(EmbedderMeta { name: name.clone(), dim: *dim as usize, fingerprint: fingerprint.clone() })
            }
        }
    }

    fn dim(&self) -> u64 {
        match self {
            Self::Given { dim } | Self::Made { dim, .. } => *dim,
        }
    }
}
