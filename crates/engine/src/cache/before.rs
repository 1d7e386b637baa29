//! Rows of the first layout, whose score had ten features: what it had learned does not carry over, and everything else does.

use nuthatch_cache::{Classes, Ledger, Odds, Score};
use serde::{Deserialize, Serialize};

use crate::cache::CacheSettings;
use crate::cache::explain::CacheCounts;
use crate::cache::key::Hash;
use crate::cache::value::{Decided, Decision, State, Vectors};

const FEATURES: usize = 10;

#[derive(Serialize, Deserialize)]
pub(crate) struct FirstState {
    pub settings: CacheSettings,
    pub next_entry: u64,
    pub next_hit: u64,
    pub next_tick: u64,
    pub entries: u64,
    pub bytes: u64,
    pub vectors: Option<Vectors>,
    pub ledger: Ledger,
    pub score: FirstScore,
    pub classes: Classes,
    pub counts: CacheCounts,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct FirstScore {
    pub weights: [f64; FEATURES],
    pub precisions: [f64; FEATURES],
    pub verdicts: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct FirstDecision {
    pub entry: u64,
    pub prompt: String,
    pub scope: Hash,
    pub features: [f64; FEATURES],
    pub risk: f64,
    pub class: u64,
    pub outcome: FirstDecided,
    pub verdict: Option<bool>,
    pub at_ms: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum FirstDecided {
    Served { odds: Odds, fell: bool },
    Candidate,
    Shadow,
}

impl From<FirstState> for State {
    fn from(first: FirstState) -> Self {
        let FirstState { settings, next_entry, next_hit, next_tick, entries, bytes, .. } = first;
        let FirstState { vectors, ledger, classes, counts, .. } = first;
        let score = Score::default();
        Self { settings, next_entry, next_hit, next_tick, entries, bytes, vectors, ledger, score, classes, counts }
    }
}

impl From<FirstDecision> for Decision {
    fn from(first: FirstDecision) -> Self {
        let FirstDecision { entry, prompt, scope, risk, class, verdict, at_ms, .. } = first;
        let outcome = match first.outcome {
            FirstDecided::Served { odds, fell } => Decided::Served { odds, fell },
            FirstDecided::Candidate => Decided::Candidate { odds: Odds::ALWAYS },
            FirstDecided::Shadow => Decided::Shadow { odds: Odds::ALWAYS },
        };
        Self { entry, prompt, scope, features: None, risk, class, outcome, verdict, at_ms }
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_cache::Odds;

    use super::*;
    use crate::cache::value::decode;
    use crate::kv::row;

    #[test]
    fn rows_of_the_first_layout_keep_what_the_promise_stands_on() {
        let mut ledger = Ledger::default();
        ledger.serve(Odds::ALWAYS, true);
        let state = FirstState {
            settings: CacheSettings { budget: 0.1, ..CacheSettings::default() },
            next_entry: 7,
            next_hit: 1,
            next_tick: 9,
            entries: 2,
            bytes: 600,
            vectors: Some(Vectors::Given(3)),
            ledger: ledger.clone(),
            score: FirstScore { weights: [1.0; FEATURES], precisions: [2.0; FEATURES], verdicts: 5 },
            classes: Classes::default(),
            counts: CacheCounts { semantic: 1, ..CacheCounts::default() },
        };
        let read: State = decode(&row::encode(&state, 1, "a cache").unwrap()).unwrap();
        assert_eq!((read.ledger, read.settings.budget, read.counts.semantic), (ledger, 0.1, 1));
        assert_eq!((read.next_entry, read.next_tick, read.score.verdicts()), (7, 9, 0));
        let outcome = FirstDecided::Served { odds: Odds::ALWAYS, fell: true };
        let decision = FirstDecision {
            entry: 3,
            prompt: "a".into(),
            scope: [1; 32],
            features: [0.5; FEATURES],
            risk: 0.1,
            class: 4,
            outcome,
            verdict: None,
            at_ms: 8,
        };
        let read: Decision = decode(&row::encode(&decision, 1, "a cache").unwrap()).unwrap();
        assert_eq!((read.entry, read.features, read.at_ms), (3, None, 8));
        assert_eq!(read.outcome, Decided::Served { odds: Odds::ALWAYS, fell: true });
    }
}
