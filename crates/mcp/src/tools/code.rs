//! `code`: definitions, references and calls in the source files of a tree.

use nuthatch_link::{
    AskCode, CODE_DEPTH_MAX, CODE_LIMIT_MAX, CodeAnswer, CodeDefinition, CodeImport, CodeQuestion, CodeReached,
    CodeSite, Error, Files, Result as EngineResult,
};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::budget::{Budget, TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN};
use crate::place;
use crate::refusal::Refusal;
use crate::tools::{Answer, Does, Parsed, shown};

pub const NAME: &str = "code";

/// Steps backwards of an impact, unless more are asked for.
const DEPTH_DEFAULT: u32 = 3;
/// A map leaves room for what stands around it.
const MAP_SHARE: f64 = 0.7;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coding {
    /// What to ask: where a name is defined, every use of it, what calls it, what it calls; what a file defines (outline) and
    /// imports; what a change may reach (impact), which tests may see it, or the definitions that matter most (map).
    ask: Ask,
    /// The name (`search`, `Index.search`, `src/index.rs#search`), or the path of the file. None for a map.
    name: Option<String>,
    /// The tree; left out, the only one.
    tree: Option<String>,
    /// List only what stands at or below this path.
    path: Option<String>,
    /// As of a snapshot, a version or a time.
    as_of: Option<String>,
    /// Steps of an impact, default 3.
    depth: Option<u32>,
    /// Longest answer, default 4000.
    #[schemars(range(min = TOKENS_MIN, max = TOKENS_MAX))]
    max_tokens: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Definitions,
    References,
    Callers,
    Callees,
    Outline,
    Imports,
    Impact,
    Tests,
    Map,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CodeFound {
    /// A line each: path:line, how sure it is, and what stands there.
    lines: Vec<String>,
    /// What to know about this answer: how many places there are of each certainty, and what could not be parsed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub fn tool() -> Tool {
    super::tool::<Coding, CodeFound>(
        NAME,
        "Ask about source code in a tree",
        "Use when you need where something is defined, who uses or calls it, what a change may break, or an overview of source code in a tree. Says \
         of each place how sure it is, and never claims that there is none where a name may still mean it.",
        Does::Reads,
    )
}

pub async fn call<A: Access>(arguments: Parsed<Coding>, access: &A) -> Result<CodeFound, Refusal> {
    let arguments = arguments?;
    access.run(move |database| answer(&place::tree(database, arguments.tree.as_deref())?, &arguments)).await
}

fn answer(files: &Files, arguments: &Coding) -> EngineResult<CodeFound> {
    let mut budget = Budget::of(arguments.max_tokens)?;
    let ask = AskCode {
        at: files.at(arguments.as_of.as_deref()),
        below: arguments.path.as_deref().unwrap_or_default().trim_matches('/').into(),
        question: arguments.question()?,
        limit: CODE_LIMIT_MAX,
    };
    let found = files.code(&ask, |_| ())?;
    let (mut answer, lines) = (CodeFound::default(), lines(arguments.ask, &found));
    let all = lines.len();
    answer.lines = lines.into_iter().take_while(|line| budget.take(line)).collect();
    if answer.lines.len() < all || found.truncated {
        let rest = format!("the first {} of {all} lines; name a `path`, or ask for more tokens", answer.lines.len());
        answer.notes.push(rest);
    }
    answer.notes.extend(notes(arguments.ask, &found));
    Ok(answer)
}

fn lines(ask: Ask, found: &CodeAnswer) -> Vec<String> {
    match ask {
        Ask::Definitions | Ask::Outline | Ask::Map => found.definitions.iter().map(definition).collect(),
        Ask::References | Ask::Callers | Ask::Callees => found.sites.iter().map(site).collect(),
        Ask::Imports => found.imports.iter().map(import).collect(),
        Ask::Impact | Ask::Tests => found.reached.iter().map(reached).collect(),
    }
}

fn notes(ask: Ask, found: &CodeAnswer) -> Vec<String> {
    let (counts, read) = (&found.counts, &found.files);
    let mut notes = Vec::new();
    if matches!(ask, Ask::References | Ask::Callers | Ask::Callees) {
        notes.push(format!(
            "places of that name: {} certain, {} unique, {} ambiguous, {} of other definitions, {} outside of the tree",
            counts.certain, counts.unique, counts.ambiguous, counts.elsewhere, counts.outside
        ));
    }
    if ask == Ask::Map && found.definitions.is_empty() {
        notes.push("no file here uses a name that another one defines; ask for the outline of a file".into());
    }
    if read.unparsed + read.with_errors > 0 {
        let (unparsed, partly) = (read.unparsed, read.with_errors);
        notes.push(format!("of {} files, {unparsed} could not be parsed, and parts of {partly}", read.read));
    }
    notes
}

/// A name of the engine, as JSON spells it.
fn spelt(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn definition(one: &CodeDefinition) -> String {
    format!("{}:{} {} {}: {}", one.path, one.line, spelt(&one.kind), one.name, one.signature)
}

fn site(one: &CodeSite) -> String {
    let within = one.within.as_deref().map_or(String::new(), |within| format!(" in {within}"));
    let target = one.targets.first().map_or(String::new(), |target| {
        let more = match one.targets_count {
            0 | 1 => String::new(),
            count => format!(" or {} others", count - 1),
        };
        format!(" -> {}:{} {}{more}", target.path, target.line, target.name)
    });
    format!("{}:{} {} {}{within}{target}", one.path, one.line, spelt(&one.class), one.name)
}

fn import(one: &CodeImport) -> String {
    let taken = if one.is_wildcard { Some("*") } else { one.name.as_deref() };
    let taken = taken.map_or(String::new(), |taken| format!(" {taken}"));
    let alias = one.alias.as_deref().map_or(String::new(), |alias| format!(" as {alias}"));
    let files = if one.files.is_empty() { "outside of the tree".into() } else { one.files.join(", ") };
    format!("{}: {}{taken}{alias} -> {files}", one.line, one.module)
}

fn reached(one: &CodeReached) -> String {
    let name = if one.definition.name.is_empty() { "(the file)" } else { &one.definition.name };
    let test = if one.is_test { " (a test)" } else { "" };
    let (path, line, class) = (&one.definition.path, one.line, spelt(&one.class));
    format!("{} steps: {path}:{line} {class} {name}{test} uses {}", one.depth, one.calls)
}

impl Coding {
    fn question(&self) -> EngineResult<CodeQuestion> {
        let name = || match self.name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => Ok(name.to_string()),
            None => {
                Err(Error::invalid("give the `name` of a definition, or for outline and imports the path of a file"))
            }
        };
        let depth = self.depth.unwrap_or(DEPTH_DEFAULT);
        if depth == 0 || depth > CODE_DEPTH_MAX {
            return Err(Error::invalid(format!("depth is {depth}; give 1 to {CODE_DEPTH_MAX}")));
        }
        Ok(match self.ask {
            Ask::Definitions => CodeQuestion::Definitions(name()?),
            Ask::References => CodeQuestion::References(name()?),
            Ask::Callers => CodeQuestion::Callers(name()?),
            Ask::Callees => CodeQuestion::Callees(name()?),
            Ask::Outline => CodeQuestion::Outline(name()?),
            Ask::Imports => CodeQuestion::Imports(name()?),
            Ask::Impact => CodeQuestion::Impact(name()?, depth),
            Ask::Tests => CodeQuestion::Tests(name()?),
            Ask::Map if self.name.is_some() => {
                return Err(Error::invalid("a map is of the whole tree, or of what is below `path`; leave out `name`"));
            }
            Ask::Map => {
                let tokens = self.max_tokens.unwrap_or(TOKENS_DEFAULT) as f64 * MAP_SHARE;
                CodeQuestion::Map(tokens as u32)
            }
        })
    }
}

impl Answer for CodeFound {
    fn text(&self) -> String {
        let lines = (!self.lines.is_empty()).then(|| self.lines.join("\n"));
        shown(lines.into_iter(), None, &self.notes)
    }
}
