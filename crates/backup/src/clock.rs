//! The one door to the wall clock: when a backup was made.

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    Timestamp::now()
}

/// A moment in the form that files keep: `2026-11-23T08:15:00Z`.
pub(crate) fn stamp(when: Timestamp) -> String {
    when.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
