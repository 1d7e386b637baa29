//! `nuthatch reclaim`: rewrites every file that may hold bytes of deleted data, and prints the receipt.

use std::io::Write;

use clap::Args;
use nuthatch_link::Receipt;
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out};
use crate::units::{bytes, count};

#[derive(Args)]
pub struct Reclaim {
    /// Only data deleted from this collection [default: from all collections, keyspaces and graphs]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Print earlier receipts instead, oldest first
    #[arg(long, conflicts_with = "collection")]
    list: bool,
    /// Print the full receipt as JSON, with every file
    #[arg(long)]
    json: bool,
}

impl Reclaim {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if self.list {
            let database = folder::open(globals)?;
            let receipts = database.receipts()?;
            match self.json {
                true => output::json(out, &receipts)?,
                false => receipts.iter().try_for_each(|receipt| show(out, receipt))?,
            }
            database.close()?;
            return Ok(if receipts.is_empty() { Outcome::NothingFound } else { Outcome::Done });
        }
        let database = folder::open_to_write(globals)?;
        let act =
            AuditedAction::new(globals, database.folder(), "reclaim", self.collection.as_deref().unwrap_or_default());
        let receipt = act.end(database.reclaim(self.collection.as_deref()), noted)?;
        match self.json {
            true => output::json(out, &receipt)?,
            false => show(out, &receipt)?,
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }
}

/// Returns the details of a receipt for the audit log.
pub fn noted(receipt: &Receipt) -> Vec<(&'static str, Value)> {
    vec![("receipt", json!(receipt.id)), ("ended_snapshots", json!(receipt.ended_snapshots))]
}

pub fn show(out: &mut Out, receipt: &Receipt) -> Result<(), Failure> {
    let of = receipt.collection.as_ref().map_or("everything".to_string(), |name| format!("collection {name}"));
    let deleted =
        receipt.deleted_records.map_or(String::new(), |records| format!(" {} deleted,", count(records, "record")));
    let ended = match receipt.ended_snapshots {
        0 => String::new(),
        ended => format!(" {} ended,", count(ended, "snapshot")),
    };
    writeln!(
        out,
        "{BOLD}Reclaimed {of}{BOLD:#}{deleted}{ended} {} removed, {} written, {} before, {} after",
        count(receipt.removed.len() as u64, "file"),
        count(receipt.written.len() as u64, "file"),
        bytes(receipt.bytes_before),
        bytes(receipt.bytes_after)
    )?;
    let genuine = if receipt.is_genuine() { "" } else { " (it was changed since)" };
    writeln!(out, "  {DIM}receipts/{}.json  {}{genuine}{DIM:#}", receipt.id, receipt.checksum)?;
    Ok(())
}
