//! `grep`: exact search in the files of a tree, as ripgrep does.

use nuthatch_link::{
    Error, Files, GREP_BYTES_MAX, GrepIndex, GrepOutput, GrepRequest, GrepTree, Result as EngineResult,
};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::budget::{Budget, TOKENS_MAX, TOKENS_MIN};
use crate::place;
use crate::refusal::Refusal;
use crate::tools::cursor::{Cursors, no_cursor};
use crate::tools::{Answer, Does, Parsed, shown};

pub const NAME: &str = "grep";

/// Lines around a match.
const CONTEXT_MAX: u32 = 20;
/// Longer lines are cut, and say so: one of them would fill the answer.
const COLUMNS_MAX: u64 = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grepping {
    /// A regular expression.
    pattern: String,
    /// The tree; left out, the only one.
    tree: Option<String>,
    /// Only at or below this path.
    path: Option<String>,
    /// Only these paths, such as `*.rs`; not those with `!`.
    #[serde(default)]
    globs: Vec<String>,
    /// The pattern is a text.
    #[serde(default)]
    fixed: bool,
    /// Ignore case.
    #[serde(default)]
    ignore_case: bool,
    /// Only whole words.
    #[serde(default)]
    word: bool,
    /// Lines around each match, 20 at most.
    #[serde(default)]
    context: u32,
    /// Only paths.
    #[serde(default)]
    paths_only: bool,
    /// As of a snapshot, a version or a time.
    as_of: Option<String>,
    /// Every kept version, as path@version.
    #[serde(default)]
    history: bool,
    /// Longest answer, default 4000.
    #[schemars(range(min = TOKENS_MIN, max = TOKENS_MAX))]
    max_tokens: Option<usize>,
    /// Of the answer before, to go on.
    cursor: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct GrepAnswer {
    /// Paths, each above its lines with their numbers; `-` for lines around a match.
    lines: String,
    /// There is more: give it to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Notes about this answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub fn tool() -> Tool {
    super::tool::<Grepping, GrepAnswer>(
        NAME,
        "Search the files of a tree exactly",
        "Use when you need every place of a name or a pattern in the files of a tree. Exact: no match means that there is none.",
        Does::Reads,
    )
}

pub async fn call<A: Access>(arguments: Parsed<Grepping>, access: &A) -> Result<GrepAnswer, Refusal> {
    let arguments = arguments?;
    access.run(move |database| search(&place::tree(database, arguments.tree.as_deref())?, &arguments)).await
}

fn search(files: &Files, arguments: &Grepping) -> EngineResult<GrepAnswer> {
    let mut budget = Budget::of(arguments.max_tokens)?;
    let cursors = arguments.cursors();
    let start = cursors.place(arguments.cursor.as_deref())?.map_or(Ok(Start::default()), Start::parse)?;
    let mut ask = arguments.ask(files, &start)?;
    let (mut skip, mut answer) = (start.skip, GrepAnswer::default());
    loop {
        let before = ask.cursor.clone();
        let page = files.grep_page(ask.clone())?;
        let print = String::from_utf8_lossy(&page.output).into_owned();
        let fresh = print.get(skip..).ok_or_else(|| no_cursor(&arguments.cursor.clone().unwrap_or_default()))?;
        let taken = take_lines(&mut budget, fresh, answer.lines.is_empty());
        answer.lines.push_str(&fresh[..taken]);
        answer
            .notes
            .extend(page.cut.into_iter().map(|cut| format!("{} was not searched to its end: {}", cut.path, cut.why)));
        if taken < fresh.len() {
            answer.cursor = Some(cursors.at(Start::text(before.as_ref(), skip + taken)?));
            break;
        }
        skip = 0;
        ask.cursor = page.cursor;
        if ask.cursor.is_none() {
            if !page.matched {
                answer.notes.push("no match in the whole tree, or in the part of it that was asked for".into());
            }
            break;
        }
    }
    Ok(answer)
}

/// The bytes of the whole lines that there is room for; one at least if nothing is there yet.
fn take_lines(budget: &mut Budget, print: &str, needs_one: bool) -> usize {
    let mut taken = 0;
    for line in print.split_inclusive('\n') {
        let is_needed = needs_one && taken == 0;
        if !budget.take(&line) && !is_needed {
            break;
        }
        taken += line.len();
    }
    taken
}

/// Where a page begins: the place of the print, and how much of it earlier answers had.
#[derive(Default)]
struct Start {
    cursor: Option<String>,
    skip: usize,
}

impl Start {
    fn parse(text: &str) -> EngineResult<Self> {
        let parsed = text.split_once('.').and_then(|(skip, cursor)| {
            let cursor = (!cursor.is_empty()).then(|| cursor.to_string());
            Some(Self { cursor, skip: skip.parse().ok()? })
        });
        parsed.ok_or_else(|| no_cursor(text))
    }

    fn text(cursor: Option<&impl Serialize>, skip: usize) -> EngineResult<String> {
        let cursor = cursor.map(serde_json::to_string).transpose();
        let cursor = cursor.map_err(|error| Error::internal(format!("a cursor: {error}")))?;
        Ok(format!("{skip}.{}", cursor.unwrap_or_default()))
    }
}

impl Grepping {
    fn cursors(&self) -> Cursors {
        let flags = format!(
            "{}{}{}{}{}{}",
            self.fixed, self.ignore_case, self.word, self.context, self.paths_only, self.history
        );
        let mut given = vec![self.tree.as_deref(), self.path.as_deref(), self.as_of.as_deref()];
        given.extend([Some(&*self.pattern), Some(&*flags)]);
        given.extend(self.globs.iter().map(|glob| Some(&**glob)));
        Cursors::of(NAME, &given)
    }

    fn ask(&self, files: &Files, start: &Start) -> EngineResult<GrepTree> {
        if self.context > CONTEXT_MAX {
            return Err(Error::invalid(format!("context is {}; give {CONTEXT_MAX} at most", self.context)));
        }
        let cursor = start.cursor.as_deref().map(serde_json::from_str).transpose();
        let request = GrepRequest {
            patterns: vec![self.pattern.clone()],
            fixed_strings: self.fixed,
            ignore_case: self.ignore_case,
            word: self.word,
            globs: self.globs.clone(),
            before_context: self.context,
            after_context: self.context,
            output: if self.paths_only { GrepOutput::FilesWithMatches } else { GrepOutput::Lines },
            line_number: Some(true),
            with_filename: true,
            heading: true,
            max_columns: Some(COLUMNS_MAX),
            max_columns_preview: true,
            ..GrepRequest::default()
        };
        Ok(GrepTree {
            at: files.at(self.as_of.as_deref()),
            below: self.path.as_deref().unwrap_or_default().trim_matches('/').into(),
            request,
            history: self.history,
            index: GrepIndex::Auto,
            filter: None,
            cursor: cursor.map_err(|_| no_cursor(start.cursor.as_deref().unwrap_or_default()))?,
            // Only this much of the matches can be shown; what a page has beyond that is searched again.
            bytes_max: (Budget::of(self.max_tokens)?.bytes_left()).min(GREP_BYTES_MAX),
        })
    }
}

impl Answer for GrepAnswer {
    fn text(&self) -> String {
        let lines = (!self.lines.is_empty()).then(|| self.lines.trim_end().to_string());
        shown(lines.into_iter(), self.cursor.as_deref(), &self.notes)
    }
}
