//! Searching: candidates from each leg, exact vectors for the best, one ranking.

use nuthatch_filter::Filter;
use nuthatch_text::RowFilter;
use nuthatch_truth::{Reader, Table};
use nuthatch_vector::{Rows, retain_reaching, validate};
use roaring::RoaringTreemap;

use crate::collection::explain::{Explain, TextPlan, VectorPlan};
use crate::collection::fusion::Found;
use crate::collection::request::{Answer, Hit, Leg, Legs, Mode, Search};
use crate::collection::state::{Health, Matching, State};
use crate::collection::{Collection, Core, EmbedderChoice};
use crate::record::{Row, vector_from};
use crate::{Error, Result};

/// Candidates per leg of a hybrid search at least: ranks below that hardly move a fused score.
const HYBRID_DEPTH_MIN: usize = 100;
/// Exact vectors read at a time.
const RERANK_ROWS: usize = 256;
/// Times a search is begun anew when a row vanished under it, before it answers with what is left.
const RETRIES_MAX: u32 = 5;

impl Collection {
    /// Finds the best `limit` records. That many come back whenever that many match.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, a limit of 0 or over 10,000, an unknown field in the filter; `Unavailable` when a text
    /// must be embedded and the embedder is not there.
    pub fn search(&self, search: &Search) -> Result<Answer> {
        self.core.search(search)
    }
}

impl Core {
    fn search(&self, search: &Search) -> Result<Answer> {
        self.check_open()?;
        search.check()?;
        let dim = {
            let writer = self.writer.lock();
            if let Some(filter) = &search.filter {
                filter.check(&writer.schema)?;
            }
            writer.meta.dim
        };
        let query = self.query(search, dim)?;
        let mut retries = 0;
        loop {
            match self.search_once(search, &query) {
                Ok((answer, complete)) if complete || retries >= RETRIES_MAX => {
                    return Ok(Answer { explain: Explain { retries, ..answer.explain }, ..answer });
                }
                Ok(_) => retries += 1,
                // Damage is noted and the search begun anew: the second time it goes past the damaged index.
                Err(Trouble::Segments(error)) if error.is_corrupt() && retries < RETRIES_MAX => {
                    self.note_damage(&error, true);
                    retries += 1;
                }
                Err(Trouble::Text(error)) if error.is_corrupt() && retries < RETRIES_MAX => {
                    self.note_damage(&error, false);
                    retries += 1;
                }
                Err(Trouble::Segments(error) | Trouble::Text(error) | Trouble::Other(error)) => return Err(error),
            }
        }
    }

    /// Decides the legs and makes the query's vector.
    fn query(&self, search: &Search, dim: Option<usize>) -> Result<Query> {
        if let Some(vector) = &search.vector
            && let Some(dim) = dim
        {
            validate(vector, dim, self.metric).map_err(|error| Error::invalid(format!("query vector: {error}")))?;
        }
        let mode = match (search.mode, &search.text, &search.vector) {
            (Some(Mode::Text), None, _) => {
                return Err(Error::invalid("mode \"text\" needs a text"));
            }
            (Some(mode), ..) => mode,
            (None, Some(_), Some(_)) => Mode::Hybrid,
            (None, None, _) => Mode::Vector,
            (None, Some(_), None) if self.embeds_queries() => Mode::Hybrid,
            (None, Some(_), None) => Mode::Text,
        };
        if mode == Mode::Hybrid && search.text.is_none() {
            return Err(Error::invalid("mode \"hybrid\" needs a text (and takes a vector with it)"));
        }
        let (vector, embedded) = match (mode, &search.vector, &search.text) {
            (Mode::Text, ..) => (None, false),
            (_, Some(vector), _) => (Some(vector.clone()), false),
            (_, None, Some(text)) => (self.embed_query(text)?, true),
            (_, None, None) => (None, false),
        };
        if mode == Mode::Vector && vector.is_none() && dim.is_some() {
            return Err(Error::invalid(format!(
                "collection {:?} has no embedder, so a text has no vector; give `vector`, or search with mode \"text\"",
                self.name
            )));
        }
        Ok(Query { mode, vector, embedded })
    }

    /// True when a text query can have a vector leg: there are vectors to compare with, and someone to embed.
    fn embeds_queries(&self) -> bool {
        let writer = self.writer.lock();
        if !writer.meta.embeds || writer.meta.dim.is_none() {
            return false;
        }
        let given = !matches!(*self.embedder.read(), EmbedderChoice::None);
        // Vectors that callers brought are only compared with embedded texts if the caller has said by whom.
        given && writer.meta.embedder.is_some()
    }

    fn embed_query(&self, text: &str) -> Result<Option<Vec<f32>>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        Ok(self.embedder()?.map(|embedder| embedder.embed_query(text)).transpose()?)
    }

    /// One pass. False when a row that was found could not be read any more.
    fn search_once(&self, search: &Search, query: &Query) -> std::result::Result<(Answer, bool), Trouble> {
        let leg_depth = match query.mode {
            Mode::Hybrid => search.depth().max(HYBRID_DEPTH_MIN),
            _ => search.depth(),
        };
        let mut explain = Explain { mode: query.mode.as_str().into(), ..Explain::default() };
        let text = search.text.as_deref().filter(|_| query.mode != Mode::Vector);

        let state = self.state.read();
        explain.sequence = state.sequence;
        let degraded = state.degraded();
        let matching = match (&search.filter, &state.segments_health) {
            (None, _) => Filtered::Everything,
            (Some(filter), Health::Sound) => Filtered::Indexed(state.matching(filter).map_err(Trouble::segments)?),
            (Some(filter), Health::Broken(_)) => Filtered::Scanned(self.rows_matching_exactly(filter)?),
        };
        let allowed = matching.rows(&state, text.is_some() || state.segments_health != Health::Sound);
        explain.filter_matches = matching.count();

        let mut candidates = Candidates::default();
        if let Some(vector) = &query.vector {
            let plan =
                VectorPlan { metric: self.metric.to_string(), embedded: query.embedded, ..VectorPlan::default() };
            explain.vector = Some(match state.segments_health {
                Health::Sound => {
                    self.vector_candidates(&state, vector, leg_depth, &matching, &mut candidates)
                        .map_err(Trouble::segments)?;
                    VectorPlan {
                        plan: "flat scan",
                        segments: state.segments.len(),
                        segment_rows: state
                            .segments
                            .iter()
                            .map(|view| view.segment.rows().len() - view.dead.len())
                            .sum(),
                        fresh_rows: (state.active.len() + state.frozen.as_ref().map_or(0, |f| f.rows.len())) as u64,
                        exact: state.segments.is_empty(),
                        ..plan
                    }
                }
                Health::Broken(_) => {
                    candidates.scan = true;
                    VectorPlan { plan: "exact scan of the stored vectors", exact: true, ..plan }
                }
            });
        }
        let mut text_found = Vec::new();
        let mut text_scan = false;
        if let Some(text) = text {
            match &state.text {
                Some(index) => {
                    let rows = match &allowed {
                        Some(allowed) => RowFilter::Only { allowed },
                        None if state.gone.is_empty() => RowFilter::All,
                        None => RowFilter::Except(&state.gone),
                    };
                    let hits = index.search(text, leg_depth, rows, Some(&state.tail)).map_err(Trouble::text)?;
                    text_found = hits;
                    explain.text = Some(TextPlan {
                        plan: "bm25 index",
                        index_rows: index.rows(),
                        fresh_rows: state.tail.len() as u64,
                        candidates: text_found.len(),
                    });
                }
                None => text_scan = true,
            }
        }
        drop(state);

        if text_scan && let Some(text) = text {
            text_found = self.scan_texts(text, leg_depth, allowed.as_ref())?;
            explain.text = Some(TextPlan {
                plan: "exact scan of the stored texts",
                candidates: text_found.len(),
                ..TextPlan::default()
            });
        }
        let text_leg: Vec<Found> =
            text_found.iter().map(|hit| Found { row: hit.row_id, similarity: hit.score, shown: hit.score }).collect();
        let mut complete = true;
        let vector_leg = match &query.vector {
            None => Vec::new(),
            Some(vector) if candidates.scan => self.scan_vectors(vector, leg_depth, allowed.as_ref())?,
            Some(vector) => {
                let (leg, all_there) = self.rerank(vector, leg_depth, &candidates.rows)?;
                complete &= all_there;
                leg
            }
        };
        if let Some(plan) = &mut explain.vector {
            plan.reranked = candidates.rows.len();
        }
        let ranked = match query.mode {
            Mode::Hybrid if query.vector.is_some() => {
                explain.fusion = Some(search.fusion.name().into());
                search.fusion.fuse(&text_leg, &vector_leg)
            }
            Mode::Hybrid | Mode::Text => one_leg(&text_leg, true),
            Mode::Vector => one_leg(&vector_leg, false),
        };
        let next_offset = (ranked.len() >= search.depth() && search.depth() < crate::collection::request::LIMIT_MAX)
            .then_some(search.depth());
        let ranked: Vec<_> = ranked.into_iter().skip(search.offset).take(search.limit).collect();
        let (hits, all_there) = self.read_hits(ranked, search)?;
        Ok((Answer { hits, degraded, next_offset, explain }, complete && all_there))
    }

    /// The best rows by their codes, from every segment and the fresh rows.
    fn vector_candidates(
        &self,
        state: &State,
        query: &[f32],
        depth: usize,
        matching: &Filtered,
        candidates: &mut Candidates,
    ) -> Result<()> {
        // (row, lower bound, upper bound) of each row's similarity
        let mut bounded: Vec<(u64, f32, f32)> = Vec::new();
        for (at, view) in state.segments.iter().enumerate() {
            let Some(codes) = view.segment.codes() else { continue };
            let slots;
            let rows = match matching {
                Filtered::Indexed(matching) => {
                    slots = view.segment.slots_of(&matching.segments[at]);
                    Rows::Only(&slots)
                }
                _ if view.dead.is_empty() => Rows::All,
                _ => {
                    slots = view.segment.slots_of(&view.dead);
                    Rows::Except(&slots)
                }
            };
            for candidate in codes.search(query, rows, depth)? {
                if let Some(row) = view.segment.row_in_slot(candidate.slot) {
                    bounded.push((row, candidate.lower, candidate.upper));
                }
            }
        }
        let passes = |row: u64| match matching {
            Filtered::Indexed(matching) => matching.fresh.contains(row),
            _ => true,
        };
        let fresh = [Some(&state.active), state.frozen.as_deref().map(|frozen| &frozen.rows)];
        for delta in fresh.into_iter().flatten().filter_map(|fresh| fresh.vectors()) {
            let found = delta.search(query, |row| passes(row) && !state.removed_from_frozen(row), depth)?;
            bounded.extend(found.into_iter().map(|found| (found.row_id, found.lower, found.upper)));
        }
        // One good segment spares the others' comparisons.
        retain_reaching(&mut bounded, depth, |&(_, lower, upper)| (lower, upper));
        candidates.rows.extend(bounded.into_iter().map(|(row, ..)| row));
        Ok(())
    }

    /// Compares the candidates' exact vectors. False when one of them is no longer there.
    fn rerank(&self, query: &[f32], depth: usize, rows: &[u64]) -> Result<(Vec<Found>, bool)> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let mut found = Vec::with_capacity(rows.len());
        // A chunk at a time: ten thousand vectors of 4,096 dimensions would be 160 MB.
        for rows in rows.chunks(RERANK_ROWS) {
            let keys: Vec<Vec<u8>> = rows.iter().map(|row| self.shard.number_key(*row)).collect();
            let vectors = self.shared.truth()?.multi_get(Table::Vectors, &keys)?;
            for (row, vector) in rows.iter().zip(&vectors) {
                if let Some(vector) = vector {
                    found.push(self.compare(query, *row, &vector_from(vector)));
                }
            }
        }
        let all_there = found.len() == rows.len();
        Ok((best(found, depth), all_there))
    }

    pub(crate) fn compare(&self, query: &[f32], row: u64, vector: &[f32]) -> Found {
        let similarity = self.metric.similarity(query, vector);
        Found { row, similarity, shown: self.metric.score(similarity) }
    }

    /// Reads what the hits carry. False when one of them is no longer there.
    fn read_hits(&self, ranked: Vec<(u64, f32, Legs)>, search: &Search) -> Result<(Vec<Hit>, bool)> {
        let keys: Vec<Vec<u8>> = ranked.iter().map(|(row, ..)| self.shard.number_key(*row)).collect();
        let stored = self.shared.truth()?.multi_get(Table::Records, &keys)?;
        let vectors = match search.include.vector {
            true => self.shared.truth()?.multi_get(Table::Vectors, &keys)?,
            false => vec![None; keys.len()],
        };
        let mut hits = Vec::with_capacity(ranked.len());
        let wanted = ranked.len();
        for (((_, score, legs), stored), vector) in ranked.into_iter().zip(stored).zip(vectors) {
            let Some(stored) = stored else { continue };
            let stored = Row::decode(&stored)?;
            hits.push(Hit {
                score,
                payload: match search.include.payload {
                    true => stored.payload()?,
                    false => Default::default(),
                },
                text: stored.text.filter(|_| search.include.text),
                context: stored.context.filter(|_| search.include.text),
                vector: vector.as_deref().map(vector_from),
                legs,
                id: stored.id,
            });
        }
        let all_there = hits.len() == wanted;
        Ok((hits, all_there))
    }

    /// The rows that pass a filter, for counting and deleting.
    pub(crate) fn rows_matching(&self, filter: &Filter) -> Result<RoaringTreemap> {
        filter.check(&self.writer.lock().schema)?;
        {
            let state = self.state.read();
            if state.segments_health == Health::Sound {
                match state.matching(filter) {
                    Ok(matching) => return Ok(matching.rows(&state)),
                    Err(error) if error.is_corrupt() => {
                        drop(state);
                        self.note_damage(&error, true);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        self.rows_matching_exactly(filter)
    }

    pub(crate) fn count_matching(&self, filter: &Filter) -> Result<u64> {
        filter.check(&self.writer.lock().schema)?;
        {
            let state = self.state.read();
            if state.segments_health == Health::Sound
                && let Ok(matching) = state.matching(filter)
            {
                return Ok(matching.count());
            }
        }
        Ok(self.rows_matching(filter)?.len())
    }
}

struct Query {
    mode: Mode,
    vector: Option<Vec<f32>>,
    embedded: bool,
}

#[derive(Default)]
struct Candidates {
    rows: Vec<u64>,
    /// The segments do not answer: scan the truth instead.
    scan: bool,
}

enum Filtered {
    Everything,
    Indexed(Matching),
    Scanned(RoaringTreemap),
}

impl Filtered {
    fn count(&self) -> Option<u64> {
        match self {
            Self::Everything => None,
            Self::Indexed(matching) => Some(matching.count()),
            Self::Scanned(rows) => Some(rows.len()),
        }
    }

    /// As row ids, if someone needs them so.
    fn rows(&self, state: &State, needed: bool) -> Option<RoaringTreemap> {
        match self {
            Self::Indexed(matching) if needed => Some(matching.rows(state)),
            Self::Everything | Self::Indexed(_) => None,
            Self::Scanned(rows) => Some(rows.clone()),
        }
    }
}

/// An error and the index that it came from.
enum Trouble {
    Segments(Error),
    Text(Error),
    Other(Error),
}

impl Trouble {
    fn segments(error: impl Into<Error>) -> Self {
        Self::Segments(error.into())
    }

    fn text(error: impl Into<Error>) -> Self {
        Self::Text(error.into())
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

fn one_leg(leg: &[Found], is_text: bool) -> Vec<(u64, f32, Legs)> {
    let places = leg.iter().enumerate().map(|(at, found)| {
        let place = Some(Leg { rank: at + 1, score: found.shown });
        let legs = match is_text {
            true => Legs { text: place, vector: None },
            false => Legs { text: None, vector: place },
        };
        (found.row, found.shown, legs)
    });
    places.collect()
}

/// The best `depth`, best first; ties by row.
pub(crate) fn best(mut found: Vec<Found>, depth: usize) -> Vec<Found> {
    found.sort_unstable_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.row.cmp(&b.row)));
    found.truncate(depth);
    found
}
