//! When a caller stops waiting for an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_store::StoreError;

use crate::Result;

/// How long a caller waits for an answer, and whether it still does. The default waits for as long as it takes.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The moment from which they do not.
    deadline: Option<Instant>,
    /// One of them is set when they do not any more.
    cancels: Vec<Arc<AtomicBool>>,
}

/// The wait of a caller that names no end.
pub(crate) static FOREVER: Waits = Waits { deadline: None, cancels: Vec::new() };

impl Waits {
    /// From now on, and for so long. A limit that no clock reaches is none.
    pub fn of(time_limit: Option<Duration>, cancel: Option<&Arc<AtomicBool>>) -> Self {
        let deadline = time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { deadline, cancels: cancel.into_iter().cloned().collect() }
    }

    /// For as long as both do.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let deadline = match (self.deadline, other.deadline) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { deadline, cancels: self.cancels.iter().chain(&other.cancels).cloned().collect() }
    }

    /// The moment from which they wait no longer; `None`: no such moment.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How much longer they wait at most.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// True when there is something that may end the wait.
    pub fn may_end(&self) -> bool {
        self.deadline.is_some() || !self.cancels.is_empty()
    }

    /// Whether they have said that they do not wait any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancels.iter().any(|cancel| cancel.load(Ordering::SeqCst))
    }

    /// Whether their time is up, or they have said so.
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline) || self.is_cancelled()
    }

    /// # Errors
    /// `Unavailable` when nobody waits any more.
    pub fn check(&self) -> Result<()> {
        match self.is_over() {
            true => Err(StoreError::Abandoned.into()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn the_nearer_deadline_and_every_flag_count() {
        let (soon, late) = (Duration::from_secs(60), Duration::from_secs(600));
        let (one, other) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let both = Waits::of(Some(late), Some(&one)).and(&Waits::of(Some(soon), Some(&other)));
        assert!(both.left().is_some_and(|left| left <= soon));
        assert!(!both.is_over());
        other.store(true, Ordering::SeqCst);
        assert!(both.is_cancelled());
        assert_eq!(both.check().unwrap_err().kind, ErrorKind::Unavailable);
        assert!(Waits::of(Some(Duration::ZERO), None).and(&FOREVER).is_over());
        assert!(!Waits::of(Some(Duration::MAX), None).may_end(), "no clock reaches it");
    }
}
