//! `nuthatch diff`: what differs between two states of trees, or between a tree and a folder.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use nuthatch_link::{ChangeKind, Database, DiffTrees, Error, Files, Result as EngineResult, TreeAt, TreeChange};
use nuthatch_worktree::{Patch, Side, Skipped, compare, patch, with_similar};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BAD, BOLD, DIM, GOOD, Out, plain};
use crate::tree_at::{TreeOrFolder, WalkArgs, inside, parse_tree_or_folder};
use crate::units::count;

/// Characters of the bar of `--stat`.
const BAR: u64 = 40;

#[derive(Args)]
#[command(after_help = "\
nuthatch diff notes@v1 notes@v2 --stat
nuthatch diff notes@v1 ./notes        # a folder has a slash in its name
nuthatch diff notes@v1 notes > changes.patch && git apply changes.patch")]
pub struct Diff {
    /// The earlier state: TREE, TREE@AS_OF (a snapshot, a sequence or a time), or a folder
    #[arg(value_name = "FROM", value_parser = parse_tree_or_folder)]
    from: TreeOrFolder,
    /// The later state
    #[arg(value_name = "TO", value_parser = parse_tree_or_folder)]
    to: TreeOrFolder,
    /// Only at or below this path of the trees
    #[arg(value_name = "PATH", default_value = "")]
    below: String,
    /// Show how many lines of each file were added and removed
    #[arg(long, conflicts_with_all = ["name_status", "json"])]
    stat: bool,
    /// Show names alone: A added, D removed, M changed, T changed mode, R moved
    #[arg(long, conflicts_with = "json")]
    name_status: bool,
    /// Lines of context
    #[arg(short = 'U', long, default_value_t = 3, value_name = "N")]
    unified: usize,
    /// Show a file that moved as one removed and one added
    #[arg(long)]
    no_renames: bool,
    #[command(flatten)]
    walk: WalkArgs,
    /// Print the changes as a JSON array, each with what was before and what is after
    #[arg(long)]
    json: bool,
}

/// One side, opened.
enum Opened {
    Tree(Files, Option<String>),
    Folder(PathBuf),
}

impl Diff {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let (from, to) = (open(&database, &self.from)?, open(&database, &self.to)?);
        let (changes, skipped) = self.changes(&database, &from, &to)?;
        for Skipped { path, why } in &skipped {
            output::warning(&format!("{}: {why}", path.display()));
        }
        let below = inside(&self.below);
        let (before, after) = (from.side(below), to.side(below));
        match (self.json, self.name_status, self.stat) {
            (true, ..) => output::json(out, &changes)?,
            (_, true, _) => changes.iter().try_for_each(|change| name_status(out, change))?,
            (.., true) => {
                let patches = changes.iter().map(|change| patch(change, before, after, 0));
                stat(out, &changes, &patches.collect::<EngineResult<Vec<_>>>()?)?;
            }
            _ => {
                for change in &changes {
                    // Texts need not be UTF-8, and control characters are theirs; a terminal gets them replaced.
                    show(out, &patch(change, before, after, self.unified)?.text)?;
                }
            }
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }

    fn changes(
        &self,
        database: &Database,
        from: &Opened,
        to: &Opened,
    ) -> EngineResult<(Vec<TreeChange>, Vec<Skipped>)> {
        let (below, renames) = (inside(&self.below), !self.no_renames);
        let (changes, skipped) = match (from, to) {
            (Opened::Tree(files, earlier), Opened::Tree(other, later)) => {
                let at =
                    |files: &Files, as_of: &Option<String>| TreeAt { tree: files.name().into(), as_of: as_of.clone() };
                let (from, to) = (at(files, earlier), at(other, later));
                let ask = DiffTrees { from, to, below: below.into(), no_renames: self.no_renames };
                (files.diff(ask)?, Vec::new())
            }
            (Opened::Tree(files, as_of), Opened::Folder(folder)) => {
                compare(files, as_of.as_deref(), below, folder, &self.walk.walk(database.folder()), renames)?
            }
            (Opened::Folder(folder), Opened::Tree(files, as_of)) => {
                let walk = self.walk.walk(database.folder());
                let (changes, skipped) = compare(files, as_of.as_deref(), below, folder, &walk, renames)?;
                (changes.into_iter().map(backwards).collect(), skipped)
            }
            (Opened::Folder(_), Opened::Folder(_)) => {
                return Err(Error::invalid("one of both is a tree; `diff -r` compares two folders"));
            }
        };
        let changes = if renames { with_similar(changes, from.side(below), to.side(below))? } else { changes };
        Ok((changes, skipped))
    }
}

impl Opened {
    fn side<'a>(&'a self, below: &'a str) -> Side<'a> {
        match self {
            Self::Tree(files, _) => Side::Tree(files),
            Self::Folder(folder) => Side::Folder(folder, below),
        }
    }
}

fn open(database: &Database, which: &TreeOrFolder) -> EngineResult<Opened> {
    match which {
        TreeOrFolder::Tree(spec) => {
            let tree = database.existing_tree(&spec.name).map_err(|error| match Path::new(&spec.name).is_dir() {
                true => Error::new(error.kind, format!("{}; for the folder write ./{}", error.message, spec.name)),
                false => error,
            })?;
            Ok(Opened::Tree((*tree).clone(), spec.as_of.clone()))
        }
        TreeOrFolder::Folder(folder) => Ok(Opened::Folder(folder.clone())),
    }
}

/// The same change, seen from the other side.
fn backwards(change: TreeChange) -> TreeChange {
    let kind = match change.kind {
        ChangeKind::Added => ChangeKind::Removed,
        ChangeKind::Removed => ChangeKind::Added,
        other => other,
    };
    let path = change.before.as_ref().or(change.after.as_ref()).map_or(change.path, |entry| entry.path.clone());
    TreeChange { kind, path, before: change.after, after: change.before }
}

fn letter(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Added => 'A',
        ChangeKind::Removed => 'D',
        ChangeKind::Modified => 'M',
        ChangeKind::Mode => 'T',
        ChangeKind::Renamed => 'R',
    }
}

fn name_status(out: &mut Out, change: &TreeChange) -> Result<(), Failure> {
    let from = change.before.as_ref().filter(|_| change.kind == ChangeKind::Renamed);
    let from = from.map_or(String::new(), |before| format!("{}\t", output::name(&before.path)));
    Ok(writeln!(out, "{}\t{from}{}", letter(change.kind), output::name(&change.path))?)
}

fn stat(out: &mut Out, changes: &[TreeChange], patches: &[Patch]) -> Result<(), Failure> {
    let most = patches.iter().map(|patch| patch.added + patch.removed).max().unwrap_or(0).max(BAR);
    let shown = |change: &TreeChange| match (&change.before, change.kind) {
        (Some(before), ChangeKind::Renamed) => format!("{} => {}", before.path, change.path),
        _ => change.path.clone(),
    };
    let width = changes.iter().map(|change| shown(change).chars().count()).max().unwrap_or(0);
    let (mut added, mut removed) = (0, 0);
    for (change, patch) in changes.iter().zip(patches) {
        (added, removed) = (added + patch.added, removed + patch.removed);
        let bar = |lines: u64| (lines * BAR).div_ceil(most) as usize;
        let (plus, minus) = ("+".repeat(bar(patch.added)), "-".repeat(bar(patch.removed)));
        let what = match patch.is_binary {
            true => "binary".to_string(),
            false => format!("{:>5} {GOOD}{plus}{GOOD:#}{BAD}{minus}{BAD:#}", patch.added + patch.removed),
        };
        let name = plain(&shown(change));
        writeln!(out, " {} {name}{} | {what}", letter(change.kind), " ".repeat(width - shown(change).chars().count()))?;
    }
    let total = count(changes.len() as u64, "path");
    writeln!(out, "{BOLD}{total} differ{BOLD:#}, {} added, {} removed", count(added, "line"), count(removed, "line"))?;
    Ok(())
}

/// A patch, with colours where somebody sees them, byte for byte elsewhere.
fn show(out: &mut Out, text: &[u8]) -> Result<(), Failure> {
    if !output::is_seen() {
        return Ok(output::raw(out, text)?);
    }
    for line in String::from_utf8_lossy(text).lines() {
        let line = plain(line);
        match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => {
                writeln!(out, "{BOLD}{line}{BOLD:#}")?;
            }
            [b'+', ..] => writeln!(out, "{GOOD}{line}{GOOD:#}")?,
            [b'-', ..] => writeln!(out, "{BAD}{line}{BAD:#}")?,
            [b'@', ..] => writeln!(out, "{DIM}{line}{DIM:#}")?,
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}
