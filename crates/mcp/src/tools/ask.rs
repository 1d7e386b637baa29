//! `ask`: reads of records that every face answers by their names.

use std::sync::Arc;

use nuthatch_dialect::operations::{self, RECORDS};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::{Access, Settings};
use crate::budget::{Budget, json_bytes};
use crate::place;
use crate::refusal::Refusal;
use crate::tools::{Answer, Does, Parsed};

pub const NAME: &str = "ask";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    /// Of which collection.
    collection: String,
    /// What to ask.
    operation: String,
    /// What it takes.
    #[serde(default)]
    question: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AskAnswer {
    /// As the operation answers.
    answer: Value,
    #[serde(skip)]
    text: String,
}

pub fn tool() -> Tool {
    let mut tool = super::tool::<Asking, AskAnswer>(
        NAME,
        "Ask about the records of a collection",
        "Use when a question is about how many records there are and not about what they say. Answers exactly.",
        Does::Reads,
    );
    // The list has what a derived schema cannot know.
    let mut schema = (*tool.input_schema).clone();
    if let Some(properties) = schema.get_mut("properties") {
        properties["operation"]["enum"] = RECORDS.iter().map(|operation| json!(operation.name)).collect();
        let one = |operation: &operations::Operation| {
            let fields: Vec<String> = operation.fields().into_iter().map(|field| field.name).collect();
            format!("{}: {} Takes {}.", operation.name, operation.says, fields.join(", "))
        };
        properties["question"]["description"] = json!(RECORDS.iter().map(one).collect::<Vec<_>>().join(" "));
    }
    tool.input_schema = Arc::new(schema);
    tool
}

pub async fn call<A: Access>(arguments: Parsed<Asking>, access: &A, settings: &Settings) -> Result<AskAnswer, Refusal> {
    let (Asking { collection, operation, question }, embedder) = (arguments?, settings.embedder.clone());
    access
        .run(move |database| {
            let operation = operations::find(&operation)?;
            let collection = place::existing(database, &collection, &embedder)?;
            let answer = operation.ask(&collection, Value::Object(question))?;
            let budget = Budget::of(None)?;
            if json_bytes(&answer) > budget.bytes_left() {
                let message =
                    "the answer is too long for a model; ask for less of it, with a lower `limit` or with `where`";
                return Err(nuthatch_link::Error::invalid(message));
            }
            Ok(AskAnswer { text: operation.text(&answer), answer })
        })
        .await
}

impl Answer for AskAnswer {
    fn text(&self) -> String {
        self.text.clone()
    }
}
