//! `nuthatch audit`: who has administered the folder, and how it ended.

use std::io::Write;

use clap::Args;
use nuthatch_server::{AuditEntry, AuditFile, AuditOutcome};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BAD, BOLD, DIM, GOOD, Out, name, plain};

#[derive(Args)]
pub struct Audit {
    /// Show only the newest N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Only this action, for example tenant.drop; `tenant` for all actions on tenants
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only actions of the key with this id
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Print one line of JSON per action, as stored
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let file = AuditFile::of(&folder::existing(globals)?);
        let page = file.newest(self.limit, |entry| {
            self.action.as_deref().is_none_or(|action| entry.is_about(action))
                && self.key.as_deref().is_none_or(|key| entry.who.key.as_deref() == Some(key))
        })?;
        for entry in &page.entries {
            match self.json {
                true => {
                    serde_json::to_writer(&mut *out, entry).map_err(std::io::Error::from)?;
                    writeln!(out)?;
                }
                false => show(out, entry)?,
            }
        }
        out.flush()?;
        if page.damaged > 0 {
            output::warning(&format!(
                "{} lines of the audit log are incomplete, because a crash cut them off",
                page.damaged
            ));
        }
        if page.entries.is_empty() {
            output::note("The audit log has no such entries.");
            return Ok(Outcome::NothingFound);
        }
        Ok(Outcome::Done)
    }
}

fn show(out: &mut Out, entry: &AuditEntry) -> std::io::Result<()> {
    let style = if entry.outcome == AuditOutcome::Done { GOOD } else { BAD };
    write!(
        out,
        "{DIM}{}{DIM:#}  {style}{}{style:#}  {BOLD}{}{BOLD:#}",
        entry.time,
        entry.outcome.name(),
        name(&entry.action)
    )?;
    if !entry.target.is_empty() {
        write!(out, " {}", name(&entry.target))?;
    }
    if let Some(kind) = &entry.kind {
        write!(out, " ({})", name(kind))?;
    }
    let who = match entry.face.as_str() {
        "server" => "the server".to_string(),
        _ => entry.who.to_string(),
    };
    write!(out, "  {DIM}{} by {}", entry.face, name(&who))?;
    for (what, value) in &entry.details {
        // As JSON: nothing in it ends the line.
        write!(out, "  {}={}", name(what), plain(&value.to_string()))?;
    }
    if entry.left_out > 0 {
        write!(out, "  ({} more details were not written)", entry.left_out)?;
    }
    writeln!(out, "{DIM:#}")
}
