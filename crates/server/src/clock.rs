//! The one door to the wall clock: keys expire by it, and the audit log tells it.

use jiff::Timestamp;

/// The time now, as the system has it.
pub fn now() -> Timestamp {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    Timestamp::now()
}
