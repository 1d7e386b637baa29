//! Facts: what is said of whom, since when and until when it is true, when that was known, and which passages say so.
//!
//! **Useful for** what an application learns of people, things and documents, and has to be able to take back: a fact names its
//! sources, and falls with them. **Not for** finding passages (collections), and not for edges without a time or a source (graphs).
//!
//! Facts are a keyspace of another kind: this module lays out the rows, and `kv/` stores, batches and counts them and keeps them
//! for snapshots. [RFC 0060](../../../../docs/rfcs/0060-facts.md) has what was weighed.
//!
//! **Invariant:** a fact is believed until a rule that somebody declared, a call that names it, or the loss of its last source ends
//! that; never because another fact resembles it. Nothing of a passage that is erased stays in a fact, nor in what extractors found.

mod ask;
mod changes;
mod draft;
pub(crate) mod extract;
mod fact;
mod key;
mod mend;
mod network;
mod normal;
mod parts;
mod read;
mod upkeep;
mod value;
mod write;

pub use ask::{
    AskFacts, Entity, EntityPage, FactPage, FactShown, FactWhy, FactsErased, FactsReport, FactsStats, ListEntities,
    Predicate, Recorded, SourceShown, Traced, TracedPassage,
};
pub(crate) use changes::FactChanges;
pub use changes::FactWrites;
pub use extract::{
    BUILT_IN, ExtractBuiltIn, ExtractFailure, ExtractReport, Extracted, ExtractedObject, Extractor, Learn, Learned,
    PassageText, Work, WorkPage, WorkPassage, document_of,
};
pub(crate) use extract::{extract_built_in, failures, learn, work};
pub use fact::{EndReason, Fact, FactSource, Invalidated, NewFact, Object, PassageRef, SourcePassage};
pub(crate) use mend::{looks_like_facts, mend_facts};
pub(crate) use network::FactNetwork;
pub(crate) use normal::normal_form;
pub use parts::{FactsPart, PassageRead, TextRead};
pub(crate) use parts::{GONE, each_part};
pub(crate) use read::{entities, facts, predicates, stats, trace, why};

use crate::kv::Keyspace;

/// A handle on facts in the process that holds the folder.
#[derive(Clone)]
pub(crate) struct Facts {
    pub keyspace: Keyspace,
}

impl Facts {
    /// The facts of this keyspace.
    pub fn of(keyspace: &Keyspace) -> Self {
        Self { keyspace: keyspace.clone() }
    }
}
