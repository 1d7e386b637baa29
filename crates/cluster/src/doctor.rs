//! Whether a bucket keeps the promises that the log stands on: asked before it is used.

use std::sync::Barrier;

use crate::bucket::{Bucket, Created};
use crate::{ClusterError, Result};

/// Rounds, and writers that want the same object in each.
const ROUNDS: usize = 20;
const WRITERS: usize = 8;

/// The findings of a bucket check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Races for one object.
    pub rounds: usize,
    /// Writers in each.
    pub writers: usize,
    /// The bucket's faults, in words; empty if it may hold the log.
    pub problems: Vec<String>,
}

/// Has several writers at a time create the same object, and reads and lists what they wrote. Leaves nothing behind.
///
/// # Errors
/// `Unreachable`.
pub fn check_bucket(bucket: &Bucket) -> Result<Checked> {
    let place = format!("doctor/{}", uuid::Uuid::new_v4());
    let checked = race(bucket, &place);
    let left: Vec<String> = bucket.list(&place, "")?.into_iter().map(|(key, _)| format!("{place}/{key}")).collect();
    bucket.remove_all(&left)?;
    checked
}

fn race(bucket: &Bucket, place: &str) -> Result<Checked> {
    let mut checked = Checked { rounds: ROUNDS, writers: WRITERS, problems: Vec::new() };
    let mut problem = |what: String| {
        if !checked.problems.contains(&what) {
            checked.problems.push(what);
        }
    };
    for round in 0..ROUNDS {
        let key = format!("{place}/{round:02}");
        if bucket.get(&key)?.is_some() {
            problem("it has an object that nobody wrote".into());
        }
        let together = Barrier::new(WRITERS);
        let outcomes: Vec<Result<Created>> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (key, together) = (&key, &together);
                    scope.spawn(move || {
                        together.wait();
                        bucket.create(key, vec![writer as u8; 64])
                    })
                })
                .collect();
            let panicked = |_| Err(ClusterError::Invalid("a thread of the check panicked".into()));
            writers.into_iter().map(|writer| writer.join().unwrap_or_else(panicked)).collect()
        });
        let mut winners = Vec::new();
        let mut unknown = 0;
        for (writer, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(Created::New) => winners.push(writer as u8),
                Ok(Created::Before) => {}
                // A refusal for the moment (409) is one that the log settles by reading.
                Err(ClusterError::Unreachable { .. }) => unknown += 1,
                Err(error) => return Err(error),
            }
        }
        if winners.len() > 1 {
            problem(format!("{} of {WRITERS} writers created the same object (`If-None-Match: *`)", winners.len()));
        }
        if winners.is_empty() && unknown == 0 {
            problem("nobody could create an object that was not there".into());
        }
        let found = bucket.get(&key)?;
        if let ([winner], Some(found)) = (&winners[..], &found)
            && found[..] != [*winner; 64]
        {
            problem("an object has not the bytes of the writer who created it".into());
        }
        if !winners.is_empty() && found.is_none() {
            problem("an object cannot be read after it was created".into());
        }
        let listed = bucket.list(place, "")?;
        if found.is_some() && !listed.iter().any(|(name, _)| *name == format!("{round:02}")) {
            problem("an object is not listed after it was created".into());
        }
        if round > 0
            && bucket.list(place, &format!("{:02}", round - 1))?.iter().any(|(name, _)| *name < format!("{round:02}"))
        {
            problem("a list that begins behind an object has objects before it".into());
        }
        if bucket.create(&key, vec![u8::MAX; 64])? == Created::New {
            problem("an object was created twice".into());
        }
    }
    Ok(checked)
}
