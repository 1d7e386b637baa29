//! Answers by their estimated risk: safe ones pay for riskier ones, as long as the mean stays below the budget.
//!
//! No promise rests on this. It chooses what is worth serving, and the ledger decides whether it may be.

use serde::{Deserialize, Serialize};

/// How many classes there are.
pub const CLASSES: usize = 6;
/// The estimated risk at which each class ends.
const ENDS: [f64; CLASSES] = [0.001, 0.003, 0.01, 0.03, 0.1, 1.0];
/// What a class is believed to be wrong before it was judged, and how many verdicts that belief is worth.
const BELIEVED: [f64; CLASSES] = [0.0005, 0.002, 0.006, 0.02, 0.06, 0.5];
const WORTH: f64 = 50.0;
/// Share of the budget that the mean may use.
const SHARE: f64 = 0.7;

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

/// What is known of each class.
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

    /// Whether answers of that class are worth serving under a budget.
    pub fn serves(&self, class: usize, budget: f64) -> bool {
        let mean = |at: usize| {
            let class = &self.0[at];
            (class.wrong as f64 + BELIEVED[at] * WORTH) / (class.judged as f64 + WORTH)
        };
        // A class that never came has the weight of one answer.
        let weight = |at: usize| self.0[at].seen.max(1) as f64;
        let mut order: [usize; CLASSES] = std::array::from_fn(|at| at);
        order.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)));
        let (mut wrong, mut all) = (0.0, 0.0);
        for at in order {
            (wrong, all) = (wrong + mean(at) * weight(at), all + weight(at));
            if wrong > SHARE * budget * all {
                return false;
            }
            if at == class {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_classes_are_served_and_risky_ones_are_not() {
        let classes = Classes::default();
        assert!(classes.serves(class_of(0.0001), 0.01) && classes.serves(class_of(0.005), 0.01));
        assert!(!classes.serves(class_of(0.05), 0.01) && !classes.serves(class_of(0.5), 0.05));
    }

    #[test]
    fn a_class_that_was_often_wrong_is_served_no_more() {
        let mut classes = Classes::default();
        (0..100).for_each(|_| classes.see(1));
        (0..5).for_each(|_| classes.judge(1, true));
        assert!(!classes.serves(1, 0.01));
        (0..2000).for_each(|_| classes.judge(1, false));
        assert!(classes.serves(1, 0.01));
    }

    #[test]
    fn many_safe_answers_pay_for_few_risky_ones() {
        let mut classes = Classes::default();
        let risky = class_of(0.02);
        assert!(!classes.serves(risky, 0.01));
        (0..1000).for_each(|_| classes.see(0));
        assert!(classes.serves(risky, 0.01));
    }
}
