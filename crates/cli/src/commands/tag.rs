//! `nuthatch tag`: tags and fields of files and records, changed where they are.

use std::io::Write;
use std::path::Path;

use clap::Args;
use nuthatch_link::{Error, FieldChange, RecordChange, Value, payload_from_json};
use serde_json::json;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::commands::get;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::tree_at::inside;
use crate::units::count;
use crate::{folder, paths};

/// The field that tags are in.
const TAGS: &str = "tags";

#[derive(Args)]
pub struct Tag {
    /// Files, folders (with everything below them), or ids of records; with --tree, paths in it
    #[arg(value_name = "PATH|ID", required_unless_present = "filter")]
    targets: Vec<String>,
    /// Change all records that match this condition; with --tree, the files that do
    #[arg(short, long = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// Give them this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    add: Vec<String>,
    /// Take this tag away; may be repeated
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,
    /// Set a field: JSON values, or text; may be repeated
    #[arg(long, value_name = "FIELD=VALUE", value_parser = field)]
    meta: Vec<(String, Value)>,
    /// Remove a field; may be repeated
    #[arg(long, value_name = "FIELD")]
    unset: Vec<String>,
    /// The collection
    #[arg(long, default_value = COLLECTION_DEFAULT, value_name = "NAME")]
    collection: String,
    /// Change the files of this tree instead, as they are now: earlier versions keep their fields
    #[arg(long, value_name = "NAME", conflicts_with = "collection")]
    tree: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// `field=value`; a value that is no JSON is text.
pub fn field(argument: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = argument.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err("write FIELD=VALUE, for example team=core or year=2026".into());
    };
    let json = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    let mut field = payload_from_json(json!({ name: json })).map_err(|error| error.to_string())?;
    Ok(field.pop_first().unwrap_or_else(|| (name.into(), Value::Null)))
}

/// Turns tags to add and fields to set into one change.
pub fn change(tags: &[String], fields: &[(String, Value)]) -> FieldChange {
    let add = (!tags.is_empty()).then(|| (TAGS.to_string(), tags.to_vec().into()));
    FieldChange { set: fields.iter().cloned().collect(), add: add.into_iter().collect(), ..FieldChange::default() }
}

impl Tag {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let both = self.add.iter().find(|tag| self.remove.contains(tag));
        if let Some(tag) = both {
            return Err(Error::invalid(format!("--add and --remove both name {tag:?}; name it once")).into());
        }
        let changes = self.changes();
        if changes.is_empty() {
            return Err(Error::invalid("give at least one of --add, --remove, --meta and --unset").into());
        }
        if self.tree.is_none() && self.filter.is_some() && !self.targets.is_empty() {
            return Err(Error::invalid("give paths and ids, or --where; both together are for --tree").into());
        }
        let database = folder::open_to_write(globals)?;
        if let Some(tree) = &self.tree {
            let tree = database.existing_tree(tree)?;
            let paths: Vec<String> = self.targets.iter().map(|path| inside(path).to_owned()).collect();
            let mut updated = 0;
            for change in changes {
                updated += tree.update(paths.clone(), self.filter.as_deref(), change)?;
            }
            database.close()?;
            match self.json {
                true => output::json(out, &json!({ "updated": updated }))?,
                false => writeln!(out, "Changed {}.", count(updated, "file"))?,
            }
            return Ok(Outcome::Done);
        }
        let collection = database.existing_collection(&self.collection)?;
        let (mut updated, mut unknown) = (0, Vec::new());
        for change in changes {
            unknown.clear(); // the same each time
            if let Some(condition) = &self.filter {
                updated += collection.update_where(condition, change)?;
                continue;
            }
            for target in &self.targets {
                let path = paths::stored(Path::new(target))?;
                if !collection.files(&path)?.is_empty() {
                    updated += collection.update_files(vec![path], change.clone())?;
                } else if let Some(record) = get::find(&collection, target, false)? {
                    updated +=
                        collection.update(vec![RecordChange { ids: vec![record.id], change: change.clone() }])?;
                } else {
                    unknown.push(target);
                }
            }
        }
        database.close()?;
        for name in &unknown {
            output::warning(&format!("{name:?} is neither a file nor a record in collection {:?}", self.collection));
        }
        match self.json {
            true => output::json(out, &json!({ "updated": updated, "unknown": unknown }))?,
            false => writeln!(out, "Changed {}.", count(updated, "record"))?,
        }
        Ok(if unknown.is_empty() { Outcome::Done } else { Outcome::NothingFound })
    }

    /// Returns the requested changes. Adding to a list and removing from it are two changes.
    fn changes(&self) -> Vec<FieldChange> {
        let mut changes = vec![FieldChange { unset: self.unset.clone(), ..change(&self.add, &self.meta) }];
        if !self.remove.is_empty() {
            let remove = [(TAGS.to_string(), self.remove.clone().into())].into();
            changes.push(FieldChange { remove, ..FieldChange::default() });
        }
        changes.retain(|change| !change.is_empty());
        changes
    }
}
