//! `nuthatch rm`: files with their passages, records, or a whole collection.

use std::io::Write;
use std::path::Path;

use clap::Args;
use nuthatch_link::{Collection, Error, Receipt, Result as EngineResult};
use serde::Serialize;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::audit::AuditedAction;
use crate::commands::{get, reclaim};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out, plain};
use crate::tree_at::inside;
use crate::units::count;
use crate::{folder, paths};

#[derive(Args)]
pub struct Rm {
    /// Files, folders (with everything below them), or ids of records
    #[arg(value_name = "PATH|ID", required_unless_present_any = ["filter", "prefix", "all"])]
    targets: Vec<String>,
    /// Remove all records that match this condition; a file whose passages all match is forgotten,
    /// so that `add` takes it again
    #[arg(short, long = "where", value_name = "CONDITION", conflicts_with_all = ["targets", "all"])]
    filter: Option<String>,
    /// Remove every record whose id begins with this
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["targets", "filter", "all"])]
    prefix: Option<String>,
    /// Remove the whole collection; needs --yes
    #[arg(long, conflicts_with = "targets")]
    all: bool,
    /// Also erase the bytes from disk, as `nuthatch reclaim` does
    #[arg(long)]
    reclaim: bool,
    /// Confirm --all
    #[arg(long)]
    yes: bool,
    /// The collection to remove from
    #[arg(long, default_value = COLLECTION_DEFAULT, value_name = "NAME")]
    collection: String,
    /// Remove from this tree instead: targets are paths in it, whose versions stay (`erase` removes those)
    #[arg(long, value_name = "NAME", requires = "targets", conflicts_with_all = ["collection", "reclaim", "filter", "prefix", "all"])]
    tree: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Default, Serialize)]
struct Removed {
    files: u64,
    /// Passages of files included.
    records: u64,
    collection: Option<String>,
    /// The receipt that `--reclaim` wrote.
    receipt: Option<Receipt>,
    /// Arguments that named nothing.
    unknown: Vec<String>,
}

impl Rm {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if self.all && !self.yes {
            return Err(Error::invalid(format!(
                "--all drops collection {:?} and everything in it; add --yes to confirm",
                self.collection
            ))
            .into());
        }
        let database = folder::open_to_write(globals)?;
        if let Some(name) = &self.tree {
            let tree = database.existing_tree(name)?;
            let removed = self.targets.iter().map(|path| tree.remove(inside(path))).sum::<EngineResult<u64>>()?;
            database.close()?;
            match self.json {
                true => output::json(out, &serde_json::json!({ "removed": removed }))?,
                false => writeln!(out, "Removed {} from {}; versions stay.", count(removed, "path"), plain(name))?,
            }
            return Ok(if removed == 0 { Outcome::NothingFound } else { Outcome::Done });
        }
        let collection = database.existing_collection(&self.collection)?;
        let before = collection.len()?;
        let mut removed = Removed::default();
        if self.all {
            removed.files = collection.files("")?.len() as u64;
            removed.records = before;
            let act = AuditedAction::new(globals, database.folder(), "collection.drop", &self.collection);
            act.ended(database.drop_collection(&self.collection))?;
            removed.collection = Some(self.collection.clone());
        } else {
            match (&self.filter, &self.prefix) {
                (Some(condition), _) => removed.files = remove_where(&collection, condition)?,
                (None, Some(prefix)) => drop(collection.delete_prefix(prefix)?),
                (None, None) => remove_targets(&collection, &self.targets, &mut removed)?,
            }
            removed.records = before - collection.len()?;
        }
        if self.reclaim {
            // Deleting and reclaiming together is erasure. The deleted names may be those of people.
            let by = match (self.all, &self.filter, &self.prefix) {
                (true, ..) => "all",
                (false, Some(_), _) => "where",
                (false, None, Some(_)) => "prefix",
                (false, None, None) => "names",
            };
            let act = AuditedAction::new(globals, database.folder(), "collection.erase", &self.collection)
                .detail("by", by)
                .detail("records", removed.records);
            let receipt = database.reclaim((!self.all).then_some(&self.collection));
            removed.receipt = Some(act.end(receipt, reclaim::noted)?);
        }
        database.close()?;
        for name in &removed.unknown {
            output::warning(&format!("{name:?} is neither a file nor a record in collection {:?}", self.collection));
        }
        match self.json {
            true => output::json(out, &removed)?,
            false => {
                let what =
                    removed.collection.as_ref().map_or(String::new(), |name| format!("collection {}, ", plain(name)));
                writeln!(out, "Removed {what}{}, {}.", count(removed.files, "file"), count(removed.records, "record"))?;
                if let Some(receipt) = &removed.receipt {
                    reclaim::show(out, receipt)?;
                }
            }
        }
        let nothing = removed.files + removed.records == 0 && removed.collection.is_none();
        Ok(if nothing || !removed.unknown.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }
}

/// A file or folder of that name, else a record of that id.
fn remove_targets(collection: &Collection, targets: &[String], removed: &mut Removed) -> EngineResult<()> {
    for target in targets {
        let files = collection.remove_files(&paths::stored(Path::new(target))?)?;
        removed.files += files;
        if files > 0 {
            continue;
        }
        match get::find(collection, target, false)? {
            Some(record) => {
                collection.delete(&[record.id])?;
            }
            None => removed.unknown.push(target.clone()),
        }
    }
    Ok(())
}

/// Files all of whose passages pass go as files; whatever else passes goes as records. Returns how many files.
fn remove_where(collection: &Collection, condition: &str) -> EngineResult<u64> {
    let mut files = 0;
    for file in collection.whole_files(condition)? {
        files += collection.remove_files(&file.path)?;
    }
    collection.delete_where(condition)?;
    Ok(files)
}
