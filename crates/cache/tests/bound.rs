//! The ledger's promise, on simulated streams: at no time are more than α × hits + 1 served answers wrong.
//!
//! Seeds are fixed, so a run says the same each time. Each stream is tried with 200 seeds, or 2,000 with `NUTHATCH_LONG=1`, and the
//! share of seeds that ever break the promise is compared with β.

use fastrand::Rng;
use nuthatch_cache::{Ledger, Odds, Terms};

const HITS: u64 = 2_000;

fn seeds() -> u64 {
    if std::env::var_os("NUTHATCH_LONG").is_some() { 2_000 } else { 200 }
}

/// The information that an adversary may use before it chooses.
struct Seen {
    at: u64,
    odds: Odds,
}

/// How a simulated cache behaves.
struct Simulation {
    terms: Terms,
    /// Verdicts come after this many further answers.
    delay: usize,
    /// Judges decide before the answer is given out.
    averts: bool,
    /// A coin that falls less often than the ledger was told, as a broken build might have.
    biased: bool,
}

struct Outcome {
    broke: bool,
    hits: u64,
    audited: u64,
    wrong: u64,
    bound: f64,
}

impl Simulation {
    fn run(&self, seed: u64, is_wrong: &dyn Fn(&mut Rng, &Seen) -> bool) -> Outcome {
        let (mut coins, mut stream) = (Rng::with_seed(seed), Rng::with_seed(seed ^ 0x9E37_79B9_7F4A_7C15));
        let mut ledger = Ledger::default();
        let mut waiting: Vec<(Odds, bool)> = Vec::new();
        let (mut wrong, mut broke) = (0, false);
        for at in 0..HITS {
            let odds = ledger.odds(&self.terms);
            let seen = Seen { at, odds: odds.unwrap_or(Odds::ALWAYS) };
            let y = is_wrong(&mut stream, &seen);
            let Some(odds) = odds else {
                // An answer that is judged right before it is served is served with odds of 1.
                if !y {
                    ledger.serve(Odds::ALWAYS, true);
                    ledger.judge(Odds::ALWAYS, false);
                }
                for (odds, y) in waiting.drain(..) {
                    ledger.judge(odds, y);
                }
                continue;
            };
            let bits = if self.biased { coins.u64(..) | u64::from(coins.u8(..) > 25) } else { coins.u64(..) };
            let fell = odds.falls(bits) || odds == Odds::ALWAYS;
            ledger.serve(odds, fell);
            if fell && self.averts {
                ledger.judge(odds, y);
                if y {
                    ledger.avert();
                }
                broke |= wrong as f64 > self.terms.budget * ledger.hits() as f64 + self.terms.allowance;
                continue;
            }
            wrong += u64::from(y);
            if fell {
                waiting.push((odds, y));
            }
            if waiting.len() > self.delay {
                let (odds, y) = waiting.remove(0);
                ledger.judge(odds, y);
            }
            broke |= wrong as f64 > self.terms.budget * ledger.hits() as f64 + self.terms.allowance;
        }
        Outcome {
            broke,
            hits: ledger.hits(),
            audited: ledger.audited(),
            wrong,
            bound: ledger.bound(self.terms.failure),
        }
    }

    /// Seeds that broke the promise at any time, and the last outcome.
    fn broken(&self, is_wrong: impl Fn(&mut Rng, &Seen) -> bool) -> (u64, Outcome) {
        let mut outcomes: Vec<Outcome> = (0..seeds()).map(|seed| self.run(seed, &is_wrong)).collect();
        let broken = outcomes.iter().filter(|outcome| outcome.broke).count() as u64;
        (broken, outcomes.pop().unwrap())
    }

    /// β and three standard deviations, as a number of seeds.
    fn most(&self) -> f64 {
        let (seeds, beta) = (seeds() as f64, self.terms.failure);
        seeds * beta + 3.0 * (seeds * beta * (1.0 - beta)).sqrt()
    }
}

fn simulation(budget: f64, failure: f64) -> Simulation {
    let terms = Terms { budget, failure, allowance: 1.0 };
    Simulation { terms, delay: 0, averts: false, biased: false }
}

fn rate(share: f64) -> impl Fn(&mut Rng, &Seen) -> bool {
    move |stream, _| stream.f64() < share
}

#[test]
fn the_promise_holds_whatever_the_stream_does() {
    for failure in [0.05, 0.3] {
        let simulation = simulation(0.02, failure);
        type Stream = Box<dyn Fn(&mut Rng, &Seen) -> bool>;
        let streams: Vec<(&str, Stream)> = vec![
            ("half of what is allowed", Box::new(rate(0.01))),
            ("five times what is allowed", Box::new(rate(0.1))),
            ("drifting", Box::new(|stream, seen| stream.f64() < if seen.at < HITS / 2 { 0.002 } else { 0.08 })),
            ("an adversary", Box::new(|stream, seen| seen.odds.probability() <= 0.5 && stream.f64() < 0.2)),
            ("bursts", Box::new(|_, seen| seen.at % 500 > 480)),
        ];
        for (name, stream) in streams {
            let (broken, last) = simulation.broken(stream);
            assert!((broken as f64) <= simulation.most(), "{name}, β {failure}: {broken} of {}", seeds());
            assert!(last.hits > 0 && last.wrong as f64 <= last.bound.max(1.0) + 1e-9 || last.broke, "{name}");
        }
    }
}

#[test]
fn the_promise_holds_while_verdicts_are_late() {
    let simulation = Simulation { delay: 30, ..simulation(0.05, 0.05) };
    let (broken, last) = simulation.broken(rate(0.02));
    assert!((broken as f64) <= simulation.most(), "{broken} of {}", seeds());
    assert!(last.hits > 100, "{} hits", last.hits);
}

#[test]
fn the_promise_holds_for_what_is_given_out_when_verdicts_come_first() {
    let simulation = Simulation { averts: true, ..simulation(0.02, 0.3) };
    for share in [0.02, 0.2] {
        let (broken, last) = simulation.broken(rate(share));
        assert!((broken as f64) <= simulation.most(), "{share}: {broken} of {}", seeds());
        assert!(last.hits > HITS / 2 && last.wrong > 0, "{share}: {} of {} hits", last.wrong, last.hits);
    }
}

#[test]
fn a_coin_that_falls_too_seldom_breaks_the_promise() {
    let simulation = Simulation { biased: true, ..simulation(0.02, 0.05) };
    let (broken, _) = simulation.broken(|stream, seen| seen.odds.probability() <= 0.5 && stream.f64() < 0.2);
    assert!(broken as f64 > 2.0 * simulation.most(), "only {broken} of {}: the test above could not fail", seeds());
}

#[test]
fn right_answers_are_judged_less_and_less() {
    let simulation = simulation(0.05, 0.05);
    let (broken, last) = simulation.broken(rate(0.0));
    assert_eq!((broken, last.hits), (0, HITS));
    assert!(last.audited < HITS / 2, "{} of {HITS} were judged", last.audited);
}

#[test]
fn a_useless_score_costs_verdicts_and_not_wrong_answers() {
    let simulation = simulation(0.05, 0.05);
    let (_, last) = simulation.broken(rate(0.3));
    assert!(last.wrong as f64 <= 0.05 * last.hits as f64 + 1.0, "{} of {}", last.wrong, last.hits);
    assert!(last.hits > HITS / 2, "{} hits", last.hits);
}
