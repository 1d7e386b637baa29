//! Answers by their estimated risk: safe ones pay for riskier ones, as long as the mean stays below the budget.
//!
//! No promise rests on this. It chooses what is worth serving, and the ledger decides whether it may be.

use serde::{Deserialize, Serialize};

use crate::beta::quantile;
use crate::ledger::Odds;

/// How many classes there are.
pub const CLASSES: usize = 6;
/// The estimated risk at which each class ends.
const ENDS: [f64; CLASSES] = [0.001, 0.003, 0.01, 0.03, 0.1, 1.0];
/// The assumed error rate of each class before any verdict, and the number of verdicts that this assumption is worth.
const BELIEVED: [f64; CLASSES] = [0.0005, 0.002, 0.006, 0.02, 0.06, 0.5];
const WORTH: f64 = 50.0;
/// Share of the budget that the mean may use.
const SHARE: f64 = 0.7;
/// A class counts as wrong as often as it is not more often, with this probability.
const LEVEL: f64 = 0.9;
/// Up to this risk, an answer is rather right than wrong, and worth a verdict.
const WORTH_A_VERDICT: f64 = 0.5;
/// Up to this one, one of sixteen is looked at, and above it one of sixty-four.
const DOUBTFUL: f64 = 0.9;

/// The class of an estimated risk.
pub fn class_of(risk: f64) -> usize {
    ENDS.iter().position(|end| risk < *end).unwrap_or(CLASSES - 1)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Class {
    seen: u64,
    judged: u64,
    wrong: u64,
}

/// The statistics of each class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Classes([Class; CLASSES]);

impl Classes {
    /// An answer of that class was found, served or not.
    pub fn see(&mut self, class: usize) {
        self.0[class.min(CLASSES - 1)].seen += 1;
    }

    /// A verdict on an answer of that class. Only of answers that chance has chosen, or of all.
    pub fn judge(&mut self, class: usize, wrong: bool) {
        let class = &mut self.0[class.min(CLASSES - 1)];
        class.judged += 1;
        class.wrong += u64::from(wrong);
    }

    /// Which classes are worth serving under a budget: those with the lowest upper bounds, as long as the mean of the bounds,
    /// weighted by how often each class comes, stays within 0.7 of it.
    pub fn served(&self, budget: f64) -> [bool; CLASSES] {
        let bounds: [f64; CLASSES] = std::array::from_fn(|at| self.0[at].bound(BELIEVED[at]));
        let mut order: [usize; CLASSES] = std::array::from_fn(|at| at);
        order.sort_by(|a, b| bounds[*a].total_cmp(&bounds[*b]));
        let (mut wrong, mut all, mut served) = (0.0, 0.0, [false; CLASSES]);
        for at in order {
            // A class that never came has the weight of one answer.
            let weight = self.0[at].seen.max(1) as f64;
            (wrong, all) = (wrong + bounds[at] * weight, all + weight);
            if wrong > SHARE * budget * all {
                break;
            }
            served[at] = true;
        }
        served
    }
}

impl Class {
    /// It is wrong no more often than this, with 90 % probability, given its verdicts and what was believed.
    fn bound(&self, believed: f64) -> f64 {
        let right = self.judged.saturating_sub(self.wrong) as f64;
        quantile(self.wrong as f64 + believed * WORTH, right + (1.0 - believed) * WORTH, LEVEL)
    }
}

/// Returns the odds that a caller who judges answers before they are given is asked about one that is too risky to
/// serve. Answers that nobody judges teach nothing, and a score that had become too cautious would stay so.
pub fn exploration(risk: f64) -> Odds {
    match risk {
        risk if risk <= WORTH_A_VERDICT => Odds::ALWAYS,
        risk if risk <= DOUBTFUL => Odds::SELDOM,
        _ => Odds::RARELY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_classes_are_served_and_risky_ones_are_not() {
        let classes = Classes::default();
        assert_eq!(classes.served(0.01), [true, true, false, false, false, false]);
        assert_eq!(classes.served(0.05), [true, true, true, true, true, false]);
    }

    #[test]
    fn a_class_that_was_often_wrong_is_served_no_more() {
        let mut classes = Classes::default();
        (0..100).for_each(|_| classes.see(1));
        (0..5).for_each(|_| classes.judge(1, true));
        assert!(!classes.served(0.01)[1]);
        (0..2000).for_each(|_| classes.judge(1, false));
        assert!(classes.served(0.01)[1]);
    }

    #[test]
    fn many_safe_answers_pay_for_few_risky_ones() {
        let mut classes = Classes::default();
        let risky = class_of(0.02);
        assert!(!classes.served(0.01)[risky]);
        (0..1000).for_each(|_| classes.see(0));
        (0..1000).for_each(|_| classes.judge(0, false));
        assert!(classes.served(0.01)[risky]);
    }

    #[test]
    fn what_may_be_right_is_always_explored_and_the_rest_seldom() {
        let chances = [0.2, 0.5, 0.6, 0.9, 0.95].map(|risk| exploration(risk).probability());
        assert_eq!(chances, [1.0, 1.0, 1.0 / 16.0, 1.0 / 16.0, 1.0 / 64.0]);
    }
}
