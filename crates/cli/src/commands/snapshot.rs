//! `nuthatch snapshot`: names for states of a tree.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_link::Error;
use serde_json::json;

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
    /// List the snapshots with their roots, the oldest first
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
                let names: Vec<_> = snapshots.iter().map(|snapshot| Some(snapshot.name.clone())).collect();
                let with_roots = snapshots.iter().zip(tree.roots(&names, "")?);
                match self.json {
                    true => {
                        let listed = with_roots.map(|(snapshot, root)| {
                            json!({
                                "name": snapshot.name, "sequence": snapshot.sequence,
                                "created_ms": snapshot.created_ms, "root": root.root,
                            })
                        });
                        output::json(out, &listed.collect::<Vec<_>>())?;
                    }
                    false => {
                        for (snapshot, root) in with_roots {
                            let (made, root) = (time(snapshot.created_ms), root.root);
                            let (sequence, name) = (snapshot.sequence, &snapshot.name);
                            writeln!(out, "{sequence:>8}  {DIM}{made}  {root}{DIM:#}  {BOLD}{name}{BOLD:#}")?;
                        }
                    }
                }
                if snapshots.is_empty() { Outcome::NothingFound } else { Outcome::Done }
            }
            Action::Rm { name } => {
                let was_there = tree.drop_snapshot(name)?;
                match (self.json, was_there) {
                    (true, _) => output::json(out, &json!({ "removed": was_there }))?,
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
