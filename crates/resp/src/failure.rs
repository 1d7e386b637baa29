//! Error replies: a code that clients look at, and a sentence. The sentences that Redis has are Redis', since clients compare them.

use nuthatch_engine::{Error, ErrorKind};

/// Why a command has no answer. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub code: &'static str,
    pub message: String,
    /// Someone else changed the same thing: run the command again.
    pub is_conflict: bool,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), is_conflict: false }
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
        let message = "others keep changing the same keys; try again";
        Self { is_conflict: true, ..Self::new("TRYAGAIN", message) }
    }

    pub fn line(&self) -> String {
        format!("{} {}", self.code, self.message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error.kind {
            ErrorKind::Conflict | ErrorKind::Unavailable => "TRYAGAIN",
            ErrorKind::Exhausted => "OOM",
            ErrorKind::Closed => "SHUTDOWN",
            ErrorKind::Corrupt { .. } => "CORRUPT",
            ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Internal => "ERR",
        };
        Self { is_conflict: error.kind == ErrorKind::Conflict, ..Self::new(code, error.message) }
    }
}

pub(crate) type Outcome<T> = Result<T, Failure>;
