//! Verdicts on answers: what they teach, what they forbid, and what they allow from now on.

use nuthatch_cache::Odds;

use crate::cache::draft::Draft;
use crate::cache::key::{self, Hash};
use crate::cache::value::{Decided, Decision, Stored};
use crate::cache::{Cache, Verdict};
use crate::call::Outcome;
use crate::{Error, ErrorKind, Result};

impl Cache {
    /// Takes a verdict. The same one again changes nothing. False when it was known.
    ///
    /// A right answer becomes an alias of the prompt that was asked. A wrong one is never given for that prompt again; one that was found
    /// by its very prompt is removed.
    ///
    /// # Errors
    /// `NotFound` for a hit that is too old to be known, `Conflict` for the opposite of an earlier verdict.
    pub fn report(&self, verdict: Verdict) -> Result<bool> {
        self.change(|draft| {
            let is_new = match verdict.hit {
                Some(hit) => judge(draft, hit, verdict)?,
                None => {
                    let known: Option<Stored> = draft.get(&key::entry(verdict.entry))?;
                    let gone = verdict.wrong && draft.remove(verdict.entry)?;
                    draft.state.counts.reported_wrong += u64::from(gone);
                    if let Some(stored) = known.filter(|_| gone) {
                        draft.state.counts.lost_nano_usd += stored.cost.nano_usd;
                    }
                    gone
                }
            };
            Ok((is_new, Outcome { value: is_new.into(), ..Outcome::default() }))
        })
    }
}

fn judge(draft: &mut Draft<'_>, hit: u64, verdict: Verdict) -> Result<bool> {
    let Verdict { wrong, served, entry, spent_nano_usd, .. } = verdict;
    let found: Option<Decision> = draft.get(&key::decision(hit))?;
    let Some(mut decision) = found.filter(|decision| decision.entry == entry) else {
        return Err(Error::not_found(format!(
            "hit {hit} of entry {entry} is not known; verdicts on the last 10,000 hits are taken"
        )));
    };
    if let Some(before) = decision.verdict {
        return match before == wrong {
            true => Ok(false),
            false => {
                let why = format!(
                    "hit {hit} was judged {} before; a verdict is final",
                    if before { "wrong" } else { "right" }
                );
                Err(Error::new(ErrorKind::Conflict, why))
            }
        };
    }
    decision.verdict = Some(wrong);
    let in_debt = draft.state.ledger.odds(&draft.state.settings.terms()).is_none();
    let state = &mut draft.state;
    state.counts.judging_nano_usd = state.counts.judging_nano_usd.saturating_add(spent_nano_usd);
    // The score and the classes learn from answers that were chosen by chance, or judged in any case, but not from what
    // somebody noticed: people choose what they report.
    let taught = match decision.outcome {
        Decided::Served { odds, fell: true } => {
            state.ledger.judge(odds, wrong);
            if wrong && !served {
                state.ledger.avert();
                state.counts.save_not(decision.cost);
            }
            state.counts.lost_nano_usd += if wrong && served { decision.cost.nano_usd } else { 0 };
            Some(odds.probability())
        }
        Decided::Served { fell: false, .. } => {
            if wrong {
                state.ledger.report();
                state.counts.lost_nano_usd += decision.cost.nano_usd;
            }
            None
        }
        Decided::Candidate { odds } => {
            if !wrong && served {
                state.ledger.serve_judged();
                state.counts.semantic += 1;
                if let Some(why) = decision.why {
                    state.counts.miss_not(why);
                }
                state.counts.save(decision.cost);
            }
            Some(odds.probability())
        }
        Decided::Shadow { odds } => Some(odds.probability()),
        Decided::Offered => {
            state.offered = state.offered.saturating_sub(1);
            Some(Odds::ALWAYS.probability())
        }
    };
    if let Some(probability) = taught {
        if let Some(features) = &decision.features {
            state.score.learn(features, wrong, probability);
        }
        state.classes.judge(decision.class as usize, wrong);
    }
    match wrong {
        true => state.counts.reported_wrong += 1,
        false => state.counts.reported_right += 1,
    }
    let (exact, form) = key::hashes(&decision.scope, &decision.prompt);
    if decision.outcome == Decided::Offered {
        draft.delete(key::offered(&form));
    }
    if draft.has(&key::entry(entry))? {
        match wrong {
            true => draft.put(key::never(entry, &form), &(), None)?,
            false => {
                draft.put(key::alias(&form), &entry, None)?;
                draft.put(key::alias_of(entry, &form), &(), None)?;
                if decision.outcome == Decided::Offered {
                    draft.put(key::owed(&form), &(), None)?;
                    if in_debt {
                        merge(draft, &exact, entry)?;
                    }
                }
            }
        }
    }
    draft.put(key::decision(hit), &decision, None)?;
    Ok(true)
}

/// Keeps one answer for two prompts that it is right for: the caller computed another one meanwhile, which is removed
/// so that the judged one is given. Only such answers pay for wrong ones.
fn merge(draft: &mut Draft<'_>, exact: &Hash, entry: u64) -> Result<()> {
    let Some(own) = draft.get::<u64>(&key::exact(exact))?.filter(|own| *own != entry) else { return Ok(()) };
    let (Some(kept), Some(other)) = (draft.get::<Stored>(&key::entry(entry))?, draft.get::<Stored>(&key::entry(own))?)
    else {
        return Ok(());
    };
    if (&kept.tags, &kept.sources) == (&other.tags, &other.sources) {
        draft.remove(own)?;
    }
    Ok(())
}
