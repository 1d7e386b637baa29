//! Rows of earlier layouts. The score of the first had ten features: what it had learned does not carry over, and everything else does. The
//! second had no costs, no users, and one count of all misses. The third had no shares of users.

use nuthatch_cache::{Classes, Features, Ledger, Odds, Score};
use serde::{Deserialize, Serialize};

use crate::cache::explain::CacheCounts;
use crate::cache::key::Hash;
use crate::cache::value::{Decided, Decision, Source, State, Stored, Vectors};
use crate::cache::{CacheCost, CacheMode, CacheSettings, ShareWhen};

const FEATURES: usize = 10;

#[derive(Serialize, Deserialize)]
pub(crate) struct ThirdSettings {
    pub mode: CacheMode,
    pub budget: f64,
    pub failure: f64,
    pub ttl_ms: u64,
    pub max_entries: u64,
    pub max_bytes: u64,
    pub scope: Vec<String>,
    pub allowance: f64,
    pub share_after: u64,
    pub share_when: ShareWhen,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ThirdState {
    pub settings: ThirdSettings,
    pub next_entry: u64,
    pub next_hit: u64,
    pub next_tick: u64,
    pub entries: u64,
    pub bytes: u64,
    pub vectors: Option<Vectors>,
    pub ledger: Ledger,
    pub score: Score,
    pub classes: Classes,
    pub counts: CacheCounts,
    pub offered: u64,
}

impl From<ThirdSettings> for CacheSettings {
    fn from(third: ThirdSettings) -> Self {
        let ThirdSettings { mode, budget, failure, ttl_ms, max_entries, max_bytes, scope, .. } = third;
        let ThirdSettings { allowance, share_after, share_when, .. } = third;
        let before = Self { mode, budget, failure, ttl_ms, max_entries, max_bytes, scope, ..Self::default() };
        Self { allowance, share_after, share_when, ..before }
    }
}

impl From<ThirdState> for State {
    fn from(third: ThirdState) -> Self {
        let ThirdState { settings, next_entry, next_hit, next_tick, entries, bytes, .. } = third;
        let ThirdState { vectors, ledger, score, classes, counts, offered, .. } = third;
        let settings = settings.into();
        Self {
            settings,
            next_entry,
            next_hit,
            next_tick,
            entries,
            bytes,
            vectors,
            ledger,
            score,
            classes,
            counts,
            offered,
        }
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct SecondSettings {
    pub mode: CacheMode,
    pub budget: f64,
    pub failure: f64,
    pub ttl_ms: u64,
    pub max_entries: u64,
    pub max_bytes: u64,
    pub scope: Vec<String>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct SecondCounts {
    pub exact: u64,
    pub canonical: u64,
    pub alias: u64,
    pub semantic: u64,
    pub misses: u64,
    pub shadow_hits: u64,
    pub stored: u64,
    pub evicted: u64,
    pub expired: u64,
    pub stale: u64,
    pub invalidated: u64,
    pub reported_right: u64,
    pub reported_wrong: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SecondState {
    pub settings: SecondSettings,
    pub next_entry: u64,
    pub next_hit: u64,
    pub next_tick: u64,
    pub entries: u64,
    pub bytes: u64,
    pub vectors: Option<Vectors>,
    pub ledger: Ledger,
    pub score: Score,
    pub classes: Classes,
    pub counts: SecondCounts,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SecondStored {
    pub prompt: String,
    pub response: String,
    pub scope: Hash,
    pub exact: Hash,
    pub form: Hash,
    pub tags: Vec<String>,
    pub sources: Vec<Source>,
    pub created_ms: u64,
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SecondDecision {
    pub entry: u64,
    pub prompt: String,
    pub scope: Hash,
    pub features: Option<Features>,
    pub risk: f64,
    pub class: u64,
    pub outcome: Decided,
    pub verdict: Option<bool>,
    pub at_ms: u64,
}

impl From<SecondSettings> for CacheSettings {
    fn from(second: SecondSettings) -> Self {
        let SecondSettings { mode, budget, failure, ttl_ms, max_entries, max_bytes, scope } = second;
        Self { mode, budget, failure, ttl_ms, max_entries, max_bytes, scope, ..Self::default() }
    }
}

impl From<SecondCounts> for CacheCounts {
    fn from(second: SecondCounts) -> Self {
        let SecondCounts { exact, canonical, alias, semantic, misses, shadow_hits, stored, .. } = second;
        let SecondCounts { evicted, expired, stale, invalidated, reported_right, reported_wrong, .. } = second;
        Self {
            exact,
            canonical,
            alias,
            semantic,
            misses,
            shadow_hits,
            stored,
            evicted,
            expired,
            stale,
            invalidated,
            reported_right,
            reported_wrong,
            ..Self::default()
        }
    }
}

impl From<SecondState> for State {
    fn from(second: SecondState) -> Self {
        let SecondState { settings, next_entry, next_hit, next_tick, entries, bytes, .. } = second;
        let SecondState { vectors, ledger, score, classes, counts, .. } = second;
        let (settings, counts) = (settings.into(), counts.into());
        let offered = 0;
        Self {
            settings,
            next_entry,
            next_hit,
            next_tick,
            entries,
            bytes,
            vectors,
            ledger,
            score,
            classes,
            counts,
            offered,
        }
    }
}

impl From<SecondStored> for Stored {
    fn from(second: SecondStored) -> Self {
        let SecondStored { prompt, response, scope, exact, form, tags, sources, created_ms, bytes } = second;
        let (cost, private) = (CacheCost::default(), None);
        Self { prompt, response, scope, exact, form, tags, sources, created_ms, bytes, cost, private }
    }
}

impl From<SecondDecision> for Decision {
    fn from(second: SecondDecision) -> Self {
        let SecondDecision { entry, prompt, scope, features, risk, class, outcome, verdict, at_ms } = second;
        let (cost, why) = (CacheCost::default(), None);
        Self { entry, prompt, scope, features, risk, class, outcome, verdict, at_ms, cost, why }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct FirstState {
    pub settings: SecondSettings,
    pub next_entry: u64,
    pub next_hit: u64,
    pub next_tick: u64,
    pub entries: u64,
    pub bytes: u64,
    pub vectors: Option<Vectors>,
    pub ledger: Ledger,
    pub score: FirstScore,
    pub classes: Classes,
    pub counts: SecondCounts,
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
        let (score, settings, counts) = (Score::default(), settings.into(), counts.into());
        let offered = 0;
        Self {
            settings,
            next_entry,
            next_hit,
            next_tick,
            entries,
            bytes,
            vectors,
            ledger,
            score,
            classes,
            counts,
            offered,
        }
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
        let (cost, why) = (CacheCost::default(), None);
        Self { entry, prompt, scope, features: None, risk, class, outcome, verdict, at_ms, cost, why }
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
            settings: SecondSettings { budget: 0.1, ..SecondSettings::default() },
            next_entry: 7,
            next_hit: 1,
            next_tick: 9,
            entries: 2,
            bytes: 600,
            vectors: Some(Vectors::Given(3)),
            ledger: ledger.clone(),
            score: FirstScore { weights: [1.0; FEATURES], precisions: [2.0; FEATURES], verdicts: 5 },
            classes: Classes::default(),
            counts: SecondCounts { semantic: 1, ..SecondCounts::default() },
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

    #[test]
    fn rows_of_the_third_layout_keep_everything() {
        let settings = ThirdSettings {
            mode: CacheMode::Shadow,
            budget: 0.1,
            failure: 0.2,
            ttl_ms: 3,
            max_entries: 4,
            max_bytes: 5,
            scope: vec!["user".into()],
            allowance: 6.0,
            share_after: 7,
            share_when: ShareWhen::Asked,
        };
        let state = ThirdState {
            settings,
            next_entry: 7,
            next_hit: 1,
            next_tick: 9,
            entries: 2,
            bytes: 600,
            vectors: Some(Vectors::Given(3)),
            ledger: Ledger::default(),
            score: Score::default(),
            classes: Classes::default(),
            counts: CacheCounts { awaited: 4, ..CacheCounts::default() },
            offered: 8,
        };
        let read: State = decode(&row::encode(&state, 3, "a cache").unwrap()).unwrap();
        let wanted = CacheSettings {
            mode: CacheMode::Shadow,
            budget: 0.1,
            failure: 0.2,
            ttl_ms: 3,
            max_entries: 4,
            max_bytes: 5,
            scope: vec!["user".into()],
            allowance: 6.0,
            share_after: 7,
            share_when: ShareWhen::Asked,
            user_max_entries: 0,
            user_max_bytes: 0,
        };
        assert_eq!(read.settings, wanted);
        assert_eq!((read.entries, read.bytes, read.counts.awaited, read.offered), (2, 600, 4, 8));
    }

    #[test]
    fn rows_of_the_second_layout_keep_everything() {
        let settings = SecondSettings { budget: 0.1, scope: vec!["user".into()], ..SecondSettings::default() };
        let state = SecondState {
            settings,
            next_entry: 7,
            next_hit: 1,
            next_tick: 9,
            entries: 2,
            bytes: 600,
            vectors: Some(Vectors::Given(3)),
            ledger: Ledger::default(),
            score: Score::default(),
            classes: Classes::default(),
            counts: SecondCounts { misses: 4, ..SecondCounts::default() },
        };
        let read: State = decode(&row::encode(&state, 2, "a cache").unwrap()).unwrap();
        assert_eq!((read.settings.budget, read.settings.allowance, read.settings.share_after), (0.1, 1.0, 0));
        assert_eq!((read.counts.misses, read.next_tick, read.settings.scope.len()), (4, 9, 1));
        let stored = SecondStored {
            prompt: "a".into(),
            response: "1".into(),
            scope: [1; 32],
            exact: [2; 32],
            form: [3; 32],
            tags: vec!["t".into()],
            sources: Vec::new(),
            created_ms: 5,
            bytes: 6,
        };
        let read: Stored = decode(&row::encode(&stored, 2, "a cache").unwrap()).unwrap();
        assert_eq!((read.prompt.as_str(), read.form, read.bytes, read.private), ("a", [3; 32], 6, None));
    }
}
