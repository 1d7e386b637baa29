//! Reading facts: which are believed, which were, and why.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::facts::ask::{
    AskFacts, Entity, EntityPage, FactPage, FactShown, FactWhy, FactsStats, ListEntities, Predicate, SourceShown,
    Traced, TracedPassage,
};
use crate::facts::draft::{Draft, Numbers};
use crate::facts::fact::{Fact, FactSource};
use crate::facts::value::{Rule, decode};
use crate::facts::{key, normal_form};
use crate::kv::{KeyScan, Rows};
use crate::record::RowParts;
use crate::{Error, Result};

/// Stored bytes after which a page ends early.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
/// Facts that one page looks at, whether they are wanted or not.
const LOOKED_AT_MAX: usize = 200_000;
/// Passages of one trace.
const TRACED_MAX: usize = 1_000;
/// Facts of one trace.
const TRACED_FACTS_MAX: usize = 10_000;

/// One page of facts.
pub(crate) fn facts(rows: &dyn Rows, ask: &AskFacts) -> Result<FactPage> {
    check_limit(ask.limit, "facts")?;
    let draft = Draft::of(rows)?;
    let objects = ask.object.as_ref().map(|object| draft.objects(object)).transpose()?;
    let names = ask.subject.as_deref().map(|name| draft.names(name)).transpose()?;
    let prefixes = match (&names, &ask.predicate, &objects) {
        (Some(names), Some(predicate), _) => names.iter().map(|name| key::of_pair(name, predicate)).collect(),
        (Some(names), None, _) => names.iter().map(|name| key::of_subject(name)).collect(),
        (None, _, Some(objects)) => objects.iter().map(key::of_object).collect(),
        (None, Some(predicate), None) => vec![key::of_predicate(predicate)],
        (None, None, None) => vec![key::all_facts()],
    };
    let mut page = FactPage::default();
    let (mut bytes, mut looked_at, mut last) = (0, 0, ask.after);
    Numbers::after(prefixes, ask.after).each(&draft, &mut |fact| {
        if page.facts.len() == ask.limit || bytes > ANSWER_BYTES_MAX || looked_at == LOOKED_AT_MAX {
            page.after = last;
            return Ok(ControlFlow::Break(()));
        }
        looked_at += 1;
        last = Some(fact.number);
        let fits = names.as_ref().is_none_or(|names| names.contains(&fact.subject))
            && ask.predicate.as_ref().is_none_or(|predicate| *predicate == fact.predicate)
            && objects.as_ref().is_none_or(|objects| objects.contains(&fact.object))
            && ask.valid_at.is_none_or(|moment| fact.is_valid_at(moment));
        if fits
            && let Some(shown) = known(&draft, fact, ask.known_at)?
            && (shown.believed || ask.history)
        {
            bytes += weight(&shown.fact);
            page.facts.push(shown);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(page)
}

/// A fact as it was known at a moment; `None`: it was not known yet.
pub(crate) fn known(draft: &Draft<'_>, mut fact: Fact, known_at: Option<u64>) -> Result<Option<FactShown>> {
    let Some(at) = known_at.filter(|at| *at < draft.now_ms()) else {
        let believed = fact.invalidated.is_none() && draft.is_grounded(&fact)?;
        return Ok(Some(FactShown { fact, believed }));
    };
    if fact.recorded_ms > at {
        return Ok(None);
    }
    fact.sources.retain(|source| source.recorded_ms <= at);
    fact.invalidated = fact.invalidated.filter(|end| end.at_ms <= at);
    Ok(Some(FactShown { believed: fact.invalidated.is_none(), fact }))
}

fn weight(fact: &Fact) -> u64 {
    let passage = |source: &FactSource| source.passage.as_ref().map_or(32, |it| 96 + it.of.id.len());
    (fact.subject.len() + fact.predicate.len() + 256 + fact.sources.iter().map(passage).sum::<usize>()) as u64
}

/// Why a fact is believed, or is not; `None` when it is not there.
pub(crate) fn why(rows: &dyn Rows, number: u64) -> Result<Option<FactWhy>> {
    let draft = Draft::of(rows)?;
    let Some(fact) = draft.fact(number)? else { return Ok(None) };
    let mut sources = Vec::with_capacity(fact.sources.len());
    for source in &fact.sources {
        let Some(passage) = &source.passage else {
            sources.push(SourceShown { stands: true, text: None });
            continue;
        };
        let stands = draft.stands(passage)?;
        let mut text = None;
        if stands
            && let Some(row) = rows.row_of(passage.collection, &passage.of.id)?
            && let Some(bytes) = rows.record_bytes(passage.collection, row)?
        {
            let (start, end) = (passage.of.start as usize, passage.of.end as usize);
            text = RowParts::decode(&bytes)?.text.and_then(|text| text.get(start..end)).map(str::to_string);
        }
        sources.push(SourceShown { stands, text });
    }
    let (mut revises, mut before) = (Vec::new(), fact.revises);
    while let Some(number) = before.filter(|_| revises.len() < 100) {
        let Some(old) = draft.fact(number)? else { break };
        before = old.revises;
        revises.push(old);
    }
    let ended_by = match fact.invalidated.and_then(|end| end.by) {
        Some(by) => draft.fact(by)?,
        None => None,
    };
    let believed = fact.invalidated.is_none() && sources.iter().any(|source| source.stands);
    Ok(Some(FactWhy { fact, believed, sources, revises, ended_by }))
}

/// One page of entities.
pub(crate) fn entities(rows: &dyn Rows, ask: &ListEntities) -> Result<EntityPage> {
    check_limit(ask.limit, "entities")?;
    let prefix = match &ask.like {
        Some(name) => key::entities_of(&normal_form(name)),
        None if ask.prefix.is_empty() => key::entities(""),
        None => key::entities(&normal_form(&ask.prefix)),
    };
    let draft = Draft::of(rows)?;
    let scan = KeyScan { limit: ask.limit, cursor: ask.cursor.clone(), ..KeyScan::prefix(prefix) };
    let page = rows.page(&scan)?;
    let mut found = Vec::with_capacity(page.entries.len());
    for (row, value) in page.entries {
        let name = key::entity_of(&row).ok_or_else(crate::facts::draft::broken)?;
        let canonical = draft.canonical(&name)?;
        let aliases = draft.aliases(&name)?;
        let alias_of = (canonical != name).then_some(canonical);
        found.push(Entity { facts: decode(&value)?, alias_of, aliases, name });
    }
    Ok(EntityPage { entities: found, cursor: page.cursor })
}

/// All relations by name, and what is declared of them.
pub(crate) fn predicates(rows: &dyn Rows) -> Result<Vec<Predicate>> {
    let mut found = Vec::new();
    rows.each(KeyScan::prefix(key::all_rules()), &mut |row, value| {
        let name = key::predicate_of(row).ok_or_else(crate::facts::draft::broken)?;
        let Rule { functional, facts } = decode(value)?;
        found.push(Predicate { name, functional, facts });
        Ok(if found.len() < 100_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}

pub(crate) fn stats(rows: &dyn Rows) -> Result<FactsStats> {
    let draft = Draft::of(rows)?;
    Ok(FactsStats { facts: draft.state.facts, ended: draft.state.invalidated })
}

/// The facts that stand on passages, and whom they name.
pub(crate) fn trace(rows: &dyn Rows, passages: &[TracedPassage]) -> Result<Traced> {
    if passages.len() > TRACED_MAX {
        return Err(Error::invalid(format!("{} passages in one trace; give at most {TRACED_MAX}", passages.len())));
    }
    let draft = Draft::of(rows)?;
    let mut prefixes = Vec::with_capacity(passages.len());
    for passage in passages {
        if let Some(collection) = rows.collection_number(&passage.collection)? {
            prefixes.push(key::of_passage(collection, &passage.id));
        }
    }
    prefixes.sort_unstable();
    prefixes.dedup();
    let mut traced = Traced::default();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    Numbers::after(prefixes, None).each(&draft, &mut |fact| {
        if traced.facts.len() == TRACED_FACTS_MAX {
            traced.truncated = true;
            return Ok(ControlFlow::Break(()));
        }
        if let Some(shown) = known(&draft, fact, None)?.filter(|shown| shown.believed) {
            let names = std::iter::once(shown.fact.subject.as_str()).chain(shown.fact.object.entity());
            for name in names {
                *counts.entry(draft.canonical(name)?).or_default() += 1;
            }
            traced.facts.push(shown);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    traced.entities = counts.into_iter().collect();
    traced.entities.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    Ok(traced)
}

fn check_limit(limit: usize, what: &str) -> Result<()> {
    match limit {
        1..=10_000 => Ok(()),
        limit => Err(Error::invalid(format!("a page cannot have {limit} {what}; ask for 1 to 10,000"))),
    }
}
