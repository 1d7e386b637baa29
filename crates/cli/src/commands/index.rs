//! `nuthatch index`: makes the index that `grep` uses, now instead of in the background.

use std::io::Write;

use clap::Args;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, Out};
use crate::units::{bytes, count, thousands};

#[derive(Args)]
pub struct Index {
    /// Only say how far it is
    #[arg(long)]
    status: bool,
    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
    /// Print nothing
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

impl Index {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        // All trees of a tenant have one index.
        let index = match database.tree_names()?.first() {
            Some(name) => database.existing_tree(name)?.index(!self.status)?,
            None => Default::default(),
        };
        database.close()?;
        if self.json {
            output::json(out, &index)?;
        } else if !self.quiet {
            writeln!(
                out,
                "{BOLD}Index{BOLD:#}     {} of {}, about {} before compression; {} to come",
                count(index.indexed, "content"),
                bytes(index.indexed_bytes),
                bytes(index.index_bytes),
                thousands(index.pending)
            )?;
        }
        Ok(Outcome::Done)
    }
}
