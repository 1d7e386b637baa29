//! `nuthatch get`: passages and records by id.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use nuthatch_link::{
    Collection, Error, Files, NamedVectors, READ_BYTES_MAX, Result as EngineResult, StoredRecord, payload_to_json,
};
use serde::Serialize;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::exit::{Failure, Outcome};
use crate::output::{self, DIM, Out, SOURCE, plain};
use crate::tree_at::{existing, inside};
use crate::{folder, paths};

#[derive(Args)]
pub struct Get {
    /// Ids, as `search` shows them for passages of files, for example docs/start.md#3
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The collection to read
    #[arg(long, default_value = COLLECTION_DEFAULT, value_name = "NAME")]
    collection: String,
    /// Also print the vectors
    #[arg(long)]
    vectors: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
    /// Print the bytes of a file in this tree instead: ID is its path
    #[arg(long, value_name = "NAME", conflicts_with_all = ["collection", "vectors"])]
    tree: Option<String>,
    /// The tree as it was: the name of a snapshot, a sequence or a time
    #[arg(long, value_name = "AS_OF", requires = "tree")]
    as_of: Option<String>,
    /// Only these bytes, counted from 0: A-B with both ends, A- to the end, -N the last N
    #[arg(long, value_name = "A-B", requires = "tree", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<ByteRange>,
    /// Write them into this file
    #[arg(short, long, value_name = "FILE", requires = "tree")]
    output: Option<PathBuf>,
}

/// Bytes of a file, as HTTP counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteRange {
    /// From here, up to and with there.
    From(u64, Option<u64>),
    Last(u64),
}

fn parse_range(text: &str) -> Result<ByteRange, String> {
    let number = |digits: &str| digits.parse::<u64>().map_err(|error| format!("{digits:?}: {error}"));
    match text.split_once('-') {
        Some(("", last)) => number(last).map(ByteRange::Last),
        Some((from, "")) => Ok(ByteRange::From(number(from)?, None)),
        Some((from, to)) if number(from)? <= number(to)? => Ok(ByteRange::From(number(from)?, Some(number(to)?))),
        _ => Err("give A-B, A- or -N, with A no greater than B".into()),
    }
}

impl Get {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        if let Some(tree) = &self.tree {
            let outcome = self.original(&*database.existing_tree(tree)?, out)?;
            database.close()?;
            return Ok(outcome);
        }
        let collection = database.existing_collection(&self.collection)?;
        let mut records = Vec::new();
        let mut outcome = Outcome::Done;
        for id in &self.ids {
            match find(&collection, id, self.vectors)? {
                Some(record) => records.push(record),
                None => {
                    output::warning(&format!("no record {id:?} in collection {:?}", self.collection));
                    outcome = Outcome::NothingFound;
                }
            }
        }
        match self.json {
            true => output::json(out, &records.iter().map(RecordJson::new).collect::<Vec<_>>())?,
            false => records.iter().try_for_each(|record| show(out, record))?,
        }
        out.flush()?;
        database.close()?;
        Ok(outcome)
    }
}

impl Get {
    /// The bytes of a file in a tree, or with `--json` what is known of it.
    fn original(&self, tree: &Files, out: &mut Out) -> Result<Outcome, Failure> {
        let [path] = &self.ids[..] else {
            return Err(Error::invalid("with --tree, give one path").into());
        };
        let (path, as_of) = (inside(path), self.as_of.as_deref());
        let entry = existing(tree, as_of, path)?;
        if self.json {
            output::json(out, &entry)?;
            out.flush()?;
            return Ok(Outcome::Done);
        }
        let (mut at, end) = match self.range {
            None => (0, entry.bytes),
            Some(ByteRange::From(from, to)) => {
                (from, to.map_or(entry.bytes, |to| to.saturating_add(1).min(entry.bytes)))
            }
            Some(ByteRange::Last(count)) => (entry.bytes.saturating_sub(count), entry.bytes),
        };
        // A folder or a link is refused, with the reason.
        tree.read(as_of, path, at, 0)?;
        #[allow(clippy::disallowed_methods, reason = "a copy: the tree has what a power loss would take")]
        let mut file = match &self.output {
            Some(path) => Some((path, File::create(path).map_err(|error| Error::io(path, &error))?)),
            None => None,
        };
        while at < end {
            let limit = (end - at).min(READ_BYTES_MAX as u64) as usize;
            let part = tree.read_version(as_of, &entry, at, limit)?;
            match &mut file {
                Some((path, file)) => file.write_all(&part).map_err(|error| Error::io(path, &error))?,
                None => output::raw(out, &part)?,
            }
            at += part.len() as u64;
        }
        Ok(Outcome::Done)
    }
}

/// The record that an argument names.
pub fn find(collection: &Collection, argument: &str, vectors: bool) -> EngineResult<Option<StoredRecord>> {
    Ok(collection.get(&paths::ids_meant(argument), vectors)?.into_iter().flatten().next())
}

fn show(out: &mut Out, record: &StoredRecord) -> Result<(), Failure> {
    writeln!(out, "{SOURCE}{}{SOURCE:#}", plain(paths::shown(&record.id, &paths::here())))?;
    for (field, value) in payload_to_json(&record.payload) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        writeln!(out, "{DIM}{}: {}{DIM:#}", plain(&field), plain(&value))?;
    }
    if let Some(vector) = &record.vector {
        writeln!(out, "{DIM}vector: {vector:?}{DIM:#}")?;
    }
    for (field, vector) in &record.vectors {
        writeln!(out, "{DIM}vector {}: {vector:?}{DIM:#}", plain(field))?;
    }
    if let Some(text) = &record.text {
        writeln!(out, "\n{}\n", plain(text).trim_end())?;
    }
    Ok(())
}

#[derive(Serialize)]
struct RecordJson<'a> {
    id: &'a str,
    text: Option<&'a str>,
    context: Option<&'a str>,
    payload: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<&'a [f32]>,
    #[serde(skip_serializing_if = "NamedVectors::is_empty")]
    vectors: &'a NamedVectors,
}

impl<'a> RecordJson<'a> {
    fn new(record: &'a StoredRecord) -> Self {
        Self {
            id: &record.id,
            text: record.text.as_deref(),
            context: record.context.as_deref(),
            payload: payload_to_json(&record.payload),
            vector: record.vector.as_deref(),
            vectors: &record.vectors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        assert_eq!(parse_range("0-9"), Ok(ByteRange::From(0, Some(9))));
        assert_eq!(parse_range("5-"), Ok(ByteRange::From(5, None)));
        assert_eq!(parse_range("-3"), Ok(ByteRange::Last(3)));
        assert!(["", "-", "9-1", "x-1", "5"].iter().all(|text| parse_range(text).is_err()));
    }
}
