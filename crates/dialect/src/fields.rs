//! The fields of a question, as its description has them: for faces that make flags, words or properties of them.
//!
//! **Invariant:** what [`Field::put`] makes of a word is of the type that the description names.

use nuthatch_engine::{Error, Result};
use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    /// One or more sentences.
    pub says: String,
    pub takes: Takes,
    /// Its description as JSON Schema.
    pub schema: Value,
}

/// The kind of value that a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Text,
    Texts,
    Integer,
    Number,
    Switch,
}

/// The fields of an object's description that words can fill.
pub fn fields(schema: &RefOr<Schema>) -> Vec<Field> {
    let schema = serde_json::to_value(schema).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.filter_map(|(name, schema)| Field::of(name, schema)).collect()
}

impl Field {
    fn of(name: &str, schema: &Value) -> Option<Self> {
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null")?,
            kind => kind,
        };
        let takes = match kind.as_str()? {
            "string" => Takes::Text,
            "array" if schema["items"]["type"] == "string" => Takes::Texts,
            "integer" => Takes::Integer,
            "number" => Takes::Number,
            "boolean" => Takes::Switch,
            _ => return None,
        };
        let says = schema["description"].as_str().unwrap_or_default().into();
        Some(Self { name: name.into(), says, takes, schema: schema.clone() })
    }

    /// Puts a word into a question. Further words of a text follow it, and further ones of a list are added.
    ///
    /// # Errors
    /// `Invalid` for a word that is no number where one is wanted.
    pub fn put(&self, question: &mut Map<String, Value>, word: &str) -> Result<()> {
        let wrong = |what: &str| Error::invalid(format!("{} is {word:?}; give {what}", self.name));
        let value = match self.takes {
            Takes::Text => match question.get(&self.name).and_then(Value::as_str) {
                Some(before) => json!(format!("{before} {word}")),
                None => json!(word),
            },
            Takes::Texts => {
                if let Some(Value::Array(words)) = question.get_mut(&self.name) {
                    words.push(json!(word));
                    return Ok(());
                }
                json!([word])
            }
            Takes::Integer => json!(word.parse::<u64>().map_err(|_| wrong("a whole number from 0 up"))?),
            Takes::Number => {
                let number: f64 = word.parse().map_err(|_| wrong("a number"))?;
                // JSON has no infinity.
                if !number.is_finite() {
                    return Err(wrong("a finite number"));
                }
                json!(number)
            }
            Takes::Switch => json!(word.to_lowercase().parse::<bool>().map_err(|_| wrong("true or false"))?),
        };
        question.insert(self.name.clone(), value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use utoipa::PartialSchema;

    use super::*;
    use crate::Search;

    #[test]
    fn words_become_values_of_the_described_types() {
        let fields = fields(&Search::schema());
        let named = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        let mut question = Map::new();
        for (name, word) in [("text", "two"), ("text", "words"), ("limit", "3"), ("recall", "0.9"), ("exact", "TRUE")] {
            named(name).put(&mut question, word).unwrap();
        }
        let expected = json!({"text": "two words", "limit": 3, "recall": 0.9, "exact": true});
        assert_eq!(Value::Object(question.clone()), expected);
        for (name, word) in [("limit", "-1"), ("limit", "x"), ("recall", "inf"), ("exact", "1")] {
            let refused = named(name).put(&mut question, word).unwrap_err();
            assert!(refused.message.starts_with(&format!("{name} is {word:?}; give ")), "{}", refused.message);
        }
        assert!(named("recall").says.starts_with("Target recall of the vector leg"));
    }
}
