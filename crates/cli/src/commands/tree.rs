//! `nuthatch tree`: which trees there are, how long they keep versions, and whether all is well with them.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_dialect::operations::{Facet, facets_in_lines};
use nuthatch_link::{ContentId, CountTree, Retention};
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out, plain};
use crate::tree_at::{TreeSpec, inside, parse_tree, time};
use crate::units::{bytes, count};

const DAY_SECONDS: u64 = 24 * 3_600;

#[derive(Args)]
#[command(after_help = "\
nuthatch tree list
nuthatch tree keep notes --versions 50 --days 365
nuthatch tree check notes --hash
nuthatch tree root notes@v1
nuthatch tree verify notes@v1 --root 8a5e…")]
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
        /// Those that were current within the last N days
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
    /// Count the values of fields of the files, such as `tags`
    Facets {
        /// The tree, or TREE@AS_OF as it was
        #[arg(value_parser = parse_tree)]
        tree: TreeSpec,
        #[arg(required = true, value_name = "FIELD")]
        fields: Vec<String>,
        /// Only what stands at this path or below it
        #[arg(long, value_name = "PATH", default_value = "")]
        below: String,
        /// Only files that pass this condition
        #[arg(short, long = "where", value_name = "CONDITION")]
        filter: Option<String>,
        /// Values of each field, the most frequent ones
        #[arg(long, value_name = "N", default_value_t = 10)]
        limit: usize,
    },
    /// Print the root: one hash over paths, modes, targets and contents, which trees have in common that do not differ
    Root {
        /// The tree, or TREE@AS_OF as it was
        #[arg(value_parser = parse_tree)]
        tree: TreeSpec,
        /// The root of this folder alone
        #[arg(long, value_name = "PATH", default_value = "")]
        below: String,
    },
    /// Read every file, compare its chunks and its bytes with their hashes, and name the files that are damaged
    Verify {
        /// The tree, or TREE@AS_OF as it was
        #[arg(value_parser = parse_tree)]
        tree: TreeSpec,
        /// Only what stands at this path or below it
        #[arg(long, value_name = "PATH", default_value = "")]
        below: String,
        /// The root that it is to have (exit code 1 for another)
        #[arg(long, value_name = "HASH")]
        root: Option<ContentId>,
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
            Action::Facets { tree, fields, below, filter, limit } => {
                let files = database.existing_tree(&tree.name)?;
                let (at, below) = (files.at(tree.as_of.as_deref()), inside(below).to_owned());
                let (fields, filter) = (fields.clone(), filter.clone());
                let counted = files.facets(CountTree { at, below, fields, filter, limit: *limit })?;
                let facets: Vec<Facet> = counted.into_iter().map(Into::into).collect();
                let found = facets_in_lines(&json!(facets));
                match self.json {
                    true => output::json(out, &facets)?,
                    false => writeln!(out, "{}", plain(&found))?,
                }
                Outcome::Done
            }
            Action::Root { tree, below } => {
                let root = database.existing_tree(&tree.name)?.root(tree.as_of.as_deref(), inside(below))?;
                match self.json {
                    true => output::json(out, &root)?,
                    false => writeln!(out, "{}", root.root)?,
                }
                Outcome::Done
            }
            Action::Verify { tree, below, root } => {
                let files = database.existing_tree(&tree.name)?;
                let found = files.verify(tree.as_of.as_deref(), inside(below), |_| ())?;
                let has = found.root.map(|root| root.root);
                let is_other = root.is_some_and(|root| has != Some(root));
                match self.json {
                    true => output::json(
                        out,
                        &json!({
                            "root": has, "expected": root, "as_of": found.as_of, "files": found.files,
                            "bytes": found.bytes, "damaged": found.damaged,
                        }),
                    )?,
                    false => {
                        for file in &found.damaged {
                            writeln!(out, "{BOLD}{}{BOLD:#}: {}", plain(&file.path), plain(&file.why))?;
                        }
                        let (read, damaged) = (count(found.files, "file"), found.damaged.len() as u64);
                        writeln!(out, "{read}, {}, {damaged} damaged", bytes(found.bytes))?;
                        match (has, root) {
                            (Some(has), Some(root)) if is_other => writeln!(out, "root {has}, expected {root}")?,
                            (Some(has), _) => writeln!(out, "root {has}")?,
                            (None, _) => writeln!(out, "no root, because the list of the files is damaged")?,
                        }
                    }
                }
                match (found.damaged.is_empty(), is_other) {
                    (false, _) => Outcome::Damaged,
                    (true, true) => Outcome::NothingFound,
                    (true, false) => Outcome::Done,
                }
            }
        };
        out.flush()?;
        database.close()?;
        Ok(outcome)
    }
}
