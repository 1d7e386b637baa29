//! Verdicts on answers: what they teach, what they forbid, and what they allow from now on.

use nuthatch_cache::Odds;

use crate::cache::draft::Draft;
use crate::cache::key;
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
                    let gone = verdict.wrong && draft.remove(verdict.entry)?;
                    draft.state.counts.reported_wrong += u64::from(gone);
                    gone
                }
            };
            Ok((is_new, Outcome { value: is_new.into(), ..Outcome::default() }))
        })
    }
}

fn judge(draft: &mut Draft<'_>, hit: u64, Verdict { wrong, served, entry, .. }: Verdict) -> Result<bool> {
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
    let state = &mut draft.state;
    // What chance has chosen, or what was judged whatever it was, teaches. What somebody noticed does not: they choose what they tell.
    let taught = match decision.outcome {
        Decided::Served { odds, fell: true } => {
            state.ledger.judge(odds, wrong);
            if wrong && !served {
                state.ledger.avert();
            }
            Some(odds.probability())
        }
        Decided::Served { fell: false, .. } => {
            if wrong {
                state.ledger.report();
            }
            None
        }
        Decided::Candidate { odds } => {
            if !wrong && served {
                state.ledger.serve(Odds::ALWAYS, true);
                state.ledger.judge(Odds::ALWAYS, false);
                state.counts.semantic += 1;
                state.counts.misses = state.counts.misses.saturating_sub(1);
            }
            Some(odds.probability())
        }
        Decided::Shadow { odds } => Some(odds.probability()),
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
    let form = key::hashes(&decision.scope, &decision.prompt).1;
    if draft.get::<Stored>(&key::entry(entry))?.is_some() {
        match wrong {
            true => draft.put(key::never(entry, &form), &(), None)?,
            false => {
                draft.put(key::alias(&form), &entry, None)?;
                draft.put(key::alias_of(entry, &form), &(), None)?;
            }
        }
    }
    draft.put(key::decision(hit), &decision, None)?;
    Ok(true)
}
