//! Doing what the protocol asks for.

use crate::log::{Appended, Log};
use crate::{Answered, Call, ClusterError, Result};

/// Returns the log's answer. If none comes, it is `Unknown`, with the reason.
///
/// # Errors
/// What asking again does not help: damage.
pub(crate) fn ask(log: &dyn Log, call: Call) -> Result<(Answered, Option<ClusterError>)> {
    let answered = match call {
        Call::Read(slot) => log.read(slot).map(Answered::Read),
        Call::Append(slot, entry) => log.append(slot, &entry).map(|appended| match appended {
            Appended::Stored => Answered::Stored,
            Appended::Occupied(found) => Answered::Occupied(found),
        }),
        Call::Newest => log.newest().map(|mark| mark.map_or(Answered::Guarded, Answered::Newest)),
    };
    match answered {
        Ok(answered) => Ok((answered, None)),
        Err(ClusterError::Trimmed { .. }) => Ok((Answered::Trimmed, None)),
        Err(error @ ClusterError::Unreachable { .. }) => Ok((Answered::Unknown, Some(error))),
        Err(error) => Err(error),
    }
}
