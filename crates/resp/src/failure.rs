//! Error replies: a code that clients look at, and a sentence. The sentences that Redis has are Redis', since clients compare them.

use nuthatch_link::{Error, ErrorKind};

/// Why a command has no answer. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub code: &'static str,
    pub message: String,
    /// The engine's kind of error, if the failure came from there: callers decide what to do next by this, never by the
    /// message.
    pub kind: Option<ErrorKind>,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), kind: None }
    }

    pub fn error(message: impl Into<String>) -> Self {
        Self::new("ERR", message)
    }

    pub fn syntax() -> Self {
        Self::error("syntax error")
    }

    pub fn wrong_type() -> Self {
        Self::new("WRONGTYPE", "Operation against a key holding the wrong kind of value")
    }

    pub fn not_integer() -> Self {
        Self::error("value is not an integer or out of range")
    }

    pub fn not_float() -> Self {
        Self::error("value is not a valid float")
    }

    pub fn no_such_key() -> Self {
        Self::error("no such key")
    }

    pub fn arity(command: &str) -> Self {
        Self::error(format!("wrong number of arguments for '{}' command", command.to_lowercase()))
    }

    pub fn conflict() -> Self {
        let message = "other clients keep changing the same keys; try again";
        Self { kind: Some(ErrorKind::Conflict), ..Self::new("TRYAGAIN", message) }
    }

    /// Someone else changed the same thing: run the command again.
    pub fn is_conflict(&self) -> bool {
        self.kind == Some(ErrorKind::Conflict)
    }

    /// Something that the command names, or works on, is not there.
    pub fn is_not_found(&self) -> bool {
        self.kind == Some(ErrorKind::NotFound)
    }

    pub fn line(&self) -> String {
        format!("{} {}", self.code, self.message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error.kind {
            // The first is over at once and worth another try; the second lasts until somebody sets something up.
            ErrorKind::Conflict => "TRYAGAIN",
            ErrorKind::Unavailable => "UNAVAILABLE",
            ErrorKind::Exhausted => "OOM",
            ErrorKind::Closed => "SHUTDOWN",
            ErrorKind::Corrupt { .. } => "CORRUPT",
            ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Internal => "ERR",
        };
        Self { kind: Some(error.kind), ..Self::new(code, error.message) }
    }
}

pub(crate) type Outcome<T> = Result<T, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_and_something_that_is_not_there_now_have_codes_of_their_own() {
        let said = |kind| Failure::from(Error::new(kind, "why"));
        assert_eq!(said(ErrorKind::Conflict).line(), "TRYAGAIN why");
        assert_eq!(said(ErrorKind::Unavailable).line(), "UNAVAILABLE why");
        assert!(said(ErrorKind::Conflict).is_conflict() && !said(ErrorKind::Unavailable).is_conflict());
        assert!(Failure::conflict().is_conflict(), "the commands' own conflicts are the engine's");
    }
}
