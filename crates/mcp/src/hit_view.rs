//! A record as a model sees it: what to cite, the text as far as there is room, and the fields that are not about its place.

use nuthatch_link::{Collection, Hit, Payload, Result, StoredRecord, Value, citation, payload_to_json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::budget::{Budget, beginning, json_bytes};
use crate::sources::Sources;

/// Fields of a passage that its source, its heading or its number say already.
const FIELDS_OF_FILES: [&str; 14] = [
    "path",
    "name",
    "kind",
    "lang",
    "mime",
    "bytes",
    "passage",
    "start_line",
    "end_line",
    "start_byte",
    "end_byte",
    "heading",
    "page",
    "place",
];

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Found")]
pub struct HitView {
    pub collection: String,
    pub id: String,
    /// What to cite: file and lines, or page, cells, section. Left out where the record is no passage of a file that was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    pub text: String,
    /// The text is longer: `get` reads all of it.
    #[serde(skip_serializing_if = "is_false")]
    pub cut: bool,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl HitView {
    /// # Errors
    /// Those of the store, which is asked whether the hit is a passage of a file.
    pub fn hit(collection: &Collection, hit: Hit, sources: &mut Sources) -> Result<Self> {
        let path = sources.path(collection, &hit.id, &hit.payload)?;
        let found = Self::new(collection.name(), hit.id, hit.text, hit.context, &hit.payload, path);
        Ok(Self { score: Some(hit.score), ..found })
    }

    /// # Errors
    /// As of [`Self::hit`].
    pub fn record(collection: &Collection, record: StoredRecord, sources: &mut Sources) -> Result<Self> {
        let path = sources.path(collection, &record.id, &record.payload)?;
        Ok(Self::new(collection.name(), record.id, record.text, record.context, &record.payload, path))
    }

    /// `path`: of the file of which it is a passage.
    fn new(
        collection: &str,
        id: String,
        text: Option<String>,
        context: Option<String>,
        payload: &Payload,
        path: Option<&str>,
    ) -> Self {
        let source = path.map(|path| citation(path, payload));
        let mut fields = payload_to_json(payload);
        let mut heading = context;
        if source.is_some() {
            heading = text_field(payload, "heading").map(Into::into).or(heading);
            FIELDS_OF_FILES.iter().for_each(|field| drop(fields.remove(*field)));
        }
        Self {
            collection: collection.into(),
            id,
            source,
            heading,
            text: text.unwrap_or_default(),
            fields,
            ..Self::default()
        }
    }

    /// The same with the beginning of its text.
    pub fn beginning(mut self, bytes_max: usize) -> Self {
        let bytes = beginning(&self.text, bytes_max).len();
        self.cut = bytes < self.text.len();
        self.text.truncate(bytes);
        self
    }

    /// Takes its room, with `window` in place of the text when that is longer than its share. False when nothing of it fits.
    pub fn take_room(
        &mut self,
        budget: &mut Budget,
        text_bytes_max: usize,
        window: impl Fn(&str, usize) -> String,
    ) -> bool {
        if json_bytes(&self.text) <= text_bytes_max && budget.take(self) {
            return true;
        }
        let around = json_bytes(&Self { text: String::new(), cut: true, ..self.clone() }) + 1;
        let room = budget.bytes_left().saturating_sub(around).min(text_bytes_max);
        if room < ROOM_BYTES_MIN.min(self.text.len()) {
            return false;
        }
        self.text = beginning(&window(&self.text, room), room).to_string();
        self.cut = true;
        budget.take(self)
    }

    /// The same for people and for models that are given no structure.
    pub fn shown(&self, number: usize) -> String {
        let Self { collection, id, source, heading, text, cut, fields, .. } = self;
        let mut lines = match source {
            Some(source) => format!("[{number}] {source}  (collection {collection}, id {id})"),
            None => format!("[{number}] {id}  (collection {collection})"),
        };
        if let Some(heading) = heading {
            lines += &format!("\n# {heading}");
        }
        if !fields.is_empty() {
            lines += &format!("\n{}", Json::Object(fields.clone()));
        }
        lines += &format!("\n{}", text.trim_end());
        if *cut {
            lines += "\n… (more with `get`)";
        }
        lines
    }
}

/// A text of which less than this can be shown waits for the next page.
const ROOM_BYTES_MIN: usize = 200;

fn text_field<'a>(payload: &'a Payload, name: &str) -> Option<&'a str> {
    match payload.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage() -> HitView {
        let put = |name: &str, value: Value| (name.to_string(), value);
        let payload = Payload::from([
            put("path", Value::Text("/docs/plan.md".into())),
            put("start_line", Value::Int(12)),
            put("end_line", Value::Int(30)),
            put("heading", Value::Text("Plan > Next".into())),
            put("bytes", Value::Int(7)),
            put("team", Value::Text("core".into())),
        ]);
        let (text, context) = (Some("word ".repeat(400)), Some("plan.md".into()));
        HitView::new("documents", "/docs/plan.md#3".into(), text, context, &payload, Some("/docs/plan.md"))
    }

    #[test]
    fn a_passage_is_cited_by_file_and_lines() {
        let passage = passage();
        assert_eq!(passage.source.as_deref(), Some("/docs/plan.md:12-30"));
        assert_eq!(passage.heading.as_deref(), Some("Plan > Next"));
        assert_eq!(Json::Object(passage.fields.clone()), serde_json::json!({"team": "core"}));
        assert!(
            passage.shown(1).starts_with("[1] /docs/plan.md:12-30  (collection documents, id /docs/plan.md#3)\n# Plan")
        );
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let mut whole = passage();
        assert!(whole.take_room(&mut Budget::of(None).unwrap(), usize::MAX, |text, _| text.into()) && !whole.cut);
        let mut share = passage();
        assert!(share.take_room(&mut Budget::of(None).unwrap(), 500, |text, _| text.into()) && share.cut);
        assert!(share.text.len() <= 500 && share.text.len() > 400);
        let mut budget = Budget::of(Some(300)).unwrap();
        assert!(passage().take_room(&mut budget, usize::MAX, |text, _| text.into()));
        assert!(!passage().take_room(&mut budget, usize::MAX, |text, _| text.into()), "{budget:?}");
    }
}
