//! Facts as callers see them.

use std::ops::Deref;
use std::sync::Arc;

use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::{Keyspace as LocalKeyspace, Kind};
use nuthatch_engine::ops::{Op, facts, on};
use nuthatch_engine::{
    AskFacts, EntityPage, ExtractBuiltIn, ExtractFailure, ExtractReport, FactPage, FactWhy, FactsErased, FactsPart,
    FactsReport, FactsStats, FindPaths, GroupNodes, Learn, ListEntities, NewFact, NodeGroups, PathsFound, Predicate,
    RankNodes, RankedNodes, Recorded, Result, Traced, TracedPassage, Work, WorkPage,
};

use crate::records::strings;
use crate::route::Route;
use crate::rows::{From, Inner};

/// The reads of facts. [`Facts`] and a snapshot's facts offer them.
#[derive(Clone)]
pub struct Statements<'t> {
    pub(crate) from: From<'t>,
}

/// A handle on facts. Cheap to clone; safe to share between threads and with forks of the process.
///
/// Names of entities are 1 to 1,024 bytes, of relations 1 to 255; none of them has the character U+0000.
#[derive(Clone)]
pub struct Facts {
    statements: Statements<'static>,
    inner: Arc<Inner>,
    durability: Durability,
}

/// When facts are asked about as a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Only facts that say to have been true then, in microseconds since 1970.
    pub valid_at: Option<i64>,
    /// Facts as they were known then, in milliseconds since 1970.
    pub known_at: Option<u64>,
}

impl Statements<'_> {
    /// The name of the facts.
    pub fn name(&self) -> &str {
        self.from.name()
    }

    /// One page of facts, as of one moment, in the order in which they were recorded.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 10,000.
    pub fn list(&self, ask: &AskFacts) -> Result<FactPage> {
        self.ask(ask.clone())
    }

    /// Why a fact is believed, or is not; `None` when it is not there.
    pub fn why(&self, number: u64) -> Result<Option<FactWhy>> {
        self.ask(facts::Why(number))
    }

    /// One page of entities by their normal forms, or those of one normal form.
    ///
    /// # Errors
    /// As [`list`](Self::list); also for a cursor that is none.
    pub fn entities(&self, ask: &ListEntities) -> Result<EntityPage> {
        self.ask(ask.clone())
    }

    /// All relations by name, and what is declared of them.
    pub fn predicates(&self) -> Result<Vec<Predicate>> {
        self.ask(facts::Predicates)
    }

    /// How many facts there are.
    pub fn stats(&self) -> Result<FactsStats> {
        self.ask(facts::Stats)
    }

    /// The facts that stand on some passages, up to 10,000, and whom they name.
    ///
    /// # Errors
    /// `Invalid` for over 1,000 passages.
    pub fn trace(&self, passages: &[TracedPassage]) -> Result<Traced> {
        self.ask(facts::Trace(passages.to_vec()))
    }

    /// Returns the failures of an extractor; at most `limit`.
    pub fn failures(&self, extractor: &str, limit: usize) -> Result<Vec<ExtractFailure>> {
        self.ask(facts::Failures { extractor: extractor.into(), limit })
    }

    /// The cheapest paths between two entities.
    ///
    /// # Errors
    /// `Invalid` for a number of paths or steps out of its range; `Exhausted` when there is no room for what it has to keep.
    pub fn paths(&self, ask: &FindPaths, Moments { valid_at, known_at }: Moments) -> Result<PathsFound> {
        self.ask(facts::Paths { of: ask.clone(), valid_at, known_at })
    }

    /// The entities that matter most, or matter most to some.
    ///
    /// # Errors
    /// `Invalid` for a question out of its ranges; `Exhausted` for over a million facts, or when there is no room for them.
    pub fn rank(&self, ask: &RankNodes, Moments { valid_at, known_at }: Moments) -> Result<RankedNodes> {
        self.ask(facts::Ranks { of: ask.clone(), valid_at, known_at })
    }

    /// The entities that belong together.
    ///
    /// # Errors
    /// As [`rank`](Self::rank).
    pub fn groups(&self, ask: &GroupNodes, Moments { valid_at, known_at }: Moments) -> Result<NodeGroups> {
        self.ask(facts::Groups { of: ask.clone(), valid_at, known_at })
    }

    fn ask<O: Op<On = on::Stated>>(&self, op: O) -> Result<O::Answer> {
        self.from.ask(op)
    }
}

/// Reads are those of [`Statements`].
impl Deref for Facts {
    type Target = Statements<'static>;

    fn deref(&self) -> &Statements<'static> {
        &self.statements
    }
}

impl Facts {
    pub(crate) fn held(link: Route, local: LocalKeyspace) -> Self {
        Self::of(Inner::held(link, local))
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        Self::of(Inner::served(link, name, Kind::Facts, id))
    }

    fn of(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        Self { statements: Statements { from: From::Now(inner.clone()) }, inner, durability: Durability::default() }
    }

    /// The same facts, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// Records facts, all or none. One that is believed already gets the sources that it lacks.
    ///
    /// # Errors
    /// `Invalid` for a fact that cannot be kept, or over 10,000; `NotFound` for a source that is not there.
    pub fn record(&self, facts: Vec<NewFact>) -> Result<Recorded> {
        self.write(facts::Record(facts))
    }

    /// Takes in what an export has, all or none: what is there already, as it is given, stays.
    ///
    /// # Errors
    /// `Invalid` for a part that cannot be kept, and for a fact or an alias that is there otherwise.
    pub(crate) fn import(&self, parts: Vec<FactsPart>) -> Result<()> {
        self.write(facts::Import(parts))
    }

    /// Takes facts back: nobody believes them from now on. Says how many of them were believed.
    pub fn retract(&self, numbers: &[u64]) -> Result<u64> {
        self.write(facts::Retract(numbers.to_vec()))
    }

    /// Says when a fact ended to be true, in microseconds since 1970; gives the number of the fact that says so.
    ///
    /// # Errors
    /// `NotFound` for a fact that is not there or not believed, `Invalid` for an end before its beginning.
    pub fn end(&self, number: u64, valid_to: i64) -> Result<u64> {
        self.write(facts::End { number, valid_to })
    }

    /// Declares whether a subject has one value of a relation at a time. Facts that are already recorded stay as they
    /// are. Returns true if the declaration is new.
    pub fn declare(&self, predicate: &str, functional: bool) -> Result<bool> {
        self.write(facts::Declare { predicate: predicate.into(), functional })
    }

    /// Declares a name another name of an entity. Facts keep the names that they were recorded with. False when it was declared.
    ///
    /// # Errors
    /// `Invalid` for two names that are one, or the other way round already.
    pub fn alias(&self, alias: &str, name: &str) -> Result<bool> {
        self.write(facts::Alias { alias: alias.into(), name: name.into() })
    }

    /// Takes an alias back. False when it was none.
    pub fn remove_alias(&self, alias: &str) -> Result<bool> {
        self.write(facts::RemoveAlias(alias.into()))
    }

    /// One step through a collection: the passages that an extractor has not seen.
    ///
    /// # Errors
    /// `NotFound` for a collection that is not there.
    pub fn work(&self, ask: &Work) -> Result<WorkPage> {
        self.write(ask.clone())
    }

    /// Keeps what an extractor found, and records the facts.
    ///
    /// # Errors
    /// `Invalid` for a fact that cannot be kept; then nothing is.
    pub fn learn(&self, learn: Learn) -> Result<ExtractReport> {
        self.write(learn)
    }

    /// One step of an extractor that needs no model.
    ///
    /// # Errors
    /// `NotFound` for an extractor or a collection that is not there.
    pub fn extract_step(&self, ask: &ExtractBuiltIn) -> Result<ExtractReport> {
        self.write(ask.clone())
    }

    /// Lets an extractor that needs no model go through a collection, and ends facts whose last source is gone.
    ///
    /// # Errors
    /// As [`extract_step`](Self::extract_step).
    pub fn extract(&self, collection: &str, extractor: &str) -> Result<ExtractReport> {
        let mut ask = ExtractBuiltIn { extractor: extractor.into(), collection: collection.into(), cursor: None };
        let mut sum = ExtractReport::default();
        loop {
            let step = self.extract_step(&ask)?;
            sum.called += step.called;
            sum.known += step.known;
            sum.failed += step.failed;
            sum.added += step.added;
            sum.ended += step.ended;
            sum.changed += step.changed;
            ask.cursor = step.cursor;
            if ask.cursor.is_none() {
                sum.ended += self.settle()?.ended;
                return Ok(sum);
            }
        }
    }

    /// Notes of facts whose last source is gone that they are not believed from now on. Reads know that without it.
    pub fn settle(&self) -> Result<FactsReport> {
        self.write(facts::Settle)
    }

    /// Erases what was taken from passages: facts that stand on them alone, what extractors found there, and the passages among the
    /// sources of other facts.
    ///
    /// # Errors
    /// `NotFound` for a collection that is not there.
    pub fn erase<I: AsRef<str>>(&self, collection: &str, ids: &[I]) -> Result<FactsErased> {
        let passage = |id| TracedPassage { collection: collection.into(), id };
        self.write(facts::Erase(strings(ids).into_iter().map(passage).collect()))
    }

    fn write<O: Op<On = on::Stated>>(&self, op: O) -> Result<O::Answer> {
        self.inner.ask(op, self.durability)
    }
}
