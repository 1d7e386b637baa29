//! When may the answer to one prompt be given to another?
//!
//! **What it is.** Four parts of a cache of answers. [`canonical`] writes prompts that differ in form only in one way.
//! [`veto`] finds the differences that change an answer: numbers, units, dates, negation, opposites, order. [`Score`]
//! estimates from the rest how likely the answer is wrong, and learns from verdicts. [`Ledger`] keeps the share of wrong
//! answers below a bound, whatever the other three do.
//!
//! **What it is useful for.** A cache that answers by meaning, and has to say how often it is wrong.
//!
//! **What it is not for.** It embeds nothing, stores nothing, and draws no coin: the caller does, and says how it fell.
//!
//! **The invariant it keeps.** With probability 1 − β, for all times at once, at most α × hits + 1 answers that the
//! [`Ledger`] let pass are wrong. This rests on the caller's coin and on the verdicts. It needs no model of the traffic.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod beta;
mod canonical;
mod classes;
mod language;
mod ledger;
mod lexicon;
mod matching;
mod prompt;
mod score;
mod tables;
mod tokens;
mod veto;

pub use canonical::canonical;
pub use classes::{CLASSES, Classes, class_of, exploration};
pub use ledger::{LEVELS, Ledger, Odds, Terms, WrongShare};
pub use prompt::Prompt;
pub use score::{Features, Score};
pub use veto::{Veto, veto};
