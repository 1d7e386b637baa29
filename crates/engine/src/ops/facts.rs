//! Operations on facts.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::database::Database;
use crate::facts::{
    self, AskFacts, EntityPage, ExtractBuiltIn, ExtractFailure, ExtractReport, FactNetwork, FactPage, FactWhy, Facts,
    FactsErased, FactsPart, FactsReport, FactsStats, Learn, ListEntities, NewFact, Predicate, Recorded, Traced,
    TracedPassage, Work, WorkPage,
};
use crate::graph::EdgeDirection;
use crate::network::{self, FindPaths, GroupNodes, NodeGroups, PathsFound, RankNodes, RankedNodes};
use crate::ops::{Op, Repeat, Scope, View, on};

impl Op for AskFacts {
    type On = on::Stated;
    type Answer = FactPage;
    const NAME: &'static str = "facts.list";

    fn run(self, view: &View<'_>) -> Result<FactPage> {
        view.at_once(|rows| facts::facts(rows, &self))
    }
}

/// Why a fact is believed, or is not; `None` when it is not there.
#[derive(Serialize, Deserialize)]
pub struct Why(pub u64);

impl Op for Why {
    type On = on::Stated;
    type Answer = Option<FactWhy>;
    const NAME: &'static str = "facts.why";

    fn run(self, view: &View<'_>) -> Result<Option<FactWhy>> {
        view.at_once(|rows| facts::why(rows, self.0))
    }
}

impl Op for ListEntities {
    type On = on::Stated;
    type Answer = EntityPage;
    const NAME: &'static str = "facts.entities";

    fn run(self, view: &View<'_>) -> Result<EntityPage> {
        view.at_once(|rows| facts::entities(rows, &self))
    }
}

/// All relations by name, and what is declared of them.
#[derive(Serialize, Deserialize)]
pub struct Predicates;

impl Op for Predicates {
    type On = on::Stated;
    type Answer = Vec<Predicate>;
    const NAME: &'static str = "facts.predicates";

    fn run(self, view: &View<'_>) -> Result<Vec<Predicate>> {
        view.at_once(facts::predicates)
    }
}

/// How many facts there are.
#[derive(Serialize, Deserialize)]
pub struct Stats;

impl Op for Stats {
    type On = on::Stated;
    type Answer = FactsStats;
    const NAME: &'static str = "facts.stats";

    fn run(self, view: &View<'_>) -> Result<FactsStats> {
        view.at_once(facts::stats)
    }
}

/// The facts that stand on some passages, and whom they name.
#[derive(Serialize, Deserialize)]
pub struct Trace(pub Vec<TracedPassage>);

impl Op for Trace {
    type On = on::Stated;
    type Answer = Traced;
    const NAME: &'static str = "facts.trace";

    fn run(self, view: &View<'_>) -> Result<Traced> {
        view.at_once(|rows| facts::trace(rows, &self.0))
    }
}

/// The failures of an extractor, up to a limit.
#[derive(Serialize, Deserialize)]
pub struct Failures {
    /// Its name.
    pub extractor: String,
    /// Failures of the answer.
    pub limit: usize,
}

impl Op for Failures {
    type On = on::Stated;
    type Answer = Vec<ExtractFailure>;
    const NAME: &'static str = "facts.failures";

    fn run(self, view: &View<'_>) -> Result<Vec<ExtractFailure>> {
        view.at_once(|rows| facts::failures(rows, &self.extractor, self.limit.clamp(1, 10_000)))
    }
}

/// A question about facts as a network, and at which moments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct At<T> {
    /// The question.
    pub of: T,
    /// Only facts that say to have been true then, in microseconds since 1970.
    pub valid_at: Option<i64>,
    /// Facts as they were known then, in milliseconds since 1970.
    pub known_at: Option<u64>,
}

impl<T> At<T> {
    /// Of facts as they are known now, whenever they are true.
    pub fn of(of: T) -> Self {
        Self { of, valid_at: None, known_at: None }
    }
}

/// The cheapest paths between two entities.
pub type Paths = At<FindPaths>;
/// The entities that matter most.
pub type Ranks = At<RankNodes>;
/// The entities that belong together.
pub type Groups = At<GroupNodes>;

impl Op for Paths {
    type On = on::Stated;
    type Answer = PathsFound;
    const NAME: &'static str = "facts.paths";

    fn run(self, view: &View<'_>) -> Result<PathsFound> {
        let Self { of, valid_at, known_at } = self;
        view.at_once(|rows| {
            let network = FactNetwork::of(rows, of.direction, &of.kinds, valid_at, known_at)?;
            let of = FindPaths { from: network.canonical(&of.from)?, to: network.canonical(&of.to)?, ..of.clone() };
            network::paths(&network, &of)
        })
    }
}

impl Op for Ranks {
    type On = on::Stated;
    type Answer = RankedNodes;
    const NAME: &'static str = "facts.rank";

    fn run(self, view: &View<'_>) -> Result<RankedNodes> {
        let Self { of, valid_at, known_at } = self;
        view.at_once(|rows| {
            let network = FactNetwork::of(rows, of.direction, &of.kinds, valid_at, known_at)?;
            let seed = |(name, share): &(String, f64)| Ok((network.canonical(name)?, *share));
            let seeds = of.seeds.iter().map(seed).collect::<Result<_>>()?;
            network::rank(&network, &RankNodes { seeds, ..of.clone() })
        })
    }
}

impl Op for Groups {
    type On = on::Stated;
    type Answer = NodeGroups;
    const NAME: &'static str = "facts.groups";

    fn run(self, view: &View<'_>) -> Result<NodeGroups> {
        let Self { of, valid_at, known_at } = self;
        view.at_once(|rows| {
            network::group(&FactNetwork::of(rows, EdgeDirection::Both, &of.kinds, valid_at, known_at)?, &of)
        })
    }
}

/// Records facts. Asked again, it finds them and changes nothing.
#[derive(Serialize, Deserialize)]
pub struct Record(pub Vec<NewFact>);

impl Op for Record {
    type On = on::Stated;
    type Answer = Recorded;
    const NAME: &'static str = "facts.record";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Recorded> {
        live(view)?.record(self.0)
    }
}

/// Takes in what an export has. Asked again, it finds everything and changes nothing.
#[derive(Serialize, Deserialize)]
pub struct Import(pub Vec<FactsPart>);

impl Op for Import {
    type On = on::Stated;
    type Answer = ();
    const NAME: &'static str = "facts.import";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<()> {
        live(view)?.import(self.0)
    }
}

/// Takes facts back; says how many of them were believed.
#[derive(Serialize, Deserialize)]
pub struct Retract(pub Vec<u64>);

impl Op for Retract {
    type On = on::Stated;
    type Answer = u64;
    const NAME: &'static str = "facts.retract";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        live(view)?.retract(&self.0)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.deleted)
    }
}

/// Says when a fact ended to be true; gives the number of the fact that says so.
#[derive(Serialize, Deserialize)]
pub struct End {
    /// The fact.
    pub number: u64,
    /// In microseconds since 1970.
    pub valid_to: i64,
}

impl Op for End {
    type On = on::Stated;
    type Answer = u64;
    const NAME: &'static str = "facts.end";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        live(view)?.end(self.number, self.valid_to)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.value as u64)
    }
}

/// Declares of a relation whether a subject has one value of it at a time. True when that is new.
#[derive(Serialize, Deserialize)]
pub struct Declare {
    /// The relation.
    pub predicate: String,
    /// One value at a time.
    pub functional: bool,
}

impl Op for Declare {
    type On = on::Stated;
    type Answer = bool;
    const NAME: &'static str = "facts.declare";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        live(view)?.declare(&self.predicate, self.functional)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

/// Declares a name another name of an entity. False when it was.
#[derive(Serialize, Deserialize)]
pub struct Alias {
    /// The other name.
    pub alias: String,
    /// The name that stands for the entity.
    pub name: String,
}

impl Op for Alias {
    type On = on::Stated;
    type Answer = bool;
    const NAME: &'static str = "facts.alias";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        live(view)?.alias(&self.alias, &self.name)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

/// Takes an alias back. False when it was none.
#[derive(Serialize, Deserialize)]
pub struct RemoveAlias(pub String);

impl Op for RemoveAlias {
    type On = on::Stated;
    type Answer = bool;
    const NAME: &'static str = "facts.remove_alias";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        live(view)?.remove_alias(&self.0)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

impl Op for Work {
    type On = on::Stated;
    type Answer = WorkPage;
    const NAME: &'static str = "facts.work";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<WorkPage> {
        facts::work(&live(view)?, &self)
    }
}

impl Op for Learn {
    type On = on::Stated;
    type Answer = ExtractReport;
    const NAME: &'static str = "facts.learn";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<ExtractReport> {
        facts::learn(&live(view)?, &self)
    }
}

impl Op for ExtractBuiltIn {
    type On = on::Stated;
    type Answer = ExtractReport;
    const NAME: &'static str = "facts.extract";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<ExtractReport> {
        facts::extract_built_in(&live(view)?, &self)
    }
}

/// Notes of facts whose last source is gone that they are not believed from now on.
#[derive(Serialize, Deserialize)]
pub struct Settle;

impl Op for Settle {
    type On = on::Stated;
    type Answer = FactsReport;
    const NAME: &'static str = "facts.settle";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<FactsReport> {
        let facts = live(view)?;
        let report = facts.settle()?;
        Ok(FactsReport { ended: report.ended + facts.keyspace.call.before().deleted, ..report })
    }
}

/// Erases what was taken from passages.
#[derive(Serialize, Deserialize)]
pub struct Erase(pub Vec<TracedPassage>);

impl Op for Erase {
    type On = on::Stated;
    type Answer = FactsErased;
    const NAME: &'static str = "facts.erase";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<FactsErased> {
        let facts = live(view)?;
        Ok(facts.erase(&self.0)?.after(facts.keyspace.call.before()))
    }
}

fn live(view: &View<'_>) -> Result<Facts> {
    Ok(Facts::of(view.keyspace()?))
}
