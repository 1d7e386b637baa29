//! `nuthatch ls`: what was added.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use nuthatch_link::{
    BuildProgress, CollectionInfo, Database, EntryKind, Error, FileInfo, Files, VectorFieldInfo, format_datetime,
    payload_to_json,
};
use serde_json::json;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, DIM, Out, SOURCE, plain};
use crate::tree_at::{inside, time_of_us};
use crate::units::{bytes, count, thousands};
use crate::{folder, paths};

#[derive(Args)]
pub struct Ls {
    /// Only this file, or the files below this folder
    #[arg(value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// The collection whose files to list
    #[arg(long, default_value = COLLECTION_DEFAULT, value_name = "NAME")]
    collection: String,
    /// List the collections instead
    #[arg(long, conflicts_with = "prefix")]
    collections: bool,
    /// List what this tree has instead: PREFIX is a path in it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["collections", "collection"])]
    tree: Option<String>,
    /// The tree as it was: the name of a snapshot, a sequence or a time
    #[arg(long, value_name = "AS_OF", requires = "tree")]
    as_of: Option<String>,
    /// Only files of the tree that pass this condition, such as "tags contains 'draft'"
    #[arg(short, long = "where", value_name = "CONDITION", requires = "tree")]
    filter: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let found = match (&self.tree, self.collections) {
            (Some(tree), _) => self.tree(&*database.existing_tree(tree)?, out)?,
            (None, true) => self.collections(&database, out)?,
            (None, false) => self.files(&database, out)?,
        };
        out.flush()?;
        database.close()?;
        Ok(if found { Outcome::Done } else { Outcome::NothingFound })
    }

    fn files(&self, database: &Database, out: &mut Out) -> Result<bool, Failure> {
        let collection = database.existing_collection(&self.collection)?;
        let prefix = self.prefix.as_deref().map(paths::stored).transpose()?.unwrap_or_default();
        let files = collection.files(&prefix)?;
        if self.json {
            output::json(out, &files.iter().map(file_json).collect::<Vec<_>>())?;
            return Ok(!files.is_empty());
        }
        let here = paths::here();
        for file in &files {
            writeln!(
                out,
                "{:>6}  {:>9}  {DIM}{:8}{DIM:#}  {SOURCE}{}{SOURCE:#}",
                thousands(file.passages as u64),
                bytes(file.bytes),
                file.kind,
                plain(paths::shown(&file.path, &here))
            )?;
        }
        out.flush()?;
        let passages = files.iter().map(|file| file.passages as u64).sum();
        output::note(&match files.is_empty() {
            true => match collection.len()? {
                0 => "No files.".to_string(),
                records => format!("No files; the collection holds {}.", count(records, "record")),
            },
            false => format!("{}, {}.", count(files.len() as u64, "file"), count(passages, "passage")),
        });
        Ok(!files.is_empty())
    }

    fn tree(&self, tree: &Files, out: &mut Out) -> Result<bool, Failure> {
        let below = match &self.prefix {
            Some(path) => path.to_str().ok_or_else(|| Error::invalid("paths in a tree are UTF-8"))?,
            None => "",
        };
        let (mut entries, mut shown) = (Vec::new(), 0);
        tree.each_entry_where(self.as_of.as_deref(), inside(below), self.filter.as_deref(), |entry| {
            match self.json {
                true => entries.push(entry),
                false => writeln!(
                    out,
                    "{:04o}  {:>9}  {DIM}{}{DIM:#}  {SOURCE}{}{SOURCE:#}{}{DIM}{}{DIM:#}",
                    entry.mode,
                    if entry.kind == EntryKind::File {
                        bytes(entry.bytes)
                    } else {
                        format!("{:?}", entry.kind).to_lowercase()
                    },
                    time_of_us(entry.modified_ns.div_euclid(1_000)),
                    plain(&entry.path),
                    entry.target.as_ref().map_or(String::new(), |target| format!(" -> {}", plain(target))),
                    match entry.fields.is_empty() {
                        true => String::new(),
                        false => format!("  {}", plain(&json!(payload_to_json(&entry.fields)).to_string())),
                    }
                )
                .inspect(|()| shown += 1)?,
            }
            Ok::<(), Failure>(())
        })?;
        if self.json {
            output::json(out, &entries)?;
            return Ok(!entries.is_empty());
        }
        out.flush()?;
        output::note(&format!("{}.", count(shown, "entry")));
        Ok(shown > 0)
    }

    fn collections(&self, database: &Database, out: &mut Out) -> Result<bool, Failure> {
        let collections = database.collections()?;
        if self.json {
            output::json(out, &collections.iter().map(collection_json).collect::<Vec<_>>())?;
            return Ok(!collections.is_empty());
        }
        for info in &collections {
            let none = if info.vector_fields.is_empty() { "no vectors yet" } else { "no unnamed vectors" };
            let dim = info.dim.map_or(none.into(), |dim| format!("{dim} dimensions, {}", info.metric));
            let fields: String = info
                .vector_fields
                .iter()
                .map(|field| format!(", {} of {} dimensions, {}", field.name, field.dim, field.metric))
                .collect();
            let embedder = info.embedder.as_deref().unwrap_or("no embedder");
            writeln!(
                out,
                "{BOLD}{}{BOLD:#}  {}  {DIM}{dim}{fields}, {embedder}, {}{DIM:#}",
                info.name,
                count(info.rows, "record"),
                info.language
            )?;
        }
        if collections.is_empty() {
            output::note("No collections.");
        }
        Ok(!collections.is_empty())
    }
}

fn file_json(file: &FileInfo) -> serde_json::Value {
    json!({
        "path": file.path,
        "bytes": file.bytes,
        "mtime": format_datetime(file.mtime_ns.div_euclid(1000)),
        "kind": file.kind,
        "passages": file.passages,
    })
}

fn vector_field_json(field: &VectorFieldInfo) -> (String, serde_json::Value) {
    let VectorFieldInfo { name, kind, dim, metric, element, vectors } = field;
    let what = json!({
        "kind": kind,
        "dim": dim,
        "metric": metric.to_string(),
        "elements": element.to_string(),
        "vectors": vectors,
    });
    (name.clone(), what)
}

pub fn collection_json(info: &CollectionInfo) -> serde_json::Value {
    let fields: serde_json::Map<_, _> =
        info.fields.iter().map(|(field, kinds)| (field.clone(), json!(kinds))).collect();
    let vector_fields: serde_json::Map<_, _> = info.vector_fields.iter().map(vector_field_json).collect();
    json!({
        "name": info.name,
        "dim": info.dim,
        "metric": info.metric.to_string(),
        "elements": info.element.to_string(),
        "language": info.language,
        "embedder": info.embedder,
        "rows": info.rows,
        "vectors": info.vectors,
        "pending": info.pending,
        "vector_fields": vector_fields,
        "fresh_rows": info.fresh_rows,
        "segments": info.segments,
        "vector_graphs": info.vector_graphs,
        "graphs": info.vector_graphs, // the deprecated name
        "building": info.building.map(|BuildProgress { done, total, rows_per_second, seconds_left }| {
            json!({"done": done, "total": total, "rows_per_second": rows_per_second, "seconds_left": seconds_left})
        }),
        "degraded": info.degraded,
        "fields": fields,
    })
}
