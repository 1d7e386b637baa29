//! `nuthatch kv ls` and `drop`: the keyspaces themselves.

use std::io::Write;

use clap::Args;
use nuthatch_link::Error;
use serde_json::json;

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::commands::kv::Common;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, Out, plain};
use crate::units::thousands;

#[derive(Args)]
pub struct Ls {}

impl Ls {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let mut found = Vec::new();
        for name in database.keyspace_names()? {
            let keys = database.existing_keyspace(&name)?.count_estimate("")?;
            found.push((name, keys));
        }
        database.close()?;
        match common.json {
            true => {
                let found = found.iter().map(|(name, keys)| json!({ "name": name, "count_estimate": keys }));
                output::json(out, &found.collect::<Vec<_>>())?;
            }
            false => {
                for (name, keys) in &found {
                    let noun = if *keys == 1 { "key" } else { "keys" };
                    writeln!(out, "{BOLD}{}{BOLD:#}  about {} {noun}", plain(name), thousands(*keys))?;
                }
                if found.is_empty() {
                    output::note("No keyspaces.");
                }
            }
        }
        Ok(if found.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }
}

#[derive(Args)]
pub struct DropKeyspace {
    /// Confirm the drop
    #[arg(long)]
    yes: bool,
}

impl DropKeyspace {
    pub fn run(&self, globals: &Globals, common: &Common, out: &mut Out) -> Result<Outcome, Failure> {
        let name = &common.keyspace;
        if !self.yes {
            return Err(Error::invalid(format!(
                "this drops keyspace {name:?} and everything in it; add --yes to confirm"
            ))
            .into());
        }
        let (database, _) = common.open_to_write(globals)?;
        let act = AuditedAction::new(globals, database.folder(), "keyspace.drop", name);
        let dropped = act.end(database.drop_keyspace(name), |dropped| vec![("dropped", json!(dropped))])?;
        database.close()?;
        match common.json {
            true => output::json(out, &json!({ "keyspace": name, "dropped": dropped }))?,
            false => writeln!(out, "Dropped keyspace {}.", plain(name))?,
        }
        Ok(Outcome::Done)
    }
}
