//! Noting in the audit log what a command administers.

use std::path::Path;

use nuthatch_link::Result;
use nuthatch_server::{AuditEntry, AuditFile, AuditOutcome, AuditWho, TENANT_DEFAULT};
use serde_json::Value;

use crate::args::Globals;
use crate::folder;

/// Something that is about to be done to a data folder.
pub struct AuditedAction {
    file: AuditFile,
    who: AuditWho,
    action: &'static str,
    target: String,
    details: Vec<(&'static str, Value)>,
}

impl AuditedAction {
    pub fn new(globals: &Globals, data_dir: &Path, action: &'static str, target: &str) -> Self {
        let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        let tenant = folder::tenant(globals).unwrap_or(TENANT_DEFAULT).to_string();
        let who = AuditWho { name: user.unwrap_or_default(), tenant: Some(tenant), ..AuditWho::default() };
        Self { file: AuditFile::of(data_dir), who, action, target: target.into(), details: Vec::new() }
    }

    /// More of what is done; nothing that opens anything, and nothing that says whom it is about.
    pub fn detail(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((name, value.into()));
        self
    }

    /// Notes how it ended; `more` is what is known only now.
    ///
    /// # Errors
    /// Its own; those of writing the log, when it was done.
    pub fn end<T>(self, done: Result<T>, more: impl FnOnce(&T) -> Vec<(&'static str, Value)>) -> Result<T> {
        let mut entry = AuditEntry::new("command", self.who, self.action, &self.target);
        for (name, value) in self.details.into_iter().chain(done.as_ref().map_or_else(|_| Vec::new(), more)) {
            entry = entry.detail(name, value);
        }
        match done {
            Ok(value) => self.file.append(&[entry]).map(|()| value),
            Err(error) => {
                // Why it was not done says more than why that cannot be noted.
                self.file.append(&[entry.ended(AuditOutcome::Failed, error.kind.name())]).ok();
                Err(error)
            }
        }
    }

    /// The same where nothing more is known.
    ///
    /// # Errors
    /// As [`end`](Self::end).
    pub fn ended<T>(self, done: Result<T>) -> Result<T> {
        self.end(done, |_| Vec::new())
    }
}
