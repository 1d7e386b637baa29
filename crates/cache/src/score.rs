//! How likely the answer to one prompt is wrong for another, learned from verdicts.
//!
//! A logistic regression over features of the two texts and the similarity of their vectors. The first weights are fitted on
//! public sets of near misses and paraphrases that allow it (`bench/cache_fit.py` names them, and prints the weights). Each verdict
//! moves them by one step of assumed-density filtering (Laplace) with a diagonal covariance.

use serde::{Deserialize, Serialize};

use crate::matching::{in_order, unmatched};
use crate::prompt::Prompt;
use crate::tokens::Token;
use crate::veto::codes_without_partner;

/// Components of [`Features`].
const COUNT: usize = 19;
/// Mean and precision of each weight before any verdict. The precisions are three tenths of what the sets say: verdicts on other
/// prompts than those of the sets have to count.
const PRIOR: [(f64, f64); COUNT] = [
    (-1.35, 32.9), // always
    (2.43, 78.6),  // distance of the vectors, as a logarithm
    (-2.03, 20.9), // how much nearer it is than the next answer
    (0.62, 1.3),   // no content word is left over
    (-2.34, 5.6),  // share of content words replaced
    (-0.88, 2.7),  // share of content words added
    (1.27, 7.6),   // one content word replaced by one other
    (-1.02, 7.9),  // another word that asks
    (-0.24, 4.3),  // another modal verb
    (-2.17, 3.2),  // words in another order
    (0.80, 87.4),  // content words, as a logarithm
    (-0.12, 5.4),  // another relation: `to`, `from`, `with`
    (-0.78, 18.9), // a relation added
    (1.68, 1.0),   // a name replaced by another
    (0.38, 3.9),   // a name added
    (0.31, 7.4),   // other persons: `my`, `your`
    (-0.06, 1.9),  // a unit, date or ordinal added
    (0.37, 0.4),   // one of them denies
    (0.28, 0.9),   // a name of code added
];
/// The most that one verdict counts.
const WEIGHT_MAX: f64 = 16.0;
/// Halvings of the interval in which the step of a verdict is looked for.
const HALVINGS: usize = 40;

/// The inputs for estimating a risk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features([f64; COUNT]);

impl Features {
    /// Of two prompts, with the cosine of their vectors, and how much less the cosine of the next prompt with another answer is.
    pub fn of(known: &Prompt, asked: &Prompt, cosine: f64, gap: f64) -> Self {
        let (left, added) = (unmatched(&known.content, &asked.content), unmatched(&asked.content, &known.content));
        let longest = known.content.len().max(asked.content.len()).max(1) as f64;
        let (fewest, most) = (left.len().min(added.len()) as f64, left.len().max(added.len()) as f64);
        let flag = |is: bool| f64::from(u8::from(is));
        let lacks = |these: &[&str], those: &[&str]| these.iter().any(|one| !those.contains(one));
        let (relations, others) =
            (lacks(&known.relations, &asked.relations), lacks(&asked.relations, &known.relations));
        let (names, new_names) = (has_name(&left, known), has_name(&added, asked));
        Self([
            1.0,
            ((1.0 - cosine.clamp(-1.0, 1.0)) / 0.05 + 0.1).ln(),
            gap.clamp(0.0, 0.2) / 0.2,
            -flag(most == 0.0),
            fewest / longest,
            (most - fewest) / longest,
            flag(left.len() == 1 && added.len() == 1 && longest >= 3.0),
            flag(known.asking != asked.asking),
            flag(known.modals != asked.modals),
            1.0 - in_order(&known.content, &asked.content) as f64 / longest - fewest / longest,
            (longest + 1.0).ln(),
            flag(relations && others),
            flag(relations || others),
            flag(names && new_names),
            flag(names != new_names),
            flag(known.persons != asked.persons),
            flag(known.units != asked.units || known.dates != asked.dates || known.ordinals != asked.ordinals),
            flag(known.negations != asked.negations),
            flag(codes_without_partner(known, asked) + codes_without_partner(asked, known) > 0),
        ])
    }

    /// The numbers, in the order of the weights.
    pub fn values(&self) -> &[f64] {
        &self.0
    }
}

fn has_name(left: &[&Token], of: &Prompt) -> bool {
    left.iter().any(|token| matches!(token, Token::Word(word) if of.names.contains(word)))
}

/// Weights and how sure they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    weights: [f64; COUNT],
    precisions: [f64; COUNT],
    verdicts: u64,
}

impl Default for Score {
    fn default() -> Self {
        Self { weights: PRIOR.map(|(mean, _)| mean), precisions: PRIOR.map(|(_, precision)| precision), verdicts: 0 }
    }
}

impl Score {
    /// The estimated probability that the answer is wrong.
    pub fn risk(&self, features: &Features) -> f64 {
        logistic(self.log_odds(features))
    }

    /// Learns from a verdict on an answer that was judged with this probability.
    ///
    /// Along its features, the verdict is one observation of their sum with the weights, `z`, which has mean `m` and variance
    /// `s = Σ x² / precision`. The step goes to the most likely `z`, where `(z - m) / s = v (y - σ(z))`, and each weight takes
    /// the part of it that its variance has. A step by the slope at `m` instead adds up over the features, and goes too far.
    pub fn learn(&mut self, features: &Features, wrong: bool, probability: f64) {
        let weight = (1.0 / probability.max(f64::MIN_POSITIVE)).min(WEIGHT_MAX);
        let target = f64::from(u8::from(wrong));
        let mean = self.log_odds(features);
        let variance: f64 = features.0.iter().zip(&self.precisions).map(|(x, precision)| x * x / precision).sum();
        let excess = |z: f64| (z - mean) / variance - weight * (target - logistic(z));
        // The slope of the right side is between 0 and `weight`, so the step is, too.
        let (mut low, mut high) = (mean - weight * variance, mean + weight * variance);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if excess(middle) > 0.0 { high = middle } else { low = middle }
        }
        let risk = logistic(f64::midpoint(low, high));
        for (at, x) in features.0.iter().enumerate() {
            self.weights[at] += x / self.precisions[at] * weight * (target - risk);
            self.precisions[at] += weight * risk * (1.0 - risk) * x * x;
        }
        self.verdicts += 1;
    }

    /// Verdicts that it has learned from; 0: its weights are those of the public sets.
    pub fn verdicts(&self) -> u64 {
        self.verdicts
    }

    fn log_odds(&self, features: &Features) -> f64 {
        self.weights.iter().zip(features.0).map(|(weight, x)| weight * x).sum()
    }
}

fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z.clamp(-30.0, 30.0)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_weights_order_pairs_as_a_reader_would() {
        let score = Score::default();
        let risk =
            |known: &str, asked: &str, cosine| score.risk(&Features::of(&known.into(), &asked.into(), cosine, 0.2));
        let same = risk("What is the capital of France?", "Tell me the capital of France", 0.97);
        let further = risk("What is the capital of France?", "Tell me the capital of France", 0.85);
        let swapped = risk("What is the capital of France?", "What is the capital of Norway?", 0.85);
        let other = risk("What is the capital of France?", "How do I bake bread?", 0.1);
        assert!(same < further && further < swapped && swapped < other, "{same} {further} {swapped} {other}");
        assert!(same < 0.1 && swapped > 0.5 && other > 0.5, "{same} {swapped} {other}");
    }

    #[test]
    fn verdicts_move_the_estimate_to_what_was_seen() {
        let features = Features::of(&"how do i reset my router".into(), &"resetting the router".into(), 0.9, 0.1);
        for wrong in [true, false] {
            let mut score = Score::default();
            let before = score.risk(&features);
            (0..50).for_each(|_| score.learn(&features, wrong, 1.0));
            let after = score.risk(&features);
            assert!(if wrong { after > 0.7 && after > before } else { after < before }, "{before} {after}");
            assert_eq!(score.verdicts(), 50);
        }
    }

    #[test]
    fn a_verdict_moves_the_estimate_to_where_prior_and_verdict_agree() {
        let features = Features::of(&"how do i reset my router".into(), &"resetting the router".into(), 0.9, 0.1);
        for (wrong, probability) in [(true, 1.0), (false, 0.25), (true, 1.0 / 64.0)] {
            let mut score = Score::default();
            let mean = score.log_odds(&features);
            let variance: f64 = features.0.iter().zip(&score.precisions).map(|(x, precision)| x * x / precision).sum();
            score.learn(&features, wrong, probability);
            let after = score.log_odds(&features);
            let weight = f64::min(1.0 / probability, WEIGHT_MAX);
            let pull = weight * (f64::from(u8::from(wrong)) - logistic(after));
            assert!(((after - mean) / variance - pull).abs() < 1e-6, "{wrong} {probability}: {mean} to {after}");
        }
    }

    #[test]
    fn no_verdict_makes_the_estimate_useless() {
        let mut score = Score::default();
        let features = Features::of(&"a b c d".into(), &"a b c d".into(), 1.0, 0.0);
        (0..1000).for_each(|at| score.learn(&features, at % 2 == 0, 1.0 / 64.0));
        let risk = score.risk(&features);
        assert!((0.2..0.8).contains(&risk), "{risk}");
    }
}
