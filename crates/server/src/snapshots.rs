//! The snapshots that clients have taken over the network, as the server speaks of them: what keeps them is the folder's handle.
//!
//! **Useful for** reads of one moment that come as several requests, and for transactions, which end with one.
//! **Not for** deciding who may use one, how many there are, or when they end: see [`nuthatch_link::KeptSnapshots`].

use nuthatch_link::{Database, Error, ErrorKind, Holder, Listed, NotKept, Owner, Result as EngineResult, Snapshot};

use crate::access::{TENANT_DEFAULT, hex, random};
use crate::caller::{Caller, SNAPSHOT};
use crate::problem::Problem;

const ID_BYTES: usize = 16;

/// Whose a snapshot is that the caller takes: another name of the key changes nothing.
pub fn owner(caller: &Caller) -> Owner {
    let tenant = (caller.tenant() != TENANT_DEFAULT).then(|| caller.tenant().to_string());
    Owner { tenant, holder: Holder::Key(caller.key().map(|(id, _)| id.to_string())) }
}

/// The name of the caller's key, for people.
pub fn label(caller: &Caller) -> Option<String> {
    caller.key().map(|(_, name)| name.to_string())
}

/// Takes one and keeps it.
///
/// # Errors
/// 429 when the tenant has as many as it may; else those of taking it.
pub fn take(caller: &Caller, database: &Database) -> EngineResult<Result<Listed, Problem>> {
    let id = hex(&random::<ID_BYTES>()?);
    match database.kept_snapshots().keep(&owner(caller), &id, label(caller), || database.snapshot()) {
        Ok(listed) => Ok(Ok(listed)),
        Err(NotKept::TooMany(why)) => {
            let remedy = "end some (GET /v1/snapshots lists those of clients), or raise `snapshots_max`";
            Ok(Err(Problem::too_much_open(why.message, remedy)))
        }
        Err(why) => Err(why.into()),
    }
}

/// One of the caller's.
///
/// # Errors
/// `Conflict` without one: the client takes another one and begins again.
pub fn get(caller: &Caller, id: &str) -> Result<Snapshot, Problem> {
    let database = caller.shared.database()?;
    Ok(database.kept_snapshots().get(&owner(caller), id).ok_or_else(|| gone(database))?)
}

/// Takes one of the caller's away: this caller is the only one to have it, so a transaction is committed once.
///
/// # Errors
/// As [`get`].
pub fn remove(caller: &Caller, database: &Database, id: &str) -> EngineResult<Snapshot> {
    database.kept_snapshots().remove(&owner(caller), id).ok_or_else(|| gone(database))
}

/// In the same words for one that has ended, one that is another's, and one that never was.
fn gone(database: &Database) -> Error {
    let why = format!(
        "this key has no snapshot with the id in `{SNAPSHOT}` or the path: it was ended, is older than {} s, or \
        the server was restarted; take another one",
        database.kept_snapshots().policy().age_max.as_secs_f64()
    );
    Error::new(ErrorKind::Conflict, why)
}
