//! `list`: what there is: collections with their fields, the files of one, or its records, and how many there are.

use std::sync::Arc;

use nuthatch_dialect::facts;
use nuthatch_dialect::operations::{self, Operation, RECORDS};
use nuthatch_link::{
    Collection, CollectionInfo, Database, Error, FileInfo, Files, Result as EngineResult, Scan, format_datetime,
};
use rmcp::model::{JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::{Access, Settings};
use crate::budget::{Budget, TOKENS_MAX, TOKENS_MIN, json_bytes};
use crate::hit_view::HitView;
use crate::place;
use crate::refusal::Refusal;
use crate::sources::Sources;
use crate::tools::cursor::Cursors;
use crate::tools::tree_listing::{Asked, ListedTree, Of, TreeLine};
use crate::tools::{Answer, Does, Parsed, shown, tree_listing};

pub const NAME: &str = "list";

const EMPTY: &str = "the memory is empty";
/// Records that are read at a time.
const RECORDS_AT_ONCE: usize = 50;
/// Facts that are listed unless more are asked for.
const FACTS_AT_ONCE: usize = 20;
/// At most this many bytes of a record's text are shown.
const TEXT_BYTES_MAX: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// Left out: all collections, with their fields.
    collection: Option<String>,
    /// Instead of a collection: a tree.
    tree: Option<String>,
    /// Of a collection: files (the default), or records with the beginnings of their texts. Of a tree: files (the default),
    /// versions of a path, snapshots, or changes.
    what: Option<What>,
    /// Instead of a collection: facts. `ask` is list (the default), why, entities, predicates, trace, paths, rank or groups.
    facts: Option<String>,
    /// Only the file, or files below the folder, of this path.
    path: Option<String>,
    /// Instead of listing: ask this about the records of the collection, which is answered exactly.
    ask: Option<String>,
    /// The arguments of `ask`.
    #[serde(default)]
    question: Map<String, Value>,
    /// The tree as of a snapshot, a version or a time.
    as_of: Option<String>,
    /// Changes since then, likewise.
    since: Option<String>,
    /// Only records whose fields pass, for example `topic = 'deploy'`.
    #[serde(rename = "where")]
    condition: Option<String>,
    /// Longest answer, default 4000.
    #[schemars(range(min = TOKENS_MIN, max = TOKENS_MAX))]
    max_tokens: Option<usize>,
    /// Of the answer before, to go on.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum What {
    Files,
    Records,
    Versions,
    Snapshots,
    Changes,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ListAnswer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collections: Vec<Listed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trees: Vec<ListedTree>,
    /// Names of facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<String>,
    /// Of a tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<TreeLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<File>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    records: Vec<HitView>,
    /// To what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(skip)]
    said: Option<String>,
    /// There is more: give it to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Notes about this answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A collection.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    collection: String,
    records: u64,
    /// Records that can be found by meaning.
    vectors: u64,
    /// The embedder that turns text into vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedder: Option<String>,
    /// Fields that `where` can ask for, each with the kinds of its values.
    fields: Vec<String>,
    /// Why an index is not in use; answers are right either way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct File {
    path: String,
    kind: String,
    bytes: u64,
    passages: usize,
    /// When it was changed, or sent here.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
}

/// The arguments that each question about facts takes.
const OF_FACTS: &str = "Of facts: list takes subject, predicate, object, value, valid_at, known_at, history; why takes number; \
    entities prefix or like; trace collection and ids; paths from and to; rank seeds.";

pub fn tool() -> Tool {
    let mut tool = super::tool::<Listing, ListAnswer>(
        NAME,
        "See what is in the memory",
        "Use when you need to know which collections, fields, files, notes or trees there are, how many records, or what changed in a tree: before writing a `where`, before forgetting, or when the \
         user asks what is remembered.",
        Does::Reads,
    );
    tool.input_schema = with_operations(&tool.input_schema);
    tool
}

/// The list of operations has what a derived schema cannot know.
fn with_operations(schema: &JsonObject) -> Arc<JsonObject> {
    let mut schema = schema.clone();
    if let Some(properties) = schema.get_mut("properties") {
        let of_records = RECORDS.iter().map(|operation| operation.name);
        properties["ask"]["enum"] = of_records.chain(facts::FACTS_READS).map(|name| json!(name)).collect();
        let one = |operation: &Operation| {
            let fields: Vec<String> = operation.fields().into_iter().map(|field| field.name).collect();
            format!("{}: {} Takes {}.", operation.name, operation.says, fields.join(", "))
        };
        let of_records = RECORDS.iter().map(one).collect::<Vec<_>>().join(" ");
        properties["question"]["description"] = json!(format!("{of_records} {OF_FACTS}"));
    }
    Arc::new(schema)
}

pub async fn call<A: Access>(
    arguments: Parsed<Listing>,
    access: &A,
    settings: &Settings,
) -> Result<ListAnswer, Refusal> {
    let (arguments, embedder) = (arguments?, settings.embedder.clone());
    access
        .run(move |database| {
            if let Some(tree) = &arguments.tree {
                return of_tree(&place::tree(database, Some(tree))?, &arguments);
            }
            if let Some(facts) = &arguments.facts {
                return of_facts(database, facts, &arguments);
            }
            if arguments.as_of.is_some() || arguments.since.is_some() {
                return Err(Error::invalid("`as_of` and `since` are about a tree; name it"));
            }
            let Some(name) = &arguments.collection else {
                let is_of_one = arguments.what.is_some() || arguments.path.is_some() || arguments.condition.is_some();
                if is_of_one || arguments.ask.is_some() {
                    return Err(Error::invalid("`what`, `path`, `where` and `ask` are about one collection; name it"));
                }
                let mut answer = collections(database.collections()?, &arguments)?;
                if arguments.cursor.is_none() {
                    add_trees(database, &mut answer)?;
                    answer.facts = database.facts_names()?.into_iter().take(TREES_MAX).collect();
                    if !answer.facts.is_empty() {
                        answer.notes.retain(|note| note != EMPTY);
                    }
                }
                return Ok(answer);
            };
            let collection = place::existing(database, name, &embedder)?;
            if let Some(operation) = &arguments.ask {
                return asked(&collection, operation, arguments.question.clone());
            }
            match arguments.what.unwrap_or(if arguments.condition.is_some() { What::Records } else { What::Files }) {
                What::Files if arguments.condition.is_some() => {
                    Err(Error::invalid("`where` is about records; leave out `what`, or say records"))
                }
                What::Files => files(&collection, &arguments),
                What::Records if arguments.path.is_some() => {
                    Err(Error::invalid("records of a file: `get` with its `path`, or `where` with path = '…'"))
                }
                What::Records => records(&collection, &arguments),
                What::Versions | What::Snapshots | What::Changes => {
                    Err(Error::invalid("versions, snapshots and changes are of a tree; name the `tree`"))
                }
            }
        })
        .await
}

fn collections(infos: Vec<CollectionInfo>, arguments: &Listing) -> EngineResult<ListAnswer> {
    let mut budget = Budget::of(arguments.max_tokens)?;
    let mut answer = ListAnswer::default();
    if infos.is_empty() {
        answer.notes.push(EMPTY.into());
    }
    let cursors = arguments.cursors();
    let after = cursors.place(arguments.cursor.as_deref())?.unwrap_or_default();
    for info in infos.into_iter().filter(|info| *info.name > *after) {
        let mut listed = Listed::from(info);
        if !budget.take(&listed) {
            if !answer.collections.is_empty() {
                answer.cursor = answer.collections.last().map(|last| cursors.at(&last.collection));
                break;
            }
            // Hundreds of fields: their number must do.
            listed.fields = vec![format!("{} fields; ask for a longer answer", listed.fields.len())];
            budget.take(&listed);
        }
        answer.collections.push(listed);
    }
    Ok(answer)
}

/// An answer to an operation that every face has by its name.
fn asked(collection: &Collection, operation: &str, question: Map<String, Value>) -> EngineResult<ListAnswer> {
    let operation = operations::find(operation)?;
    let answer = operation.ask(collection, Value::Object(question))?;
    if json_bytes(&answer) > Budget::of(None)?.bytes_left() {
        let message = "the answer is too long for a model; ask for less of it, with a lower `limit` or with `where`";
        return Err(Error::invalid(message));
    }
    Ok(ListAnswer { said: Some(operation.text(&answer)), answer: Some(answer), ..ListAnswer::default() })
}

/// Trees that are told with the collections; with more, `list` of one tells about it.
const TREES_MAX: usize = 20;

fn add_trees(database: &Database, answer: &mut ListAnswer) -> EngineResult<()> {
    let names = database.tree_names()?;
    if names.len() > TREES_MAX {
        answer.notes.push(format!("and {} trees, of which these are the first {TREES_MAX}", names.len()));
    }
    for name in names.iter().take(TREES_MAX) {
        let tree = database.existing_tree(name)?;
        answer.trees.push(tree_listing::listed(&tree)?);
    }
    if !answer.trees.is_empty() {
        answer.notes.retain(|note| note != EMPTY);
    }
    Ok(())
}

/// An answer of facts, which are asked in the same words on every face.
fn of_facts(database: &Database, name: &str, arguments: &Listing) -> EngineResult<ListAnswer> {
    let others = [&arguments.collection, &arguments.condition, &arguments.path, &arguments.as_of, &arguments.since];
    if others.iter().any(|other| other.is_some()) || arguments.what.is_some() {
        return Err(Error::invalid(
            "`facts` goes with `ask` and `question` alone; times are `valid_at` and `known_at` there",
        ));
    }
    let facts = database.existing_facts(name)?;
    let mut question = arguments.question.clone();
    let call = arguments.ask.as_deref().unwrap_or("list");
    if matches!(call, "list" | "entities") {
        question.entry("limit").or_insert_with(|| json!(FACTS_AT_ONCE));
    }
    let answer = facts::read(&facts, call, Value::Object(question))?;
    if json_bytes(&answer) > Budget::of(arguments.max_tokens)?.bytes_left() {
        let message =
            "the answer is too long for a model; ask for less of it, with a lower `limit` or about one subject";
        return Err(Error::invalid(message));
    }
    Ok(ListAnswer { said: Some(answer.to_string()), answer: Some(answer), ..ListAnswer::default() })
}

fn of_tree(files: &Files, arguments: &Listing) -> EngineResult<ListAnswer> {
    if arguments.collection.is_some() || arguments.condition.is_some() {
        return Err(Error::invalid("`tree` goes with neither a collection nor `where`"));
    }
    let of = match arguments.what.unwrap_or(What::Files) {
        What::Files => Of::Entries,
        What::Versions => Of::Versions,
        What::Snapshots => Of::Snapshots,
        What::Changes => Of::Changes,
        What::Records => return Err(Error::invalid("a tree has files and no records; `grep` and `get` read them")),
    };
    let asked = Asked {
        path: arguments.path.as_deref().unwrap_or_default().trim_matches('/'),
        as_of: arguments.as_of.as_deref(),
        since: arguments.since.as_deref(),
        max_tokens: arguments.max_tokens,
    };
    let (entries, cursor) = tree_listing::list(files, of, &asked, &arguments.cursors(), arguments.cursor.as_deref())?;
    let mut answer = ListAnswer { entries, cursor, ..ListAnswer::default() };
    if answer.entries.is_empty() {
        answer.notes.push("nothing there".into());
    }
    Ok(answer)
}

fn files(collection: &Collection, arguments: &Listing) -> EngineResult<ListAnswer> {
    let mut budget = Budget::of(arguments.max_tokens)?;
    let mut answer = ListAnswer::default();
    let cursors = arguments.cursors();
    let after = cursors.place(arguments.cursor.as_deref())?.unwrap_or_default();
    for file in collection.files(arguments.path.as_deref().unwrap_or_default())? {
        if *file.path <= *after {
            continue;
        }
        let file = File::from(file);
        // A path is never longer than the shortest answer that can be asked for, but one is always shown: the cursor must move.
        if !budget.take(&file) && !answer.files.is_empty() {
            answer.cursor = answer.files.last().map(|last| cursors.at(&last.path));
            break;
        }
        answer.files.push(file);
    }
    if answer.files.is_empty() {
        let records = collection.len()?;
        answer.notes.push(format!("no files there; the collection has {records} records (`what`: records)"));
    }
    Ok(answer)
}

fn records(collection: &Collection, arguments: &Listing) -> EngineResult<ListAnswer> {
    let mut budget = Budget::of(arguments.max_tokens)?;
    let mut answer = ListAnswer::default();
    let filter = arguments.condition.as_deref().map(nuthatch_filter::parse).transpose()?;
    let mut sources = Sources::default();
    // Pages of many; of the one that no longer fits, what fits is read again for its cursor.
    let cursors = arguments.cursors();
    let cursor = cursors.place(arguments.cursor.as_deref())?.map(Into::into);
    let mut scan = Scan { cursor, limit: RECORDS_AT_ONCE, filter, vectors: false };
    loop {
        let page = collection.scan(&scan)?;
        let found = page.records.into_iter().map(|record| HitView::record(collection, record, &mut sources));
        let found: Vec<HitView> =
            found.map(|found| Ok(found?.beginning(TEXT_BYTES_MAX))).collect::<EngineResult<_>>()?;
        let fits = found.iter().take_while(|found| budget.take(found)).count();
        let fits = if answer.records.is_empty() { fits.max(1) } else { fits };
        let is_whole = fits >= found.len();
        let number = found.len().min(fits);
        answer.records.extend(found.into_iter().take(fits));
        if !is_whole {
            let again = Scan { limit: number.max(1), ..scan.clone() };
            let cursor = if number == 0 { scan.cursor } else { collection.scan(&again)?.cursor };
            answer.cursor = cursor.map(|cursor| cursors.at(cursor));
            break;
        }
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            None => break,
        }
    }
    if answer.records.is_empty() {
        answer.notes.push("no records there".into());
    }
    Ok(answer)
}

impl Listing {
    fn cursors(&self) -> Cursors {
        let what = self.what.map(|what| format!("{what:?}"));
        let given = [
            self.collection.as_deref(),
            what.as_deref(),
            self.path.as_deref(),
            self.condition.as_deref(),
            self.tree.as_deref(),
            self.as_of.as_deref(),
            self.since.as_deref(),
        ];
        Cursors::of(NAME, &given)
    }
}

impl From<CollectionInfo> for Listed {
    fn from(info: CollectionInfo) -> Self {
        let fields = info.fields.into_iter().map(|(field, kinds)| format!("{field}: {}", kinds.join(" or ")));
        Self {
            fields: fields.collect(),
            collection: info.name,
            records: info.rows,
            vectors: info.vectors,
            embedder: info.embedder,
            degraded: info.degraded,
        }
    }
}

impl From<FileInfo> for File {
    fn from(file: FileInfo) -> Self {
        Self {
            changed: format_datetime(file.mtime_ns.div_euclid(1000)),
            path: file.path,
            kind: file.kind,
            bytes: file.bytes,
            passages: file.passages,
        }
    }
}

impl Answer for ListAnswer {
    fn text(&self) -> String {
        if let Some(said) = &self.said {
            return said.clone();
        }
        let collections = self.collections.iter().map(|listed| {
            let Listed { collection, records, vectors, fields, .. } = listed;
            format!(
                "collection {collection}: {records} records, {vectors} of them with vectors\nfields: {}",
                fields.join(", ")
            )
        });
        let files = self.files.iter().map(|file| format!("{}  {} passages", file.path, file.passages));
        let files = files.collect::<Vec<_>>().join("\n");
        let files = (!files.is_empty()).then_some(files);
        let records = self.records.iter().enumerate().map(|(at, record)| record.shown(at + 1));
        let trees = self.trees.iter().map(ListedTree::shown);
        let entries = self.entries.iter().map(TreeLine::shown).collect::<Vec<_>>().join("\n");
        let entries = (!entries.is_empty()).then_some(entries);
        let facts = (!self.facts.is_empty()).then(|| format!("facts: {}", self.facts.join(", ")));
        shown(
            collections.chain(trees).chain(facts).chain(entries).chain(files).chain(records),
            self.cursor.as_deref(),
            &self.notes,
        )
    }
}
