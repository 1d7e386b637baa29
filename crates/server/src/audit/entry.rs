//! One line of the log.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock;

/// Longer names of what was acted on are cut: they are a client's words.
const TARGET_CHARS_MAX: usize = 200;
/// The prefix of a key's token.
const TOKEN_PREFIX: &str = "nuthatch_";

/// An action that somebody performed or was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// UTC, RFC 3339, when it had ended.
    pub time: String,
    /// `http`, `grpc`, `redis`, `command` or `server`.
    pub face: String,
    /// The actor.
    pub who: Who,
    /// Of a server's request, as its log and its answer have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// `tenant.create`, `key.revoke`, …
    pub action: String,
    /// The target of the action; empty for everything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// More of what it was, by name: limits that were set, rows that went.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// How it ended.
    pub outcome: Outcome,
    /// The kind of error of what was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Entries of this caller that were too many to be written, since the last one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// The actor of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// The key's name; of a command the system's user; empty when nobody said who they were.
    pub name: String,
    /// The key's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The tenant whose data the key opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Address and port of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was done.
    Done,
    /// They may not.
    Refused,
    /// They may, and it did not come about: an error.
    Failed,
}

impl Entry {
    /// Something that was done just now.
    pub fn new(face: &str, who: Who, action: &str, target: &str) -> Self {
        Self {
            time: clock::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            face: face.into(),
            who,
            request: None,
            action: action.into(),
            target: without_tokens(target),
            details: Map::new(),
            outcome: Outcome::Done,
            kind: None,
            left_out: 0,
        }
    }

    /// Adds to the details; an earlier one of the same name is replaced.
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.into(), value.into());
        self
    }

    /// Whether its action is this one, or of this family: `tenant` has `tenant.drop` in it.
    pub fn is_about(&self, action: &str) -> bool {
        self.action.strip_prefix(action).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// It did not come to that.
    pub fn ended(mut self, outcome: Outcome, kind: &str) -> Self {
        self.outcome = outcome;
        self.kind = Some(kind.into());
        self
    }
}

impl Outcome {
    /// `done`, `refused` or `failed`, as entries are stored and asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.name.is_empty() { "nobody known" } else { &self.name })?;
        if let Some(key) = &self.key {
            write!(out, " (key {key})")?;
        }
        if let Some(tenant) = &self.tenant {
            write!(out, " of {tenant}")?;
        }
        self.address.as_ref().map_or(Ok(()), |address| write!(out, " from {address}"))
    }
}

/// A client's words, short, and without what opens anything: a token may have been pasted into a path.
fn without_tokens(text: &str) -> String {
    match text.find(TOKEN_PREFIX) {
        Some(at) => format!("{}…", &text[..at]),
        None if text.chars().count() > TARGET_CHARS_MAX => text.chars().take(TARGET_CHARS_MAX).chain(['…']).collect(),
        None => text.into(),
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_the_wrong_place_is_not_written() {
        let entry = |target: &str| Entry::new("http", Who::default(), "tenant.create", target).target;
        assert_eq!(entry("nuthatch_0123_4567"), "…");
        assert_eq!(entry("a-nuthatch_0123_4567"), "a-…");
        assert_eq!(entry("amber"), "amber");
        assert_eq!(entry(&"é".repeat(1000)).chars().count(), TARGET_CHARS_MAX + 1);
    }

    #[test]
    fn an_entry_comes_back_from_its_line() {
        let who = Who { name: "ops".into(), key: Some("0123".into()), tenant: Some("default".into()), address: None };
        let entry =
            Entry::new("http", who, "tenant.limit", "amber").detail("vectors", 5).ended(Outcome::Failed, "invalid");
        let line = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), entry);
        assert!(line.contains("\"outcome\":\"failed\"") && !line.contains("left_out"), "{line}");
    }
}
