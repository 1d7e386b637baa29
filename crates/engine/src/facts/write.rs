//! Recording facts, ending them, and what is declared of relations and names.

use std::ops::ControlFlow;

use nuthatch_store::{Batch, Reader};

use crate::call::Outcome;
use crate::descriptor::meta::{self, Meta, meta_key};
use crate::facts::draft::{Draft, Numbers, passage_hash};
use crate::facts::fact::{SOURCES_MAX, check_name, check_predicate};
use crate::facts::value::Rule;
use crate::facts::{
    EndReason, Fact, FactSource, Facts, Invalidated, NewFact, Object, PassageRef, Recorded, SourcePassage, key,
};
use crate::kv::Live;
use crate::record::RowParts;
use crate::subject::What;
use crate::{Error, ErrorKind, Result};

/// Facts of one write.
pub(crate) const RECORDED_AT_ONCE: usize = 10_000;
/// Of a subject's names and an object's names, the pairs that are looked up one by one.
const TRIPLES_MAX: usize = 64;
/// Times that a fact's bytes are in memory while it is written.
pub(crate) const COPIES: u64 = 4;

impl Facts {
    /// Reads and writes as one batch, with no other writer between.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Draft<'_>, &dyn Reader) -> Result<(T, Outcome)>,
    ) -> Result<T> {
        let space = &*self.keyspace.space;
        let (position, answer) = {
            let _commit = space.shared.store.commit.read();
            space.check_open()?;
            let _writer = space.lock(std::iter::once(key::STATE));
            let store = space.shared.store()?;
            // A write by somebody else between two reads must not tear what a fact is made from.
            let snapshot = store.snapshot();
            let rows = Live { space, reader: &*snapshot };
            let mut draft = Draft::of(&rows)?;
            let (answer, outcome) = change(&mut draft, &*snapshot)?;
            if draft.is_empty() {
                return Ok(answer);
            }
            let mut batch = Batch::new();
            let staged = space.stage(&mut batch, draft.into_ops()?)?;
            self.keyspace.call.sign(&mut batch, outcome);
            (space.write_staged(batch, staged)?, answer)
        };
        space.shared.make_durable(position, self.keyspace.durability)?;
        Ok(answer)
    }

    /// Records facts, all or none. One that is believed already gets the sources that it lacks.
    ///
    /// # Errors
    /// `Invalid` for a fact that cannot be kept, `NotFound` for a source that is not there.
    pub fn record(&self, facts: Vec<NewFact>) -> Result<Recorded> {
        check_new(0, &facts)?;
        let _room =
            self.keyspace.space.shared.reserve_to_write(facts.iter().map(NewFact::bytes).sum::<u64>() * COPIES)?;
        self.change(|draft, _| {
            let mut recorded = Recorded::default();
            record(draft, facts, &mut recorded)?;
            let outcome = Outcome { inserted: recorded.added, deleted: recorded.ended, ..Outcome::default() };
            Ok((recorded, outcome))
        })
    }

    /// Takes facts back: nobody believes them from now on. Says how many of them were believed.
    pub fn retract(&self, numbers: &[u64]) -> Result<u64> {
        self.change(|draft, _| {
            let ended = retract(draft, numbers)?;
            Ok((ended, Outcome { deleted: ended, ..Outcome::default() }))
        })
    }

    /// Says when a fact ended to be true. The number of the fact that says so.
    ///
    /// # Errors
    /// `NotFound` for a fact that is not there or not believed; `Invalid` for an end before its beginning.
    pub fn end(&self, number: u64, valid_to: i64) -> Result<u64> {
        self.change(|draft, _| {
            let Some(fact) = draft.fact(number)?.filter(|fact| fact.invalidated.is_none()) else {
                // The same call again finds what it did.
                if let Some(by) = draft.fact(number)?.and_then(|fact| fact.invalidated).and_then(|end| end.by)
                    && draft.fact(by)?.is_some_and(|fact| fact.valid_to == Some(valid_to))
                {
                    return Ok((by, Outcome::default()));
                }
                return Err(Error::not_found(format!("fact {number} is not there, or is not believed any more")));
            };
            if fact.valid_from.is_some_and(|from| from >= valid_to) {
                return Err(Error::invalid(format!("fact {number} would end before it begins; retract it instead")));
            }
            let number = revise(draft, fact, valid_to, EndReason::Ended, None)?;
            Ok((number, Outcome { value: number as i64, ..Outcome::default() }))
        })
    }

    /// Declares whether a subject has one value of a relation at a time. Existing facts stay as they are. Returns true
    /// when the declaration is new.
    pub fn declare(&self, predicate: &str, functional: bool) -> Result<bool> {
        check_predicate(predicate)?;
        self.change(|draft, _| {
            let rule = draft.rule(predicate)?;
            let is_new = rule.functional != functional;
            match functional || rule.facts > 0 {
                true => draft.put(key::rule(predicate), &Rule { functional, ..rule })?,
                false => draft.delete(key::rule(predicate)),
            }
            Ok((is_new, Outcome { value: is_new.into(), ..Outcome::default() }))
        })
    }

    /// Declares that two names are one entity's: `alias` becomes another name of what `name` names. Facts keep the names that
    /// they were recorded with.
    ///
    /// # Errors
    /// `Invalid` for a name that is its own alias.
    pub fn alias(&self, alias: &str, name: &str) -> Result<bool> {
        check_name("alias", alias)?;
        check_name("name", name)?;
        self.change(|draft, _| {
            let canonical = draft.canonical(name)?;
            if canonical == alias || name == alias {
                return Err(Error::invalid(format!(
                    "{name:?} is known as {canonical:?} already; remove that alias first, if it should be the other way round"
                )));
            }
            if draft.canonical(alias)? == canonical {
                return Ok((false, Outcome::default()));
            }
            let old = draft.canonical(alias)?;
            draft.delete(alias_row(&old, alias));
            // Those that were known as the alias are known as the name.
            for further in draft.aliases(alias)? {
                draft.delete(alias_row(alias, &further));
                draft.put(key::alias(&further), &canonical)?;
                draft.mark(alias_row(&canonical, &further));
            }
            draft.put(key::alias(alias), &canonical)?;
            draft.mark(alias_row(&canonical, alias));
            Ok((true, Outcome { value: 1, ..Outcome::default() }))
        })
    }

    /// Takes an alias back. False when it was none.
    pub fn remove_alias(&self, alias: &str) -> Result<bool> {
        self.change(|draft, _| {
            let canonical = draft.canonical(alias)?;
            if canonical == alias {
                return Ok((false, Outcome::default()));
            }
            draft.delete(key::alias(alias));
            draft.delete(alias_row(&canonical, alias));
            Ok((true, Outcome { value: 1, ..Outcome::default() }))
        })
    }
}

/// Refuses facts that cannot be kept, and more than one write takes; `before`: those that it has already.
pub(crate) fn check_new(before: usize, facts: &[NewFact]) -> Result<()> {
    let given = before + facts.len();
    if given > RECORDED_AT_ONCE {
        return Err(Error::invalid(format!("{given} facts in one write; give at most {RECORDED_AT_ONCE}")));
    }
    for (at, fact) in facts.iter().enumerate() {
        fact.check().map_err(|error| Error::new(error.kind, format!("facts[{at}]: {}", error.message)))?;
    }
    Ok(())
}

/// Records checked facts, one after the other.
pub(crate) fn record(draft: &mut Draft<'_>, facts: Vec<NewFact>, recorded: &mut Recorded) -> Result<()> {
    draft.expect(&facts)?;
    for fact in facts {
        let mut sources = Vec::with_capacity(fact.sources.len().max(1));
        for of in &fact.sources {
            let collection = draft.collection(&of.collection)?.ok_or_else(|| no_collection(&of.collection))?;
            sources.push(source_of(draft, &fact, Some(passage(draft, collection, of)?)));
        }
        if sources.is_empty() {
            sources.push(source_of(draft, &fact, None));
        }
        assert(draft, &fact, sources, recorded)?;
    }
    Ok(())
}

/// Takes facts back. Says how many of them were believed.
pub(crate) fn retract(draft: &mut Draft<'_>, numbers: &[u64]) -> Result<u64> {
    let mut ended = 0;
    for number in numbers {
        let Some(fact) = draft.fact(*number)?.filter(|fact| fact.invalidated.is_none()) else { continue };
        end(draft, fact, EndReason::Retracted, None)?;
        ended += 1;
    }
    Ok(ended)
}

fn alias_row(name: &str, alias: &str) -> Vec<u8> {
    [key::aliases_of(name).as_slice(), alias.as_bytes()].concat()
}

fn source_of(draft: &Draft<'_>, fact: &NewFact, passage: Option<SourcePassage>) -> FactSource {
    let recorded_ms = draft.now_ms();
    FactSource { passage, extractor: fact.extractor.clone(), confidence: fact.confidence, recorded_ms }
}

/// Records one checked fact.
pub(crate) fn assert(
    draft: &mut Draft<'_>,
    new: &NewFact,
    sources: Vec<FactSource>,
    recorded: &mut Recorded,
) -> Result<u64> {
    let now = draft.now_ms();
    let functional = draft.rule(&new.predicate)?.functional;
    let same = draft.objects(&new.object)?;
    let (rivals, gone) = known(draft, new, &same, functional)?;
    if let Some(retracted) = gone.iter().find(|fact| same.contains(&fact.object) && is_read_from(fact, &sources)) {
        // Reading the same passage again does not bring back what somebody took back.
        recorded.numbers.push(retracted.number);
        return Ok(retracted.number);
    }
    let says_the_same = |fact: &Fact| match (functional, new.valid_from) {
        // Without a time it says what is true now, or what the same passage has said.
        (true, None) if new.valid_to.is_none() => fact.is_valid_at(now as i64 * 1000) || is_read_from(fact, &sources),
        // When it ended, a rule may have settled since.
        (true, from) => fact.valid_from == from && (new.valid_to.is_none() || fact.valid_to == new.valid_to),
        (false, from) => (fact.valid_from, fact.valid_to) == (from, new.valid_to),
    };
    let is_same = |fact: &Fact| same.contains(&fact.object) && Some(fact.number) != new.replaces && says_the_same(fact);
    if let Some(known) = rivals.iter().find(|fact| is_same(fact)) {
        let number = known.number;
        add_sources(draft, known.clone(), sources)?;
        recorded.numbers.push(number);
        return Ok(number);
    }
    let mut fact = Fact {
        number: draft.state.next + 1,
        subject: new.subject.clone(),
        predicate: new.predicate.clone(),
        object: new.object.clone(),
        valid_from: new.valid_from,
        valid_to: new.valid_to,
        recorded_ms: now,
        invalidated: None,
        revises: None,
        sources,
    };
    if functional {
        // Without a time it holds from the moment at which it was said.
        fact.valid_from = fact.valid_from.or((fact.valid_to.is_none()).then_some(now as i64 * 1000));
    }
    let number = draft.insert(fact.clone())?;
    fact.number = number;
    recorded.added += 1;
    recorded.numbers.push(number);
    if let Some(replaced) = new.replaces
        && let Some(old) = draft.fact(replaced)?.filter(|old| old.invalidated.is_none())
    {
        end(draft, old, EndReason::Replaced, Some(number))?;
        recorded.ended += 1;
    }
    if functional {
        let rivals: Vec<Fact> = rivals.into_iter().filter(|old| Some(old.number) != new.replaces).collect();
        recorded.ended += apply_rule(draft, fact, &same, rivals)?;
    }
    Ok(number)
}

/// The rule of functional relations: one value at a time. Of two values, the one that begins later ends the other; of two that begin
/// together, the one that is recorded later holds. Says how many facts ended.
fn apply_rule(draft: &mut Draft<'_>, mut fact: Fact, same: &[Object], rivals: Vec<Fact>) -> Result<u64> {
    let mut ended = 0;
    for old in rivals {
        let begins = (old.valid_from, fact.valid_from);
        let overlaps = old.valid_to.is_none_or(|to| fact.valid_from.is_none_or(|from| from < to))
            && fact.valid_to.is_none_or(|to| old.valid_from.is_none_or(|from| from < to));
        if same.contains(&old.object) || !overlaps {
            continue;
        }
        match begins {
            (old_from, new_from) if old_from == new_from => {
                end(draft, old, EndReason::Rule, Some(fact.number))?;
                ended += 1;
            }
            // `None` is before every moment.
            (old_from, Some(new_from)) if old_from < Some(new_from) => {
                revise(draft, old, new_from, EndReason::Rule, Some(fact.number))?;
                ended += 1;
            }
            (Some(old_from), _) => {
                // It came late: what is known to begin after it ended it.
                fact.valid_to = Some(old_from);
                draft.update(&fact)?;
            }
            (None, _) => {}
        }
    }
    Ok(ended)
}

/// Facts that a new one may repeat or end, by whichever name: those that are believed, and those that somebody took back. Only a
/// functional relation has to do with other objects, so a hub's other facts are not read.
fn known(draft: &Draft<'_>, new: &NewFact, same: &[Object], functional: bool) -> Result<(Vec<Fact>, Vec<Fact>)> {
    let names = draft.names(&new.subject)?;
    let prefixes = match functional || names.len() * same.len() > TRIPLES_MAX {
        true => names.iter().map(|name| key::of_pair(name, &new.predicate)).collect(),
        false => {
            let pairs = names.iter().flat_map(|name| same.iter().map(move |object| (name, object)));
            pairs.map(|(name, object)| key::of_triple(name, &new.predicate, object)).collect()
        }
    };
    let (mut believed, mut retracted) = (Vec::new(), Vec::new());
    Numbers::after(prefixes, None).each(draft, &mut |fact| {
        match fact.invalidated {
            None => believed.push(fact),
            Some(Invalidated { why: EndReason::Retracted, .. }) => retracted.push(fact),
            Some(_) => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((believed, retracted))
}

/// Whether the same extractor took the fact from the same text.
fn is_read_from(fact: &Fact, sources: &[FactSource]) -> bool {
    let reads = |of: &FactSource| of.passage.as_ref().map(|passage| (of.extractor.clone(), passage.hash));
    let reading: Vec<_> = sources.iter().filter_map(reads).collect();
    fact.sources.iter().filter_map(reads).any(|read| !read.0.is_empty() && reading.contains(&read))
}

/// Gives a fact the sources that it lacks. One of the same passage and extractor is renewed.
fn add_sources(draft: &mut Draft<'_>, mut fact: Fact, sources: Vec<FactSource>) -> Result<()> {
    let mut changed = false;
    for source in sources {
        let place = |of: &FactSource| of.passage.as_ref().map(|passage| (passage.collection, passage.of.clone()));
        let has_room = fact.sources.len() < SOURCES_MAX;
        let known = fact.sources.iter_mut().find(|known| {
            place(known) == place(&source)
                && known.extractor == source.extractor
                && known.passage.as_ref().map(|it| it.hash) == source.passage.as_ref().map(|it| it.hash)
        });
        match known {
            Some(known) => {
                let row = |of: &FactSource| of.passage.as_ref().map(|passage| passage.row);
                if row(known) != row(&source) || known.confidence != source.confidence {
                    *known = FactSource { recorded_ms: known.recorded_ms, ..source };
                    changed = true;
                }
            }
            None if has_room => {
                fact.sources.push(source);
                changed = true;
            }
            None => {}
        }
    }
    match changed {
        true => draft.update(&fact),
        false => Ok(()),
    }
}

/// Nobody believes the fact any more.
pub(crate) fn end(draft: &mut Draft<'_>, mut fact: Fact, why: EndReason, by: Option<u64>) -> Result<()> {
    fact.invalidated = Some(Invalidated { at_ms: draft.now_ms(), why, by });
    draft.update(&fact)
}

/// Replaces the fact by the same fact, true until then. The old one stays on record as what was known before.
fn revise(draft: &mut Draft<'_>, old: Fact, valid_to: i64, why: EndReason, by: Option<u64>) -> Result<u64> {
    let revised = Fact {
        valid_to: Some(valid_to),
        recorded_ms: draft.now_ms(),
        revises: Some(old.number),
        invalidated: None,
        ..old.clone()
    };
    let number = draft.insert(revised)?;
    end(draft, old, why, by.or(Some(number)))?;
    Ok(number)
}

/// The passage as it is now.
fn passage(draft: &Draft<'_>, collection: u32, of: &PassageRef) -> Result<SourcePassage> {
    let missing = || {
        Error::not_found(format!(
            "the fact names record {:?} of collection {:?}, which is not there; record it from what there is",
            of.id, of.collection
        ))
        .about(What::Record, &of.id)
    };
    let row = draft.rows.row_of(collection, &of.id)?.ok_or_else(missing)?;
    let bytes = draft.rows.record_bytes(collection, row)?.ok_or_else(missing)?;
    let parts = RowParts::decode(&bytes)?;
    let text = parts.text.unwrap_or_default();
    let end = if of.end == 0 { text.len() as u32 } else { of.end };
    if of.start > end || text.get(of.start as usize..end as usize).is_none() {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "record {:?} has no text from byte {} to {end}; it has {} bytes, and characters stay whole",
                of.id,
                of.start,
                text.len()
            ),
        ));
    }
    Ok(SourcePassage { of: PassageRef { end, ..of.clone() }, collection, row, hash: passage_hash(&parts) })
}

/// The number of a collection.
pub(crate) fn collection_of(reader: &dyn Reader, tenant: u32, name: &str) -> Result<u32> {
    let found: Option<Meta> = meta::read(reader, &meta_key(tenant, name))?;
    found.map(|meta| meta.id).ok_or_else(|| no_collection(name))
}

fn no_collection(name: &str) -> Error {
    Error::not_found(format!("collection {name:?} does not exist")).about(What::Collection, name)
}
