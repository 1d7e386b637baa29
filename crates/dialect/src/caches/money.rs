//! The cost and savings of answers, and the number of wrong ones, in JSON. Amounts are US dollars; inside they are
//! whole billionths.

use nuthatch_engine::Result;
use nuthatch_link as core;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::nano_usd;

/// The cost of an answer.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CachePrice {
    /// Tokens of the question and of the answer.
    tokens: u64,
    /// US dollars.
    usd: f64,
}

/// The savings of a cache, and their cost.
#[derive(Serialize, ToSchema)]
pub struct CacheSavings {
    /// Tokens that were not paid for again.
    tokens: u64,
    #[serde(flatten)]
    usd: CacheMoney,
}

/// US dollars.
#[derive(Serialize, ToSchema)]
pub struct CacheMoney {
    /// The cost that the given answers would have had.
    gross_usd: f64,
    /// Of these, answers that turned out to be wrong.
    wrong_usd: f64,
    /// The cost of verdicts, as reported with them.
    judging_usd: f64,
    /// The cost of the vectors of questions, as reported by the callers.
    embedding_usd: f64,
    /// The net savings: below 0 if the cache costs more than it saves.
    net_usd: f64,
}

/// The share of answers by meaning that are wrong.
#[derive(Serialize, ToSchema)]
pub struct CacheWrong {
    /// Estimated from the verdicts, each weighed by the odds with which it was chosen.
    share: f64,
    /// The share that is known to be wrong.
    low: f64,
    /// With probability 1 - failure, no more.
    high: f64,
}

impl CachePrice {
    pub(super) fn into_engine(self, name: &str) -> Result<core::CacheCost> {
        Ok(core::CacheCost { tokens: self.tokens, nano_usd: nano_usd(&format!("{name}.usd"), self.usd)? })
    }
}

impl From<core::CacheCost> for CachePrice {
    fn from(core::CacheCost { tokens, nano_usd }: core::CacheCost) -> Self {
        Self { tokens, usd: usd(nano_usd.into()) }
    }
}

impl CacheSavings {
    pub(super) fn of(counts: &core::CacheCounts) -> Self {
        let core::CacheCounts { saved_tokens: tokens, saved_nano_usd: gross, lost_nano_usd: wrong, .. } = *counts;
        let core::CacheCounts { judging_nano_usd: judging, embedding_nano_usd: embedding, .. } = *counts;
        let net = i128::from(gross) - i128::from(wrong) - i128::from(judging) - i128::from(embedding);
        let usd = CacheMoney {
            gross_usd: usd(gross.into()),
            wrong_usd: usd(wrong.into()),
            judging_usd: usd(judging.into()),
            embedding_usd: usd(embedding.into()),
            net_usd: usd(net),
        };
        Self { tokens, usd }
    }
}

impl From<core::WrongShare> for CacheWrong {
    fn from(core::WrongShare { share, low, high }: core::WrongShare) -> Self {
        Self { share, low, high }
    }
}

fn usd(nano: i128) -> f64 {
    nano as f64 / 1e9
}
