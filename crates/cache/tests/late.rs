//! Verdicts that come after the answer, on simulated streams: the promise holds, and wrong answers are paid for.
//!
//! A cache whose verdicts come later cannot have an answer judged before it gives it. When its ledger refuses, it holds the answer back
//! and offers it for a verdict; if that is "right", the next who asks the same gets it, as one that was judged before. Prompts come
//! again as they do in traffic, the frequent ones more often.
//!
//! 200 seeds a stream, or 2,000 with `NUTHATCH_LONG=1`.

use std::collections::VecDeque;

use fastrand::Rng;
use nuthatch_cache::{Ledger, Odds, Terms};

const ASKED: u64 = 6_000;
const PROMPTS: usize = 3_000;
/// Answers that wait for a verdict because they were held back, as in the engine.
const OFFERED_MAX: usize = 256;

fn seeds() -> u64 {
    if std::env::var_os("NUTHATCH_LONG").is_some() { 2_000 } else { 200 }
}

/// The state of the pair of a prompt and its nearest answer.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Nothing,
    Waits,
    Right,
    /// Right, and nobody got it yet.
    Owed,
    Wrong,
}

enum Verdict {
    Served { odds: Odds },
    Offered,
}

struct Simulation {
    terms: Terms,
    /// Verdicts come after this many further questions.
    delay: u64,
    /// Held back answers are offered; without it, nothing pays for wrong ones.
    offers: bool,
    /// A coin that falls less often than the ledger was told.
    biased: bool,
    /// Held back answers count as given before their verdict, as in a build that pays too early.
    pays_early: bool,
}

struct Outcome {
    broke: bool,
    given: u64,
    wrong: u64,
    bound: f64,
    /// Nothing waits for a verdict, and the ledger still refuses: no unjudged answer is given any more.
    is_stuck: bool,
}

impl Simulation {
    fn new(budget: f64, delay: u64) -> Self {
        let terms = Terms { budget, failure: 0.05, allowance: 1.0 };
        Self { terms, delay, offers: true, biased: false, pays_early: false }
    }

    fn run(&self, seed: u64, is_wrong: &dyn Fn(&mut Rng, Option<Odds>) -> bool) -> Outcome {
        let (mut coins, mut stream) = (Rng::with_seed(seed), Rng::with_seed(seed ^ 0x9E37_79B9_7F4A_7C15));
        let mut ledger = Ledger::default();
        let mut known = vec![Known::Nothing; PROMPTS];
        let mut truth: Vec<Option<bool>> = vec![None; PROMPTS];
        let mut waiting: VecDeque<(u64, usize, bool, Verdict)> = VecDeque::new();
        let (mut given, mut wrong, mut offered, mut broke) = (0u64, 0u64, 0, false);
        for at in 0..ASKED {
            while waiting.front().is_some_and(|(due, ..)| *due <= at) {
                let (_, prompt, y, verdict) = waiting.pop_front().unwrap();
                known[prompt] = match (&verdict, y) {
                    (_, true) => Known::Wrong,
                    (Verdict::Served { .. }, false) => Known::Right,
                    (Verdict::Offered, false) if self.pays_early => Known::Right,
                    (Verdict::Offered, false) => Known::Owed,
                };
                match verdict {
                    Verdict::Served { odds } => ledger.judge(odds, y),
                    Verdict::Offered => offered -= 1,
                }
            }
            // Frequent prompts come first: the density falls as one over the rank.
            let prompt = ((PROMPTS as f64).powf(stream.f64()) as usize - 1).min(PROMPTS - 1);
            match known[prompt] {
                Known::Waits | Known::Right | Known::Wrong => {}
                Known::Owed => {
                    ledger.serve_judged();
                    known[prompt] = Known::Right;
                    given += 1;
                }
                Known::Nothing => {
                    let odds = ledger.odds(&self.terms);
                    let y = *truth[prompt].get_or_insert_with(|| is_wrong(&mut stream, odds));
                    if let Some(odds) = odds {
                        let bits =
                            if self.biased { coins.u64(..) | u64::from(coins.u8(..) > 25) } else { coins.u64(..) };
                        let fell = odds.falls(bits) || odds == Odds::ALWAYS;
                        ledger.serve(odds, fell);
                        (given, wrong) = (given + 1, wrong + u64::from(y));
                        if fell {
                            waiting.push_back((at + self.delay, prompt, y, Verdict::Served { odds }));
                        }
                    } else if self.offers && offered < OFFERED_MAX {
                        offered += 1;
                        known[prompt] = Known::Waits;
                        waiting.push_back((at + self.delay, prompt, y, Verdict::Offered));
                        if self.pays_early {
                            ledger.serve_judged();
                        }
                    }
                }
            }
            broke |= wrong as f64 > self.terms.budget * given as f64 + self.terms.allowance;
        }
        for (_, _, y, verdict) in waiting {
            if let Verdict::Served { odds } = verdict {
                ledger.judge(odds, y);
            }
        }
        let is_stuck = ledger.odds(&self.terms).is_none();
        Outcome { broke, given, wrong, bound: ledger.bound(self.terms.failure), is_stuck }
    }

    fn outcomes(&self, is_wrong: impl Fn(&mut Rng, Option<Odds>) -> bool) -> Vec<Outcome> {
        (0..seeds()).map(|seed| self.run(seed, &is_wrong)).collect()
    }

    /// β and three standard deviations, as a number of seeds.
    fn most(&self) -> f64 {
        let (seeds, beta) = (seeds() as f64, self.terms.failure);
        seeds * beta + 3.0 * (seeds * beta * (1.0 - beta)).sqrt()
    }
}

fn broken(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter(|outcome| outcome.broke).count() as f64
}

fn stuck(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter(|outcome| outcome.is_stuck).count() as f64 / outcomes.len() as f64
}

fn given(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().map(|outcome| outcome.given as f64).sum::<f64>() / outcomes.len() as f64
}

fn rate(share: f64) -> impl Fn(&mut Rng, Option<Odds>) -> bool {
    move |stream, _| stream.f64() < share
}

#[test]
fn the_promise_holds_however_late_the_verdicts_are() {
    type Stream = Box<dyn Fn(&mut Rng, Option<Odds>) -> bool>;
    for delay in [0, 30, 1_000] {
        let simulation = Simulation::new(0.05, delay);
        let streams: Vec<(&str, Stream)> = vec![
            ("a third of what is allowed", Box::new(rate(0.017))),
            ("four times what is allowed", Box::new(rate(0.2))),
            ("right until coins are rare", Box::new(|_, odds| odds.is_some_and(|odds| odds.probability() <= 0.5))),
            ("wrong when it is not held back", Box::new(|stream, odds| odds.is_some() && stream.f64() < 0.3)),
        ];
        for (name, stream) in streams {
            let outcomes = simulation.outcomes(stream);
            let broken = broken(&outcomes);
            assert!(broken <= simulation.most(), "{name}, delay {delay}: {broken} of {}", seeds());
            let above = outcomes.iter().filter(|outcome| outcome.wrong as f64 > outcome.bound + 1e-9).count() as f64;
            assert!(above <= simulation.most(), "{name}, delay {delay}: {above} above their bound");
        }
    }
}

#[test]
fn wrong_answers_are_paid_for_by_answers_that_were_held_back() {
    for delay in [0, 30] {
        let paid = Simulation::new(0.05, delay).outcomes(rate(0.02));
        let unpaid = Simulation { offers: false, ..Simulation::new(0.05, delay) }.outcomes(rate(0.02));
        let (stuck_before, stuck_now) = (stuck(&unpaid), stuck(&paid));
        assert!(stuck_before > 0.15, "delay {delay}: {stuck_before} stopped for good without it");
        assert!(stuck_now < 0.2 * stuck_before, "delay {delay}: {stuck_now} stopped, and {stuck_before} without it");
        let (before, now) = (given(&unpaid), given(&paid));
        assert!(now > 1.3 * before, "delay {delay}: {now} given, and {before} without it");
    }
}

#[test]
fn a_coin_that_falls_too_seldom_breaks_the_promise() {
    let simulation = Simulation { biased: true, ..Simulation::new(0.05, 0) };
    let broken = broken(
        &simulation.outcomes(|stream, odds| odds.is_some_and(|odds| odds.probability() <= 0.5) && stream.f64() < 0.6),
    );
    assert!(broken > 2.0 * simulation.most(), "only {broken} of {}: the tests above could not fail", seeds());
}

#[test]
fn paying_before_the_verdict_breaks_the_promise() {
    let simulation = Simulation { pays_early: true, ..Simulation::new(0.05, 1_000) };
    let broken = broken(&simulation.outcomes(rate(0.2)));
    assert!(broken > 2.0 * simulation.most(), "only {broken} of {}", seeds());
}
