//! Searching: candidates from each leg, exact vectors for the best, one ranking.

use std::sync::atomic::{AtomicUsize, Ordering};

use nuthatch_filter::Filter;
use nuthatch_store::Reader;
use nuthatch_vector::VectorError;
use roaring::RoaringTreemap;

use crate::call::{Call, Waits, Watched};
use crate::collection::explain::Explain;
use crate::collection::fusion::{self, LegKind};
use crate::collection::hits::named_hits;
use crate::collection::ranking::{Ranking, Trouble};
use crate::collection::read_source::ReadSource;
use crate::collection::request::{Answer, Hit, LIMIT_MAX, Legs, Mode, Search};
use crate::collection::{Collection, Core};
use crate::descriptor::field::{Field, FieldKind, Fields};
use crate::embedder::EmbedderChoice;
use crate::index::SEGMENTS;
use crate::runtime::{Reservation, SMALL_BYTES_MAX};
use crate::vector_value::VectorValue;
use crate::{Error, Result, What};

/// The memory that a candidate of one leg takes while it is compared and ranked.
const CANDIDATE_BYTES: usize = 128;
/// Times a search restarts because a row vanished under it, before it answers with the remaining rows.
const RETRIES_MAX: u32 = 5;
/// Share of the records, of those that are to have a vector, that must have it before a query without a mode uses its
/// vector leg, too.
const HYBRID_PERCENT_MIN: u64 = 50;

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
        let waits = Waits::of(search.time_limit, search.cancel.as_ref()).and(call.waits());
        let reader = Watched::new(place.reader, &waits);
        let place = ReadSource { reader: &reader, waits: &waits, ..place };
        self.check_open_for(place)?;
        search.check()?;
        let descriptor = self.descriptor();
        if let Some(filter) = &search.filter {
            filter.check(&descriptor.schema)?;
        }
        search.refine.check(&descriptor.schema)?;
        if let Some(rerank) = &search.refine.rerank {
            rerank.check(&descriptor.fields, search.depth())?;
        }
        if waits.is_over() {
            return Err(VectorError::Stopped.into()); // before a text is embedded for nothing
        }
        let query = self.query(place, search, &descriptor.fields, call)?;
        let mut reservation = self.shared.reserve_for(self.estimate(place, search, &query), &waits)?;
        let mut retries = 0;
        loop {
            match self.search_once(place, search, &query, &mut reservation) {
                Ok((answer, complete)) if complete || retries >= RETRIES_MAX => {
                    // Counting has a share of its own: two that hold one and wait for another would wait for each other.
                    drop(reservation);
                    let facets = self.facets_of(place, search)?;
                    return Ok(Answer { facets, explain: Explain { retries, ..answer.explain }, ..answer });
                }
                Ok(_) => retries += 1,
                // The damage is noted and the search restarts; the second time it bypasses the damaged index.
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
            let (row, vector) = self.vector_of(place.reader, field, id)?.ok_or_else(|| {
                Error::not_found(format!("`like` names record {id:?}, which does not exist")).about(What::Record, id)
            })?;
            let vector = vector.ok_or_else(|| {
                Error::invalid(match &search.using {
                    Some(name) => format!("record {id:?} has no vector of field {name:?} to search with"),
                    None if place.state.read().vectors.if_any().is_some() => {
                        format!("record {id:?} has no vector yet; search with its text instead, or wait for its vector")
                    }
                    None => format!("record {id:?} has no vector to search with; search with its text instead"),
                })
            })?;
            let asked = match vector {
                VectorValue::Dense(vector) => Search { vector: Some(vector), like: None, ..search.clone() },
                VectorValue::Sparse(_) => {
                    let mut vectors = search.vectors.clone();
                    vectors.insert(field.name.clone(), vector);
                    Search { vectors, like: None, using: None, ..search.clone() }
                }
                VectorValue::Tokens(_) => return Err(no_leg(field)),
            };
            return Ok(Query { exclude: Some(row), ..self.query(place, &asked, fields, call)? });
        }
        if let Some(vector) = &search.vector {
            match field.kind() {
                FieldKind::Dense => field.check_query(vector)?,
                FieldKind::Sparse => {
                    return Err(Error::invalid(format!(
                        "vector field {:?} is sparse; give its indices and values in `vectors`, under its name",
                        field.name
                    )));
                }
                FieldKind::Tokens => return Err(no_leg(field)),
            }
        }
        let mut named = Vec::with_capacity(search.vectors.len());
        for (name, vector) in &search.vectors {
            let field = fields.named(name)?;
            field.check_query_value(vector)?;
            if field.kind() == FieldKind::Tokens {
                return Err(no_leg(field));
            }
            named.push(QueryLeg { kind: LegKind::Named(&field.name), field, value: vector.clone(), embedded: false });
        }
        // The nearest of a few vectors are near by chance; and nobody waits for a model that adds nothing.
        let is_worth_it = place.state.read().vectors.percent() >= HYBRID_PERCENT_MIN;
        let brings = search.vector.is_some() || !named.is_empty();
        let mode = match (search.mode, &search.text) {
            (Some(Mode::Text), None) => {
                return Err(Error::invalid("mode \"text\" needs a text"));
            }
            (Some(mode), _) => mode,
            (None, None) => Mode::Vector,
            (None, Some(_)) if brings => Mode::Hybrid,
            (None, Some(_)) if is_worth_it && self.embeds_queries(call) => Mode::Hybrid,
            (None, Some(_)) => Mode::Text,
        };
        if mode == Mode::Hybrid && search.text.is_none() {
            return Err(Error::invalid("mode \"hybrid\" needs a text (and takes a vector with it)"));
        }
        let (vector, embedded) = match (mode, &search.vector, &search.text) {
            (Mode::Text, ..) => (None, false),
            (_, Some(vector), _) => (Some(vector.clone()), false),
            // A query with vectors of other fields has named its legs.
            (_, None, Some(text)) if named.is_empty() => (self.embed_query(text, call)?, true),
            (_, None, _) => (None, false),
        };
        if mode == Mode::Vector && vector.is_none() && named.is_empty() && field.dim.is_some() {
            return Err(Error::invalid(format!(
                "collection {:?} has no embedder to turn the text into a vector; give `vector`, or search with mode \"text\"",
                self.name
            )));
        }
        let first = vector.map(|vector| QueryLeg { kind: LegKind::Vector, field, value: vector.into(), embedded });
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

    /// The memory that a search may come to hold: candidates, and hits with their contents.
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

    /// One pass. False when a row that it found could no longer be read.
    fn search_once(
        &self,
        place: ReadSource<'_>,
        search: &Search,
        query: &Query<'_>,
        reservation: &mut Reservation<'_>,
    ) -> std::result::Result<(Answer, bool), Trouble> {
        let Ranking { rows, segments, complete, degraded, pending, explain } = self.refined(place, search, query)?;
        let next_offset = (rows.len() >= search.depth() && search.depth() < LIMIT_MAX).then_some(search.depth());
        let rows: Vec<_> = rows.into_iter().skip(search.offset).take(search.limit).collect();
        let (hits, all_there) = match search.include.is_nothing() {
            true => named_hits(&segments, rows, &mut |rows| self.read_ids(place.reader, rows, reservation))?,
            false => self.read_hits(place.reader, rows, search, reservation)?,
        };
        Ok((Answer { hits, degraded, facets: Vec::new(), next_offset, pending, explain }, complete && all_there))
    }

    fn read_ids(
        &self,
        reader: &dyn Reader,
        rows: &[u64],
        reservation: &mut Reservation<'_>,
    ) -> Result<Vec<Option<String>>> {
        let mut ids = vec![None; rows.len()];
        self.read_each(reader, rows, false, reservation, &mut |at, found| {
            ids[at] = found.map(|(stored, _)| stored.id.into());
            Ok(())
        })?;
        Ok(ids)
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
            match view.matching(filter, place.waits) {
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
            && let Ok(matching) = view.matching(filter, place.waits)
        {
            return Ok(matching.count());
        }
        Ok(self.rows_matching(place, filter)?.len())
    }
}

pub(crate) struct Query<'f> {
    pub mode: Mode,
    /// Of vectors; that of the text follows from the mode.
    pub legs: Vec<QueryLeg<'f>>,
    /// The row that was searched with.
    pub exclude: Option<u64>,
}

pub(crate) struct QueryLeg<'f> {
    pub kind: LegKind<'f>,
    pub field: &'f Field,
    pub value: VectorValue,
    /// Made from the text.
    pub embedded: bool,
}

fn no_leg(field: &Field) -> Error {
    Error::invalid(format!(
        "vector field {:?} has a vector for each token, which ranks what others found; search with a text or another vector, and \
        give the tokens to `rerank`",
        field.name
    ))
}
