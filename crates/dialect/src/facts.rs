//! The questions and answers of facts, in JSON. Times are RFC 3339, or dates.
//!
//! **Useful for** every face that speaks JSON: a call by its name has its question and its answer here.
//! **Not for** making, listing and dropping facts.

use nuthatch_engine::{Error, ErrorKind, Result, wording};
use nuthatch_link as core;
use nuthatch_link::{
    AskFacts, EdgeDirection, EndReason, ExtractBuiltIn, GroupBy, ListEntities, Moments, NewFact, Object, PassageRef,
    PathCost, Statements, Work, format_datetime, parse_datetime,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::asking::{answered, asked};
use crate::networks::{GroupsAnswer, GroupsQuestion, PathsAnswer, PathsQuestion, RankAnswer, RankQuestion};

const FAILURES_DEFAULT: usize = 100;
const WORK_DEFAULT: usize = 100;

/// A passage, and which bytes of it.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactPassage {
    collection: String,
    /// The record.
    id: String,
    /// The first byte; default 0.
    #[serde(default)]
    start: u32,
    /// The byte after the last; left out, the end of the text.
    #[serde(default)]
    end: u32,
}

/// A fact to record. It has an `object`, which is an entity, or a `value`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactToRecord {
    /// Whom or what it is about.
    subject: String,
    /// Which relation.
    predicate: String,
    /// The entity that it relates the subject to.
    object: Option<String>,
    /// A text, a number or a boolean, in place of an entity.
    #[schema(value_type = Option<Value>)]
    value: Option<Value>,
    /// When it began to be true.
    valid_from: Option<String>,
    /// When it ended to be true.
    valid_to: Option<String>,
    /// Where it was read; none: the caller stands for it.
    #[serde(default)]
    sources: Vec<FactPassage>,
    /// From 0 to 1; default 1.
    confidence: Option<f64>,
    /// The extractor that found it.
    #[serde(default)]
    extractor: String,
    /// The number of a fact that it takes the place of.
    replaces: Option<u64>,
}

/// Facts to record, all or none.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsToRecord {
    /// 10,000 at most.
    facts: Vec<FactToRecord>,
}

/// The result of recording facts.
#[derive(Serialize, ToSchema)]
pub struct FactsRecorded {
    /// The number of each fact; of one that was there, the number that it has.
    numbers: Vec<u64>,
    /// Facts that were not there.
    added: u64,
    /// Facts that ended by it.
    ended: u64,
}

/// The facts to select. An absent field does not narrow the selection.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsQuestion {
    /// About this entity, by any of its names.
    subject: Option<String>,
    predicate: Option<String>,
    /// Of this entity, by any of its names.
    object: Option<String>,
    /// Of this value.
    #[schema(value_type = Option<Value>)]
    value: Option<Value>,
    /// True at that time.
    valid_at: Option<String>,
    /// As they were known at that time.
    known_at: Option<String>,
    /// Also facts that are not believed any more.
    #[serde(default)]
    history: bool,
    /// Facts of a page; default 1,000.
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
    /// Continue after this fact.
    after: Option<u64>,
}

/// A source of a fact. Without a `collection`, a caller stands for it.
#[derive(Serialize, ToSchema)]
pub struct SourceOfFact {
    collection: Option<String>,
    id: Option<String>,
    start: Option<u32>,
    end: Option<u32>,
    extractor: String,
    confidence: f64,
    recorded: String,
    /// The passage is there as it was. Only in answers to `why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stands: Option<bool>,
    /// The text of the passage there. Only in answers to `why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Why a fact ended: `rule` (a later value of a functional relation), `replaced`, `retracted`, `ended` (somebody said when), or
/// `source` (its last passage is gone).
#[derive(Serialize, ToSchema)]
pub struct EndOfFact {
    at: String,
    #[schema(value_type = String)]
    why: EndReason,
    /// The fact by which.
    by: Option<u64>,
}

/// A fact.
#[derive(Serialize, ToSchema)]
pub struct FactAnswer {
    number: u64,
    subject: String,
    predicate: String,
    /// The entity; null when there is a value.
    object: Option<String>,
    /// The value; null when there is an entity.
    #[schema(value_type = Option<Value>)]
    value: Option<Value>,
    valid_from: Option<String>,
    valid_to: Option<String>,
    recorded: String,
    /// Nobody ended it, and a source stands.
    believed: bool,
    ended: Option<EndOfFact>,
    /// The fact that it repeats, with another end.
    revises: Option<u64>,
    /// The highest confidence of its sources.
    confidence: f64,
    sources: Vec<SourceOfFact>,
}

/// Facts in the order in which they were recorded.
#[derive(Serialize, ToSchema)]
pub struct FactsAnswer {
    facts: Vec<FactAnswer>,
    /// Where to go on; null at the end.
    after: Option<u64>,
}

/// The number of a fact.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactNumber {
    number: u64,
}

/// Why a fact is believed, or is not.
#[derive(Serialize, ToSchema)]
pub struct WhyAnswer {
    fact: FactAnswer,
    /// The facts before it that it revises, the newest first.
    revises: Vec<FactAnswer>,
    /// The fact by which it ended.
    ended_by: Option<FactAnswer>,
}

/// Which entities.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitiesQuestion {
    /// Whose normal forms begin as that of this does.
    #[serde(default)]
    prefix: String,
    /// Whose normal form is that of this: candidates of the same entity.
    like: Option<String>,
    /// Entities of a page; default 1,000.
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// A name that facts use.
#[derive(Serialize, ToSchema)]
pub struct EntityAnswer {
    name: String,
    /// Facts that name it, believed or not.
    facts: u64,
    alias_of: Option<String>,
    aliases: Vec<String>,
}

/// Entities by their normal forms.
#[derive(Serialize, ToSchema)]
pub struct EntitiesAnswer {
    entities: Vec<EntityAnswer>,
    cursor: Option<String>,
}

/// A relation.
#[derive(Serialize, ToSchema)]
pub struct PredicateAnswer {
    name: String,
    /// One value at a time: a later one ends the one before.
    functional: bool,
    /// Facts that have it, believed or not.
    facts: u64,
}

/// All relations.
#[derive(Serialize, ToSchema)]
pub struct PredicatesAnswer {
    predicates: Vec<PredicateAnswer>,
}

/// How many facts there are.
#[derive(Serialize, ToSchema)]
pub struct FactsCounts {
    facts: u64,
    /// Of these, facts that ended.
    ended: u64,
}

/// Passages to trace or to erase from.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PassagesQuestion {
    collection: String,
    /// The records.
    ids: Vec<String>,
}

/// An entity, and how many of the facts name it.
#[derive(Serialize, ToSchema)]
pub struct NamedEntity {
    name: String,
    facts: u64,
}

/// Everything that rests on passages.
#[derive(Serialize, ToSchema)]
pub struct TraceAnswer {
    facts: Vec<FactAnswer>,
    /// Those that the facts name, the most frequent first.
    entities: Vec<NamedEntity>,
    /// There are more facts.
    truncated: bool,
}

/// Facts to take back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsToRetract {
    numbers: Vec<u64>,
}

/// How many facts ended.
#[derive(Serialize, ToSchema)]
pub struct FactsEnded {
    ended: u64,
}

/// When a fact ended to be true.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactToEnd {
    number: u64,
    valid_to: String,
}

/// The fact that says so.
#[derive(Serialize, ToSchema)]
pub struct FactRevised {
    number: u64,
}

/// A declaration of a relation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PredicateToDeclare {
    predicate: String,
    /// One value at a time.
    functional: bool,
}

/// Another name of an entity.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasToDeclare {
    alias: String,
    /// The name that stands for the entity.
    name: String,
}

/// A name that is no alias any more.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasToRemove {
    alias: String,
}

/// Whether that changed something.
#[derive(Serialize, ToSchema)]
pub struct FactsChanged {
    changed: bool,
}

/// Passages that an extractor has not seen.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkQuestion {
    /// The extractor's name, with a version: a different one is asked again.
    extractor: String,
    collection: String,
    /// Passages of a step; default 100.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Also passages at which it failed.
    #[serde(default)]
    retry: bool,
    cursor: Option<String>,
}

/// A passage to extract from. Passages of one hash have one answer.
#[derive(Serialize, ToSchema)]
pub struct PassageOfWork {
    id: String,
    /// The path of its file, or the record.
    document: String,
    text: String,
    /// Headings or symbols that it stands under.
    context: Option<String>,
    code: bool,
    hash: String,
}

/// A step through a collection.
#[derive(Serialize, ToSchema)]
pub struct WorkAnswer {
    passages: Vec<PassageOfWork>,
    /// Passages whose facts were recorded from what is known of their text.
    known: u64,
    /// Passages at which it failed before.
    failed: u64,
    cursor: Option<String>,
}

/// A fact as an extractor finds it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactFound {
    /// Left out: the document.
    subject: Option<String>,
    predicate: String,
    object: Option<String>,
    #[schema(value_type = Option<Value>)]
    value: Option<Value>,
    valid_from: Option<String>,
    valid_to: Option<String>,
    /// The first byte of the text that says so; default 0.
    #[serde(default)]
    start: u32,
    /// The byte after the last; left out, the end of the text.
    #[serde(default)]
    end: u32,
    confidence: Option<f64>,
}

/// An extractor's findings in a passage, or why it failed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PassageLearned {
    id: String,
    hash: String,
    #[serde(default)]
    facts: Vec<FactFound>,
    /// Why it failed.
    failed: Option<String>,
}

/// The findings of an extractor.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnQuestion {
    extractor: String,
    collection: String,
    /// 1,000 at most.
    results: Vec<PassageLearned>,
}

/// Which extractor that needs no model: `links` or `mentions`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractQuestion {
    extractor: String,
    collection: String,
    cursor: Option<String>,
}

/// The result of an extraction.
#[derive(Serialize, ToSchema)]
pub struct ExtractAnswer {
    /// Texts that the extractor was called for.
    called: u64,
    /// Passages whose facts were recorded from what is known of their text.
    known: u64,
    failed: u64,
    /// Facts that were not there.
    added: u64,
    /// Facts that ended: by a rule, or because no passage says so any more.
    ended: u64,
    /// Passages that changed meanwhile; the next call gets them.
    changed: u64,
    /// There is more: ask again with it.
    cursor: Option<String>,
}

/// Of which extractor.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailuresQuestion {
    extractor: String,
    /// Failures of the answer; default 100.
    limit: Option<usize>,
}

/// A failure of an extractor.
#[derive(Serialize, ToSchema)]
pub struct FailureAnswer {
    id: String,
    why: String,
    calls: u32,
    at: String,
}

/// The failures of an extractor.
#[derive(Serialize, ToSchema)]
pub struct FailuresAnswer {
    failures: Vec<FailureAnswer>,
}

/// The findings of an upkeep.
#[derive(Serialize, ToSchema)]
pub struct SettleAnswer {
    looked_at: u64,
    /// Facts whose last source is gone.
    ended: u64,
}

/// The data that an erasure removed. `POST /v1/reclaim` removes the bytes.
#[derive(Serialize, ToSchema)]
pub struct EraseAnswer {
    /// Facts that stood on these passages alone.
    facts: u64,
    /// Sources of facts that stand on others, too.
    sources: u64,
    /// Findings of extractors in these passages.
    memos: u64,
}

/// A call that takes nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FactsNothing)]
pub struct Nothing {}

/// The cheapest paths between two entities.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsPathsQuestion {
    /// Where they begin.
    from: String,
    /// Where they end.
    to: String,
    /// Which way facts may be gone: `out` (the default), `in` or `both`.
    #[serde(default)]
    #[schema(value_type = String)]
    direction: EdgeDirection,
    /// Only facts of these relations.
    #[serde(default)]
    types: Vec<String>,
    /// The cost of a fact: 1 (`hops`, the default), its confidence (`weight`), or 1 divided by it (`strength`).
    #[serde(default)]
    #[schema(value_type = String)]
    cost: PathCost,
    /// How many paths; default 1.
    #[schema(minimum = 1, maximum = 16)]
    count: Option<usize>,
    /// Most facts of a path; default 64.
    #[schema(minimum = 1, maximum = 64)]
    max_steps: Option<u32>,
    /// Only facts that were true at that time.
    valid_at: Option<String>,
    /// Facts as they were known at that time.
    known_at: Option<String>,
}

/// Which entities matter most.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsRankQuestion {
    /// Where a walk begins again, all with the same share; none: anywhere.
    #[serde(default)]
    seeds: Vec<String>,
    /// Which way facts are gone: `out` (the default), `in` or `both`.
    #[serde(default)]
    #[schema(value_type = String)]
    direction: EdgeDirection,
    /// Only facts of these relations.
    #[serde(default)]
    types: Vec<String>,
    /// The probability to go on along a fact; default 0.85.
    #[schema(minimum = 0, maximum = 0.99)]
    damping: Option<f64>,
    /// Entities of the answer; default 100.
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
    /// Only facts that were true at that time.
    valid_at: Option<String>,
    /// Facts as they were known at that time.
    known_at: Option<String>,
}

/// Which entities belong together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsGroupsQuestion {
    /// By any path (`components`, the default), or by having more facts among each other than by chance (`communities`).
    #[serde(default)]
    #[schema(value_type = String)]
    by: GroupBy,
    /// Only facts of these relations.
    #[serde(default)]
    types: Vec<String>,
    /// Groups of the answer; default 100.
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
    /// Entities that are named of each; default 100.
    #[schema(minimum = 1, maximum = 10000)]
    members: Option<usize>,
    /// Only facts that were true at that time.
    valid_at: Option<String>,
    /// Facts as they were known at that time.
    known_at: Option<String>,
}

fn moments(valid_at: Option<String>, known_at: Option<String>) -> Result<Moments> {
    Ok(Moments {
        valid_at: valid_at.map(|text| micros("valid_at", &text)).transpose()?,
        known_at: known_at.map(|text| micros("known_at", &text)).transpose()?.map(millis),
    })
}

/// Calls that change nothing.
pub const FACTS_READS: [&str; 10] =
    ["list", "why", "entities", "predicates", "stats", "trace", "failures", "paths", "rank", "groups"];

/// Asks facts, as they are now or as a snapshot has them.
///
/// # Errors
/// `NotFound` for a name that is not in [`FACTS_READS`]; `Invalid` with the place of the mistake in the question; the
/// errors of the call.
pub fn read(facts: &Statements<'_>, call: &str, question: Value) -> Result<Value> {
    match call {
        "list" => {
            let found = facts.list(&asked::<FactsQuestion>(call, question)?.into_engine()?)?;
            let all = found.facts.into_iter().map(|it| shown(it.fact, it.believed)).collect();
            answered(FactsAnswer { facts: all, after: found.after })
        }
        "why" => {
            let FactNumber { number } = asked(call, question)?;
            let why = facts.why(number)?.ok_or_else(|| Error::not_found(format!("there is no fact {number}")))?;
            let mut fact = shown(why.fact, why.believed);
            for (source, known) in fact.sources.iter_mut().zip(why.sources) {
                (source.stands, source.text) = (Some(known.stands), known.text);
            }
            let old = |fact: core::Fact| shown(fact, false);
            let revises = why.revises.into_iter().map(old).collect();
            answered(WhyAnswer { fact, revises, ended_by: why.ended_by.map(shown_as_kept) })
        }
        "entities" => {
            let EntitiesQuestion { prefix, like, limit, cursor } = asked(call, question)?;
            let plain = ListEntities::default();
            let found = facts.entities(&ListEntities { prefix, like, limit: limit.unwrap_or(plain.limit), cursor })?;
            let entity =
                |core::Entity { name, facts, alias_of, aliases }| EntityAnswer { name, facts, alias_of, aliases };
            answered(EntitiesAnswer {
                entities: found.entities.into_iter().map(entity).collect(),
                cursor: found.cursor,
            })
        }
        "predicates" => {
            let Nothing {} = asked(call, question)?;
            let predicate = |core::Predicate { name, functional, facts }| PredicateAnswer { name, functional, facts };
            answered(PredicatesAnswer { predicates: facts.predicates()?.into_iter().map(predicate).collect() })
        }
        "stats" => {
            let Nothing {} = asked(call, question)?;
            let core::FactsStats { facts, ended } = facts.stats()?;
            answered(FactsCounts { facts, ended })
        }
        "trace" => {
            let PassagesQuestion { collection, ids } = asked(call, question)?;
            let passage = |id| core::TracedPassage { collection: collection.clone(), id };
            let traced = facts.trace(&ids.into_iter().map(passage).collect::<Vec<_>>())?;
            answered(TraceAnswer {
                facts: traced.facts.into_iter().map(|it| shown(it.fact, it.believed)).collect(),
                entities: traced.entities.into_iter().map(|(name, facts)| NamedEntity { name, facts }).collect(),
                truncated: traced.truncated,
            })
        }
        "failures" => {
            let FailuresQuestion { extractor, limit } = asked(call, question)?;
            let failure =
                |core::ExtractFailure { id, why, calls, at_ms }| FailureAnswer { id, why, calls, at: time_ms(at_ms) };
            let found = facts.failures(&extractor, limit.unwrap_or(FAILURES_DEFAULT))?;
            answered(FailuresAnswer { failures: found.into_iter().map(failure).collect() })
        }
        "paths" => {
            let FactsPathsQuestion { from, to, direction, types, cost, count, max_steps, valid_at, known_at } =
                asked(call, question)?;
            let ask = PathsQuestion { from, to, direction, types, cost, count, max_steps };
            answered(PathsAnswer::from(facts.paths(&ask.into_engine(), moments(valid_at, known_at)?)?))
        }
        "rank" => {
            let FactsRankQuestion { seeds, direction, types, damping, limit, valid_at, known_at } =
                asked(call, question)?;
            let ask = RankQuestion { seeds, direction, types, damping, limit };
            answered(RankAnswer::from(facts.rank(&ask.into_engine(), moments(valid_at, known_at)?)?))
        }
        "groups" => {
            let FactsGroupsQuestion { by, types, limit, members, valid_at, known_at } = asked(call, question)?;
            let ask = GroupsQuestion { by, types, limit, members };
            answered(GroupsAnswer::from(facts.groups(&ask.into_engine(), moments(valid_at, known_at)?)?))
        }
        _ => Err(Error::new(
            ErrorKind::NotFound,
            format!("no question {call:?} about facts; there are: {}", FACTS_READS.join(", ")),
        )),
    }
}

/// Facts to record as the engine takes them.
///
/// # Errors
/// `Invalid` for an object and a value, or neither, and for a time that is none; it names the fact.
pub fn to_record(facts: Vec<FactToRecord>) -> Result<Vec<NewFact>> {
    let one = |(at, fact): (usize, FactToRecord)| {
        fact.into_engine().map_err(|error| Error::new(error.kind, format!("facts[{at}]: {}", error.message)))
    };
    facts.into_iter().enumerate().map(one).collect()
}

/// A fact to record from a line of JSON.
///
/// # Errors
/// As those of [`to_record`]; `Invalid` for what is no such object, and for a fact that cannot be kept.
pub fn line_to_record(line: &str) -> Result<NewFact> {
    let fact: FactToRecord = wording::from_json(line.as_bytes()).map_err(Error::invalid)?;
    let fact = fact.into_engine()?;
    fact.check()?;
    Ok(fact)
}

/// Facts to record from the question of the call `record`.
///
/// # Errors
/// As those of [`to_record`]; `Invalid` with the place of what is wrong in the question.
pub fn asked_to_record(question: Value) -> Result<Vec<NewFact>> {
    to_record(asked::<FactsToRecord>("record", question)?.facts)
}

/// Asks facts, or changes them.
///
/// # Errors
/// As those of [`read`].
pub fn ask(facts: &core::Facts, call: &str, question: Value) -> Result<Value> {
    match call {
        "record" => {
            let core::Recorded { numbers, added, ended } = facts.record(asked_to_record(question)?)?;
            answered(FactsRecorded { numbers, added, ended })
        }
        "retract" => {
            let FactsToRetract { numbers } = asked(call, question)?;
            answered(FactsEnded { ended: facts.retract(&numbers)? })
        }
        "end" => {
            let FactToEnd { number, valid_to } = asked(call, question)?;
            answered(FactRevised { number: facts.end(number, micros("valid_to", &valid_to)?)? })
        }
        "declare" => {
            let PredicateToDeclare { predicate, functional } = asked(call, question)?;
            answered(FactsChanged { changed: facts.declare(&predicate, functional)? })
        }
        "alias" => {
            let AliasToDeclare { alias, name } = asked(call, question)?;
            answered(FactsChanged { changed: facts.alias(&alias, &name)? })
        }
        "remove_alias" => {
            let AliasToRemove { alias } = asked(call, question)?;
            answered(FactsChanged { changed: facts.remove_alias(&alias)? })
        }
        "work" => {
            let WorkQuestion { extractor, collection, limit, retry, cursor } = asked(call, question)?;
            let limit = limit.unwrap_or(WORK_DEFAULT);
            let page = facts.work(&Work { extractor, collection, limit, retry, cursor })?;
            let passage = |core::WorkPassage { id, document, text, context, code, hash }| PassageOfWork {
                hash: hex(&hash),
                id,
                document,
                text,
                context,
                code,
            };
            answered(WorkAnswer {
                passages: page.passages.into_iter().map(passage).collect(),
                known: page.known,
                failed: page.failed,
                cursor: page.cursor,
            })
        }
        "learn" => {
            let LearnQuestion { extractor, collection, results } = asked(call, question)?;
            let results = results.into_iter().map(PassageLearned::into_engine).collect::<Result<_>>()?;
            answered(ExtractAnswer::from(facts.learn(core::Learn { extractor, collection, results })?))
        }
        "extract" => {
            let ExtractQuestion { extractor, collection, cursor } = asked(call, question)?;
            answered(ExtractAnswer::from(facts.extract_step(&ExtractBuiltIn { extractor, collection, cursor })?))
        }
        "settle" => {
            let Nothing {} = asked(call, question)?;
            let core::FactsReport { looked_at, ended } = facts.settle()?;
            answered(SettleAnswer { looked_at, ended })
        }
        "erase" => {
            let PassagesQuestion { collection, ids } = asked(call, question)?;
            let core::FactsErased { facts, sources, memos } = facts.erase(&collection, &ids)?;
            answered(EraseAnswer { facts, sources, memos })
        }
        _ => read(facts, call, question),
    }
}

impl FactsQuestion {
    fn into_engine(self) -> Result<AskFacts> {
        let plain = AskFacts::default();
        let object = match (self.object, self.value) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("a fact has an `object` or a `value`; ask for one of them"));
            }
            (Some(name), None) => Some(Object::Entity(name)),
            (None, Some(value)) => Some(Object::of_value(value)?),
            (None, None) => None,
        };
        Ok(AskFacts {
            subject: self.subject,
            predicate: self.predicate,
            object,
            valid_at: self.valid_at.map(|text| micros("valid_at", &text)).transpose()?,
            known_at: self.known_at.map(|text| micros("known_at", &text)).transpose()?.map(millis),
            history: self.history,
            limit: self.limit.unwrap_or(plain.limit),
            after: self.after,
        })
    }
}

impl FactToRecord {
    fn into_engine(self) -> Result<NewFact> {
        let source = |FactPassage { collection, id, start, end }| PassageRef { collection, id, start, end };
        Ok(NewFact {
            object: Object::of_parts(self.object, self.value)?,
            subject: self.subject,
            predicate: self.predicate,
            valid_from: self.valid_from.map(|text| micros("valid_from", &text)).transpose()?,
            valid_to: self.valid_to.map(|text| micros("valid_to", &text)).transpose()?,
            sources: self.sources.into_iter().map(source).collect(),
            confidence: self.confidence.unwrap_or(1.0),
            extractor: self.extractor,
            replaces: self.replaces,
        })
    }
}

impl PassageLearned {
    fn into_engine(self) -> Result<core::Learned> {
        let Self { id, hash, facts, failed } = self;
        let hash = unhex(&hash)
            .ok_or_else(|| Error::invalid(format!("{hash:?} is no hash of a passage; give that of the work")))?;
        let found = |fact: FactFound| -> Result<core::Extracted> {
            Ok(core::Extracted {
                object: core::ExtractedObject::Plain(Object::of_parts(fact.object, fact.value)?),
                subject: fact.subject,
                predicate: fact.predicate,
                valid_from: fact.valid_from.map(|text| micros("valid_from", &text)).transpose()?,
                valid_to: fact.valid_to.map(|text| micros("valid_to", &text)).transpose()?,
                start: fact.start,
                end: fact.end,
                confidence: fact.confidence.unwrap_or(1.0),
            })
        };
        let outcome = match failed {
            Some(why) => Err(why),
            None => Ok(facts.into_iter().map(found).collect::<Result<_>>()?),
        };
        Ok(core::Learned { id, hash, outcome })
    }
}

impl From<core::ExtractReport> for ExtractAnswer {
    fn from(report: core::ExtractReport) -> Self {
        let core::ExtractReport { called, known, failed, added, ended, changed, cursor } = report;
        Self { called, known, failed, added, ended, changed, cursor }
    }
}

/// A fact of which nobody asked whether it is believed: as its row says.
fn shown_as_kept(fact: core::Fact) -> FactAnswer {
    let believed = fact.invalidated.is_none();
    shown(fact, believed)
}

fn shown(fact: core::Fact, believed: bool) -> FactAnswer {
    let confidence = fact.confidence();
    let (object, value) = fact.object.into_parts();
    let source = |source: core::FactSource| {
        let of = source.passage.map(|passage| passage.of);
        SourceOfFact {
            start: of.as_ref().map(|of| of.start),
            end: of.as_ref().map(|of| of.end),
            collection: of.as_ref().map(|of| of.collection.clone()),
            id: of.map(|of| of.id),
            extractor: source.extractor,
            confidence: source.confidence,
            recorded: time_ms(source.recorded_ms),
            stands: None,
            text: None,
        }
    };
    let ended = |end: core::Invalidated| EndOfFact { at: time_ms(end.at_ms), why: end.why, by: end.by };
    FactAnswer {
        number: fact.number,
        subject: fact.subject,
        predicate: fact.predicate,
        object,
        value,
        valid_from: fact.valid_from.and_then(format_datetime),
        valid_to: fact.valid_to.and_then(format_datetime),
        recorded: time_ms(fact.recorded_ms),
        believed,
        ended: fact.invalidated.map(ended),
        revises: fact.revises,
        confidence,
        sources: fact.sources.into_iter().map(source).collect(),
    }
}

fn time_ms(ms: u64) -> String {
    format_datetime((ms as i64).saturating_mul(1000)).unwrap_or_else(|| ms.to_string())
}

fn micros(name: &str, text: &str) -> Result<i64> {
    parse_datetime(text).ok_or_else(|| {
        Error::invalid(format!("{name} is {text:?}; give a date or a time such as 2026-11-28T10:00:00Z"))
    })
}

fn millis(micros: i64) -> u64 {
    micros.div_euclid(1000).max(0) as u64
}

fn hex(hash: &[u8; 16]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let mut hash = [0; 16];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_back_and_nothing_else_is_one() {
        let hash = [0xab, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xff];
        assert_eq!(unhex(&hex(&hash)), Some(hash));
        for text in ["", "ab", "zz000000000000000000000000000000", "äää00000000000000000000000000000"] {
            assert_eq!(unhex(text), None, "{text}");
        }
    }
}
