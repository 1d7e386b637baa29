//! How often and how much at a time a tenant may ask: `requests_per_second` and `concurrent_requests` of its limits.
//!
//! **Invariant:** never more calls of one tenant run at a time than its limit says, and in no second do more begin than one second's
//! share beyond what was saved up, which is one second's at most.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use nuthatch_link::TenantLimits;
use parking_lot::Mutex;

use crate::problem::Problem;

/// The turns of all tenants.
#[derive(Default)]
pub struct Turns {
    by_tenant: Mutex<HashMap<String, Arc<Mutex<State>>>>,
}

/// One tenant's.
#[derive(Default)]
struct State {
    under_way: u64,
    /// Requests that may begin at once, and when that was so; `None` before the first.
    saved: Option<(f64, Instant)>,
}

/// A call that has begun; it is over when this is dropped.
pub struct Turn(Arc<Mutex<State>>);

impl Turns {
    /// Begins a call of the tenant.
    ///
    /// # Errors
    /// 429 when it is one too many.
    pub fn begin(&self, tenant: &str, limits: &TenantLimits, now: Instant) -> Result<Option<Turn>, Problem> {
        if limits.requests_per_second.is_none() && limits.concurrent_requests.is_none() {
            return Ok(None);
        }
        let state = self.by_tenant.lock().entry(tenant.to_string()).or_default().clone();
        state.lock().begin(limits, now)?;
        Ok(Some(Turn(state)))
    }
}

impl State {
    fn begin(&mut self, limits: &TenantLimits, now: Instant) -> Result<(), Problem> {
        if let Some(most) = limits.concurrent_requests
            && self.under_way >= most
        {
            return Err(Problem::too_many(format!("this tenant has {most} requests under way, its limit")));
        }
        if let Some(rate) = limits.requests_per_second {
            let most = rate as f64;
            let (saved, since) = self.saved.unwrap_or((most, now));
            let saved = (saved + now.saturating_duration_since(since).as_secs_f64() * most).min(most);
            if saved < 1.0 {
                self.saved = Some((saved, now));
                return Err(Problem::too_many(format!("this tenant may send {rate} requests a second")));
            }
            self.saved = Some((saved - 1.0, now));
        }
        self.under_way += 1;
        debug_assert!(limits.concurrent_requests.is_none_or(|most| self.under_way <= most), "turns within the limit");
        Ok(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        debug_assert!(state.under_way > 0, "a turn ends once");
        state.under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_run_at_a_time_than_may() {
        let (turns, now) = (Turns::default(), Instant::now());
        let limits = TenantLimits { concurrent_requests: Some(2), ..TenantLimits::default() };
        let first = turns.begin("a", &limits, now).unwrap();
        let _second = turns.begin("a", &limits, now).unwrap();
        assert_eq!(turns.begin("a", &limits, now).err().unwrap().status, 429);
        let _of_another = turns.begin("b", &limits, now).unwrap();
        drop(first);
        turns.begin("a", &limits, now).unwrap();
    }

    #[test]
    fn no_more_begin_in_a_second_than_may() {
        let (turns, now) = (Turns::default(), Instant::now());
        let limits = TenantLimits { requests_per_second: Some(10), ..TenantLimits::default() };
        let begun = |at: Instant| (0..100).filter(|_| turns.begin("a", &limits, at).is_ok()).count();
        assert_eq!(begun(now), 10);
        assert_eq!(begun(now + Duration::from_millis(500)), 5);
        assert_eq!(begun(now + Duration::from_secs(3600)), 10, "no more than a second's are saved up");
    }
}
