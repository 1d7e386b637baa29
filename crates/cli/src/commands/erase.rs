//! `nuthatch erase`: every version of a path, with the receipt that its bytes have left the disk.

use std::io::Write;

use clap::Args;
use nuthatch_link::Error;
use serde_json::json;

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::commands::reclaim;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, Out};
use crate::tree_at::inside;
use crate::units::count;

#[derive(Args)]
pub struct Erase {
    /// A file, or a folder with everything that ever stood below it
    #[arg(value_name = "PATH", required_unless_present = "all")]
    path: Option<String>,
    /// The tree
    #[arg(long, value_name = "NAME")]
    tree: String,
    /// The whole tree, with its snapshots; needs --yes
    #[arg(long, conflicts_with = "path")]
    all: bool,
    /// Confirm --all
    #[arg(long)]
    yes: bool,
    /// Leave the bytes on disk until the next `nuthatch reclaim`
    #[arg(long)]
    no_reclaim: bool,
    /// Print the report and the receipt as JSON
    #[arg(long)]
    json: bool,
}

impl Erase {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if self.all && !self.yes {
            let why =
                format!("--all erases tree {:?} with every version and snapshot; add --yes to confirm", self.tree);
            return Err(Error::invalid(why).into());
        }
        let database = folder::open_to_write(globals)?;
        let tree = database.existing_tree(&self.tree)?;
        // The path may be the name of a person: the log has how much was erased.
        let act = AuditedAction::new(globals, database.folder(), "tree.erase", &self.tree);
        let (erased, receipt) = act.end(
            (|| {
                let erased = tree.erase(inside(self.path.as_deref().unwrap_or_default()))?;
                if self.all {
                    database.drop_tree(&self.tree)?;
                }
                let receipt = if self.no_reclaim { None } else { Some(database.reclaim(None)?) };
                Ok((erased, receipt))
            })(),
            |(erased, receipt)| {
                let mut noted = vec![("paths", json!(erased.paths)), ("versions", json!(erased.versions))];
                noted.extend(receipt.iter().flat_map(reclaim::noted));
                noted
            },
        )?;
        database.close()?;
        match self.json {
            true => {
                output::json(out, &json!({ "paths": erased.paths, "versions": erased.versions, "receipt": receipt }))?
            }
            false => {
                let (paths, versions) = (count(erased.paths, "path"), count(erased.versions, "version"));
                writeln!(out, "Erased {paths}, {versions}.")?;
                if let Some(receipt) = &receipt {
                    reclaim::show(out, receipt)?;
                }
            }
        }
        Ok(if erased.paths == 0 && !self.all { Outcome::NothingFound } else { Outcome::Done })
    }
}
