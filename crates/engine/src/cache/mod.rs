//! Caches: answers to prompts, found again by the same prompt, by one of the same form, or by one of the same meaning.
//!
//! **Useful for** answers that cost money and time: those of language models. **Not for** values that one key names
//! (keyspaces), and not for finding passages (collections).
//!
//! A cache is a keyspace of another kind: this module lays out its rows, and `kv/` stores, batches and counts them and
//! keeps them for snapshots. The crate `nuthatch-cache` decides which answer may be given for which prompt. [RFC
//! 0046](../../../../docs/rfcs/0046-cache.md) has the rows, and the alternatives weighed.
//!
//! **Invariant:** an answer is given within its scope, before it expires, and while its sources are as they were when it was
//! stored, all as of one moment. An answer that is given by meaning is in the ledger before the caller sees it.

mod ask;
mod before;
mod candidates;
mod change;
mod draft;
mod explain;
mod key;
mod lease;
mod lookup;
mod mend;
mod recent;
mod report;
mod settings;
mod signs;
mod store;
#[cfg(test)]
mod tests;
mod transfer;
mod value;

use std::sync::Arc;

pub use ask::{
    AskCache, CacheAnswer, CacheCost, CacheEntries, CacheHit, CacheTier, MissReason, SourceRef, StoreAnswer,
    StoredAnswer, Verdict,
};
pub use candidates::CacheCandidate;
pub use explain::{CacheAudit, CacheCounts, CacheExplained, CacheLedger, CacheStats};
pub(crate) use explain::{audits, explain, stats};
pub use lease::{CacheLease, EndLease, LeaseAnswer};
pub(crate) use mend::{looks_like_cache, mend_cache};
pub use nuthatch_cache::{Veto, WrongShare};
pub use settings::{CacheChange, CacheMode, CacheSettings, ShareWhen};
pub(crate) use transfer::list;
pub use transfer::{AnswersPage, CacheVectors, ImportAnswers, KeptAnswer, ListAnswers, Reembed, Reembedded};

use crate::Result;
use crate::kv::Keyspace;
use recent::Recent;

/// A handle on a cache in the process that holds the folder.
#[derive(Clone)]
pub(crate) struct Cache {
    pub keyspace: Keyspace,
    attached: Arc<Attached>,
}

/// The in-memory state of a cache.
pub(crate) struct Attached {
    recent: Recent,
    leases: lease::Leases,
    _signs: signs::Kept,
}

impl Cache {
    /// The cache of this keyspace.
    pub fn of(keyspace: &Keyspace) -> Result<Self> {
        let attached = keyspace.space.attached(|space| {
            let signs = signs::Kept::of(space.shared.clone(), space.shard);
            Ok(Attached { recent: Recent::default(), leases: lease::Leases::default(), _signs: signs })
        })?;
        Ok(Self { keyspace: keyspace.clone(), attached })
    }
}
