//! `nuthatch search`: the best passages for a question, with how each leg ranked them.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use nuthatch_dialect::operations::{Facet, facets_in_lines};
use nuthatch_dialect::{FUSIONS, MODES, accuracy};
use nuthatch_link::{
    Answer, Collection, Database, Error, ErrorKind, Fusion, Hit, Leg, Legs, Mode, Result as EngineResult, TextQuery,
    Value, citation, payload_to_json, text_snippet,
};
use nuthatch_text::Analyzer;
use serde::Serialize;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::commands::named::Further;
use crate::embedder::EmbedderArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BOLD, DIM, MATCH, Out, SOURCE, plain};
use crate::tree_at::inside;
use crate::units::{count, parse_seconds, thousands};
use crate::{folder, paths};

/// Longest snippet in characters.
const SNIPPET_CHARS: usize = 320;

#[derive(Args)]
pub struct Search {
    /// Words or a question
    #[arg(required_unless_present = "like", value_name = "QUERY")]
    query: Vec<String>,
    /// Find passages similar to this one, but not itself; an id as `search` and `get` show it
    #[arg(long, value_name = "ID")]
    like: Option<String>,
    /// The vector field for --like [default: the unnamed vectors]
    #[arg(long, value_name = "FIELD", requires = "like")]
    using: Option<String>,
    /// Maximum number of passages
    #[arg(short = 'n', long, default_value_t = 5, value_name = "N")]
    limit: usize,
    /// Skip this many passages
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: usize,
    /// Only passages that match, for example "lang = 'rust' and mtime > '2025-01-01'"
    #[arg(short, long = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// Search by words (text), by meaning (vector), or both [default: both if the collection has
    /// vectors]
    #[arg(short, long, value_name = "MODE", value_parser = PossibleValuesParser::new(MODES).try_map(|name| name.parse::<Mode>()))]
    mode: Option<Mode>,
    /// How to combine both rankings
    #[arg(long, default_value = "rrf", value_name = "HOW", value_parser = PossibleValuesParser::new(FUSIONS))]
    fusion: String,
    /// Weight of the text ranking
    #[arg(long, default_value_t = 1.0, value_name = "W")]
    text_weight: f32,
    /// Weight of the vector ranking
    #[arg(long, default_value_t = 1.0, value_name = "W")]
    vector_weight: f32,
    /// Average share of the true nearest vectors to find, 0.5 to 0.999 [default: 0.99]
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["ef", "exact"])]
    recall: Option<f32>,
    /// Size of the search list, instead of --recall
    #[arg(long, alias = "effort", value_name = "N", conflicts_with = "exact")]
    ef: Option<usize>,
    /// Compare every vector exactly
    #[arg(long)]
    exact: bool,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,
    /// The collection to search
    #[arg(long, default_value = COLLECTION_DEFAULT, value_name = "NAME")]
    collection: String,
    /// Search the files of this tree instead of a collection; --where may name path, name, mtime and
    /// other fields of its files
    #[arg(long, value_name = "NAME", conflicts_with_all = ["collection", "using"])]
    tree: Option<String>,
    /// The tree as it was: the name of a snapshot, a sequence, or a time such as 2026-11-25T10:00:00Z
    #[arg(long, value_name = "WHEN", requires = "tree")]
    as_of: Option<String>,
    /// Only files at or below this path of the tree
    #[arg(long, value_name = "PATH", requires = "tree")]
    below: Option<String>,
    /// Show whole passages
    #[arg(long)]
    full: bool,
    /// Show how the search worked
    #[arg(long)]
    explain: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    further: Further,
    #[command(flatten)]
    embedder: EmbedderArgs,
}

impl Search {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let query = self.query.join(" ");
        let query = Some(query.as_str()).filter(|_| !self.query.is_empty());
        let mut search = nuthatch_link::Search::default().limit(self.limit).offset(self.offset);
        search.text = query.map(str::to_owned);
        search.time_limit = self.timeout;
        search.using = self.using.clone();
        search.accuracy = accuracy(self.exact, self.ef, self.recall)?;
        search.mode = self.mode;
        search.refine = nuthatch_dialect::refine(self.further.0.clone())?;
        search.fusion = Fusion::named(&self.fusion, self.text_weight, self.vector_weight)?;
        if let Some(condition) = &self.filter {
            search = search.filter(condition)?;
        }
        let database = folder::open(globals)?;
        let started = Instant::now();
        let (found, collection) = self.find(&database, query, &mut search)?;
        let answer = found.map_err(|mut error| {
            let is_late = self.timeout.is_some_and(|timeout| started.elapsed() >= timeout);
            if error.kind == ErrorKind::Unavailable && !is_late {
                error.message += "\nWithout it, `--mode text` searches by words only.";
            }
            error
        })?;
        for why in &answer.degraded {
            output::warning(&format!("{why}; the results are correct, but slower (`nuthatch doctor` tells more)"));
        }
        if let Some(pending) = answer.pending.filter(|_| self.mode != Some(Mode::Text)) {
            let how = match answer.explain.mode == Mode::Text.as_str() {
                true => "this answer is by words alone",
                false => "the others are found by their words",
            };
            let (vectors, records) = (thousands(pending.vectors), count(pending.records, "passage"));
            output::note(&format!("Vectors for {} %: {vectors} of {records}; {how}.", pending.percent()));
        }
        match self.json {
            true => output::json(out, &self.as_json(query, &answer))?,
            false => self.show(
                out,
                TextQuery { text: query.unwrap_or_default(), fuzzy: search.refine.fuzzy, prefix: search.refine.prefix },
                &answer,
                &Analyzer::new(&collection.info()?.language).map_err(nuthatch_link::Error::from)?,
            )?,
        }
        out.flush()?;
        database.close()?;
        Ok(if answer.hits.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }

    /// The answer, and the collection of its hits.
    fn find(
        &self,
        database: &Database,
        query: Option<&str>,
        search: &mut nuthatch_link::Search,
    ) -> Result<(EngineResult<Answer>, Collection), Failure> {
        if let Some(name) = &self.tree {
            search.like = self.like.clone();
            let tree = database.existing_tree(name)?.with_embedder(self.embedder.options()?.embedder);
            let below = inside(self.below.as_deref().unwrap_or_default());
            let found = tree.search(self.as_of.as_deref(), below, search);
            let passages = database.passages_of_trees()?;
            return match (found, passages) {
                (found, Some(passages)) => Ok((found, passages)),
                (Err(error), None) => Err(error.into()),
                (Ok(_), None) => Err(Error::not_found("the trees have been dropped meanwhile").into()),
            };
        }
        let mut collection =
            database.existing_collection(&self.collection).map_err(|error| of_trees(database, error))?;
        if query.is_some() && self.mode != Some(Mode::Text) {
            collection = database.collection(&self.collection, self.embedder.options()?)?;
        }
        search.like = self.like.as_deref().map(|id| stored_id(&collection, id)).transpose()?;
        Ok((collection.search(search), collection))
    }

    fn show(&self, out: &mut Out, query: TextQuery<'_>, answer: &Answer, analyzer: &Analyzer) -> Result<(), Failure> {
        let here = paths::here();
        for (at, hit) in answer.hits.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            show_hit(out, self.offset + at + 1, hit, &here)?;
            let text = hit.text.as_deref().unwrap_or_default();
            let chars = if self.full { usize::MAX } else { SNIPPET_CHARS };
            show_snippet(out, analyzer, query, text, chars)?;
        }
        if answer.hits.is_empty() {
            output::note("Nothing found.");
        } else if let Some(offset) = answer.next_offset {
            out.flush()?;
            output::note(&format!("\nMore: --offset {offset}"));
        }
        if !answer.facets.is_empty() {
            writeln!(out, "\n{}", plain(&facets_in_lines(&facets_json(answer)?)))?;
        }
        if self.explain {
            writeln!(out, "\n{BOLD}How it was found{BOLD:#}")?;
            let explain = serde_json::to_string_pretty(&answer.explain).map_err(std::io::Error::from)?;
            writeln!(out, "{explain}")?;
        }
        Ok(())
    }

    fn as_json<'a>(&'a self, query: Option<&'a str>, answer: &'a Answer) -> AnswerJson<'a> {
        AnswerJson {
            query,
            like: self.like.as_deref(),
            mode: &answer.explain.mode,
            hits: answer.hits.iter().map(HitJson::new).collect(),
            degraded: &answer.degraded,
            facets: answer.facets.iter().cloned().map(Into::into).collect(),
            next_offset: answer.next_offset,
            pending: answer.pending.map(nuthatch_dialect::Pending::from),
            explain: self.explain.then_some(&answer.explain),
        }
    }
}

/// Lists the trees in the error: a user who has only trees may have meant one of them.
fn of_trees(database: &Database, mut error: Error) -> Error {
    if let Ok(names) = database.tree_names()
        && !names.is_empty()
    {
        error.message += &format!("; there are trees, which `--tree NAME` searches: {}", names.join(", "));
    }
    error
}

fn facets_json(answer: &Answer) -> Result<serde_json::Value, Failure> {
    let facets: Vec<Facet> = answer.facets.iter().cloned().map(Into::into).collect();
    Ok(serde_json::to_value(facets).map_err(std::io::Error::from)?)
}

/// The id that an argument means, if the store knows it; else the argument, so that the engine refuses it by that name.
fn stored_id(collection: &Collection, argument: &str) -> Result<String, Failure> {
    let ids = paths::ids_meant(argument);
    let known = collection.get(&ids, false)?;
    let found = ids.into_iter().zip(known).find(|(_, record)| record.is_some());
    Ok(found.map_or_else(|| argument.to_string(), |(id, _)| id))
}

/// Rank, source, score, and each leg's place; then the id and the heading.
fn show_hit(out: &mut Out, rank: usize, hit: &Hit, here: &Path) -> Result<(), Failure> {
    let id = plain(paths::shown(&hit.id, here));
    let source = field(hit, "path").map(|path| citation(paths::shown(path, here), &hit.payload));
    let source = plain(&source.unwrap_or_else(|| id.clone()));
    write!(out, "{BOLD}{rank}.{BOLD:#} {SOURCE}{source}{SOURCE:#}  {BOLD}{:.4}{BOLD:#}", hit.score)?;
    for (name, leg) in [("text", &hit.legs.text), ("vector", &hit.legs.vector)] {
        if let Some(Leg { rank, score }) = leg {
            write!(out, "  {DIM}{name} #{rank} {score:.3}{DIM:#}")?;
        }
    }
    writeln!(out)?;
    let heading = field(hit, "heading").or(hit.context.as_deref()).map(|heading| plain(&heading.replace('\n', " ")));
    let id = (id != source).then_some(id);
    let line: Vec<String> = heading.into_iter().chain(id).collect();
    if !line.is_empty() {
        writeln!(out, "   {DIM}{}{DIM:#}", line.join("  ·  "))?;
    }
    Ok(())
}

fn field<'a>(hit: &'a Hit, name: &str) -> Option<&'a str> {
    match hit.payload.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// The part of the text where the query's words are, in lines, with the words marked.
fn show_snippet(
    out: &mut Out,
    analyzer: &Analyzer,
    query: TextQuery<'_>,
    text: &str,
    chars: usize,
) -> Result<(), Failure> {
    let snippet = text_snippet(analyzer, text, query, chars);
    let mut marked = String::new();
    let mut at = snippet.window.start;
    if at > 0 {
        marked += "… ";
    }
    for highlight in &snippet.highlights {
        marked += &plain(&text[at..highlight.start]);
        marked += &format!("{MATCH}{}{MATCH:#}", plain(&text[highlight.clone()]));
        at = highlight.end;
    }
    marked += &plain(&text[at..snippet.window.end]);
    if snippet.window.end < text.len() {
        marked += " …";
    }
    for line in marked.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        writeln!(out, "   {line}")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct AnswerJson<'a> {
    query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    like: Option<&'a str>,
    mode: &'a str,
    hits: Vec<HitJson<'a>>,
    degraded: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facets: Vec<Facet>,
    next_offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<nuthatch_dialect::Pending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<&'a nuthatch_link::Explain>,
}

#[derive(Serialize)]
struct HitJson<'a> {
    id: &'a str,
    score: f32,
    text: Option<&'a str>,
    context: Option<&'a str>,
    payload: serde_json::Map<String, serde_json::Value>,
    legs: LegsJson,
}

#[derive(Serialize)]
struct LegsJson {
    text: Option<nuthatch_dialect::Leg>,
    vector: Option<nuthatch_dialect::Leg>,
}

impl<'a> HitJson<'a> {
    fn new(hit: &'a Hit) -> Self {
        let leg = |leg: &Option<Leg>| leg.map(nuthatch_dialect::Leg::from);
        let Legs { text, vector, vectors: _, rerank: _ } = &hit.legs; // one vector leg is all that can be asked for here
        Self {
            id: &hit.id,
            score: hit.score,
            text: hit.text.as_deref(),
            context: hit.context.as_deref(),
            payload: payload_to_json(&hit.payload),
            legs: LegsJson { text: leg(text), vector: leg(vector) },
        }
    }
}
