//! A code with which one browser signs in, once.

use std::time::Duration;

use jiff::Timestamp;
use nuthatch_link::Result;
use parking_lot::Mutex;

use super::key::{digest, hex, random};
use super::scope::Scopes;

/// The lifetime of a code: somebody who has not used it by then is not coming.
const HOLDS_FOR: Duration = Duration::from_secs(10 * 60);
const CODE_BYTES: usize = 32;

/// A key that only this process knows, for the first to bring the code.
pub struct Invitation {
    /// Whose data the key opens; `None` for the default tenant.
    pub tenant: Option<String>,
    /// The scopes of the key.
    pub scopes: Scopes,
    /// The digest of the code and until when it holds; `None` once it was used.
    open: Mutex<Option<([u8; 32], Timestamp)>>,
}

impl Invitation {
    /// An invitation, and its code, which nobody guesses.
    ///
    /// # Errors
    /// `Internal` when the system gives no random bytes.
    pub fn new(tenant: Option<String>, scopes: Scopes, now: Timestamp) -> Result<(Self, String)> {
        let code = hex(&random::<CODE_BYTES>()?);
        let until = now.checked_add(HOLDS_FOR).unwrap_or(Timestamp::MAX);
        Ok((Self { tenant, scopes, open: Mutex::new(Some((digest(&code), until))) }, code))
    }

    /// Whether this is the code, brought for the first time and in time. A wrong one does not use it up.
    pub fn accept(&self, code: &str, now: Timestamp) -> bool {
        let mut open = self.open.lock();
        let is_right = open.is_some_and(|(wanted, until)| digest(code) == wanted && now < until);
        if is_right {
            *open = None;
        }
        is_right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_in_time() {
        let now = Timestamp::from_second(1000).unwrap();
        let late = now.checked_add(HOLDS_FOR).unwrap();
        let (invitation, code) = Invitation::new(None, Scopes::all(), now).unwrap();
        assert!(!invitation.accept("", now) && !invitation.accept(&code[1..], now) && !invitation.accept(&code, late));
        assert!(invitation.accept(&code, now));
        assert!(!invitation.accept(&code, now), "it was used");
    }
}
