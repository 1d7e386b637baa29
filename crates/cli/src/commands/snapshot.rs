//! `nuthatch snapshot`: names for states of a tree.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_link::Error;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out};
use crate::tree_at::time;

#[derive(Args)]
#[command(after_help = "\
nuthatch snapshot create --tree notes before-cleanup
nuthatch restore-files notes@before-cleanup old-notes")]
pub struct Snapshot {
    /// The tree
    #[arg(long, global = true, value_name = "NAME", required = false, default_value = "")]
    tree: String,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Name the tree as it stands; takes no time, whatever its size
    Create { name: String },
    /// List the snapshots, the oldest first
    List,
    /// Remove a snapshot, and the versions that it alone keeps
    Rm { name: String },
}

impl Snapshot {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if self.tree.is_empty() {
            return Err(Error::invalid("which tree? Name it with --tree").into());
        }
        let database = match self.action {
            Action::List => folder::open(globals)?,
            _ => folder::open_to_write(globals)?,
        };
        let tree = database.existing_tree(&self.tree)?;
        let outcome = match &self.action {
            Action::Create { name } => {
                let snapshot = tree.name_snapshot(name)?;
                match self.json {
                    true => output::json(out, &snapshot)?,
                    false => writeln!(out, "{BOLD}{name}{BOLD:#} is {} as of write {}", self.tree, snapshot.sequence)?,
                }
                Outcome::Done
            }
            Action::List => {
                let snapshots = tree.snapshots()?;
                match self.json {
                    true => output::json(out, &snapshots)?,
                    false => snapshots.iter().try_for_each(|snapshot| {
                        let made = time(snapshot.created_ms);
                        writeln!(out, "{:>8}  {DIM}{made}{DIM:#}  {BOLD}{}{BOLD:#}", snapshot.sequence, snapshot.name)
                    })?,
                }
                if snapshots.is_empty() { Outcome::NothingFound } else { Outcome::Done }
            }
            Action::Rm { name } => {
                let was_there = tree.drop_snapshot(name)?;
                match (self.json, was_there) {
                    (true, _) => output::json(out, &serde_json::json!({ "removed": was_there }))?,
                    (false, true) => writeln!(out, "Removed snapshot {name} of {}.", self.tree)?,
                    (false, false) => output::warning(&format!("tree {:?} has no snapshot {name:?}", self.tree)),
                }
                if was_there { Outcome::Done } else { Outcome::NothingFound }
            }
        };
        out.flush()?;
        database.close()?;
        Ok(outcome)
    }
}
