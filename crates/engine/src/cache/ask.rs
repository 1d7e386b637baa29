//! The questions and answers of a cache.

use std::collections::{BTreeMap, HashSet};

use nuthatch_cache::Veto;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// Longest prompt, and longest scope, in bytes.
const PROMPT_BYTES_MAX: usize = 256 << 10;
/// Longest answer in bytes.
const RESPONSE_BYTES_MAX: usize = 4 << 20;
/// Longest name of a user in bytes.
const USER_BYTES_MAX: usize = 1_024;
/// Longest tag in bytes.
const TAG_BYTES_MAX: usize = 255;
/// Tags, and sources, of one answer.
const NAMES_MAX: usize = 64;

/// A prompt, and on whose behalf it is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskCache {
    /// The prompt.
    pub prompt: String,
    /// Parts and their values, such as the model and the user. An answer is given within the same scope only.
    pub scope: BTreeMap<String, String>,
    /// The prompt's vector, for caches whose callers bring them.
    pub vector: Option<Vec<f32>>,
    /// The caller judges: it gets answers that may not be given yet, to say whether they are right.
    pub judged: bool,
    /// The user who asks, where answers are shared only after several users have them.
    pub user: Option<String>,
    /// The current cost of an answer; absent: its cost when it was stored.
    pub avoids: Option<CacheCost>,
    /// The cost of the vector that comes with it, in billionths of a dollar. The lookup of a prompt reports it once,
    /// and storing does not.
    pub spent_nano_usd: u64,
}

/// The cost of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CacheCost {
    /// Tokens, of the question and of the answer.
    pub tokens: u64,
    /// Billionths of a dollar.
    pub nano_usd: u64,
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheTier {
    /// The very prompt.
    Exact,
    /// A prompt of the same form.
    Canonical,
    /// A prompt of which somebody has said that this answer is right for it.
    Alias,
    /// A prompt of the same meaning.
    Semantic,
}

/// Why nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissReason {
    /// Nothing stored is near enough.
    Absent,
    /// The cache is switched off.
    Off,
    /// The cache only watches: this is what it would have given.
    Shadow,
    /// The nearest prompt differs in what its answer turns on.
    Vetoed(Veto),
    /// Answers that look like this one are wrong too often for the budget.
    Risky,
    /// So few answers were judged that one more might break the promise.
    Unproven,
    /// A source of the answer has changed, or is gone.
    Stale,
}

/// A record that an answer was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRef {
    /// The collection.
    pub collection: String,
    /// The record's id.
    pub id: String,
}

/// An answer out of the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheHit {
    /// How it was found.
    pub tier: CacheTier,
    /// Its number in the cache.
    pub entry: u64,
    /// The number under which a verdict on it is reported; absent where the prompt itself was known.
    pub hit: Option<u64>,
    /// The prompt that it was stored for.
    pub prompt: String,
    /// The answer, as it was stored: JSON.
    pub response: String,
    /// The cosine of the two prompts' vectors.
    pub similarity: Option<f64>,
    /// The estimated probability that it is wrong. The promise does not rest on it.
    pub risk: Option<f64>,
    /// How old it is.
    pub age_ms: u64,
    /// Chance has chosen it to be judged. Until the verdict is reported, it counts as wrong.
    pub audit: bool,
    /// The records that it was made from.
    pub sources: Vec<SourceRef>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The cost that giving it avoids.
    pub cost: CacheCost,
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheAnswer {
    /// The answer, if one may be given.
    pub hit: Option<CacheHit>,
    /// Why there is none.
    pub miss: Option<MissReason>,
    /// For callers that judge: an answer that may be given once its verdict is reported, or, in shadow, that would have been.
    pub candidate: Option<CacheHit>,
}

/// An answer to keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreAnswer {
    /// The prompt.
    pub prompt: String,
    /// As in [`AskCache`].
    pub scope: BTreeMap<String, String>,
    /// As in [`AskCache`].
    pub vector: Option<Vec<f32>>,
    /// The answer: JSON, up to 4 MiB.
    pub response: String,
    /// The records that it was made from. It is not given any more once one of them is replaced or deleted.
    pub sources: Vec<SourceRef>,
    /// Names by which it can be removed.
    pub tags: Vec<String>,
    /// How long it may be given; absent: as the cache says, 0: for ever.
    pub ttl_ms: Option<u64>,
    /// As in [`AskCache`]: whose answer it is, and in whose share it lies where users have shares; there the scope's part `user` will do.
    pub user: Option<String>,
    /// Every user may get it, however many have it: it comes from the operator of the cache, and lies in nobody's
    /// share.
    pub shared: bool,
    /// Its cost.
    pub cost: CacheCost,
}

/// The result of storing an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// The answer's number.
    pub entry: u64,
    /// There was an answer for this prompt, and it is gone.
    pub replaced: bool,
    /// Answers that had to make room, those used longest ago first.
    pub evicted: u64,
    /// It is given to its user only, until more have it.
    pub private: bool,
}

/// A judgement of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// [`CacheHit::hit`]; absent for an answer whose prompt itself was known.
    #[serde(default)]
    pub hit: Option<u64>,
    /// [`CacheHit::entry`].
    pub entry: u64,
    /// Whether it is wrong.
    pub wrong: bool,
    /// Whether it was given to the caller that asked.
    #[serde(default = "yes")]
    pub served: bool,
    /// The cost of the verdict, in billionths of a dollar.
    #[serde(default)]
    pub spent_nano_usd: u64,
}

fn yes() -> bool {
    true
}

/// Which answers to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheEntries {
    /// One by its number.
    Entry(u64),
    /// Those with a tag.
    Tag(String),
    /// Those made from a record.
    Source(SourceRef),
    /// Those of a scope.
    Scope(BTreeMap<String, String>),
    /// All of them.
    All,
}

impl AskCache {
    /// Refuses what no cache can hold.
    pub(crate) fn check(&self) -> Result<()> {
        check_prompt(&self.prompt, &self.scope)?;
        check_user(self.user.as_deref())?;
        check_vector(self.vector.as_deref())
    }
}

impl StoreAnswer {
    /// Refuses what no cache can hold.
    pub(crate) fn check(&self) -> Result<()> {
        check_prompt(&self.prompt, &self.scope)?;
        check_user(self.user.as_deref())?;
        check_vector(self.vector.as_deref())?;
        if self.response.len() > RESPONSE_BYTES_MAX {
            let why =
                format!("the answer has {} bytes, and a cache takes {RESPONSE_BYTES_MAX} at most", self.response.len());
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&self.response) {
            return Err(Error::invalid(format!("the answer is not JSON: {error}")));
        }
        self.tags.iter().try_for_each(|tag| check_tag(tag))?;
        if self.tags.len() > NAMES_MAX || self.sources.len() > NAMES_MAX {
            return Err(Error::invalid(format!("an answer has at most {NAMES_MAX} tags and {NAMES_MAX} sources")));
        }
        let (tags, sources): (HashSet<_>, HashSet<_>) = (self.tags.iter().collect(), self.sources.iter().collect());
        match tags.len() == self.tags.len() && sources.len() == self.sources.len() {
            true => Ok(()),
            false => Err(Error::invalid("a tag or a source is there twice; give each once")),
        }
    }
}

/// Refuses a tag that no answer can have.
pub(crate) fn check_tag(tag: &str) -> Result<()> {
    match tag.is_empty() || tag.len() > TAG_BYTES_MAX || tag.contains('\0') {
        true => Err(Error::invalid(format!("a tag has 1 to {TAG_BYTES_MAX} bytes and no U+0000; {tag:?} does not"))),
        false => Ok(()),
    }
}

fn check_prompt(prompt: &str, scope: &BTreeMap<String, String>) -> Result<()> {
    if prompt.trim().is_empty() {
        return Err(Error::invalid("the prompt is empty; give what is asked"));
    }
    let scope: usize = scope.iter().map(|(part, value)| part.len() + value.len()).sum();
    match prompt.len() > PROMPT_BYTES_MAX || scope > PROMPT_BYTES_MAX {
        true => Err(Error::invalid(format!(
            "a prompt and a scope have {PROMPT_BYTES_MAX} bytes at most, these have {} and {scope}; put a hash of long parts into the scope",
            prompt.len()
        ))),
        false => Ok(()),
    }
}

fn check_user(user: Option<&str>) -> Result<()> {
    match user.is_none_or(|user| (1..=USER_BYTES_MAX).contains(&user.len())) {
        true => Ok(()),
        false => Err(Error::invalid(format!("a user's name has 1 to {USER_BYTES_MAX} bytes"))),
    }
}

pub(crate) fn check_vector(vector: Option<&[f32]>) -> Result<()> {
    let is_sound =
        |vector: &[f32]| !vector.is_empty() && vector.iter().all(|x| x.is_finite()) && vector.iter().any(|x| *x != 0.0);
    match vector.is_none_or(is_sound) {
        true => Ok(()),
        false => Err(Error::invalid("the vector is empty, all zero, or has a component that is not finite")),
    }
}
