//! Searching: candidates from each leg, exact vectors for the best, one ranking.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use nuthatch_filter::Filter;
use nuthatch_store::Reader;
use nuthatch_text::RowFilter;
use nuthatch_vector::VectorError;
use roaring::RoaringTreemap;

use crate::call::Call;
use crate::collection::explain::{Explain, TextPlan, VectorPlan};
use crate::collection::field::{Field, Fields};
use crate::collection::fusion::{self, LegKind, ScoredRow};
use crate::collection::read_source::ReadSource;
use crate::collection::request::{Answer, Hit, Leg, Legs, Mode, Search};
use crate::collection::state::{Matching, SegmentView};
use crate::collection::vector_leg::Ask;
use crate::collection::{Collection, Core, EmbedderChoice};
use crate::database::{Reservation, SMALL_BYTES_MAX};
use crate::index::{IndexId, SEGMENTS, TEXT};
use crate::{Error, Result, What};

/// What a candidate of one leg takes on its way through comparing and ranking.
const CANDIDATE_BYTES: usize = 128;
/// Times a search is begun anew when a row vanished under it, before it answers with what is left.
const RETRIES_MAX: u32 = 5;

impl Collection {
    /// Finds the best `limit` records. That many come back whenever that many match.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, a limit of 0 or over 10,000, an unknown field in the filter; `Unavailable` when a text
    /// must be embedded and the embedder is not there.
    pub fn search(&self, search: &Search) -> Result<Answer> {
        self.core.search(self.core.live(), search, &self.call)
    }
}

/// Runs searches on as many threads as there are CPUs.
pub(crate) fn at_once(searches: &[Search], run: impl Fn(&Search) -> Result<Answer> + Sync) -> Result<Vec<Answer>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(searches.len());
    let next = AtomicUsize::new(0);
    let mut answers: Vec<(usize, Result<Answer>)> = std::thread::scope(|scope| {
        let worker = || {
            let mut answers = Vec::new();
            // Taken one by one: searches differ in how long they take.
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(search) = searches.get(at) else { return answers };
                let answer = run(search);
                if answer.is_err() {
                    next.fetch_max(searches.len(), Ordering::Relaxed); // the others need not begin
                }
                answers.push((at, answer));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a search does not panic")).collect()
    });
    answers.sort_by_key(|(at, _)| *at);
    let named = |at: usize, error: Error| Error::new(error.kind, format!("search {at}: {}", error.message));
    answers.into_iter().map(|(at, answer)| answer.map_err(|error| named(at, error))).collect()
}

impl Core {
    pub(crate) fn search(&self, place: ReadSource<'_>, search: &Search, call: &Call) -> Result<Answer> {
        let until_cancelled;
        let search = match call.cancel() {
            None => search,
            Some(cancel) => {
                until_cancelled = Search { cancel: Some(cancel.clone()), ..search.clone() };
                &until_cancelled
            }
        };
        // A limit that no clock reaches is none.
        let deadline = search.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        self.check_open_for(place)?;
        search.check()?;
        let descriptor = self.descriptor();
        if let Some(filter) = &search.filter {
            filter.check(&descriptor.schema)?;
        }
        if search.is_over(deadline) {
            return Err(VectorError::Stopped.into()); // before a text is embedded for nothing
        }
        let query = self.query(place, search, &descriptor.fields, call)?;
        let is_over = || search.is_over(deadline);
        let mut reservation = self.shared.reserve_for(self.estimate(place, search, &query), &is_over)?;
        let mut retries = 0;
        loop {
            match self.search_once(place, search, &query, deadline, &mut reservation) {
                Ok((answer, complete)) if complete || retries >= RETRIES_MAX => {
                    return Ok(Answer { explain: Explain { retries, ..answer.explain }, ..answer });
                }
                Ok(_) => retries += 1,
                // Damage is noted and the search begun anew: the second time it goes past the damaged index.
                Err(Trouble::Index(index, error)) if error.is_corrupt() && retries < RETRIES_MAX => {
                    self.note_damage_in(place, &error, index);
                    retries += 1;
                }
                Err(Trouble::Index(_, error) | Trouble::Other(error)) => return Err(error),
            }
        }
    }

    /// Decides the legs and makes the query's vectors.
    fn query<'f>(&self, place: ReadSource<'_>, search: &Search, fields: &'f Fields, call: &Call) -> Result<Query<'f>> {
        let field = match &search.using {
            Some(name) => fields.named(name)?,
            None => fields.unnamed(),
        };
        if let Some(id) = &search.like {
            let (row, vector) = self
                .vector_of(place.reader, field, id)?
                .ok_or_else(|| Error::not_found(format!("no record {id:?} to be like")).about(What::Record, id))?;
            let vector = vector.ok_or_else(|| {
                Error::invalid(match &search.using {
                    Some(name) => format!("record {id:?} has no vector of field {name:?} to search with"),
                    None => format!("record {id:?} has no vector to search with; search with its text instead"),
                })
            })?;
            let asked = Search { vector: Some(vector), like: None, ..search.clone() };
            return Ok(Query { exclude: Some(row), ..self.query(place, &asked, fields, call)? });
        }
        if let Some(vector) = &search.vector {
            field.check_query(vector)?;
        }
        let mut named = Vec::with_capacity(search.vectors.len());
        for (name, vector) in &search.vectors {
            let field = fields.named(name)?;
            field.check_query(vector)?;
            named.push(QueryLeg { kind: LegKind::Named(&field.name), field, vector: vector.clone(), embedded: false });
        }
        let brings = search.vector.is_some() || !named.is_empty();
        let mode = match (search.mode, &search.text) {
            (Some(Mode::Text), None) => {
                return Err(Error::invalid("mode \"text\" needs a text"));
            }
            (Some(mode), _) => mode,
            (None, None) => Mode::Vector,
            (None, Some(_)) if brings || self.embeds_queries(call) => Mode::Hybrid,
            (None, Some(_)) => Mode::Text,
        };
        if mode == Mode::Hybrid && search.text.is_none() {
            return Err(Error::invalid("mode \"hybrid\" needs a text (and takes a vector with it)"));
        }
        let (vector, embedded) = match (mode, &search.vector, &search.text) {
            (Mode::Text, ..) => (None, false),
            (_, Some(vector), _) => (Some(vector.clone()), false),
            // Whoever brings vectors of other fields has said where to look.
            (_, None, Some(text)) if named.is_empty() => (self.embed_query(text, call)?, true),
            (_, None, _) => (None, false),
        };
        if mode == Mode::Vector && vector.is_none() && named.is_empty() && field.dim.is_some() {
            return Err(Error::invalid(format!(
                "collection {:?} has no embedder, so a text has no vector; give `vector`, or search with mode \"text\"",
                self.name
            )));
        }
        let first = vector.map(|vector| QueryLeg { kind: LegKind::Vector, field, vector, embedded });
        let legs = match mode {
            Mode::Text => Vec::new(),
            Mode::Hybrid | Mode::Vector => first.into_iter().chain(named).collect(),
        };
        Ok(Query { mode, legs, exclude: None })
    }

    /// True when a text query can have a vector leg: there are vectors to compare with, and someone to embed.
    fn embeds_queries(&self, call: &Call) -> bool {
        let descriptor = self.descriptor();
        if !descriptor.meta.embeds || descriptor.meta.dim.is_none() {
            return false;
        }
        let choice = call.embedder().unwrap_or_else(|| self.embedder.read().clone());
        let given = !matches!(choice, EmbedderChoice::None);
        // Vectors that callers brought are only compared with embedded texts if the caller has said by whom.
        given && descriptor.meta.embedder.is_some()
    }

    fn embed_query(&self, text: &str, call: &Call) -> Result<Option<Vec<f32>>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        Ok(self.embedder(call)?.map(|embedder| embedder.embed_query(text)).transpose()?)
    }

    /// What a search may come to hold: candidates, and hits with what they carry.
    fn estimate(&self, place: ReadSource<'_>, search: &Search, query: &Query<'_>) -> u64 {
        let of = |rows: usize| {
            let depth = fusion::window(search.depth()).min(rows);
            let candidates = depth * (query.legs.len() + 1) * CANDIDATE_BYTES;
            self.estimate_records(search.limit.min(rows), search.include.vector) + candidates as u64
        };
        match of(usize::MAX) {
            small if small <= SMALL_BYTES_MAX => small,
            // A small collection has no large answers, whatever the limit.
            _ => of(usize::try_from(place.state.read().rows_max()).unwrap_or(usize::MAX)),
        }
    }

    /// One pass. False when a row that was found could not be read any more.
    fn search_once(
        &self,
        place: ReadSource<'_>,
        search: &Search,
        query: &Query<'_>,
        deadline: Option<Instant>,
        reservation: &mut Reservation<'_>,
    ) -> std::result::Result<(Answer, bool), Trouble> {
        let leg_depth = match query.mode == Mode::Hybrid || query.legs.len() > 1 {
            true => fusion::window(search.depth()),
            false => search.depth(),
        } + usize::from(query.exclude.is_some());
        let stop = || search.is_over(deadline);
        if stop() {
            return Err(Trouble::Other(VectorError::Stopped.into()));
        }
        let mut explain = Explain { mode: query.mode.as_str().into(), ..Explain::default() };
        let text = search.text.as_deref().filter(|_| query.mode != Mode::Vector);

        let state = place.state.read();
        // From here on rows are looked at as they are now, whatever becomes of them.
        let view = state.view();
        let degraded = state.degraded();
        // Texts are another matter: what is searched of them must be of the same moment, and their text memtable changes in place.
        let texts = text.map(|text| (text, state));
        explain.sequence = view.sequence;
        let matching = match (&search.filter, view.segments_are_sound) {
            (None, _) => Filtered::Everything,
            (Some(filter), true) => Filtered::Indexed(view.matching(filter).map_err(Trouble::segments)?),
            (Some(filter), false) => Filtered::Scanned(self.rows_matching_exactly(place.reader, filter)?),
        };
        let scan_vectors = !view.segments_are_sound;
        let allowed = matching.rows(&view.segments, text.is_some() || scan_vectors);
        explain.filter_matches = matching.count();
        let mut text_found = Vec::new();
        let mut text_scan = false;
        if let Some((text, state)) = texts {
            match state.text_view() {
                Some(index) => {
                    let rows = match &allowed {
                        Some(allowed) => RowFilter::Only { allowed },
                        None if state.gone.is_empty() => RowFilter::All,
                        None => RowFilter::Except(&state.gone),
                    };
                    let hits =
                        index.search(text, leg_depth, rows, Some(&state.text_memtable)).map_err(Trouble::text)?;
                    text_found = hits;
                    explain.text = Some(TextPlan {
                        plan: "bm25 index".into(),
                        index_rows: index.rows(),
                        fresh_rows: state.text_memtable.len() as u64,
                        candidates: text_found.len(),
                    });
                }
                None => text_scan = true,
            }
        }

        if text_scan && let Some(text) = text {
            text_found = self.scan_texts(place.reader, text, leg_depth, allowed.as_ref())?;
            explain.text = Some(TextPlan {
                plan: "exact scan of the stored texts".into(),
                candidates: text_found.len(),
                ..TextPlan::default()
            });
        }
        let other = |row: u64| Some(row) != query.exclude;
        let text_leg: Vec<ScoredRow> = text_found
            .iter()
            .filter(|hit| other(hit.row_id))
            .map(|hit| ScoredRow { row: hit.row_id, similarity: hit.score, shown: hit.score })
            .collect();
        let mut complete = true;
        let mut legs: Vec<(LegKind<'_>, Vec<ScoredRow>)> = Vec::with_capacity(1 + query.legs.len());
        if query.mode != Mode::Vector {
            legs.push((LegKind::Text, text_leg));
        }
        for QueryLeg { kind, field, vector, embedded } in &query.legs {
            let ask = Ask { field, query: vector, depth: leg_depth, accuracy: search.accuracy, stop: &stop };
            let mut plan = VectorPlan {
                metric: field.metric.to_string(),
                using: (!field.name.is_empty()).then(|| field.name.clone()),
                embedded: *embedded,
                segments: view.segments.len(),
                segment_rows: view.segments.iter().map(SegmentView::live).sum(),
                fresh_rows: view.fresh_rows() as u64,
                ..VectorPlan::default()
            };
            let mut leg = match scan_vectors {
                true => {
                    (plan.plan, plan.exact) = ("exact scan of the stored vectors".into(), true);
                    self.scan_vectors(place.reader, field, vector, leg_depth, allowed.as_ref())?
                }
                false => {
                    let (leg, all_there) = self.vector_leg(place.reader, &view, &ask, &matching, &mut plan)?;
                    complete &= all_there;
                    leg
                }
            };
            leg.retain(|found| other(found.row));
            legs.push((*kind, leg));
            match kind {
                LegKind::Named(field) => drop(explain.vectors.insert(field.to_string(), plan)),
                LegKind::Vector | LegKind::Text => explain.vector = Some(plan),
            }
        }
        let ranked = match &legs[..] {
            [] => Vec::new(),
            [(kind, leg)] => one_leg(*kind, leg),
            several => {
                explain.fusion = Some(search.fusion.name().into());
                let several: Vec<_> = several.iter().map(|(kind, leg)| (*kind, &leg[..])).collect();
                search.fusion.rank(&several, search.depth())
            }
        };

        let next_offset = (ranked.len() >= search.depth() && search.depth() < crate::collection::request::LIMIT_MAX)
            .then_some(search.depth());
        let ranked: Vec<_> = ranked.into_iter().skip(search.offset).take(search.limit).collect();
        let (hits, all_there) = self.read_hits(place.reader, ranked, search, reservation)?;
        Ok((Answer { hits, degraded, next_offset, explain }, complete && all_there))
    }

    /// Reads what the hits carry. False when one of them is no longer there.
    fn read_hits(
        &self,
        reader: &dyn Reader,
        ranked: Vec<(u64, f32, Legs)>,
        search: &Search,
        reservation: &mut Reservation<'_>,
    ) -> Result<(Vec<Hit>, bool)> {
        let fields = self.fields();
        let rows: Vec<u64> = ranked.iter().map(|(row, ..)| *row).collect();
        let mut hits = Vec::with_capacity(ranked.len());
        let (wanted, mut ranked) = (ranked.len(), ranked.into_iter());
        self.read_each(reader, &rows, search.include.vector, reservation, &mut |_, found| {
            // Only what is wanted is copied: texts may be long.
            let (Some((_, score, legs)), Some((stored, vectors))) = (ranked.next(), found) else { return Ok(()) };
            let (vector, vectors) = fields.split(vectors);
            hits.push(Hit {
                score,
                payload: match search.include.payload {
                    true => nuthatch_filter::decode(stored.payload)?,
                    false => Default::default(),
                },
                text: stored.text.filter(|_| search.include.text).map(str::to_string),
                context: stored.context.filter(|_| search.include.text).map(str::to_string),
                vector,
                vectors,
                legs,
                id: stored.id.into(),
            });
            Ok(())
        })?;
        let all_there = hits.len() == wanted;
        Ok((hits, all_there))
    }

    /// The rows that pass a filter, for counting and deleting.
    pub(crate) fn rows_matching(&self, place: ReadSource<'_>, filter: &Filter) -> Result<RoaringTreemap> {
        self.check_filter(filter)?;
        let view = place.state.read().view();
        if view.segments_are_sound {
            match view.matching(filter) {
                Ok(matching) => return Ok(matching.rows(&view.segments)),
                Err(error) if error.is_corrupt() => self.note_damage_in(place, &error, SEGMENTS),
                Err(error) => return Err(error),
            }
        }
        self.rows_matching_exactly(place.reader, filter)
    }

    pub(crate) fn count_matching(&self, place: ReadSource<'_>, filter: &Filter) -> Result<u64> {
        self.check_filter(filter)?;
        let view = place.state.read().view();
        if view.segments_are_sound
            && let Ok(matching) = view.matching(filter)
        {
            return Ok(matching.count());
        }
        Ok(self.rows_matching(place, filter)?.len())
    }
}

struct Query<'f> {
    mode: Mode,
    /// Of vectors; that of the text follows from the mode.
    legs: Vec<QueryLeg<'f>>,
    /// The row that was searched with.
    exclude: Option<u64>,
}

struct QueryLeg<'f> {
    kind: LegKind<'f>,
    field: &'f Field,
    vector: Vec<f32>,
    /// Made from the text.
    embedded: bool,
}

/// Which rows a filter lets through.
pub(crate) enum Filtered {
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
    fn rows(&self, views: &[SegmentView], needed: bool) -> Option<RoaringTreemap> {
        match self {
            Self::Indexed(matching) if needed => Some(matching.rows(views)),
            Self::Everything | Self::Indexed(_) => None,
            Self::Scanned(rows) => Some(rows.clone()),
        }
    }
}

/// An error, and the index that it came from.
pub(crate) enum Trouble {
    Index(IndexId, Error),
    Other(Error),
}

impl Trouble {
    pub(crate) fn segments(error: impl Into<Error>) -> Self {
        Self::Index(SEGMENTS, error.into())
    }

    fn text(error: impl Into<Error>) -> Self {
        Self::Index(TEXT, error.into())
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

fn one_leg(kind: LegKind<'_>, leg: &[ScoredRow]) -> Vec<(u64, f32, Legs)> {
    let places = leg.iter().enumerate().map(|(at, found)| {
        let mut legs = Legs::default();
        legs.set(kind, Leg { rank: at + 1, score: found.shown });
        (found.row, found.shown, legs)
    });
    places.collect()
}

/// The best `depth`, best first; ties by row.
pub(crate) fn best(mut found: Vec<ScoredRow>, depth: usize) -> Vec<ScoredRow> {
    found.sort_unstable_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.row.cmp(&b.row)));
    found.truncate(depth);
    found
}
