//! `nuthatch migrate`: the folder in the layout that this program writes.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, GOOD, Out, plain};

#[derive(Args)]
pub struct Migrate {
    /// Only list the changes
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let migration = if self.dry_run { database.migration()? } else { database.migrate()? };
        match self.json {
            true => {
                let steps = migration
                    .steps
                    .iter()
                    .map(|step| json!({"collection": step.collection, "what": step.what, "action": step.action}));
                output::json(
                    out,
                    &json!({
                        "folder": database.folder().to_string_lossy(),
                        "format": migration.format,
                        "format_written": migration.format_written,
                        "dry_run": self.dry_run,
                        "steps": steps.collect::<Vec<_>>(),
                    }),
                )?;
            }
            false => {
                for step in &migration.steps {
                    writeln!(out, "{BOLD}{}{BOLD:#}  {}", step.collection, plain(&step.what))?;
                    let word = if self.dry_run { "would" } else { "did" };
                    writeln!(out, "         {DIM}{word}:{DIM:#} {}", plain(&step.action))?;
                }
                if migration.steps.is_empty() {
                    writeln!(
                        out,
                        "{GOOD}nothing to do{GOOD:#}  format {} is what this program writes",
                        migration.format
                    )?;
                }
            }
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }
}
