//! Facts whose passages change or go: ending them, and erasing what is left of them.

use std::ops::ControlFlow;

use crate::Result;
use crate::call::Outcome;
use crate::facts::draft::{Draft, Numbers};
use crate::facts::fact::Fact;
use crate::facts::key;
use crate::facts::value::{Memo, Seen};
use crate::facts::write::{collection_of, end};
use crate::facts::{EndReason, Facts, FactsErased, FactsReport, TracedPassage};

/// Facts that one batch looks at.
const AT_ONCE: usize = 500;

/// Ends the facts of a passage that are left without a source.
pub(crate) fn settle_passage(draft: &mut Draft<'_>, collection: u32, id: &str) -> Result<u64> {
    let mut gone = Vec::new();
    let prefixes = vec![key::of_passage(collection, id)];
    Numbers::after(prefixes, None).each(draft, &mut |fact| {
        if fact.invalidated.is_none() && !draft.is_grounded(&fact)? {
            gone.push(fact);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let ended = gone.len() as u64;
    gone.into_iter().try_for_each(|fact| end(draft, fact, EndReason::Source, None))?;
    Ok(ended)
}

impl Facts {
    /// Ends facts whose last source is gone. Reads know without it that they are not believed; it notes since when.
    pub fn settle(&self) -> Result<FactsReport> {
        let mut report = FactsReport::default();
        let mut after = None;
        loop {
            let more = self.change(|draft, _| {
                let numbers = Numbers::after(vec![key::all_facts()], after).next(draft, AT_ONCE)?;
                let mut gone = Vec::new();
                for fact in draft.facts(&numbers)?.into_iter().flatten() {
                    report.looked_at += 1;
                    if fact.invalidated.is_none() && !draft.is_grounded(&fact)? {
                        gone.push(fact);
                    }
                }
                let ended = gone.len() as u64;
                gone.into_iter().try_for_each(|fact| end(draft, fact, EndReason::Source, None))?;
                report.ended += ended;
                after = numbers.last().copied().or(after);
                Ok((numbers.len() == AT_ONCE, Outcome { deleted: ended, ..Outcome::default() }))
            })?;
            if !more {
                return Ok(report);
            }
        }
    }

    /// Erases what was taken from passages: facts that stand on them alone, ended ones too, what extractors found there, and the
    /// passages among the sources of other facts.
    ///
    /// # Errors
    /// `NotFound` for a collection that is not there.
    pub fn erase(&self, passages: &[TracedPassage]) -> Result<FactsErased> {
        let tenant = self.keyspace.space.shard.tenant;
        let mut erased = FactsErased::default();
        for some in passages.chunks(AT_ONCE) {
            let part = self.change(|draft, reader| {
                let mut part = FactsErased::default();
                for passage in some {
                    let collection = collection_of(reader, tenant, &passage.collection)?;
                    erase_passage(draft, collection, &passage.id, &mut part)?;
                }
                Ok((part, part.outcome()))
            })?;
            erased = erased.and(part);
        }
        Ok(erased)
    }

    /// Erases what is left of passages that are gone or have changed.
    pub(crate) fn erase_gone(&self) -> Result<FactsErased> {
        let mut erased = FactsErased::default();
        let mut after = None;
        loop {
            let (more, part) = self.change(|draft, _| {
                let numbers = Numbers::after(vec![key::all_facts()], after).next(draft, AT_ONCE)?;
                let mut part = FactsErased::default();
                for fact in draft.facts(&numbers)?.into_iter().flatten() {
                    let mut kept = fact.clone();
                    let mut failed = None;
                    kept.sources.retain(|source| match &source.passage {
                        None => true,
                        Some(passage) => draft.stands(passage).unwrap_or_else(|error| {
                            failed = Some(error);
                            true
                        }),
                    });
                    failed.map_or(Ok(()), Err)?;
                    shrink(draft, &fact, kept, &mut part)?;
                }
                after = numbers.last().copied().or(after);
                Ok(((numbers.len() == AT_ONCE, part), part.outcome()))
            })?;
            erased = erased.and(part);
            if !more {
                break;
            }
        }
        erased = erased.and(self.forget_unseen()?);
        Ok(erased)
    }

    /// Forgets what extractors saw of records that are gone or have changed, and found in texts that no record has.
    fn forget_unseen(&self) -> Result<FactsErased> {
        let mut erased = FactsErased::default();
        for prefix in [key::all_seen(), key::all_memos()] {
            let mut after: Option<Vec<u8>> = None;
            loop {
                let (last, part) = self.change(|draft, _| {
                    let rows = draft.keys(&prefix, after.as_deref(), AT_ONCE)?;
                    let mut part = FactsErased::default();
                    for row in &rows {
                        forget_if_unseen(draft, row, &mut part)?;
                    }
                    let last = (rows.len() == AT_ONCE).then(|| rows.last().cloned()).flatten();
                    Ok(((last, part), part.outcome()))
                })?;
                erased = erased.and(part);
                after = last;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(erased)
    }
}

fn forget_if_unseen(draft: &mut Draft<'_>, row: &[u8], part: &mut FactsErased) -> Result<()> {
    if let Some((extractor, collection)) = key::seen_parts(row) {
        let Some(seen) = draft.get::<Seen>(row)? else { return Ok(()) };
        if !has_text(draft, collection, &seen.id, &seen.hash)? {
            draft.delete(row.to_vec());
            draft.delete(key::held(&extractor, &seen.hash, collection, &seen.id));
        }
    }
    if let Some((extractor, hash)) = key::memo_of(row) {
        let Some(memo) = draft.get::<Memo>(row)? else { return Ok(()) };
        if memo.outcome.is_err() && !has_text(draft, memo.collection, &memo.id, &hash)? {
            draft.delete(key::held(&extractor, &hash, memo.collection, &memo.id));
        }
        if draft.keys(&key::held_by(&extractor, &hash), None, 1)?.is_empty() {
            draft.delete(row.to_vec());
            part.memos += 1;
        }
    }
    Ok(())
}

/// Whether a record has the text.
fn has_text(draft: &Draft<'_>, collection: u32, id: &str, hash: &key::Hash) -> Result<bool> {
    let Some(row) = draft.rows.row_of(collection, id)? else { return Ok(false) };
    let Some(stored) = draft.rows.record_bytes(collection, row)? else { return Ok(false) };
    Ok(crate::facts::draft::passage_hash(&crate::record::RowParts::decode(&stored)?) == *hash)
}

/// Takes one passage out of everything.
fn erase_passage(draft: &mut Draft<'_>, collection: u32, id: &str, part: &mut FactsErased) -> Result<()> {
    let mut found = Vec::new();
    Numbers::after(vec![key::of_passage(collection, id)], None).each(draft, &mut |fact| {
        found.push(fact);
        Ok(ControlFlow::Continue(()))
    })?;
    for fact in found {
        let mut kept = fact.clone();
        let is_it = |it: &crate::facts::SourcePassage| it.collection == collection && it.of.id == id;
        kept.sources.retain(|source| !source.passage.as_ref().is_some_and(is_it));
        shrink(draft, &fact, kept, part)?;
    }
    // Whichever extractors saw it.
    let mut after: Option<Vec<u8>> = None;
    loop {
        let rows = draft.keys(&key::all_seen(), after.as_deref(), 1)?;
        let Some((extractor, _)) = rows.first().and_then(|row| key::seen_parts(row)) else { return Ok(()) };
        if let Some(seen) = draft.get::<Seen>(&key::seen(&extractor, collection, id))? {
            draft.delete(key::seen(&extractor, collection, id));
            draft.delete(key::held(&extractor, &seen.hash, collection, id));
            if draft.keys(&key::held_by(&extractor, &seen.hash), None, 1)?.is_empty() {
                draft.delete(key::memo(&extractor, &seen.hash));
                part.memos += 1;
            }
        }
        // On with the next extractor.
        after = Some([key::seen_of(&extractor, u32::MAX).as_slice(), &[0xff; 17]].concat());
    }
}

/// Keeps a fact with fewer sources, or none of it.
fn shrink(draft: &mut Draft<'_>, old: &Fact, kept: Fact, part: &mut FactsErased) -> Result<()> {
    match kept.sources.len() {
        0 => {
            part.facts += 1;
            draft.remove(old)
        }
        sources if sources < old.sources.len() => {
            part.sources += (old.sources.len() - sources) as u64;
            draft.update(&kept)
        }
        _ => Ok(()),
    }
}

impl FactsErased {
    fn and(self, more: Self) -> Self {
        Self { facts: self.facts + more.facts, sources: self.sources + more.sources, memos: self.memos + more.memos }
    }

    fn outcome(self) -> Outcome {
        Outcome { deleted: self.facts, replaced: self.sources, files: self.memos, ..Outcome::default() }
    }

    /// With what the same request had erased before.
    pub fn after(self, before: Outcome) -> Self {
        self.and(Self { facts: before.deleted, sources: before.replaced, memos: before.files })
    }
}
