//! Requests that ask the same at the same time: one of them asks the provider, the others wait for its answer.
//!
//! Within this process. [`Flights::decide`] is the one place that says who asks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

/// What is being asked.
#[derive(Default)]
pub struct Flights {
    under_way: Mutex<HashMap<String, watch::Receiver<bool>>>,
    landed: AtomicU64,
}

/// Who asks.
pub enum Decision {
    /// This request.
    Lead(Lead),
    /// Another one, which has begun.
    Wait(Flight),
}

/// The one that asks; it has ended when this is dropped.
pub struct Lead {
    flights: Arc<Flights>,
    key: String,
    stored: watch::Sender<bool>,
}

/// One that somebody else leads.
pub struct Flight(watch::Receiver<bool>);

impl Flights {
    /// Who asks for the answer of this key.
    pub fn decide(self: &Arc<Self>, key: String) -> Decision {
        let mut under_way = self.under_way.lock();
        if let Some(flight) = under_way.get(&key) {
            return Decision::Wait(Flight(flight.clone()));
        }
        let (stored, flight) = watch::channel(false);
        under_way.insert(key.clone(), flight);
        Decision::Lead(Lead { flights: self.clone(), key, stored })
    }

    /// How many have ended. Whoever has looked into the cache before the number changed may look again.
    pub fn landed(&self) -> u64 {
        self.landed.load(Ordering::SeqCst)
    }
}

impl Lead {
    /// Its answer is in the cache.
    pub fn stored(&self) {
        self.stored.send_replace(true);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        // Before it can be led again, so that whoever leads next sees that this one has ended.
        self.flights.landed.fetch_add(1, Ordering::SeqCst);
        self.flights.under_way.lock().remove(&self.key);
    }
}

impl Flight {
    /// Waits until it has ended, or that long. True when its answer is in the cache: without one, all who waited ask by themselves,
    /// instead of one after the other.
    pub async fn landed(mut self, limit: Duration) -> bool {
        let ended = timeout(limit, async {
            // An error means that it has ended.
            while !*self.0.borrow_and_update() && self.0.changed().await.is_ok() {}
        });
        ended.await.is_ok() && *self.0.borrow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn one_asks_and_the_others_hear_how_it_ended() {
        let flights = Arc::new(Flights::default());
        for is_stored in [true, false] {
            let before = flights.landed();
            let Decision::Lead(lead) = flights.decide("a".into()) else { panic!("nobody has asked yet") };
            assert!(matches!(flights.decide("b".into()), Decision::Lead(_)));
            let Decision::Wait(flight) = flights.decide("a".into()) else { panic!("it is being asked") };
            let waiting = tokio::spawn(flight.landed(LONG));
            if is_stored {
                lead.stored();
            }
            drop(lead);
            assert_eq!(waiting.await.unwrap(), is_stored);
            assert_eq!(flights.landed(), before + 2);
        }
        let Decision::Lead(_lead) = flights.decide("a".into()) else { panic!("the last one has ended") };
        let Decision::Wait(flight) = flights.decide("a".into()) else { panic!("it is being asked") };
        assert!(!flight.landed(Duration::from_millis(1)).await, "nobody waits for ever");
    }
}
