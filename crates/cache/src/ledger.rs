//! A bound on wrong answers that rests on our own coin alone.
//!
//! Before an answer is served, [`Ledger::odds`] names the odds of a coin. If the coin falls, somebody judges the answer;
//! until the verdict comes, the answer counts as wrong. From the verdicts follows an upper bound `U` on the wrong answers
//! among all that were served, and an answer is served only while `U ≤ α × hits + allowance`.
//!
//! **Why it holds.** Let `y` be 1 for a wrong answer and `A` be 1 if its coin fell, with probability `p`. For each `θ > 0`,
//! the product over all answers of `(exp(−θA) / (1 − p(1 − exp(−θ))))^y` is a martingale that begins at 1, as long as the
//! coin is independent of `y` given the past. By Ville's inequality it exceeds `5/β` at some time with probability `β/5` at
//! most. With `g(p) = −ln(1 − p(1 − exp(−θ)))`, so for all times and all five `θ`:
//! `Σ g(p) y ≤ θ Σ A y + ln(5/β)`. `U` is the largest number of wrong answers that satisfies this.
//!
//! Nothing is assumed of the traffic: it may change, repeat itself, or be chosen by an adversary who sees all verdicts.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Odds are 1, 1/2, 1/4 and so on to 1/64.
pub const LEVELS: usize = 7;
/// One inequality for each; their failures share β.
const THETAS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// `g(p)` by `θ` and odds.
static COSTS: LazyLock<[[f64; LEVELS]; THETAS.len()]> = LazyLock::new(|| {
    let cost = |theta: f64, place: usize| -(-Odds(place as u8).probability() * (1.0 - (-theta).exp())).ln_1p();
    THETAS.map(|theta| std::array::from_fn(|place| cost(theta, place)))
});
/// Share of what is allowed that cheap odds may use: the rest lets verdicts of "wrong" come without a halt.
const SLACK: f64 = 0.85;

/// The terms of the promise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// α: the share of served answers that may be wrong.
    pub budget: f64,
    /// β: the probability that the promise ever fails.
    pub failure: f64,
    /// Wrong answers that are allowed in addition to the share, so that a first one can be served.
    pub allowance: f64,
}

/// The odds of one coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Odds(u8);

/// The share of wrong answers among those that were served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrongShare {
    /// Estimated: verdicts count by the inverse of the odds with which they were chosen.
    pub share: f64,
    /// The share that is known to be wrong.
    pub low: f64,
    /// The bound: with probability 1 − β, at no time are more.
    pub high: f64,
}

/// Counts of the answers that were served with the same odds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    hits: u64,
    /// The coin fell.
    audited: u64,
    /// Of these, without a verdict.
    pending: u64,
    /// Of these, judged wrong.
    wrong: u64,
}

/// The record of the served answers and their outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    cells: [Cell; LEVELS],
    /// Wrong answers that somebody has noticed although no coin had fallen.
    reported: u64,
    /// Wrong answers whose verdict came in time: nobody got them.
    averted: u64,
}

impl Odds {
    /// The coin falls always.
    pub const ALWAYS: Self = Self(0);

    /// The coin falls one time of sixteen.
    pub const SELDOM: Self = Self(4);
    /// The coin falls one time of sixty-four.
    pub const RARELY: Self = Self(6);

    /// The probability that the coin falls.
    pub fn probability(self) -> f64 {
        0.5f64.powi(self.0.into())
    }

    /// How a coin of these odds falls, given evenly distributed bits that nobody else knows.
    pub fn falls(self, bits: u64) -> bool {
        bits & ((1 << self.0) - 1) == 0
    }

    fn place(self) -> usize {
        usize::from(self.0).min(LEVELS - 1)
    }
}

impl Cell {
    /// Answers that count as wrong: their coin fell, and no verdict says that they are right.
    fn counted(&self) -> u64 {
        self.pending + self.wrong
    }

    fn unaudited(&self) -> u64 {
        self.hits.saturating_sub(self.audited)
    }
}

impl Ledger {
    /// The odds for the next answer, the lowest that keep the promise; `None`: it may not be served before a verdict comes.
    pub fn odds(&self, terms: &Terms) -> Option<Odds> {
        let allowed = terms.budget * (self.hits() + 1) as f64 + terms.allowance;
        let bound = |odds| self.with(odds).bound_of(terms.failure, Some(odds));
        let cheap = (1..LEVELS as u8).rev().map(Odds).find(|odds| bound(*odds) <= SLACK * allowed);
        cheap.or_else(|| Some(Odds::ALWAYS).filter(|odds| bound(*odds) <= allowed))
    }

    /// An answer is served, and its coin has fallen or not.
    pub fn serve(&mut self, odds: Odds, fell: bool) {
        let cell = &mut self.cells[odds.place()];
        cell.hits += 1;
        if fell {
            cell.audited += 1;
            cell.pending += 1;
        }
    }

    /// The verdict on an answer whose coin fell. The caller sees to it that each comes once.
    pub fn judge(&mut self, odds: Odds, wrong: bool) {
        let cell = &mut self.cells[odds.place()];
        cell.pending = cell.pending.saturating_sub(1);
        cell.wrong += u64::from(wrong);
    }

    /// An answer that was just judged wrong was not given out. It stays in the inequality, and counts as no hit.
    pub fn avert(&mut self) {
        self.averted += 1;
    }

    /// Records an answer that is served after it was judged right: at once by the caller, or because somebody asked the
    /// same before. It counts as if its coin always fell, and only such answers pay for wrong ones.
    pub fn serve_judged(&mut self) {
        self.serve(Odds::ALWAYS, true);
        self.judge(Odds::ALWAYS, false);
    }

    /// An answer whose coin did not fall was wrong. Those who tell choose what they tell: such reports can only raise the bound.
    pub fn report(&mut self) {
        self.reported += 1;
    }

    /// The upper bound on wrong answers among all that were served.
    pub fn bound(&self, failure: f64) -> f64 {
        self.bound_of(failure, None)
    }

    /// The share of wrong answers among those that were served; `None` before the first.
    pub fn wrong_share(&self, failure: f64) -> Option<WrongShare> {
        let hits = Some(self.hits() as f64).filter(|hits| *hits > 0.0)?;
        let judged = |cell: &Cell| cell.audited.saturating_sub(cell.pending) as f64;
        let (wrong, all): (f64, f64) =
            self.cells.iter().fold((0.0, 0.0), |(wrong, all), cell| (wrong + cell.wrong as f64, all + judged(cell)));
        let usual = if all > 0.0 { wrong / all } else { 0.0 };
        let estimate = self.cells.iter().map(|cell| {
            let rate = if judged(cell) > 0.0 { cell.wrong as f64 / judged(cell) } else { usual };
            cell.wrong as f64 + rate * (cell.unaudited() + cell.pending) as f64
        });
        let estimate = estimate.sum::<f64>() - self.averted as f64;
        let (low, high) = (self.known_wrong() as f64, self.bound(failure).min(hits));
        Some(WrongShare {
            share: estimate.clamp(low, high.max(low)) / hits,
            low: low / hits,
            high: high.max(low) / hits,
        })
    }

    /// Answers that were served.
    pub fn hits(&self) -> u64 {
        self.cells.iter().map(|cell| cell.hits).sum::<u64>() - self.averted
    }

    /// Answers whose coin fell.
    pub fn audited(&self) -> u64 {
        self.cells.iter().map(|cell| cell.audited).sum()
    }

    /// Of these, the ones without a verdict.
    pub fn pending(&self) -> u64 {
        self.cells.iter().map(|cell| cell.pending).sum()
    }

    /// Answers that were given out and are known to be wrong, by a verdict or a report.
    pub fn known_wrong(&self) -> u64 {
        self.cells.iter().map(|cell| cell.wrong).sum::<u64>() + self.reported - self.averted
    }

    /// With one answer more, whose coin fell.
    fn with(&self, odds: Odds) -> Self {
        let mut next = self.clone();
        next.serve(odds, true);
        next
    }

    /// `in_use`: odds with which more answers may be served; how many there are does not bound how many are wrong.
    fn bound_of(&self, failure: f64, in_use: Option<Odds>) -> f64 {
        let counted: u64 = self.cells.iter().map(Cell::counted).sum();
        let spare = (THETAS.len() as f64 / failure).ln();
        let each = THETAS.into_iter().zip(COSTS.iter()).map(|(theta, costs)| self.unseen(theta, costs, spare, in_use));
        let unseen = each.fold(f64::INFINITY, f64::min);
        (counted as f64 + unseen).max((counted + self.reported) as f64) - self.averted as f64
    }

    /// The most wrong answers among those whose coin did not fall, by the inequality of one `θ`.
    fn unseen(&self, theta: f64, costs: &[f64; LEVELS], spare: f64, in_use: Option<Odds>) -> f64 {
        let mut left = spare;
        // Where every coin falls, nothing is unseen: these answers are no part of the inequality.
        for (cell, cost) in self.cells.iter().zip(costs).skip(1) {
            left += (theta - cost) * cell.counted() as f64;
        }
        let mut unseen = 0.0;
        // The lowest odds first, where a wrong answer costs least.
        for place in (1..LEVELS).rev() {
            let most = match in_use.map(Odds::place) == Some(place) {
                true => f64::INFINITY,
                false => self.cells[place].unaudited() as f64,
            };
            let here = (left / costs[place]).min(most);
            unseen += here;
            left -= here * costs[place];
        }
        unseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { budget: 0.01, failure: 0.05, allowance: 1.0 };

    #[test]
    fn the_first_answer_is_judged_before_the_second_is_served() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.odds(&TERMS), Some(Odds::ALWAYS));
        ledger.serve(Odds::ALWAYS, true);
        assert_eq!(ledger.odds(&TERMS), None);
        ledger.judge(Odds::ALWAYS, false);
        assert_eq!((ledger.odds(&TERMS), ledger.bound(0.05)), (Some(Odds::ALWAYS), 0.0));
    }

    #[test]
    fn coins_become_rare_after_many_right_answers() {
        let mut ledger = Ledger::default();
        for at in 0u64..30_000 {
            let odds = ledger.odds(&TERMS).unwrap();
            let fell = odds.falls(at);
            ledger.serve(odds, fell);
            if fell {
                ledger.judge(odds, false);
            }
        }
        assert!(ledger.odds(&TERMS).unwrap() > Odds(2), "{:?}", ledger.odds(&TERMS));
    }

    #[test]
    fn so_many_right_answers_are_all_judged_at_first() {
        for (budget, wanted) in [(0.01, 1_272), (0.05, 254), (0.1, 127)] {
            let (terms, mut ledger) = (Terms { budget, ..TERMS }, Ledger::default());
            while ledger.odds(&terms) == Some(Odds::ALWAYS) {
                ledger.serve(Odds::ALWAYS, true);
                ledger.judge(Odds::ALWAYS, false);
            }
            assert_eq!(ledger.hits(), wanted, "at {budget}");
        }
    }

    #[test]
    fn wrong_answers_halt_serving_until_the_share_allows_them() {
        let mut ledger = Ledger::default();
        ledger.serve(Odds::ALWAYS, true);
        ledger.judge(Odds::ALWAYS, true);
        assert_eq!(ledger.odds(&TERMS), None);
        ledger.report();
        assert_eq!((ledger.known_wrong(), ledger.bound(0.05)), (2, 2.0));
        ledger.avert();
        assert_eq!((ledger.known_wrong(), ledger.bound(0.05), ledger.hits()), (1, 1.0, 0));
    }

    #[test]
    fn a_coin_falls_as_often_as_its_odds_say() {
        for level in 0..LEVELS as u8 {
            let fell = (0..6400u64).filter(|bits| Odds(level).falls(*bits)).count();
            assert_eq!(fell as f64, 6400.0 * Odds(level).probability());
        }
    }
}
