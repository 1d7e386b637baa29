//! How much callers who do not run the server may add to the log, so that nobody can push out what others did.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Entries that a caller may add at once.
const SAVED_MAX: f64 = 60.0;
/// In this time one more is saved up.
const PER_ENTRY: Duration = Duration::from_secs(10);
/// Callers that are known apart; more share one budget until some have saved up again.
const CALLERS_MAX: usize = 1024;
/// The name of the share of all others; no key and no address has it.
const OTHERS: &str = "";

#[derive(Default)]
pub struct Budgets {
    by_caller: HashMap<String, Budget>,
}

struct Budget {
    saved: f64,
    since: Instant,
    left_out: u64,
}

impl Budgets {
    /// Whether this caller may add an entry, and how many of theirs were left out before it.
    pub fn take(&mut self, caller: &str, now: Instant) -> Option<u64> {
        if self.by_caller.len() >= CALLERS_MAX && !self.by_caller.contains_key(caller) {
            self.by_caller.retain(|_, budget| budget.left_out > 0 || budget.saved_at(now) < SAVED_MAX);
        }
        let name = match self.by_caller.len() < CALLERS_MAX || self.by_caller.contains_key(caller) {
            true => caller,
            false => OTHERS,
        };
        let fresh = || Budget { saved: SAVED_MAX, since: now, left_out: 0 };
        let budget = self.by_caller.entry(name.into()).or_insert_with(fresh);
        (budget.saved, budget.since) = (budget.saved_at(now), now);
        if budget.saved < 1.0 {
            budget.left_out += 1;
            return None;
        }
        budget.saved -= 1.0;
        Some(std::mem::take(&mut budget.left_out))
    }
}

impl Budget {
    fn saved_at(&self, now: Instant) -> f64 {
        let saved = now.saturating_duration_since(self.since).as_secs_f64() / PER_ENTRY.as_secs_f64();
        (self.saved + saved).min(SAVED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted_and_told_with_the_next_entry() {
        let (mut budgets, now) = (Budgets::default(), Instant::now());
        let written = (0..100).filter(|_| budgets.take("a", now).is_some()).count();
        assert_eq!(written, 60);
        assert_eq!(budgets.take("b", now), Some(0), "another's budget is another's");
        assert_eq!(budgets.take("a", now + PER_ENTRY), Some(40));
        assert_eq!(budgets.take("a", now + PER_ENTRY), None);
    }

    #[test]
    fn any_number_of_callers_takes_a_bounded_place() {
        let (mut budgets, now) = (Budgets::default(), Instant::now());
        let written = (0..100_000).filter(|number| budgets.take(&number.to_string(), now).is_some()).count();
        assert!(budgets.by_caller.len() <= CALLERS_MAX + 1 && written <= CALLERS_MAX + 60, "{written}");
    }
}
