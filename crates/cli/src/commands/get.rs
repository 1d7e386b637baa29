//! `nuthatch get`: passages and records by id.

use std::io::Write;

use clap::Args;
use nuthatch_link::{Collection, NamedVectors, Result as EngineResult, StoredRecord, payload_to_json};
use serde::Serialize;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::exit::{Failure, Outcome};
use crate::output::{self, DIM, Out, SOURCE, plain};
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
}

impl Get {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
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
