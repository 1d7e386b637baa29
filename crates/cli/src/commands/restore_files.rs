//! `nuthatch restore-files`: a tree, or parts of it, written into a folder.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use nuthatch_worktree::{RestoreOptions, restore};
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, Out, plain};
use crate::tree_at::{TreeSpec, inside, parse_tree};
use crate::units::{bytes, count};
use crate::{folder, interrupt};

#[derive(Args)]
#[command(after_help = "\
nuthatch restore-files notes@v1 old-notes
nuthatch restore-files notes@2026-11-01T00:00:00Z old-notes --glob '*.md' --dry-run")]
pub struct RestoreFiles {
    /// TREE, or TREE@AS_OF: the name of a snapshot, a sequence or a time
    #[arg(value_name = "TREE", value_parser = parse_tree)]
    tree: TreeSpec,
    /// The folder to write: new or empty, unless --overwrite is given
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Only what lies at or below this path of the tree, which becomes the root of the folder
    #[arg(long, default_value = "", value_name = "PATH")]
    below: String,
    /// Only files that match; with ! in front, all but those
    #[arg(short, long = "glob", value_name = "GLOB")]
    globs: Vec<String>,
    /// List what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write into a folder that has something; files of the same path are replaced, others stay
    #[arg(long)]
    overwrite: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl RestoreFiles {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let tree = database.existing_tree(&self.tree.name)?;
        let options = RestoreOptions {
            below: inside(&self.below).into(),
            globs: self.globs.clone(),
            dry_run: self.dry_run,
            overwrite: self.overwrite,
            cancel: Some(interrupt::flag("Stopping after this file")?),
        };
        let restored = restore(&tree, self.tree.as_of.as_deref(), &self.out, &options)?;
        database.close()?;
        for skipped in &restored.skipped {
            output::warning(&format!("{}: {}", skipped.path.display(), skipped.why));
        }
        if self.json {
            let mut report = json!(restored);
            report["dry_run"] = self.dry_run.into();
            output::json(out, &report)?;
        } else {
            if self.dry_run {
                restored.paths.iter().try_for_each(|path| writeln!(out, "{}", plain(path)))?;
            }
            let word = if self.dry_run { "Would restore" } else { "Restored" };
            writeln!(
                out,
                "{BOLD}{word}{BOLD:#} {}, {}, {} ({})",
                count(restored.files, "file"),
                count(restored.folders, "folder"),
                count(restored.links, "link"),
                bytes(restored.bytes)
            )?;
        }
        Ok(match (restored.cancelled, restored.paths.is_empty(), restored.skipped.is_empty()) {
            (true, ..) => Outcome::Interrupted,
            (_, true, _) | (.., false) => Outcome::NothingFound,
            _ => Outcome::Done,
        })
    }
}
