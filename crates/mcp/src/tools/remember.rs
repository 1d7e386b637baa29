//! `remember`: a note under an id, new or in place of what was there.

use nuthatch_link::{Error, Payload, Record, Result as EngineResult, StoredRecord, Value, payload_from_json};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::access::{Access, Settings};
use crate::place;
use crate::refusal::Refusal;
use crate::sources::of_passage;
use crate::tools::{Answer, Does, Parsed};

pub const NAME: &str = "remember";

/// Where notes go when no collection is named.
const COLLECTION_DEFAULT: &str = "notes";
/// When a note was stored.
const REMEMBERED: &str = "remembered";
/// Fields that say which file a passage is of, and where in it: a note with them would read as if it were of that file.
const FIELDS_OF_PASSAGES: [&str; 7] = ["path", "page", "passage", "start_line", "end_line", "start_byte", "end_byte"];
/// A note is one thing; what is longer is a file.
const TEXT_BYTES_MAX: usize = 32 << 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remembering {
    /// One fact, decision or preference, in words that will be understood without this conversation.
    text: String,
    /// To replace the note of this id; left out, an id is made of the text.
    id: Option<String>,
    /// Left out: `notes`.
    collection: Option<String>,
    /// Values to filter by later, for example {"topic": "deploy", "source": "meeting of May 3"}. Left out: a note of the same text
    /// keeps those that it has. {} removes them.
    fields: Option<Map<String, Json>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Remembered {
    collection: String,
    id: String,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Added,
    Replaced,
    /// It was there already.
    Unchanged,
}

pub fn tool() -> Tool {
    super::tool::<Remembering, Remembered>(
        NAME,
        "Remember a note",
        "Use when the user says to remember something, or when a decision, preference or hard-won fact will matter in later conversations. First \
         `search` for it: give the `id` of a note that is outdated to replace it. Never store secrets such as passwords or keys.",
        Does::Adds,
    )
}

pub async fn call<A: Access>(
    arguments: Parsed<Remembering>,
    access: &A,
    settings: &Settings,
) -> Result<Remembered, Refusal> {
    let (arguments, settings) = (arguments?, settings.clone());
    access
        .writing()?
        .run(move |database| {
            let mut record = arguments.record()?;
            let name = arguments.collection.as_deref().unwrap_or(COLLECTION_DEFAULT);
            let collection = place::existing_or_new(database, name, &settings.embedder)?;
            let old = collection.get(&[&record.id], false)?.pop().flatten();
            if let Some(old) = old.as_ref().filter(|old| arguments.fields.is_none() && old.text == record.text) {
                record.payload = fields_of(old);
            }
            let (id, outcome) = (record.id.clone(), Outcome::of(old.as_ref(), &record));
            if outcome != Outcome::Unchanged {
                let now_us = i64::try_from(settings.clock.now_ms()).unwrap_or(i64::MAX).saturating_mul(1000);
                record.payload.insert(REMEMBERED.into(), Value::Datetime(now_us));
                collection.upsert(vec![record])?;
            }
            Ok(Remembered { collection: name.into(), id, outcome })
        })
        .await
}

impl Remembering {
    fn record(&self) -> EngineResult<Record> {
        let text = self.text.trim();
        if text.is_empty() {
            return Err(Error::invalid("the text is empty"));
        }
        if text.len() > TEXT_BYTES_MAX {
            let message =
                format!("the text has {} bytes, {TEXT_BYTES_MAX} at most; store one note for each thing", text.len());
            return Err(Error::invalid(message));
        }
        let fields = self.fields.clone().unwrap_or_default();
        if let Some(field) = FIELDS_OF_PASSAGES.iter().find(|field| fields.contains_key(**field)) {
            return Err(Error::invalid(format!(
                "the field {field:?} is reserved for passages of files; use another name, for example \"source\""
            )));
        }
        if fields.contains_key(REMEMBERED) {
            return Err(Error::invalid(format!(
                "the field {REMEMBERED:?} is set for you to the time at which the note is stored; use another name"
            )));
        }
        if let Some((path, number)) = self.id.as_deref().and_then(of_passage) {
            return Err(Error::invalid(format!(
                "the id \"{path}#{number}\" has the form of a file's passage; leave it out, or give one that does not end in # and a number"
            )));
        }
        let id = self.id.clone().unwrap_or_else(|| id_of(text));
        Ok(Record::new(id).text(text).payload(payload_from_json(Json::Object(fields))?))
    }
}

/// Those that a note was given.
fn fields_of(old: &StoredRecord) -> Payload {
    let mut fields = old.payload.clone();
    fields.remove(REMEMBERED);
    fields
}

/// The same text has the same id: remembering twice is remembering once.
fn id_of(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("note-{}", &hash[..16])
}

impl Outcome {
    fn of(old: Option<&StoredRecord>, new: &Record) -> Self {
        let Some(old) = old else { return Self::Added };
        match old.text == new.text && fields_of(old) == new.payload {
            true => Self::Unchanged,
            false => Self::Replaced,
        }
    }
}

impl Answer for Remembered {
    fn text(&self) -> String {
        let Self { collection, id, outcome } = self;
        match outcome {
            Outcome::Added => format!("Remembered as {id} in collection {collection}."),
            Outcome::Replaced => format!("Remembered as {id} in collection {collection}, in place of what was there."),
            Outcome::Unchanged => format!("That was remembered already, as {id} in collection {collection}."),
        }
    }
}
