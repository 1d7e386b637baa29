//! Questions to facts, and their answers.

use serde::{Deserialize, Serialize};

use crate::facts::{Fact, Object};

/// Which facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskFacts {
    /// Facts about this entity, whichever of its names they use.
    pub subject: Option<String>,
    /// Facts of this relation.
    pub predicate: Option<String>,
    /// Facts that say this, of an entity whichever of its names they use.
    pub object: Option<Object>,
    /// Facts that say to have been true at that moment, in microseconds since 1970.
    pub valid_at: Option<i64>,
    /// Facts as they were known at that moment, in milliseconds since 1970; `None`: as they are known now.
    pub known_at: Option<u64>,
    /// Also facts that are not believed any more.
    pub history: bool,
    /// Facts of one page, 1 to 10,000.
    pub limit: usize,
    /// Continue after this fact.
    pub after: Option<u64>,
}

impl Default for AskFacts {
    fn default() -> Self {
        Self {
            subject: None,
            predicate: None,
            object: None,
            valid_at: None,
            known_at: None,
            history: false,
            limit: 1000,
            after: None,
        }
    }
}

/// A fact as it is answered: with those of its sources that count at the moment that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactShown {
    /// The fact.
    pub fact: Fact,
    /// It is believed at that moment: nobody ended it, and a source stands.
    pub believed: bool,
}

/// Facts in the order in which they were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FactPage {
    /// At most as many as were asked for.
    pub facts: Vec<FactShown>,
    /// Where to go on; `None` at the end.
    pub after: Option<u64>,
}

/// A source of a fact, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceShown {
    /// The passage is there as it was; true where a caller stands for it.
    pub stands: bool,
    /// The bytes of the passage that the fact was taken from, if it stands.
    pub text: Option<String>,
}

/// Why a fact is believed, or is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactWhy {
    /// The fact.
    pub fact: Fact,
    /// It is believed now.
    pub believed: bool,
    /// One for each of its sources, in their order.
    pub sources: Vec<SourceShown>,
    /// The facts before it that it revises, the newest first.
    pub revises: Vec<Fact>,
    /// The fact by which it ended.
    pub ended_by: Option<Fact>,
}

/// Which entities to list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListEntities {
    /// Only entities whose normal forms begin as that of this does.
    pub prefix: String,
    /// Only entities whose normal form is that of this: candidates of the same.
    pub like: Option<String>,
    /// Entities of one page, 1 to 10,000.
    pub limit: usize,
    /// Continue after the page that gave this cursor.
    pub cursor: Option<String>,
}

impl Default for ListEntities {
    fn default() -> Self {
        Self { prefix: String::new(), like: None, limit: 1000, cursor: None }
    }
}

/// A name that facts use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// As the facts have it.
    pub name: String,
    /// Facts that name it, believed or not.
    pub facts: u64,
    /// The name that it is declared an alias of.
    pub alias_of: Option<String>,
    /// The names that are declared aliases of it.
    pub aliases: Vec<String>,
}

/// Entities by their normal forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityPage {
    /// At most as many as were asked for.
    pub entities: Vec<Entity>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// A relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicate {
    /// Its name.
    pub name: String,
    /// A subject has one value at a time: a later one ends the one before.
    pub functional: bool,
    /// Facts that have it, believed or not.
    pub facts: u64,
}

/// The result of recording facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The number of each fact, in their order; of one that was there, the number that it has.
    pub numbers: Vec<u64>,
    /// Facts that were not there.
    pub added: u64,
    /// Facts that ended by it.
    pub ended: u64,
}

/// Counts of the data that an erasure removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactsErased {
    /// Facts that stood on these passages alone.
    pub facts: u64,
    /// Sources of facts that stand on others, too.
    pub sources: u64,
    /// Results that extractors had found in these passages.
    pub memos: u64,
}

/// The findings of an upkeep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactsReport {
    /// Facts that it looked at.
    pub looked_at: u64,
    /// Facts whose last source is gone, and which ended by that.
    pub ended: u64,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactsStats {
    /// Facts that are kept.
    pub facts: u64,
    /// Of these, facts that ended.
    pub ended: u64,
}

/// A passage from which to trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedPassage {
    /// The collection.
    pub collection: String,
    /// The record.
    pub id: String,
}

/// The facts and entities that rest on passages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The facts that were taken from them, in the order in which they were recorded.
    pub facts: Vec<FactShown>,
    /// The entities that these name, each with how many of these name it; the most frequent first.
    pub entities: Vec<(String, u64)>,
    /// There are more facts.
    pub truncated: bool,
}
