//! Answers one after the other in JSON: listed, carried to another cache, and given other vectors.

use std::collections::BTreeMap;

use nuthatch_engine::{Error, Result};
use nuthatch_link as core;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{CachePrice, CacheSource, any, json};

/// Answers of a page, unless the caller says otherwise.
const LIMIT_DEFAULT: usize = 100;

/// Which answers to list.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheList {
    /// Only those whose number is greater: `next` of the page before.
    after: Option<u64>,
    /// Default: 100. Long answers make the page shorter.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only those of a scope, of all its users.
    scope: Option<BTreeMap<String, String>>,
    /// Only those with a tag.
    tag: Option<String>,
    /// With the vectors of their prompts.
    vectors: bool,
}

/// An answer with everything that is kept of it.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheKept {
    /// Its number.
    #[serde(default)]
    entry: u64,
    prompt: String,
    #[serde(deserialize_with = "any")]
    response: Value,
    /// The hash of its scope, as hexadecimal digits: a cache does not know the parts.
    scope: String,
    /// The hash of the user within the scope, if the answer is the user's own.
    user: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    sources: Vec<CacheSource>,
    /// When it was stored, in milliseconds since 1970.
    created_ms: u64,
    /// When it expires; null: never.
    expires_ms: Option<u64>,
    #[serde(default)]
    cost: CachePrice,
    /// The vector of its prompt, of no particular length.
    vector: Option<Vec<i8>>,
}

/// Where the vectors of a cache come from.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheVectorSource {
    /// Components of each.
    dim: u64,
    /// The installed model; null if the callers bring them.
    model: Option<String>,
    /// Equal for models that make the same vectors.
    fingerprint: Option<String>,
}

/// A page of answers.
#[derive(Serialize, ToSchema)]
pub struct CachePage {
    answers: Vec<CacheKept>,
    /// Go on after this one; null on the last page.
    next: Option<u64>,
    /// Null in a cache without vectors.
    vectors: Option<CacheVectorSource>,
}

/// Answers to keep as another cache had them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheImport {
    /// As they were listed.
    answers: Vec<CacheKept>,
    /// As they were listed.
    vectors: Option<CacheVectorSource>,
}

/// How many answers were kept.
#[derive(Serialize, ToSchema)]
pub struct CacheImported {
    kept: u64,
}

/// Other vectors for the prompts of a cache.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheReembed {
    /// Forget all vectors first. Until an answer has one again, it is found by its prompt, form and aliases only.
    restart: bool,
    /// Vectors by the numbers of answers. Default: the installed model makes those that are missing, some at a time.
    vectors: Option<BTreeMap<u64, Vec<f32>>>,
}

/// How far it is.
#[derive(Serialize, ToSchema)]
pub struct CacheReembedded {
    /// Answers that got a vector.
    embedded: u64,
    /// The installed model has more to do: ask again, without `restart`.
    more: bool,
}

impl CacheList {
    pub(super) fn ask(self, cache: &core::Cache) -> Result<CachePage> {
        let Self { after, limit, scope, tag, vectors } = self;
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        let core::AnswersPage { answers, next, vectors } =
            cache.answers(&core::ListAnswers { after, limit, scope, tag, vectors })?;
        let answers = answers.into_iter().map(CacheKept::of).collect::<Result<_>>()?;
        Ok(CachePage { answers, next, vectors: vectors.map(Into::into) })
    }
}

impl CacheImport {
    pub(super) fn ask(self, cache: &core::Cache) -> Result<CacheImported> {
        let answers = self.answers.into_iter().map(CacheKept::into_engine).collect::<Result<_>>()?;
        let vectors = self.vectors.map(CacheVectorSource::into_engine).transpose()?;
        Ok(CacheImported { kept: cache.import(&core::ImportAnswers { answers, vectors })? })
    }
}

impl CacheReembed {
    pub(super) fn ask(self, cache: &core::Cache) -> Result<CacheReembedded> {
        let given = self.vectors.map(|vectors| vectors.into_iter().collect());
        let core::Reembedded { embedded, more } = cache.reembed(&core::Reembed { restart: self.restart, given })?;
        Ok(CacheReembedded { embedded, more })
    }
}

impl CacheKept {
    fn of(answer: core::KeptAnswer) -> Result<Self> {
        let core::KeptAnswer { entry, prompt, response, scope, user, tags, sources, .. } = answer;
        let core::KeptAnswer { created_ms, expires_at_ms: expires_ms, cost, vector, .. } = answer;
        Ok(Self {
            entry,
            prompt,
            response: json(&response)?,
            scope: hex(&scope),
            user: user.as_ref().map(hex),
            tags,
            sources: sources.into_iter().map(Into::into).collect(),
            created_ms,
            expires_ms,
            cost: cost.into(),
            vector,
        })
    }

    fn into_engine(self) -> Result<core::KeptAnswer> {
        Ok(core::KeptAnswer {
            entry: self.entry,
            prompt: self.prompt,
            response: self.response.to_string(),
            scope: unhex("scope", &self.scope)?,
            user: self.user.map(|user| unhex("user", &user)).transpose()?,
            tags: self.tags,
            sources: self.sources.into_iter().map(Into::into).collect(),
            created_ms: self.created_ms,
            expires_at_ms: self.expires_ms,
            cost: self.cost.into_engine("cost")?,
            vector: self.vector,
        })
    }
}

impl CacheVectorSource {
    fn into_engine(self) -> Result<core::CacheVectors> {
        match (self.model, self.fingerprint) {
            (Some(name), Some(fingerprint)) => Ok(core::CacheVectors::Made { name, dim: self.dim, fingerprint }),
            (None, None) => Ok(core::CacheVectors::Given { dim: self.dim }),
            _ => Err(Error::invalid("the vectors of a model have its name and its fingerprint; others have neither")),
        }
    }
}

impl From<core::CacheVectors> for CacheVectorSource {
    fn from(vectors: core::CacheVectors) -> Self {
        match vectors {
            core::CacheVectors::Given { dim } => Self { dim, model: None, fingerprint: None },
            core::CacheVectors::Made { name, dim, fingerprint } => {
                Self { dim, model: Some(name), fingerprint: Some(fingerprint) }
            }
        }
    }
}

fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(name: &str, text: &str) -> Result<[u8; 32]> {
    let wrong = || Error::invalid(format!("{name} is the hash of 64 hexadecimal digits that a list of answers has"));
    if text.len() != 64 || !text.is_ascii() {
        return Err(wrong());
    }
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
    }
    Ok(hash)
}
