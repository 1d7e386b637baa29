//! Facts part by part, as an export has them, and how they come in again.
//!
//! **Invariant:** facts that came in have the numbers, times, ends and sources that they had, and what is declared and what
//! extractors found are as they were. A source stands when the record that it names is there with the text that it had.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::call::Outcome;
use crate::facts::draft::{Draft, broken, passage_hash};
use crate::facts::extract::Extracted;
use crate::facts::fact::{SOURCES_MAX, check_extractor, check_name, check_predicate};
use crate::facts::key::{self, Hash};
use crate::facts::value::{Memo, Rule, Seen, decode};
use crate::facts::{Fact, Facts};
use crate::kv::{KeyScan, Rows};
use crate::record::RowParts;
use crate::{Error, Result};

/// The number of a collection that is not there any more.
pub(crate) const GONE: u32 = u32::MAX;
/// The row of a passage whose record is another one, or not there: whether it stands is seen by its hash.
const NO_ROW: u64 = u64::MAX;
/// Parts of one write.
const PARTS_AT_ONCE: usize = 10_000;
/// Times that a part's bytes are in memory while it is written, and what it takes besides.
const PART_BYTES: u64 = 4_096;

/// A part of facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FactsPart {
    /// A relation that is declared functional.
    Functional(String),
    /// A name that is declared another name of an entity.
    Alias {
        /// The other name.
        alias: String,
        /// The name that stands for the entity.
        name: String,
    },
    /// A fact, believed or not. Its sources are looked up where it comes in.
    Fact(Box<Fact>),
    /// An extractor's findings in a text, or the reason why it failed.
    Found(Box<TextRead>),
    /// A record that an extractor has seen with this text.
    Seen(PassageRead),
    /// The highest number that a fact ever had.
    Numbers(u64),
}

/// An extractor's findings in a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextRead {
    /// A record that had the text, the extractor and the text.
    pub of: PassageRead,
    /// The findings, or the reason for the failure.
    pub outcome: std::result::Result<Vec<Extracted>, String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Calls so far.
    pub calls: u32,
}

/// A record with a text that an extractor has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageRead {
    /// The hash of the extractor's name.
    pub extractor: Hash,
    /// The hash of the text.
    pub text: Hash,
    /// The collection; `None` when it is not there any more.
    pub collection: Option<String>,
    /// The record.
    pub id: String,
}

/// The part that a row is, by its key and its value.
type PartOf<'v> = dyn FnMut(&[u8], &[u8]) -> Result<Option<FactsPart>> + 'v;

/// Shows all parts, in the order in which they come in. `collections`: the names of all collections by their numbers.
pub(crate) fn each_part(
    rows: &dyn Rows,
    collections: &HashMap<u32, String>,
    visit: &mut dyn FnMut(FactsPart) -> Result<()>,
) -> Result<()> {
    let draft = Draft::of(rows)?;
    let mut each = |prefix: Vec<u8>, part: &mut PartOf<'_>| {
        rows.each(KeyScan::prefix(prefix), &mut |row, value| {
            part(row, value)?.map_or(Ok(()), &mut *visit)?;
            Ok(ControlFlow::Continue(()))
        })
    };
    each(key::all_rules(), &mut |row, value| {
        let name = key::predicate_of(row).ok_or_else(broken)?;
        Ok(decode::<Rule>(value)?.functional.then_some(FactsPart::Functional(name)))
    })?;
    each(key::all_aliases(), &mut |row, _| {
        let alias = key::alias_of(row).ok_or_else(broken)?;
        Ok(Some(FactsPart::Alias { name: draft.canonical(&alias)?, alias }))
    })?;
    each(key::all_facts(), &mut |_, value| {
        let mut fact: Fact = decode(value)?;
        for passage in fact.sources.iter_mut().filter_map(|source| source.passage.as_mut()) {
            match collections.get(&passage.collection) {
                Some(name) => passage.of.collection.clone_from(name),
                None => passage.collection = GONE,
            }
        }
        Ok(Some(FactsPart::Fact(Box::new(fact))))
    })?;
    let named = |collection: u32| collections.get(&collection).cloned();
    each(key::all_memos(), &mut |row, value| {
        let (extractor, text) = key::memo_of(row).ok_or_else(broken)?;
        let Memo { outcome, at_ms, calls, id, collection } = decode(value)?;
        let of = PassageRead { extractor, text, collection: named(collection), id };
        Ok(Some(FactsPart::Found(Box::new(TextRead { of, outcome, at_ms, calls }))))
    })?;
    each(key::all_seen(), &mut |row, value| {
        let (extractor, collection) = key::seen_parts(row).ok_or_else(broken)?;
        let Seen { id, hash, .. } = decode(value)?;
        let seen = |name| FactsPart::Seen(PassageRead { extractor, text: hash, collection: Some(name), id });
        Ok(named(collection).map(seen))
    })?;
    visit(FactsPart::Numbers(draft.state.next))
}

impl Facts {
    /// Imports parts, all or none. Parts that are already present in the same form stay.
    ///
    /// # Errors
    /// `Invalid` for a part that cannot be kept, and for a fact or an alias that is there otherwise.
    pub fn import(&self, parts: Vec<FactsPart>) -> Result<()> {
        if parts.len() > PARTS_AT_ONCE {
            let given = parts.len();
            return Err(Error::invalid(format!("{given} parts of facts in one write; give at most {PARTS_AT_ONCE}")));
        }
        let _room = self.keyspace.space.shared.reserve_to_write(parts.len() as u64 * PART_BYTES)?;
        self.change(|draft, _| {
            parts.into_iter().try_for_each(|part| take(draft, part))?;
            Ok(((), Outcome::default()))
        })
    }
}

fn take(draft: &mut Draft<'_>, part: FactsPart) -> Result<()> {
    match part {
        FactsPart::Functional(predicate) => {
            check_predicate(&predicate)?;
            let rule = draft.rule(&predicate)?;
            match rule.functional {
                true => Ok(()),
                false => draft.put(key::rule(&predicate), &Rule { functional: true, ..rule }),
            }
        }
        FactsPart::Alias { alias, name } => {
            check_name("alias", &alias)?;
            check_name("name", &name)?;
            let known = draft.canonical(&alias)?;
            if alias == name || (known != alias && known != name) {
                return Err(Error::invalid(format!("{alias:?} is known as {known:?} and cannot be one of {name:?}")));
            }
            draft.put(key::alias(&alias), &name)?;
            draft.mark([key::aliases_of(&name).as_slice(), alias.as_bytes()].concat());
            Ok(())
        }
        FactsPart::Fact(fact) => take_fact(draft, *fact),
        FactsPart::Found(read) => {
            let TextRead { of, outcome, at_ms, calls } = *read;
            outcome.as_deref().unwrap_or_default().iter().try_for_each(Extracted::check)?;
            let collection = number_of(draft, of.collection.as_deref())?.unwrap_or(GONE);
            if outcome.is_err() {
                draft.mark(key::held(&of.extractor, &of.text, collection, &of.id));
            }
            let memo = Memo { outcome, at_ms, calls, id: of.id, collection };
            draft.put(key::memo(&of.extractor, &of.text), &memo)
        }
        FactsPart::Seen(PassageRead { extractor, text, collection, id }) => {
            let Some(collection) = number_of(draft, collection.as_deref())? else { return Ok(()) };
            let Some(row) = row_with(draft, collection, &id, &text)? else { return Ok(()) };
            draft.mark(key::held(&extractor, &text, collection, &id));
            draft.put(key::seen(&extractor, collection, &id), &Seen { id, row, hash: text })
        }
        FactsPart::Numbers(last) => {
            draft.state.next = draft.state.next.max(last);
            Ok(())
        }
    }
}

fn take_fact(draft: &mut Draft<'_>, mut fact: Fact) -> Result<()> {
    check(&fact)?;
    for passage in fact.sources.iter_mut().filter_map(|source| source.passage.as_mut()) {
        let gone = passage.collection == GONE;
        let known = if gone { None } else { draft.collection(&passage.of.collection)? };
        passage.collection = known.unwrap_or(GONE);
        let row = known.map(|collection| row_with(draft, collection, &passage.of.id, &passage.hash)).transpose()?;
        passage.row = row.flatten().unwrap_or(NO_ROW);
    }
    if let Some(known) = draft.fact(fact.number)? {
        return match is_same(draft, &known, &fact)? {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "there is another fact {} already; drop these facts, or import into another data folder",
                fact.number
            ))),
        };
    }
    let last = draft.state.next.max(fact.number);
    draft.state.next = fact.number - 1;
    draft.insert(fact)?;
    draft.state.next = last;
    Ok(())
}

fn number_of(draft: &Draft<'_>, collection: Option<&str>) -> Result<Option<u32>> {
    collection.map_or(Ok(None), |name| draft.collection(name))
}

/// The row of a record, if it has this text.
fn row_with(draft: &Draft<'_>, collection: u32, id: &str, text: &Hash) -> Result<Option<u64>> {
    let Some(row) = draft.rows.row_of(collection, id)? else { return Ok(None) };
    let Some(stored) = draft.rows.record_bytes(collection, row)? else { return Ok(None) };
    Ok((passage_hash(&RowParts::decode(&stored)?) == *text).then_some(row))
}

/// Whether two facts say the same from the same sources, whichever rows these have.
fn is_same(draft: &Draft<'_>, one: &Fact, other: &Fact) -> Result<bool> {
    let plain = |fact: &Fact| -> Result<Fact> {
        let mut fact = fact.clone();
        for passage in fact.sources.iter_mut().filter_map(|source| source.passage.as_mut()) {
            passage.row = NO_ROW;
            if draft.collection(&passage.of.collection)? != Some(passage.collection) {
                passage.collection = GONE;
            }
        }
        Ok(fact)
    };
    Ok(plain(one)? == plain(other)?)
}

fn check(fact: &Fact) -> Result<()> {
    let wrong = |what: &str| Error::invalid(format!("fact {}: {what}", fact.number));
    if fact.number == 0 {
        return Err(wrong("numbers begin at 1"));
    }
    check_name("subject", &fact.subject)?;
    check_predicate(&fact.predicate)?;
    fact.object.check()?;
    if fact.valid_from.zip(fact.valid_to).is_some_and(|(from, to)| from >= to) {
        return Err(wrong("it ends before it begins"));
    }
    if fact.sources.is_empty() || fact.sources.len() > SOURCES_MAX {
        return Err(wrong(&format!("a fact has 1 to {SOURCES_MAX} sources")));
    }
    for source in &fact.sources {
        check_extractor(&source.extractor)?;
        if !(0.0..=1.0).contains(&source.confidence) {
            return Err(wrong(&format!("the confidence is {}; it is 0 to 1", source.confidence)));
        }
    }
    Ok(())
}
