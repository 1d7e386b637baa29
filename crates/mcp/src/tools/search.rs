//! `search`: the best passages and notes for a question, from one collection or all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_dialect::operations::{Facet, facets_in_lines};
use nuthatch_dialect::{further, refine};
use nuthatch_link::{
    Answer as Hits, Collection, Database, EmbedderChoice, Error, ErrorKind, Hit, Mode, Result as EngineResult, Search,
    TextQuery, text_snippet,
};
use nuthatch_text::Analyzer;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::access::{Access, Settings};
use crate::budget::{Budget, TOKENS_MAX, TOKENS_MIN};
use crate::call_context::{CallContext, Step};
use crate::hit_view::HitView;
use crate::place;
use crate::refusal::Refusal;
use crate::schema;
use crate::sources::Sources;
use crate::tools::cursor::{Cursors, no_cursor};
use crate::tools::{Answer, Does, Parsed, shown};

pub const NAME: &str = "search";

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 50;
/// One text takes this part of an answer at most, so that there is room for others.
const SHARE: usize = 3;
/// Collections of which it is told why they cannot be asked, where none can.
const REFUSED_MAX: usize = 8;

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Searching {
    /// A question or key words.
    pub query: String,
    /// Where to look; left out, everywhere.
    pub collection: Option<String>,
    /// Condition on fields, for example `lang = 'rust' and mtime > '2025-01-01'`; `list` names the fields.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// By words (text), by meaning (vector), or by both (hybrid); left out, whatever the collection has.
    pub mode: Option<ModeName>,
    /// Default 10.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    pub limit: Option<usize>,
    /// Longest answer, default 4000.
    #[schemars(range(min = TOKENS_MIN, max = TOKENS_MAX))]
    pub max_tokens: Option<usize>,
    /// Of the answer before, to go on.
    pub cursor: Option<String>,
    /// Fields of a search that are not spelt out here.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModeName {
    Hybrid,
    Text,
    Vector,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// Best first. Cite `source`; what has none is a note, not a file: say so, with its `id`.
    pub hits: Vec<HitView>,
    /// The facets that `facets` asked for, of each collection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<Value>,
    /// There is more: give it to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Notes about this answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

pub fn tool() -> Tool {
    let mut tool = super::tool::<Searching, SearchAnswer>(
        NAME,
        "Search the memory",
        "Use when files, notes or earlier decisions that the user has stored may answer a question, and before `remember`, to see what is \
         known already. Returns passages, best first, each with the source to cite.",
        Does::Reads,
    );
    tool.input_schema = schema::with_fields(&tool.input_schema, further());
    tool
}

pub async fn call<A: Access>(
    arguments: Parsed<Searching>,
    access: &A,
    settings: &Settings,
    call_context: &CallContext,
) -> Result<SearchAnswer, Refusal> {
    let (arguments, cancel) = (arguments?, call_context.cancel.clone());
    let (embedder, timeout) = (settings.embedder.clone(), settings.search_timeout);
    let (tell, told) = watch::channel(None);
    let work = access.run(move |database| {
        let tell = |step| drop(tell.send_replace(Some(step)));
        search(database, &arguments, &embedder, Asking { timeout, cancel, tell: &tell })
    });
    call_context.follow(work, told).await
}

/// How long a search may take, whether it is still wanted, and who is told how far it is.
pub struct Asking<'t> {
    pub timeout: Duration,
    pub cancel: Arc<AtomicBool>,
    pub tell: &'t dyn Fn(Step),
}

/// The search itself.
pub fn search(
    database: &Database,
    arguments: &Searching,
    embedder: &EmbedderChoice,
    asking: Asking<'_>,
) -> EngineResult<SearchAnswer> {
    let Asking { timeout, cancel, tell } = asking;
    let mut budget = Budget::of(arguments.max_tokens)?;
    let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(Error::invalid(format!("limit is {limit}; give 1 to {LIMIT_MAX}, and go on with the cursor")));
    }
    if arguments.query.trim().is_empty() {
        return Err(Error::invalid("the query is empty; give a question or key words (`list` shows what there is)"));
    }
    let cursors = arguments.cursors();
    let place = cursors.place(arguments.cursor.as_deref())?;
    let offset = place.map_or(Ok(0), |place| place.parse().map_err(|_| no_cursor(place)))?;
    let collections = place::meant(database, arguments.collection.as_deref(), embedder)?;
    let filter = arguments.condition.as_deref().map(nuthatch_filter::parse).transpose()?;
    // Where there are several, each may have all that comes before.
    let (skipped_inside, skipped_after) = if collections.len() == 1 { (offset, 0) } else { (0, offset) };
    let question = Search {
        text: Some(arguments.query.clone()),
        mode: arguments.mode.map(Mode::from),
        filter,
        refine: refine(arguments.further.clone())?,
        limit: limit + skipped_after,
        offset: skipped_inside,
        time_limit: Some(timeout),
        cancel: Some(cancel),
        ..Search::default()
    };
    let mut answer = SearchAnswer::default();
    let found = ask_all(&collections, &question, &mut answer.notes, tell)?;
    answer.facets = facets_of(&found);
    let mut is_more = found.iter().any(|(_, hits)| hits.next_offset.is_some());
    let mut ranked = interleaved(found).skip(skipped_after);
    let (share, mut shown, mut sources) = (budget.bytes_left() / SHARE, 0, Sources::default());
    for (collection, hit) in ranked.by_ref().take(limit) {
        let (fuzzy, prefix) = (question.refine.fuzzy, question.refine.prefix);
        let asked = TextQuery { text: &arguments.query, fuzzy, prefix };
        let window = |text: &str, bytes: usize| window(collection, text, asked, bytes);
        let mut found = HitView::hit(collection, hit, &mut sources)?;
        if !found.take_room(&mut budget, share, window) {
            if shown == 0 {
                let message = "the first hit does not fit into max_tokens; ask for more";
                return Err(Error::invalid(message));
            }
            is_more = true;
            break;
        }
        answer.hits.push(found);
        shown += 1;
    }
    is_more |= ranked.next().is_some();
    answer.cursor = is_more.then(|| cursors.at(offset + shown));
    if answer.hits.is_empty() {
        let why = match (collections.is_empty(), offset) {
            (true, _) => "the memory is empty",
            (false, 0) => "nothing found; try other words, or leave out `where` and `mode`",
            (false, _) => "there is no more",
        };
        answer.notes.push(why.into());
    }
    Ok(answer)
}

/// Each with its collection.
fn facets_of(found: &[(&Collection, Hits)]) -> Vec<Value> {
    let of_one = |(collection, hits): &(&Collection, Hits)| {
        let facets: Vec<Facet> = hits.facets.iter().cloned().map(Into::into).collect();
        let told = json!({"collection": collection.name(), "facets": facets});
        (!facets.is_empty()).then_some(told)
    };
    found.iter().filter_map(of_one).collect()
}

/// The answers of all collections that can be asked this.
fn ask_all<'a>(
    collections: &'a [Collection],
    question: &Search,
    notes: &mut Vec<String>,
    tell: &dyn Fn(Step),
) -> EngineResult<Vec<(&'a Collection, Hits)>> {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let total = collections.len() as u64;
    for (collection, done) in collections.iter().zip(0..) {
        if done > 0 {
            tell(Step { done, total, message: format!("{done} of {total} collections searched") });
        }
        match ask(collection, question, notes) {
            Ok(mut hits) => {
                notes.append(&mut hits.degraded);
                if let Some(pending) = hits.pending {
                    notes.push(format!(
                        "collection {}: vectors for {} % of its passages so far; the others are found by their words",
                        collection.name(),
                        pending.percent()
                    ));
                }
                found.push((collection, hits));
            }
            // A field that one collection lacks may be one of another.
            Err(error) if error.kind == ErrorKind::Invalid && collections.len() > 1 => {
                notes.push(format!("collection {} was left out: {}", collection.name(), error.message));
                refused.push((collection.name(), error.message));
            }
            Err(error) => return Err(error),
        }
    }
    match found.is_empty() && !refused.is_empty() {
        true => Err(refused_by_all(&refused)),
        false => Ok(found),
    }
}

/// Builds the error for a question that every collection refuses, in the words of each: they have different fields.
fn refused_by_all(refused: &[(&str, String)]) -> Error {
    let is_same = refused.iter().all(|(_, message)| *message == refused[0].1);
    let (shown, left_out) = refused.split_at(if is_same { 1 } else { refused.len().min(REFUSED_MAX) });
    let mut message = match is_same {
        true => shown[0].1.clone(),
        false => {
            shown.iter().map(|(name, message)| format!("collection {name}: {message}")).collect::<Vec<_>>().join("; ")
        }
    };
    if !is_same && !left_out.is_empty() {
        message += &format!("; and {} other collections refuse it too (`list` names their fields)", left_out.len());
    }
    Error::invalid(message)
}

/// One collection's answer; by words alone where its embedder is not there.
fn ask(collection: &Collection, question: &Search, notes: &mut Vec<String>) -> EngineResult<Hits> {
    let started = Instant::now();
    let error = match collection.search(question) {
        Err(error) if error.kind == ErrorKind::Unavailable && question.mode.is_none() => error,
        done => return done,
    };
    let is_late = question.time_limit.is_some_and(|limit| started.elapsed() >= limit);
    let is_cancelled = question.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed));
    if is_late || is_cancelled {
        return Err(error);
    }
    notes.push(format!("collection {} was searched by words alone: {}", collection.name(), error.message));
    collection.search(&Search { mode: Some(Mode::Text), ..question.clone() })
}

/// All firsts, then all seconds: scores of different collections cannot be compared. Among firsts those come before whose meaning is nearer, which is
/// right where one model has embedded them, and no worse than any other order elsewhere.
fn interleaved(found: Vec<(&Collection, Hits)>) -> impl Iterator<Item = (&Collection, Hit)> {
    let mut ranked: Vec<(usize, &Collection, Hit)> = Vec::new();
    for (collection, hits) in found {
        ranked.extend(hits.hits.into_iter().enumerate().map(|(rank, hit)| (rank, collection, hit)));
    }
    let nearness = |hit: &Hit| hit.legs.vector.map_or(f32::NEG_INFINITY, |leg| leg.score);
    ranked.sort_by(|(rank, _, hit), (other_rank, _, other)| {
        rank.cmp(other_rank).then_with(|| nearness(other).total_cmp(&nearness(hit)))
    });
    ranked.into_iter().map(|(_, collection, hit)| (collection, hit))
}

/// The part of a long text where the query's words are; its beginning, where they cannot be told.
fn window(collection: &Collection, text: &str, query: TextQuery<'_>, bytes_max: usize) -> String {
    const MARK: &str = "… ";
    let analyzer = collection.info().ok().and_then(|info| Analyzer::new(&info.language).ok());
    let Some(analyzer) = analyzer else { return text.to_string() };
    let range = text_snippet(&analyzer, text, query, bytes_max.saturating_sub(MARK.len())).window;
    match range.start {
        0 => text[range].to_string(),
        _ => format!("{MARK}{}", &text[range]),
    }
}

impl Searching {
    fn cursors(&self) -> Cursors {
        let mode = self.mode.map(|mode| format!("{mode:?}"));
        let given = [Some(&*self.query), self.collection.as_deref(), self.condition.as_deref(), mode.as_deref()];
        Cursors::of(NAME, &given)
    }
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Hybrid => Self::Hybrid,
            ModeName::Text => Self::Text,
            ModeName::Vector => Self::Vector,
        }
    }
}

impl Answer for SearchAnswer {
    fn text(&self) -> String {
        let hits = self.hits.iter().enumerate().map(|(at, hit)| hit.shown(at + 1));
        let facets = self.facets.iter().map(|told| {
            format!(
                "Collection {}:\n{}",
                told["collection"].as_str().unwrap_or_default(),
                facets_in_lines(&told["facets"])
            )
        });
        shown(hits.chain(facets), self.cursor.as_deref(), &self.notes)
    }
}
