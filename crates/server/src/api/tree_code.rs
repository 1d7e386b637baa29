//! Questions about the source code of a tree.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_link::{AskCode, CodeQuestion, SymbolsImported, TreeAt};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::Writing;
use crate::extract::{Parameters, Raw, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(code)).routes(routes!(import))
}

/// The question to answer.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CodeQuestion)]
enum Question {
    /// The definitions of the name.
    Definitions,
    /// Every place that uses the name.
    References,
    /// The places that call it.
    Callers,
    /// The calls that it makes.
    Callees,
    /// The definitions of the file at `path`.
    Outline,
    /// The imports of the file at `path`.
    Imports,
    /// Its callers, their callers, and so on, `depth` steps.
    Impact,
    /// Tests among what calls it in up to four steps, by their names and paths: a guess.
    Tests,
    /// The definitions that matter most, within `tokens`.
    Map,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// The name of a definition: `search`; with what is around it: `Index.search`; with the end of its file's path:
    /// `src/index.rs#search`.
    name: Option<String>,
    /// The path of a file, for `outline` and `imports`.
    path: Option<String>,
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
    /// Lists only what stands at this path or below it. Names are looked for in the whole tree.
    #[serde(default)]
    below: String,
    /// Maximum number of definitions, sites or steps. Counts are of all.
    #[serde(default = "limit_default")]
    #[param(minimum = 1, maximum = 10000)]
    limit: usize,
    /// Steps of `impact`.
    #[serde(default = "depth_default")]
    #[param(minimum = 1, maximum = 16)]
    depth: u32,
    /// About how many tokens a `map` may have; one is taken for four bytes.
    #[serde(default = "tokens_default")]
    #[param(minimum = 1)]
    tokens: u32,
}

fn limit_default() -> usize {
    200
}

fn depth_default() -> u32 {
    3
}

fn tokens_default() -> u32 {
    1024
}

impl Question {
    fn of(self, asked: &Asked) -> Result<CodeQuestion, Problem> {
        let given = |what: &str, value: &Option<String>| {
            value.clone().ok_or_else(|| Problem::invalid(format!("this question is about a {what}; give `{what}`")))
        };
        let name = || given("name", &asked.name);
        let path = || given("path", &asked.path);
        Ok(match self {
            Self::Definitions => CodeQuestion::Definitions(name()?),
            Self::References => CodeQuestion::References(name()?),
            Self::Callers => CodeQuestion::Callers(name()?),
            Self::Callees => CodeQuestion::Callees(name()?),
            Self::Outline => CodeQuestion::Outline(path()?),
            Self::Imports => CodeQuestion::Imports(path()?),
            Self::Impact => CodeQuestion::Impact(name()?, asked.depth),
            Self::Tests => CodeQuestion::Tests(name()?),
            Self::Map => CodeQuestion::Map(asked.tokens),
        })
    }
}

/// An answer. Parts that a question does not ask for are empty.
#[derive(ToSchema)]
#[schema(as = CodeAnswer)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Answer {
    /// The definitions that the name means, or those of the file or the map, by path and line.
    definitions: Vec<Definition>,
    /// The places that use the name, the surest first, or what the definition calls, by line.
    sites: Vec<Site>,
    /// The imports of a file.
    imports: Vec<Import>,
    /// The definitions that reach this one by calls, the nearest and surest first.
    reached: Vec<Reached>,
    counts: Counts,
    files: Files,
    /// There is more than the limit let through.
    truncated: bool,
}

/// The kind of a definition.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schema(as = CodeKind)]
#[allow(dead_code, reason = "it describes what the engine answers")]
enum Kind {
    Function,
    /// A function of a type.
    Method,
    /// A function or method without its body.
    Declaration,
    Class,
    Struct,
    Enum,
    Union,
    /// A trait, an interface or a protocol.
    Interface,
    /// Another name of a type.
    Type,
    Module,
    Macro,
    Constant,
    Variable,
    /// A variable of a type.
    Field,
    /// One of the values of an enumeration.
    Variant,
}

/// How sure a meaning is.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schema(as = CodeClass)]
#[allow(dead_code, reason = "it describes what the engine answers")]
enum Class {
    /// The file says what is meant, by its scopes and imports.
    Certain,
    /// Nothing says what is meant, and the tree has one definition that it may be.
    Unique,
    /// Nothing says what is meant, and there are several.
    Ambiguous,
    /// Nothing in the tree is meant.
    Outside,
}

/// How a name is used.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schema(as = CodeUse)]
#[allow(dead_code, reason = "it describes what the engine answers")]
enum Use {
    /// A call, or the making of an object.
    Call,
    /// The use of a macro, where macros have a syntax of their own.
    Macro,
    /// A type that is extended or implemented.
    Inherit,
    /// Any other naming of a type.
    Type,
    /// Any other naming: a function that is handed over, a constant that is read.
    Value,
}

#[derive(ToSchema)]
#[schema(as = CodeDefinition)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Definition {
    path: String,
    /// With the names of what is around it: `Index.search`.
    name: String,
    kind: Kind,
    /// The language of the file: `rust`, `python`, `javascript`, `typescript`, `tsx`, `go`, `java`, `c` or `cpp`.
    language: String,
    /// The line of its name, from 1.
    line: u32,
    line_end: u32,
    /// Its head in one line, at most 200 characters.
    signature: String,
}

#[derive(ToSchema)]
#[schema(as = CodeSite)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Site {
    path: String,
    /// From 1.
    line: u32,
    /// With what stands before it: `os.path.join`, `self.run` or `this.run`, and `.run` behind an expression.
    name: String,
    how: Use,
    class: Class,
    /// The definition that it stands in; null outside of all.
    within: Option<String>,
    /// The definitions that it may mean, 20 at most.
    targets: Vec<Target>,
    targets_count: u32,
}

#[derive(ToSchema)]
#[schema(as = CodeTarget)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Target {
    path: String,
    line: u32,
    name: String,
}

#[derive(ToSchema)]
#[schema(as = CodeImport)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Import {
    line: u32,
    /// As it is spelt.
    module: String,
    /// The name that is imported; null for the module itself.
    name: Option<String>,
    /// Under which name it is known in the file, where that is another one.
    alias: Option<String>,
    /// Everything of it is taken.
    is_wildcard: bool,
    /// Files of the tree that it may name; none for a module that is elsewhere.
    files: Vec<String>,
}

#[derive(ToSchema)]
#[schema(as = CodeReached)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Reached {
    definition: Target,
    /// Null for a file, which uses it outside of any definition.
    kind: Option<Kind>,
    /// Steps to what was asked for, from 1.
    depth: u32,
    /// The least sure step of the surest way. Steps that are ambiguous are not followed.
    class: Class,
    /// The name that the step uses, and its line.
    calls: String,
    line: u32,
    /// It looks like a test, by its name or path.
    is_test: bool,
}

/// Places that use the name in the way that was asked, by what they mean. Together they are all of them.
#[derive(ToSchema)]
#[schema(as = CodeCounts)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Counts {
    certain: u64,
    unique: u64,
    ambiguous: u64,
    /// Another definition of the same name.
    elsewhere: u64,
    /// Nothing in the tree: libraries, built-in names, values of variables.
    outside: u64,
}

/// Files behind the answer.
#[derive(ToSchema)]
#[schema(as = CodeFiles)]
#[allow(dead_code, reason = "it describes what the engine answers")]
struct Files {
    /// Files in a language that is known.
    read: u64,
    /// Of these, those of which a part does not fit the grammar: something may be missing.
    with_errors: u64,
    /// Those of which nothing is known, because they are too large, too deep or no program.
    unparsed: u64,
    /// 0 in an answer of the server.
    pending: u64,
}

/// Asks what the source code of a tree defines, uses and calls, in nine languages and without building it. The first question
/// about a tree reads its files once, which may take a minute for each gigabyte; what is found is kept with their contents.
#[utoipa::path(get, path = "/v1/trees/{tree}/code/{question}", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), ("question" = inline(Question), Path), Asked, AsOf),
    responses((status = 200, description = "The answer", body = Answer)))]
async fn code(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments((tree, question)): Segments<(String, Question)>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Response, Problem> {
    let question = question.of(&asked)?;
    let at = TreeAt { tree: tree.clone(), as_of: asked.as_of };
    let ask = AskCode { at, below: asked.below, question, limit: asked.limit };
    let answer = caller.run(move |database| read_point.tree(database, &tree)?.code(&ask, |_| ())).await?;
    Ok(reply::json(&answer))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Importing {
    /// Where in the tree the folder is that was indexed; left out, the whole tree.
    #[serde(default)]
    below: String,
}

/// The result of an import.
#[derive(Serialize, ToSchema)]
#[schema(as = SymbolsImported)]
struct Imported {
    /// Files whose names have a meaning now.
    files: u64,
    /// Names of these.
    names: u64,
    /// Paths of the index at which the tree has no source file in a language that is known.
    missing: Vec<String>,
    /// Paths at which the tree has another text than the index.
    changed: Vec<String>,
}

/// Imports a SCIP index of the tree's source code, as produced by `scip-python`, `scip-typescript` or `rust-analyzer
/// scip`. Its meanings of names take precedence over those found without types. Files whose text does not match the
/// index are skipped and listed.
#[utoipa::path(post, path = "/v1/trees/{tree}/symbols", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), Importing),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "The report of the import", body = Imported)))]
async fn import(
    Writing(caller): Writing,
    Segments(tree): Segments<String>,
    Parameters(Importing { below }): Parameters<Importing>,
    Raw { bytes, held }: Raw,
) -> Result<Response, Problem> {
    let SymbolsImported { files, names, missing, changed } = caller
        .run(move |database| {
            let _held = held;
            database.existing_tree(&tree)?.import_scip(&bytes[..], &below)
        })
        .await?;
    Ok(reply::json(&Imported { files, names, missing, changed }))
}

#[cfg(test)]
mod tests {
    use nuthatch_link::{
        CodeAnswer, CodeClass, CodeDefinition, CodeImport, CodeKind, CodeLanguage, CodeReached, CodeSite, CodeTarget,
        CodeUse,
    };
    use serde_json::Value;
    use std::collections::BTreeSet;
    use utoipa::PartialSchema;

    use super::*;

    /// The fields of a description.
    fn described<T: PartialSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(T::schema()).unwrap();
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn fields(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_description_has_the_fields_that_an_answer_has() {
        let (path, name) = (String::new(), String::new());
        let target = CodeTarget { path: path.clone(), line: 1, name: name.clone() };
        let answer = CodeAnswer {
            definitions: vec![CodeDefinition {
                path: path.clone(),
                name: name.clone(),
                kind: CodeKind::Variant,
                language: CodeLanguage::Cpp,
                line: 1,
                line_end: 1,
                signature: String::new(),
            }],
            sites: vec![CodeSite {
                path: path.clone(),
                line: 1,
                name: name.clone(),
                how: CodeUse::Inherit,
                class: CodeClass::Outside,
                within: None,
                targets: vec![target.clone()],
                targets_count: 1,
            }],
            imports: vec![CodeImport {
                line: 1,
                module: name.clone(),
                name: None,
                alias: None,
                is_wildcard: false,
                files: vec![],
            }],
            reached: vec![CodeReached {
                definition: target,
                kind: None,
                depth: 1,
                class: CodeClass::Certain,
                calls: name,
                line: 1,
                is_test: false,
            }],
            ..CodeAnswer::default()
        };
        let answer = serde_json::to_value(&answer).unwrap();
        assert_eq!(fields(&answer), described::<Answer>());
        assert_eq!(fields(&answer["definitions"][0]), described::<Definition>());
        assert_eq!(fields(&answer["sites"][0]), described::<Site>());
        assert_eq!(fields(&answer["sites"][0]["targets"][0]), described::<Target>());
        assert_eq!(fields(&answer["imports"][0]), described::<Import>());
        assert_eq!(fields(&answer["reached"][0]), described::<Reached>());
        assert_eq!(fields(&answer["counts"]), described::<Counts>());
        assert_eq!(fields(&answer["files"]), described::<Files>());
        let words = |value| serde_json::to_value(value).unwrap();
        assert_eq!(words(Kind::Variant), answer["definitions"][0]["kind"]);
        assert_eq!(serde_json::to_value(Class::Outside).unwrap(), answer["sites"][0]["class"]);
        assert_eq!(serde_json::to_value(Use::Inherit).unwrap(), answer["sites"][0]["how"]);
    }
}
