//! The tools: their names, what they are for, what they may do to the memory, and their schemas. A file each.
//!
//! **Invariant:** eight at most; each description begins with when to use it; arguments that do not fit are told to the model, not to
//! the host.

mod add_files;
mod code;
mod cursor;
mod forget;
mod get;
mod grep;
mod list;
mod remember;
mod search;
mod tree_file;
mod tree_listing;

use std::sync::{Arc, LazyLock};

use nuthatch_link::wording;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::{Access, Settings};
use crate::call_context::CallContext;
use crate::refusal::Refusal;
use crate::schema;

pub use get::passages;
pub use search::{Asking, Searching, search};

/// An answer of a tool: what programs read, and what models read that are given no structure.
pub trait Answer: Serialize + JsonSchema {
    fn text(&self) -> String;
}

/// Where a tool is offered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offered {
    Always,
    ToWriters,
    WithFolders,
}

static ALL: LazyLock<[(Offered, Tool); 8]> = LazyLock::new(|| {
    [
        (Offered::Always, search::tool()),
        (Offered::Always, get::tool()),
        (Offered::Always, grep::tool()),
        (Offered::Always, code::tool()),
        (Offered::Always, list::tool()),
        (Offered::ToWriters, remember::tool()),
        (Offered::ToWriters, forget::tool()),
        (Offered::WithFolders, add_files::tool()),
    ]
});

/// Those that a caller may use.
pub fn offered(settings: &Settings) -> impl Iterator<Item = &'static Tool> {
    let is_offered = |offered: &Offered| match offered {
        Offered::Always => true,
        Offered::ToWriters => settings.writes,
        Offered::WithFolders => settings.writes && !settings.folders.is_empty(),
    };
    ALL.iter().filter(move |(offered, _)| is_offered(offered)).map(|(_, tool)| tool)
}

/// Runs a tool that is offered.
pub async fn call<A: Access>(
    name: &str,
    arguments: JsonObject,
    access: &A,
    settings: &Arc<Settings>,
    call_context: &CallContext,
) -> CallToolResult {
    let done = match name {
        search::NAME => answer(search::call(parsed(arguments), access, settings, call_context).await),
        get::NAME => answer(get::call(parsed(arguments), access, settings).await),
        grep::NAME => answer(grep::call(parsed(arguments), access).await),
        code::NAME => answer(code::call(parsed(arguments), access).await),
        list::NAME => answer(list::call(parsed(arguments), access, settings).await),
        remember::NAME => answer(remember::call(parsed(arguments), access, settings).await),
        forget::NAME => answer(forget::call(parsed(arguments), access, settings).await),
        add_files::NAME => answer(add_files::call(parsed(arguments), access, settings, call_context).await),
        other => Err(Refusal::not_found(format!("no tool {other:?}"))),
    };
    done.unwrap_or_else(Refusal::into_result)
}

fn answer<T: Answer>(done: Result<T, Refusal>) -> Result<CallToolResult, Refusal> {
    let done = done?;
    let mut result = CallToolResult::success(vec![ContentBlock::text(done.text())]);
    result.structured_content = Some(serde_json::to_value(&done).expect("answers are plain JSON"));
    Ok(result)
}

/// The arguments of a call, or what is wrong with them.
type Parsed<T> = Result<T, Refusal>;

fn parsed<T: DeserializeOwned>(arguments: JsonObject) -> Parsed<T> {
    wording::from(Value::Object(arguments)).map_err(|why| Refusal::invalid(format!("the arguments: {why}")))
}

/// A tool of this memory alone, which reaches nothing outside of it.
fn tool<Arguments: JsonSchema, Answer: JsonSchema>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    does: Does,
) -> Tool {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(does == Does::Reads)
        .destructive(does == Does::Destroys)
        // The same call again finds nothing left to do.
        .idempotent(true)
        .open_world(false);
    Tool::new(name, description, schema::of_arguments::<Arguments>())
        .with_title(title)
        .with_raw_output_schema(schema::of_answer::<Answer>())
        .with_annotations(annotations)
}

/// The effect of a tool on the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Reads,
    Adds,
    Destroys,
}

/// An answer in words: its parts, notes, and how to go on.
fn shown(parts: impl Iterator<Item = String>, cursor: Option<&str>, notes: &[String]) -> String {
    let more = cursor.map(|cursor| format!("More: the same call with cursor {cursor:?}."));
    let notes = notes.iter().map(|note| format!("Note: {note}."));
    parts.chain(notes).chain(more).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use nuthatch_link::ops;

    use super::*;

    #[test]
    fn every_tool_is_offered_to_those_who_have_the_scope_of_the_operation_that_it_asks() {
        let asked = [
            (search::NAME, "records.search"),
            (get::NAME, "records.get"),
            (grep::NAME, "trees.grep"),
            (code::NAME, "trees.code"),
            (list::NAME, "files.list"),
            (remember::NAME, "records.upsert"),
            (forget::NAME, "files.remove"),
            (add_files::NAME, "files.apply"),
        ];
        assert_eq!(asked.len(), ALL.len());
        for (offered, tool) in ALL.iter() {
            let (_, operation) =
                asked.iter().find(|(name, _)| *name == tool.name).expect("say which operation it asks");
            let reads = ops::find(operation).unwrap().scope == ops::Scope::Read;
            assert_eq!(*offered == Offered::Always, reads, "{} asks {operation}", tool.name);
            assert_eq!(tool.annotations.as_ref().unwrap().read_only_hint, Some(reads), "{}", tool.name);
        }
    }
}
