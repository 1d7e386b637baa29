//! JSON Schemas of arguments and answers, as short as they can be: every host puts them into the model's context.

use std::sync::Arc;

use nuthatch_dialect::Field;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Of what a tool takes.
pub fn of_arguments<T: JsonSchema>() -> Arc<JsonObject> {
    short::<T>(SchemaSettings::draft2020_12())
}

/// Of what a tool takes that has further fields, as their descriptions have them.
pub fn with_fields(arguments: &JsonObject, fields: Vec<Field>) -> Arc<JsonObject> {
    let mut object = arguments.clone();
    object.insert("additionalProperties".into(), Value::Bool(false));
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for mut field in fields {
            shorten(&mut field.schema);
            properties.insert(field.name, field.schema);
        }
    }
    Arc::new(object)
}

/// Of what a tool answers.
pub fn of_answer<T: JsonSchema>() -> Arc<JsonObject> {
    short::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn short<T: JsonSchema>(mut settings: SchemaSettings) -> Arc<JsonObject> {
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten(&mut schema);
    let Value::Object(mut object) = schema else {
        unreachable!("arguments and answers are structs, whose schemas are objects")
    };
    // The tool has a name and a description of its own.
    for word in ["$schema", "title", "description"] {
        object.remove(word);
    }
    Arc::new(object)
}

/// Without null, which stands for a field that is left out, and without formats that say no more than the type.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(object) => {
            // Only where it is a word of the schema: a property may have that name.
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::Array(kinds)) = object.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = &kinds[..] {
                    let kind = kind.clone();
                    object.insert("type".into(), kind);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
                if let [Value::Object(only)] = &choices[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (word, value) in only {
                        object.entry(word).or_insert(value);
                    }
                }
            }
            object.values_mut().for_each(shorten);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its schema is looked at")]
    enum Way {
        Fast,
        Slow,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Arguments {
        /// What to find.
        format: String,
        limit: Option<usize>,
        way: Option<Way>,
    }

    #[test]
    fn a_schema_says_what_a_model_needs_and_no_more() {
        let expected = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["format"],
            "properties": {
                "format": {"type": "string", "description": "What to find."},
                "limit": {"type": "integer", "minimum": 0},
                "way": {"type": "string", "enum": ["fast", "slow"]},
            },
        });
        assert_eq!(Value::Object((*of_arguments::<Arguments>()).clone()), expected);
    }
}
