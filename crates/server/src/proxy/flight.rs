//! Requests of this process that ask the same at the same time: the first of them speaks for all, and the others wait without a thread.
//!
//! Among all processes, the cache's lease decides which request asks the provider: see [`super::lease`].

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The questions that are being asked.
#[derive(Default)]
pub struct Flights {
    under_way: Mutex<HashMap<String, watch::Receiver<Option<Landed>>>>,
}

/// The request that speaks for all that ask the same.
pub enum Decision {
    /// This request.
    Lead(Lead),
    /// Another one, which has begun.
    Wait(Flight),
}

/// How a flight ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// There is an answer.
    Stored,
    /// There is no answer to wait for: all waiting requests ask by themselves, instead of one after the other.
    Unkept,
    /// The leader has gone: the next request leads.
    Left,
}

/// The one that speaks for the others; it has ended when this is dropped.
pub struct Lead {
    flights: Arc<Flights>,
    key: String,
    landed: watch::Sender<Option<Landed>>,
}

/// One that somebody else leads.
pub struct Flight(watch::Receiver<Option<Landed>>);

impl Flights {
    /// Decides which request leads where this key is asked for.
    pub fn decide(self: &Arc<Self>, key: String) -> Decision {
        let mut under_way = self.under_way.lock();
        if let Some(flight) = under_way.get(&key) {
            return Decision::Wait(Flight(flight.clone()));
        }
        let (landed, flight) = watch::channel(None);
        under_way.insert(key.clone(), flight);
        Decision::Lead(Lead { flights: self.clone(), key, landed })
    }
}

impl Lead {
    /// Tells all who wait. Dropped without a word, it has [left](Landed::Left).
    pub fn land(self, landed: Landed) {
        self.landed.send_replace(Some(landed));
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.flights.under_way.lock().remove(&self.key);
    }
}

impl Flight {
    /// Waits until it has ended, or until then: nobody waits for ever, and who has waited for so long asks by itself.
    pub async fn landed(mut self, until: Instant) -> Landed {
        let ended = timeout_at(until, self.0.wait_for(Option::is_some)).await;
        match ended {
            Err(_) => Landed::Unkept,
            Ok(landed) => landed.ok().and_then(|landed| *landed).unwrap_or(Landed::Left),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_leads_and_the_others_hear_how_it_ended() {
        let flights = Arc::new(Flights::default());
        let long = Instant::now() + Duration::from_secs(3600);
        for word in [Some(Landed::Stored), Some(Landed::Unkept), None] {
            let Decision::Lead(lead) = flights.decide("a".into()) else { panic!("nobody has asked yet") };
            assert!(matches!(flights.decide("b".into()), Decision::Lead(_)));
            let Decision::Wait(flight) = flights.decide("a".into()) else { panic!("it is being asked") };
            let waiting = tokio::spawn(flight.landed(long));
            match word {
                Some(word) => lead.land(word),
                None => drop(lead),
            }
            assert_eq!(waiting.await.unwrap(), word.unwrap_or(Landed::Left));
        }
        let Decision::Lead(_lead) = flights.decide("a".into()) else { panic!("the last one has ended") };
        let Decision::Wait(flight) = flights.decide("a".into()) else { panic!("it is being asked") };
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(flight.landed(soon).await, Landed::Unkept, "nobody waits for ever");
    }
}
