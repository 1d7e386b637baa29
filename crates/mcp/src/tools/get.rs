//! `get`: whole passages and notes by id, or a file from a line on.

use std::ops::Range;

use nuthatch_link::{Collection, Error, Files, Result as EngineResult, StoredRecord, Value, What};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, Settings};
use crate::budget::{Budget, TOKENS_MAX, TOKENS_MIN};
use crate::hit_view::HitView;
use crate::place;
use crate::refusal::Refusal;
use crate::sources::Sources;
use crate::tools::cursor::{Cursors, no_cursor};
use crate::tools::tree_file::{Asked, FileText};
use crate::tools::{Answer, Does, Parsed, shown, tree_file};

pub const NAME: &str = "get";

const IDS_MAX: usize = 100;
/// Passages of a file that are read at a time.
const PASSAGES_AT_ONCE: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Getting {
    /// As `search` and `list` show them, 100 at most.
    #[serde(default)]
    ids: Vec<String>,
    /// Instead of ids: a file, as `list` shows it, to read all its passages; with `tree`, a file of that tree.
    path: Option<String>,
    /// A tree.
    tree: Option<String>,
    /// Of a tree: as of a snapshot, a version or a time.
    as_of: Option<String>,
    /// Of a tree: the changes since then, as a patch; `path` may be a folder.
    diff: Option<String>,
    /// Begin at this line of the file.
    from_line: Option<u32>,
    /// Where; left out, wherever it is found.
    collection: Option<String>,
    /// Longest answer, default 4000.
    #[schemars(range(min = TOKENS_MIN, max = TOKENS_MAX))]
    max_tokens: Option<usize>,
    /// Of the answer before, to go on.
    cursor: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct GetAnswer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    records: Vec<HitView>,
    /// Of a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileText>,
    /// There is more: give it to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Ids that there are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

/// Where a page begins: a record, and a byte of its text.
#[derive(Clone, Copy, Default)]
struct Start {
    record: usize,
    byte: usize,
}

pub fn tool() -> Tool {
    super::tool::<Getting, GetAnswer>(
        NAME,
        "Read passages, notes or a file",
        "Use when a hit of `search` is cut, when you need what stands around it (give its `path` and `from_line`), or when you know ids. Reads \
         passages and notes whole, a file passage by passage, or a file of a tree as it is, as it was, or what changed in it.",
        Does::Reads,
    )
}

pub async fn call<A: Access>(
    arguments: Parsed<Getting>,
    access: &A,
    settings: &Settings,
) -> Result<GetAnswer, Refusal> {
    let (arguments, embedder, folders) = (arguments?, settings.embedder.clone(), settings.folders.clone());
    access
        .run(move |database| {
            if let Some(tree) = &arguments.tree {
                return of_tree(&place::tree(database, Some(tree))?, &arguments);
            }
            if arguments.as_of.is_some() || arguments.diff.is_some() {
                return Err(Error::invalid("`as_of` and `diff` are about a file of a tree; name the `tree`"));
            }
            let collections = place::meant(database, arguments.collection.as_deref(), &embedder)?;
            let cursors = arguments.cursors();
            let start = cursors.place(arguments.cursor.as_deref())?.map_or(Ok(Start::default()), Start::parse)?;
            match (&arguments.path, &arguments.ids[..]) {
                (Some(path), []) => {
                    let names = std::iter::once(path.clone())
                        .chain(folders.iter().filter_map(|folder| folder.join(path).to_str().map(Into::into)));
                    of_file(&collections, names, start, &arguments, &cursors)
                }
                (None, [_, ..]) if arguments.from_line.is_none() => of_ids(&collections, start, &arguments, &cursors),
                _ => Err(Error::invalid("give `ids`, or `path` (with `from_line` if you like)")),
            }
        })
        .await
}

fn of_tree(files: &Files, arguments: &Getting) -> EngineResult<GetAnswer> {
    let Some(path) = arguments.path.as_deref().filter(|_| arguments.ids.is_empty() && arguments.collection.is_none())
    else {
        return Err(Error::invalid("of a tree, give `path`, and neither ids nor a collection"));
    };
    let asked = Asked {
        path: path.trim_matches('/'),
        as_of: arguments.as_of.as_deref(),
        diff: arguments.diff.as_deref(),
        from_line: arguments.from_line,
        max_tokens: arguments.max_tokens,
    };
    let (file, cursor) = match asked.diff {
        Some(since) => (tree_file::diff(files, &asked, since)?, None),
        None => tree_file::read(files, &asked, &arguments.cursors(), arguments.cursor.as_deref())?,
    };
    Ok(GetAnswer { file: Some(file), cursor, ..GetAnswer::default() })
}

fn of_ids(collections: &[Collection], start: Start, arguments: &Getting, cursors: &Cursors) -> EngineResult<GetAnswer> {
    let ids = &arguments.ids;
    if ids.len() > IDS_MAX {
        return Err(Error::invalid(format!("{} ids; give {IDS_MAX} at most", ids.len())));
    }
    let mut records: Vec<Option<(&Collection, StoredRecord)>> = vec![None; ids.len()];
    for collection in collections {
        for (place, found) in records.iter_mut().zip(collection.get(ids, false)?) {
            if let (None, Some(record)) = (&place, found) {
                *place = Some((collection, record));
            }
        }
    }
    let missing: Vec<String> =
        ids.iter().zip(&records).filter(|(_, found)| found.is_none()).map(|(id, _)| id.clone()).collect();
    if missing.len() == ids.len() {
        let error = Error::not_found(format!("no record has the id {}", missing.join(", or ")));
        return Err(match &*missing {
            [id] => error.about(What::Record, id),
            _ => error,
        });
    }
    let mut sources = Sources::default();
    let found = records
        .into_iter()
        .flatten()
        .skip(start.record)
        .map(move |(collection, record)| HitView::record(collection, record, &mut sources));
    let mut answer = page(found, start, arguments.max_tokens, cursors)?;
    answer.missing = missing;
    Ok(answer)
}

fn of_file(
    collections: &[Collection],
    names: impl Iterator<Item = String>,
    start: Start,
    arguments: &Getting,
    cursors: &Cursors,
) -> EngineResult<GetAnswer> {
    for name in names {
        for collection in collections {
            if let Some(file) = collection.files(&name)?.into_iter().find(|file| file.path == name) {
                let first = match (start.record, arguments.from_line) {
                    (0, Some(line)) => passage_at(collection, &name, file.passages, line)?,
                    _ => 0,
                };
                let start = Start { record: start.record.max(first), ..start };
                let passages = passages(collection, &name, start.record..file.passages);
                return page(passages, start, arguments.max_tokens, cursors);
            }
        }
    }
    let path = arguments.path.as_deref().unwrap_or_default();
    Err(Error::not_found(format!("no file {path:?} in the memory")).about(What::File, path))
}

/// Passages of a file, in their order.
pub fn passages(
    collection: &Collection,
    path: &str,
    numbers: Range<usize>,
) -> impl Iterator<Item = EngineResult<HitView>> {
    let mut sources = Sources::default();
    read(collection, path, numbers)
        .map(move |record| record.and_then(|record| HitView::record(collection, record, &mut sources)))
}

fn read(
    collection: &Collection,
    path: &str,
    numbers: Range<usize>,
) -> impl Iterator<Item = EngineResult<StoredRecord>> {
    let end = numbers.end;
    numbers.step_by(PASSAGES_AT_ONCE).flat_map(move |from| {
        let ids: Vec<String> =
            (from..end.min(from + PASSAGES_AT_ONCE)).map(|number| format!("{path}#{number}")).collect();
        match collection.get(&ids, false) {
            Ok(records) => records.into_iter().flatten().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }
    })
}

/// The first passage that reaches a line.
fn passage_at(collection: &Collection, path: &str, passages: usize, line: u32) -> EngineResult<usize> {
    let mut last = None;
    for (at, record) in read(collection, path, 0..passages).enumerate() {
        if let Some(Value::Int(end)) = record?.payload.get("end_line") {
            if *end >= i64::from(line) {
                return Ok(at);
            }
            last = Some(*end);
        }
    }
    Err(Error::invalid(match last {
        Some(last) => format!("from_line is {line}, and the last passage of {path:?} ends at line {last}"),
        None => format!("the passages of {path:?} have no lines; leave out from_line"),
    }))
}

/// As many of the records, which begin with the start's, as fit.
fn page(
    records: impl Iterator<Item = EngineResult<HitView>>,
    start: Start,
    max_tokens: Option<usize>,
    cursors: &Cursors,
) -> EngineResult<GetAnswer> {
    let mut budget = Budget::of(max_tokens)?;
    let mut answer = GetAnswer::default();
    for (at, found) in (start.record..).zip(records) {
        let mut found = found?;
        let skipped = if at == start.record { start.byte } else { 0 };
        found.text = found.text.get(skipped..).ok_or_else(|| no_cursor(&start.text()))?.to_string();
        let fits = found.take_room(&mut budget, usize::MAX, |text, _| text.to_string());
        let next = match (fits, found.cut) {
            (true, false) => None,
            (true, true) => Some(Start { record: at, byte: skipped + found.text.len() }),
            (false, _) if answer.records.is_empty() => {
                return Err(Error::invalid("the first record does not fit into max_tokens; ask for more"));
            }
            (false, _) => Some(Start { record: at, byte: skipped }),
        };
        if fits {
            answer.records.push(found);
        }
        if let Some(next) = next {
            answer.cursor = Some(cursors.at(next.text()));
            break;
        }
    }
    Ok(answer)
}

impl Getting {
    fn cursors(&self) -> Cursors {
        let line = self.from_line.map(|line| line.to_string());
        let mut given = vec![self.path.as_deref(), line.as_deref(), self.collection.as_deref()];
        given.extend([self.tree.as_deref(), self.as_of.as_deref(), self.diff.as_deref()]);
        given.extend(self.ids.iter().map(|id| Some(&**id)));
        Cursors::of(NAME, &given)
    }
}

impl Start {
    fn parse(text: &str) -> EngineResult<Self> {
        let parsed = text
            .split_once('.')
            .and_then(|(record, byte)| Some(Self { record: record.parse().ok()?, byte: byte.parse().ok()? }));
        parsed.ok_or_else(|| no_cursor(text))
    }

    fn text(self) -> String {
        format!("{}.{}", self.record, self.byte)
    }
}

impl Answer for GetAnswer {
    fn text(&self) -> String {
        let missing = self.missing.iter().map(|id| format!("there is no record {id}")).collect::<Vec<_>>();
        let records = self.records.iter().enumerate().map(|(at, record)| record.shown(at + 1));
        let file = self.file.as_ref().map(FileText::shown);
        shown(records.chain(file), self.cursor.as_deref(), &missing)
    }
}
