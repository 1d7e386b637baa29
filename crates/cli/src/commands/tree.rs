//! `nuthatch tree`: which trees there are, how long they keep versions, and whether all is well with them.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_link::Retention;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out, plain};
use crate::tree_at::time;
use crate::units::{bytes, count};

const DAY_SECONDS: u64 = 24 * 3_600;

#[derive(Args)]
#[command(after_help = "\
nuthatch tree list
nuthatch tree keep notes --versions 50 --days 365
nuthatch tree check notes --hash")]
pub struct Tree {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the trees, with what they hold
    List,
    /// Set how long versions are kept that nothing needs: one goes when both limits allow it
    Keep {
        tree: String,
        /// Versions of each path, the current one included
        #[arg(long, value_name = "N", required_unless_present_any = ["days", "all"])]
        versions: Option<u32>,
        /// Those that were current within so many days
        #[arg(long, value_name = "N")]
        days: Option<u64>,
        /// Keep everything
        #[arg(long, conflicts_with_all = ["versions", "days"])]
        all: bool,
    },
    /// Count again what versions refer to, and name what does not agree
    Check {
        tree: String,
        /// Read every content, and compare it with its hash
        #[arg(long)]
        hash: bool,
    },
}

impl Tree {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = match self.action {
            Action::Keep { .. } => folder::open_to_write(globals)?,
            _ => folder::open(globals)?,
        };
        let outcome = match &self.action {
            Action::List => {
                let names = database.tree_names()?;
                let trees =
                    names.iter().map(|name| database.existing_tree(name)?.info()).collect::<Result<Vec<_>, _>>()?;
                match self.json {
                    true => output::json(out, &trees)?,
                    false => {
                        for tree in &trees {
                            writeln!(
                                out,
                                "{BOLD}{}{BOLD:#}  {}, {}, {}, {}  {DIM}since {}{DIM:#}",
                                plain(&tree.name),
                                count(tree.files, "file"),
                                bytes(tree.bytes),
                                count(tree.versions, "version"),
                                count(tree.snapshots, "snapshot"),
                                time(tree.created_ms)
                            )?;
                        }
                        if let Some(tree) = trees.first() {
                            let together = tree.together;
                            let (contents, chunks) = (count(together.contents, "content"), bytes(together.chunk_bytes));
                            writeln!(out, "{DIM}Together {contents}, {chunks} before compression{DIM:#}")?;
                        }
                    }
                }
                if trees.is_empty() { Outcome::NothingFound } else { Outcome::Done }
            }
            Action::Keep { tree, versions, days, all } => {
                let tree = database.existing_tree(tree)?;
                let was = tree.info()?.retention;
                let seconds = days.map(|days| days.saturating_mul(DAY_SECONDS));
                tree.set_retention(match all {
                    true => Retention::ALL,
                    false => Retention { versions: versions.or(was.versions), seconds: seconds.or(was.seconds) },
                })?;
                let info = tree.info()?;
                match self.json {
                    true => output::json(out, &info)?,
                    false => writeln!(out, "{} has {} now.", info.name, count(info.versions, "version"))?,
                }
                Outcome::Done
            }
            Action::Check { tree, hash } => {
                let check = database.existing_tree(tree)?.check(*hash)?;
                match self.json {
                    true => output::json(out, &check)?,
                    false => {
                        check.findings.iter().try_for_each(|finding| writeln!(out, "{}", plain(finding)))?;
                        writeln!(out, "{}", count(check.findings.len() as u64, "finding"))?;
                    }
                }
                if check.findings.is_empty() { Outcome::Done } else { Outcome::Damaged }
            }
        };
        out.flush()?;
        database.close()?;
        Ok(outcome)
    }
}
