//! How likely the answer to one prompt is wrong for another, learned from verdicts.
//!
//! A logistic regression over a few features of the two texts and the similarity of their vectors. The first weights are set by hand:
//! they order candidates sensibly, and are no measurement. Each verdict moves them by one step of a Laplace approximation with a
//! diagonal covariance, weighted by the inverse of the odds that the answer was judged at all.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::lexicon::{ASKING, MODALS};
use crate::tokens::{Token, Tokens};

/// Components of [`Features`].
const COUNT: usize = 10;
/// The weights before any verdict.
const PRIOR: [f64; COUNT] = [
    -4.2, // always
    1.3,  // distance of the vectors, as a logarithm
    -1.0, // how much nearer it is than the next answer
    1.6,  // no content word is left over
    4.0,  // share of content words replaced
    1.5,  // share of content words added
    2.2,  // one content word replaced by one other
    0.6,  // another word that asks
    0.8,  // another modal verb
    1.5,  // words in another order
];
/// The precision of the first weights: verdicts of some tens move them.
const PRIOR_PRECISION: f64 = 4.0;
/// The most that one verdict counts.
const WEIGHT_MAX: f64 = 16.0;

/// What a risk is estimated from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features([f64; COUNT]);

impl Features {
    /// Of two prompts, with the cosine of their vectors, and how much less the cosine of the next prompt with another answer is.
    pub fn of(known: &str, asked: &str, cosine: f64, gap: f64) -> Self {
        let (a, b) = (Tokens::of(known), Tokens::of(asked));
        let (content_a, content_b) = (a.content(), b.content());
        let (left_a, left_b) = (left_over(&content_a, &content_b), left_over(&content_b, &content_a));
        let longest = content_a.len().max(content_b.len()).max(1) as f64;
        let (fewest, most) = (left_a.min(left_b) as f64, left_a.max(left_b) as f64);
        let flag = |is: bool| f64::from(u8::from(is));
        let words = |tokens: &Tokens, table: &HashMap<&'static str, &'static str>| -> Vec<&'static str> {
            let mut found: Vec<_> = tokens.words().filter_map(|word| table.get(word).copied()).collect();
            found.sort_unstable();
            found
        };
        Self([
            1.0,
            ((1.0 - cosine.clamp(-1.0, 1.0)) / 0.05 + 0.1).ln(),
            (gap.clamp(0.0, 0.2)) / 0.2,
            -flag(most == 0.0),
            fewest / longest,
            (most - fewest) / longest,
            flag(left_a == 1 && left_b == 1 && longest >= 3.0),
            flag(words(&a, &ASKING) != words(&b, &ASKING)),
            flag(words(&a, &MODALS) != words(&b, &MODALS)),
            1.0 - in_order(&content_a, &content_b) as f64 / longest - fewest / longest,
        ])
    }
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
        Self { weights: PRIOR, precisions: [PRIOR_PRECISION; COUNT], verdicts: 0 }
    }
}

impl Score {
    /// The estimated probability that the answer is wrong.
    pub fn risk(&self, features: &Features) -> f64 {
        let sum: f64 = self.weights.iter().zip(features.0).map(|(weight, x)| weight * x).sum();
        1.0 / (1.0 + (-sum.clamp(-30.0, 30.0)).exp())
    }

    /// Learns from a verdict on an answer that was judged with this probability.
    pub fn learn(&mut self, features: &Features, wrong: bool, probability: f64) {
        let risk = self.risk(features);
        let weight = (1.0 / probability.max(f64::MIN_POSITIVE)).min(WEIGHT_MAX);
        let step = weight * (f64::from(u8::from(wrong)) - risk);
        for (at, x) in features.0.iter().enumerate() {
            self.precisions[at] += weight * risk * (1.0 - risk) * x * x;
            self.weights[at] += step * x / self.precisions[at];
        }
        self.verdicts += 1;
    }

    /// Verdicts that it has learned from; 0: its weights were set by hand.
    pub fn verdicts(&self) -> u64 {
        self.verdicts
    }
}

/// Content tokens without a partner that is the same, or another form of the same word.
fn left_over(these: &[&Token], those: &[&Token]) -> usize {
    let mut free: Vec<&Token> = those.to_vec();
    let mut left = 0;
    for token in these {
        match free.iter().position(|other| is_same(token, other)) {
            Some(at) => drop(free.swap_remove(at)),
            None => left += 1,
        }
    }
    left
}

/// Equal, or two forms of one word: they differ in up to three letters at their ends.
fn is_same(a: &Token, b: &Token) -> bool {
    let (Token::Word(a), Token::Word(b)) = (a, b) else { return a == b };
    if a == b {
        return true;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longest = a.chars().count().max(b.chars().count());
    shared >= 4 && longest - shared <= 3
}

/// The length of the longest common subsequence.
fn in_order(a: &[&Token], b: &[&Token]) -> usize {
    let mut row = vec![0usize; b.len() + 1];
    for token in a {
        let mut diagonal = 0;
        for (at, other) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if is_same(token, other) { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_weights_order_pairs_as_a_reader_would() {
        let score = Score::default();
        let risk = |known, asked, cosine| score.risk(&Features::of(known, asked, cosine, 0.05));
        let same = risk("What is the capital of France?", "Tell me the capital of France", 0.97);
        let further = risk("What is the capital of France?", "Tell me the capital of France", 0.85);
        let swapped = risk("What is the capital of France?", "What is the capital of Norway?", 0.85);
        let other = risk("What is the capital of France?", "How do I bake bread?", 0.1);
        assert!(same < further && further < swapped && swapped < other, "{same} {further} {swapped} {other}");
        assert!(same < 0.01 && swapped > 0.1 && other > 0.5, "{same} {swapped} {other}");
    }

    #[test]
    fn verdicts_move_the_estimate_to_what_was_seen() {
        let features = Features::of("how do i reset my router", "resetting the router", 0.9, 0.1);
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
    fn no_verdict_makes_the_estimate_useless() {
        let mut score = Score::default();
        let features = Features::of("a b c d", "a b c d", 1.0, 0.0);
        (0..1000).for_each(|at| score.learn(&features, at % 2 == 0, 1.0 / 64.0));
        let risk = score.risk(&features);
        assert!((0.2..0.8).contains(&risk), "{risk}");
    }
}
