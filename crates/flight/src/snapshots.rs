//! Snapshots that clients hold by a name of their own, so that several reads show one moment: their name is their id.

use nuthatch_link::{Database, Error, ErrorKind, Listed, NotKept, Result as EngineResult, Snapshot};
use tonic::Status;

use crate::caller::Caller;

/// Keeps one under a name.
///
/// # Errors
/// `Conflict` when the key has one of that name, `Exhausted` when its tenant has as many as it may.
pub fn keep<C: Caller>(caller: &C, database: &Database, name: &str) -> EngineResult<Listed> {
    let kept = database.kept_snapshots().keep(&caller.owner(), name, caller.key_name(), || database.snapshot());
    kept.map_err(|why| match why {
        NotKept::Exists => {
            let message = format!("snapshot {name:?} already exists; choose another name, or release it");
            Error::new(ErrorKind::Conflict, message)
        }
        NotKept::TooMany(mut error) => {
            error.message.push_str(", or raise `snapshots_max`");
            error
        }
        NotKept::Failed(error) => error,
    })
}

/// The one that a ticket names, if it names one.
///
/// # Errors
/// `NOT_FOUND` when the key has none of that name, or not any more.
pub fn get<C: Caller>(caller: &C, name: Option<&str>) -> Result<Option<Snapshot>, Status> {
    let Some(name) = name else { return Ok(None) };
    let kept = caller.kept_snapshots()?;
    let found = kept.get(&caller.owner(), name);
    match found.filter(|snapshot| snapshot.age() <= kept.policy().age_max) {
        Some(snapshot) => Ok(Some(snapshot)),
        None => {
            Err(Status::not_found(format!("no snapshot {name:?}, or it has ended; take it with the action `snapshot`")))
        }
    }
}

/// Releases one. False when the key has none of that name.
///
/// # Errors
/// `UNAVAILABLE` while the folder is being opened.
pub fn release<C: Caller>(caller: &C, name: &str) -> Result<bool, Status> {
    Ok(caller.kept_snapshots()?.remove(&caller.owner(), name).is_some())
}
