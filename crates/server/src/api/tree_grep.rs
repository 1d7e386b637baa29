//! Searching the files of a tree as ripgrep does: its print as a stream, or its messages of JSON.
//!
//! **Invariant:** an answer that ends well has all of the print, and says which contents were not searched to their end.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Extension;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use nuthatch_link::{
    Error, Files, GrepCut, GrepIndex, GrepOutput, GrepPage, GrepRead, GrepRequest, GrepTree, Result as EngineResult,
    TreeAt, TreeIndex,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Turn;
use crate::admission::Admitted;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::{Caller, CancelledOnDrop};
use crate::extract::{Json, Parameters, Segments, parse_from};
use crate::problem::Problem;
use crate::shared::Shared;

/// The most bytes that one content may print, and about as many as are held of an answer.
const PAGE_BYTES: usize = 8 << 20;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(grep)).routes(routes!(index))
}

/// Where to search, next to the fields of a search of ripgrep's.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Place {
    below: String,
    as_of: Option<String>,
    history: bool,
    pages: bool,
    cursor: Option<String>,
    index: GrepIndex,
    #[serde(rename = "where")]
    filter: Option<String>,
}

const PLACE: [&str; 7] = ["below", "as_of", "history", "pages", "cursor", "index", "where"];

/// A search for ripgrep, and where to run it. Each default is ripgrep's own without the flag when its output is no
/// terminal.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = GrepTree)]
#[allow(dead_code, reason = "it describes what `read` takes apart")]
struct Grep {
    /// Regular expressions, one at least: a line that one of them matches is a match (`-e`).
    #[schema(required = true)]
    patterns: Vec<String>,
    /// Only what stands at this path or below it.
    below: String,
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
    /// Searches every kept version of each path, each content of a path once. A path is then followed by `@` and the sequence of
    /// the write.
    history: bool,
    /// With `output` `json`: ends the answer after some megabytes, with a `cursor` in its report.
    pages: bool,
    /// The cursor of the page before; the rest of the request is the same.
    cursor: Option<String>,
    index: Index,
    /// Searches only files that pass this condition on their fields, such as `tags contains 'draft'`.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// The patterns are texts (`-F`).
    fixed_strings: bool,
    /// `-i`.
    ignore_case: bool,
    /// As `ignore_case` if the patterns have no upper-case letter (`-S`).
    smart_case: bool,
    /// A match begins and ends at a word's boundary (`-w`).
    word: bool,
    /// A match is a whole line (`-x`).
    line_regexp: bool,
    /// The lines that do not match (`-v`).
    invert: bool,
    /// A match may span lines (`-U`). Such a search holds each file whole, and leaves out those over 16 MiB.
    multiline: bool,
    /// With `multiline`, a dot matches the end of a line, too.
    multiline_dotall: bool,
    /// A line may end in `\r\n`, and `$` matches before it.
    crlf: bool,
    /// Lines end in NUL.
    null_data: bool,
    /// `\w`, `.` and `ignore_case` are about bytes.
    no_unicode: bool,
    /// Refused: there are no expressions of Perl's.
    pcre2: bool,
    /// Maximum number of matching lines of a file (`-m`).
    max_count: Option<u64>,
    /// Stops at the first line that does not match after one that does.
    stop_on_nonmatch: bool,
    /// A NUL does not end the search of a file (`-a`).
    text: bool,
    /// Searches on behind a NUL, and says `binary file matches` instead of printing lines.
    binary: bool,
    /// A label of the Encoding Standard, or `none` to heed no byte order mark (`-E`).
    encoding: Option<String>,
    /// Only paths that match one of these patterns of gitignore's; with `!` in front, not those (`-g`). The last that matches decides.
    globs: Vec<String>,
    /// The same without regard to case, after `globs`.
    iglobs: Vec<String>,
    /// Names of file types (`-t`).
    types: Vec<String>,
    /// Names of file types to leave out (`-T`).
    types_not: Vec<String>,
    output: Output,
    /// Prints nothing, and stops at the first match (`-q`).
    quiet: bool,
    /// Only what matches, each match on a line of its own (`-o`).
    only_matching: bool,
    /// A line for each match, with the numbers of line and column.
    vimgrep: bool,
    /// Prints this instead of what matches (`-r`).
    replace: Option<String>,
    /// Lines before a match (`-B`).
    before_context: u32,
    /// Lines after a match (`-A`).
    after_context: u32,
    /// Prints all lines.
    passthru: bool,
    /// Numbers of lines (`-n`).
    line_number: Option<bool>,
    /// Numbers of columns, in bytes from 1.
    column: Option<bool>,
    /// Where each line begins, in bytes from 0 (`-b`).
    byte_offset: bool,
    /// The path before each line.
    #[schema(default = true)]
    with_filename: bool,
    /// The path above its lines.
    heading: bool,
    /// A NUL behind each path (`-0`).
    null: bool,
    /// Counts of zero, too.
    include_zero: bool,
    /// Without the white space that a line begins with.
    trim: bool,
    /// Leaves out what a line has beyond as many bytes (`-M`).
    max_columns: Option<u64>,
    /// With `max_columns`, the beginning of a long line.
    max_columns_preview: bool,
    /// With the control codes of a terminal.
    color: bool,
    /// Counts at the end.
    stats: bool,
}

/// Whether the index selects the files to read. The output is the same either way.
#[derive(Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GrepIndex)]
#[allow(dead_code, reason = "it describes what a search uses")]
enum Index {
    /// Where few contents can match.
    #[default]
    Auto,
    /// Every file is read.
    Never,
    /// Wherever it tells anything at all.
    Always,
}

/// The output of a search.
#[derive(Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GrepOutput)]
#[allow(dead_code, reason = "it describes what ripgrep prints")]
enum Output {
    /// The lines that match.
    #[default]
    Lines,
    /// How many lines match, a line for each path (`-c`).
    Count,
    /// How many matches there are, a line for each path.
    CountMatches,
    /// The paths of the files that match (`-l`).
    FilesWithMatches,
    /// The paths of the files that do not match.
    FilesWithoutMatch,
    /// Messages of JSON, one a line (`--json`).
    Json,
}

/// The last message of an answer of JSON, after ripgrep's: `{"type": "report", "data": …}`.
#[derive(Serialize, ToSchema)]
#[schema(as = GrepReport)]
struct Report {
    /// Some content counted as a match.
    matched: bool,
    /// Files, or versions, that were searched.
    searched: u64,
    /// Those that were not searched to their end.
    cut: Vec<Cut>,
    /// With `pages`: where to go on; null at the end.
    cursor: Option<String>,
    read: Read,
}

/// Figures about the reads of a search.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = GrepRead)]
struct Read {
    /// Why every file was read; null where the index told which ones to read.
    scanned: Option<String>,
    /// Files, or versions, whose bytes were searched.
    files: u64,
    /// Bytes of contents that were read.
    bytes: u64,
    /// Grams that were looked up in the index.
    grams: u64,
    /// Bytes of the index that were read.
    index_bytes: u64,
    /// Contents that the index knows, of all versions of all trees.
    contents: u64,
    /// Contents that can match by their grams, with those whose grams are not known.
    candidates: u64,
    /// Contents that wait for their grams to be found.
    pending: u64,
}

impl From<GrepRead> for Read {
    fn from(read: GrepRead) -> Self {
        let GrepRead { scanned, files, bytes, grams, index_bytes, contents, candidates, pending } = read;
        Self { scanned, files, bytes, grams, index_bytes, contents, candidates, pending }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = GrepCut)]
struct Cut {
    path: String,
    why: String,
}

/// A message that ripgrep has not.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", content = "data", rename_all = "lowercase")]
#[schema(as = GrepLast)]
enum Last {
    /// All was searched, but for what it names.
    Report(Report),
    /// The search has ended early.
    Failed(Box<Problem>),
}

/// Searches the bytes of a tree's files as ripgrep does, exact and in the order of their paths, and streams what it prints. Text
/// ends with a line `nuthatch: PATH: REASON` for each file that could not be searched to its end; text that breaks off is not whole.
/// With `output` `json`, ripgrep's messages come one a line, and then a last one of type `report` or `failed`.
#[utoipa::path(post, path = "/v1/trees/{tree}/grep", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), AsOf), request_body = Grep,
    responses((status = 200, description = "What ripgrep prints, and the last message of JSON", content(
        (String = "text/plain"), (Last = "application/x-ndjson")))))]
async fn grep(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(tree): Segments<String>,
    admitted: Option<Extension<Arc<Admitted>>>,
    Json { value, .. }: Json<Map<String, Value>>,
) -> Result<Response, Problem> {
    let (ask, pages) = ask_of(tree.clone(), value)?;
    let is_json = ask.request.output == GrepOutput::Json;
    let (database, turn, wanted) = caller.begin().await?;
    let ask = Arc::new(ask);
    let first = ask.clone();
    let opened = caller.step(move || {
        let files = read_point.tree(&database, &tree)?;
        let page = files.grep_page((*first).clone())?;
        Ok((files, page))
    });
    let (files, first) = opened.await?;
    let admitted = admitted.map(|Extension(admitted)| admitted);
    let searching = Searching {
        caller,
        files,
        ask,
        pages,
        first: Some(first),
        report: Report { matched: false, searched: 0, cut: Vec::new(), cursor: None, read: Read::default() },
        read: GrepRead::default(),
        has_ended: false,
        _held: (turn, wanted, admitted),
    };
    let body = Body::from_stream(futures_util::stream::unfold(searching, Searching::next));
    let mut response = Response::new(body);
    let media_type = if is_json { "application/x-ndjson" } else { "text/plain" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// Whether to wait for the index.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Waiting {
    /// Answers after every file is in the index.
    #[serde(default)]
    wait: bool,
}

/// How far the index is that searches use. All trees of a tenant share it.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeIndex)]
struct IndexState {
    /// Contents that are in it.
    indexed: u64,
    /// Contents that are not yet; a search reads them in any case.
    pending: u64,
    /// Bytes of the contents that are in it.
    indexed_bytes: u64,
    /// About how many bytes it has, before they are compressed.
    index_bytes: u64,
}

/// Tells how far the index is that `grep` uses, which is made in the background.
#[utoipa::path(get, path = "/v1/trees/{tree}/index", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), AsOf, Waiting), responses((status = 200, description = "How far it is", body = IndexState)))]
async fn index(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(tree): Segments<String>,
    Parameters(Waiting { wait }): Parameters<Waiting>,
) -> Result<Response, Problem> {
    let index = caller.run(move |database| read_point.tree(database, &tree)?.index(wait)).await?;
    let TreeIndex { indexed, pending, indexed_bytes, index_bytes } = index;
    Ok(reply::json(&IndexState { indexed, pending, indexed_bytes, index_bytes }))
}

/// The search, and whether it ends with its first page.
fn ask_of(tree: String, mut value: Map<String, Value>) -> Result<(GrepTree, bool), Problem> {
    let wrong = |why| Problem::invalid(format!("the body: {why}"));
    let place: Map<_, _> = PLACE.iter().filter_map(|name| value.remove_entry(*name)).collect();
    let Place { below, as_of, history, pages, cursor, index, filter } =
        parse_from(Value::Object(place)).map_err(wrong)?;
    let request: GrepRequest = parse_from(Value::Object(value)).map_err(wrong)?;
    if (pages || cursor.is_some()) && request.output != GrepOutput::Json {
        return Err(Problem::invalid("pages and their cursors are for `\"output\": \"json\"`; leave them out"));
    }
    let cursor = cursor.map(|cursor| serde_json::from_str(&cursor)).transpose();
    let cursor = cursor.map_err(|_| Problem::invalid("the cursor is none that this server returned"))?;
    let at = TreeAt { tree, as_of };
    Ok((GrepTree { at, below, request, history, cursor, bytes_max: PAGE_BYTES, index, filter }, pages))
}

/// A search that is being answered, a page at a time: the next one is searched when the client has taken this one.
struct Searching {
    caller: Caller,
    files: Files,
    ask: Arc<GrepTree>,
    pages: bool,
    first: Option<GrepPage>,
    report: Report,
    read: GrepRead,
    has_ended: bool,
    _held: (Option<Turn>, CancelledOnDrop, Option<Arc<Admitted>>),
}

impl Searching {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        if self.has_ended {
            return None;
        }
        let page = match self.first.take() {
            Some(first) => Ok(first),
            None => {
                let (files, ask) = (self.files.clone(), self.ask.clone());
                self.caller.step(move || files.grep_page((*ask).clone())).await
            }
        };
        let printed = match page.and_then(|page| Ok(self.printed(page)?)) {
            Ok(printed) => Ok(printed.into()),
            Err(problem) => {
                self.has_ended = true;
                match self.is_json() {
                    true => Ok(line(&Last::Failed(Box::new(problem))).into()),
                    // The head is sent: a connection that breaks off says that the text is not whole.
                    false => Err(io::Error::other(problem.detail)),
                }
            }
        };
        Some((printed, self))
    }

    fn is_json(&self) -> bool {
        self.ask.request.output == GrepOutput::Json
    }

    /// Returns the bytes to send for a page, and with the last page the rest.
    fn printed(&mut self, page: GrepPage) -> EngineResult<Vec<u8>> {
        let GrepPage { mut output, matched, searched, cut, cursor, read } = page;
        self.read.join(read);
        self.report.matched = matched;
        self.report.searched += searched;
        self.report.cut.extend(cut.into_iter().map(|GrepCut { path, why }| Cut { path, why }));
        if cursor.is_some() && !self.pages {
            Arc::make_mut(&mut self.ask).cursor = cursor;
            return Ok(output);
        }
        self.has_ended = true;
        let cursor = cursor.map(|cursor| serde_json::to_string(&cursor)).transpose();
        self.report.cursor = cursor.map_err(|error| Error::internal(format!("a cursor: {error}")))?;
        if self.is_json() {
            self.report.read = std::mem::take(&mut self.read).into();
            let empty = Report { matched, searched: 0, cut: Vec::new(), cursor: None, read: Read::default() };
            output.extend(line(&Last::Report(std::mem::replace(&mut self.report, empty))));
        } else {
            for Cut { path, why } in &self.report.cut {
                output.extend(format!("nuthatch: {path}: {why}\n").into_bytes());
            }
        }
        Ok(output)
    }
}

fn line(last: &Last) -> Vec<u8> {
    let mut line = serde_json::to_vec(last).expect("strings and numbers are JSON");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;
    use utoipa::PartialSchema;

    use super::*;

    #[test]
    fn the_description_has_the_fields_that_a_search_has() {
        let described = serde_json::to_value(Grep::schema()).unwrap();
        let described = described["properties"].as_object().unwrap();
        let request = serde_json::to_value(GrepRequest::default()).unwrap();
        let request = request.as_object().unwrap();
        let taken: BTreeSet<&str> = request.keys().map(String::as_str).chain(PLACE).collect();
        assert_eq!(described.keys().map(String::as_str).collect::<BTreeSet<_>>(), taken);
        for (name, default) in request {
            assert_eq!(described[name].get("default").unwrap_or(&Value::Null), default, "{name}");
        }
    }

    #[test]
    fn a_search_is_taken_apart_and_what_is_unknown_is_refused() {
        let of = |body: Value| ask_of("t".into(), body.as_object().unwrap().clone());
        let (ask, pages) = of(json!({"patterns": ["x"], "word": true, "below": "src", "history": true})).ok().unwrap();
        assert!(ask.request.word && ask.request.with_filename && ask.history && !pages);
        assert_eq!((ask.below.as_str(), ask.request.patterns), ("src", vec!["x".to_string()]));
        for wrong in [
            json!({"patterns": ["x"], "words": true}),
            json!({"patterns": "x"}),
            json!({"patterns": ["x"], "below": 1}),
            json!({"patterns": ["x"], "pages": true}),
            json!({"patterns": ["x"], "output": "json", "cursor": "{}"}),
        ] {
            assert_eq!(of(wrong.clone()).err().unwrap().status, 400, "{wrong}");
        }
    }
}
