//! `nuthatch log`: every version of a path.

use std::io::Write;

use clap::Args;
use nuthatch_link::EntryKind;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, DIM, Out, SOURCE};
use crate::tree_at::{inside, time};
use crate::units::bytes;

#[derive(Args)]
pub struct Log {
    /// A path in the tree
    #[arg(value_name = "PATH")]
    path: String,
    /// The tree
    #[arg(long, value_name = "NAME")]
    tree: String,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl Log {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let versions = database.existing_tree(&self.tree)?.versions(inside(&self.path))?;
        if self.json {
            output::json(out, &versions)?;
        } else {
            for version in &versions {
                let what = match (version.kind, version.content) {
                    (EntryKind::Gone, _) => "gone".to_string(),
                    (EntryKind::Link, _) => format!("link to {}", version.target.as_deref().unwrap_or_default()),
                    (EntryKind::Folder, _) => format!("folder, mode {:o}", version.mode),
                    (EntryKind::File, content) => {
                        let content = content.map_or(String::new(), |content| content.to_string());
                        let short = content.get(..12).unwrap_or_default();
                        format!("{:>9}  mode {:o}  {SOURCE}{short}{SOURCE:#}", bytes(version.bytes), version.mode)
                    }
                };
                writeln!(out, "{:>8}  {DIM}{}{DIM:#}  {what}", version.sequence, time(version.recorded_ms))?;
            }
        }
        out.flush()?;
        database.close()?;
        Ok(if versions.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }
}
