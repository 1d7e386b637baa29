//! Ranking the rows of one pass of a search: the filter, the text leg, the vector legs, and their fusion.
//!
//! **Useful for** deciding which rows answer and in what order. **Not for** the contents of hits: `search` reads them
//! afterwards.
//!
//! **Invariant:** all legs look at the rows as they were at one moment, and so do the texts and their statistics.

use std::borrow::Cow;

use nuthatch_filter::Filter;
use nuthatch_store::Reader;
use nuthatch_text::{RowFilter, TextHit, TextQuery};
use nuthatch_vector::{Rows, VectorError};
use parking_lot::RwLockReadGuard;
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::Error;
use crate::collection::Core;
use crate::collection::explain::{Explain, TextPlan, VectorPlan};
use crate::collection::fusion::{self, LegKind, ScoredRow};
use crate::collection::pending::Pending;
use crate::collection::read_source::ReadSource;
use crate::collection::request::{Leg, Legs, Mode, Search};
use crate::collection::search::{Query, QueryLeg};
use crate::collection::sparse_leg::{AskSparse, sparse_leg};
use crate::collection::vector_leg::Ask;
use crate::descriptor::field::FieldId;
use crate::index::{IndexId, SEGMENTS, TEXT};
use crate::state::{Matching, SegmentView, State, View};
use crate::vector_value::VectorValue;

type Result<T> = std::result::Result<T, Trouble>;

/// Rows, best first, with their scores.
pub(crate) struct Ranking {
    pub rows: Vec<(u64, f32, Legs)>,
    /// The views of the segments that were examined; empty when segments are skipped.
    pub segments: Vec<SegmentView>,
    /// False when a row was gone before it could be compared.
    pub complete: bool,
    pub degraded: Vec<String>,
    /// How many vectors are done and still to come.
    pub pending: Option<Pending>,
    pub explain: Explain,
}

/// The input of the legs of one pass.
struct Pass<'p> {
    reader: &'p dyn Reader,
    view: View,
    matching: Filtered,
    /// The same as row ids, if a leg needs them so.
    allowed: Option<RoaringTreemap>,
    /// Rows that each leg gives.
    depth: usize,
}

impl Core {
    /// Ranks the rows down to the depth of the search, or somewhat further.
    pub(super) fn ranking(&self, place: ReadSource<'_>, search: &Search, query: &Query<'_>) -> Result<Ranking> {
        let stop = || place.waits.is_over();
        if stop() {
            return Err(Trouble::Other(VectorError::Stopped.into()));
        }
        // Before the state is held: texts are read for it.
        let phrases = self.phrase_rows(place, search)?;
        let text = search.text.as_deref().filter(|_| query.mode != Mode::Vector);
        let state = place.state.read();
        // From here on rows are looked at as they are now, whatever becomes of them.
        let view = state.view();
        let degraded = state.degraded();
        let pending = state.vectors.if_any();
        // Texts are another matter: what is searched of them must be of the same moment, and their text memtable changes in place.
        let texts = text.map(|text| (search.words(text), state));
        let matching = self.filtered(place, &view, search.filter.as_ref())?.and(phrases, &view);
        let allowed = matching.rows(&view.segments, text.is_some() || !view.segments_are_sound);
        let pass = Pass { reader: place.reader, view, matching, allowed, depth: leg_depth(search, query) };
        let mut explain = Explain {
            mode: query.mode.as_str().into(),
            sequence: pass.view.sequence,
            filter_matches: pass.matching.count(),
            ..Explain::default()
        };
        let mut complete = true;
        let mut legs: Vec<(LegKind<'_>, Vec<ScoredRow>)> = Vec::with_capacity(1 + query.legs.len());
        if let Some((text, state)) = texts {
            let (found, plan) = self.text_leg(&pass, text, state)?;
            let shown = |hit: TextHit| ScoredRow { row: hit.row_id, similarity: hit.score, shown: hit.score };
            legs.push((LegKind::Text, found.into_iter().map(shown).collect()));
            explain.text = Some(plan);
        }
        for leg in &query.legs {
            let mut plan = plan_of(leg, &pass.view);
            let found = match &leg.value {
                VectorValue::Dense(query) => {
                    let accuracy = search.accuracy;
                    let ask = Ask { field: leg.field, query, depth: pass.depth, accuracy, stop: &stop };
                    let (found, all_there) = self.compared(&pass, &ask, &mut plan)?;
                    complete &= all_there;
                    found
                }
                VectorValue::Sparse(query) => {
                    let ask = AskSparse { field: leg.field, query, depth: pass.depth, stop: &stop };
                    match pass.view.segments_are_sound {
                        true => sparse_leg(&pass.view, &ask, &pass.matching, &mut plan)?,
                        false => {
                            (plan.plan, plan.exact) = ("exact scan of the stored vectors".into(), true);
                            let compare = |row, bytes: &[u8]| {
                                let score = query.dot(&leg.field.sparse(bytes)?);
                                Ok(score.map(|score| leg.field.found(row, score)))
                            };
                            self.scan_vectors(pass.reader, leg.field, pass.allowed.as_ref(), pass.depth, &compare)?
                        }
                    }
                }
                VectorValue::Tokens(_) => Vec::new(), // refused before
            };
            legs.push((leg.kind, found));
            match leg.kind {
                LegKind::Named(field) => drop(explain.vectors.insert(field.to_string(), plan)),
                LegKind::Vector | LegKind::Text => explain.vector = Some(plan),
            }
        }
        if let Some(exclude) = query.exclude {
            legs.iter_mut().for_each(|(_, leg)| leg.retain(|found| found.row != exclude));
        }
        let rows = fused(search, &legs, &mut explain);
        let segments = if pass.view.segments_are_sound { pass.view.segments } else { Vec::new() };
        Ok(Ranking { rows, segments, complete, degraded, pending, explain })
    }

    /// Which rows a filter lets through, by the segments' columns or else by the store.
    fn filtered(&self, place: ReadSource<'_>, view: &View, filter: Option<&Filter>) -> Result<Filtered> {
        Ok(match (filter, view.segments_are_sound) {
            (None, _) => Filtered::Everything,
            (Some(filter), true) => Filtered::Indexed(view.matching(filter, place.waits).map_err(Trouble::segments)?),
            (Some(filter), false) => Filtered::Scanned(self.rows_matching_exactly(place.reader, filter)?),
        })
    }

    /// `state`: held until the index and its memtable have given scores by the same statistics.
    fn text_leg(
        &self,
        pass: &Pass<'_>,
        text: TextQuery<'_>,
        state: RwLockReadGuard<'_, State>,
    ) -> Result<(Vec<TextHit>, TextPlan)> {
        let Some(index) = state.text_view() else {
            drop(state); // a scan takes long
            let found = self.scan_texts(pass.reader, text, pass.depth, pass.allowed.as_ref())?;
            let plan = TextPlan {
                plan: "exact scan of the stored texts".into(),
                candidates: found.len(),
                ..TextPlan::default()
            };
            return Ok((found, plan));
        };
        let rows = match &pass.allowed {
            Some(allowed) => RowFilter::Only { allowed },
            None => state.rows_there(),
        };
        let found = index.search(text, pass.depth, rows, Some(&state.text_memtable)).map_err(Trouble::text)?;
        let plan = TextPlan {
            plan: "bm25 index".into(),
            index_rows: index.rows(),
            fresh_rows: state.text_memtable.len() as u64,
            candidates: found.len(),
        };
        Ok((found, plan))
    }

    /// A vector leg, through the segments or else by the store. False when a row is no longer there.
    fn compared(&self, pass: &Pass<'_>, ask: &Ask<'_>, plan: &mut VectorPlan) -> Result<(Vec<ScoredRow>, bool)> {
        if pass.view.segments_are_sound {
            return self.vector_leg(pass.reader, &pass.view, ask, &pass.matching, plan);
        }
        (plan.plan, plan.exact) = ("exact scan of the stored vectors".into(), true);
        let compare = |row, bytes: &[u8]| Ok(Some(ask.field.compare(ask.query, row, &ask.field.decode(bytes))));
        let found = self.scan_vectors(pass.reader, ask.field, pass.allowed.as_ref(), ask.depth, &compare)?;
        Ok((found, true))
    }
}

/// How many rows each leg gives: more than the search wants where legs are fused.
fn leg_depth(search: &Search, query: &Query<'_>) -> usize {
    let depth = match query.mode == Mode::Hybrid || query.legs.len() > 1 {
        true => fusion::window(search.depth()),
        false => search.depth(),
    };
    depth + usize::from(query.exclude.is_some())
}

/// Describes a vector leg before it is searched.
fn plan_of(leg: &QueryLeg<'_>, view: &View) -> VectorPlan {
    VectorPlan {
        metric: leg.field.metric.to_string(),
        using: (!leg.field.name.is_empty()).then(|| leg.field.name.clone()),
        embedded: leg.embedded,
        segments: view.segments.len(),
        segment_rows: view.segments.iter().map(SegmentView::live).sum(),
        fresh_rows: view.fresh_rows() as u64,
        ..VectorPlan::default()
    }
}

/// One ranking out of the legs.
fn fused(search: &Search, legs: &[(LegKind<'_>, Vec<ScoredRow>)], explain: &mut Explain) -> Vec<(u64, f32, Legs)> {
    match legs {
        [] => Vec::new(),
        [(kind, leg)] => one_leg(*kind, leg),
        several => {
            explain.fusion = Some(search.fusion.name().into());
            let several: Vec<_> = several.iter().map(|(kind, leg)| (*kind, &leg[..])).collect();
            search.fusion.rank(&several, search.depth())
        }
    }
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

    /// Whether a row that is in no segment passes.
    pub(crate) fn lets_fresh(&self, row: u64) -> bool {
        match self {
            Self::Indexed(matching) => matching.fresh.contains(row),
            Self::Everything | Self::Scanned(_) => true,
        }
    }

    /// Which slots of a field's index pass in the segment at a place. `room` holds them.
    pub(crate) fn slots<'r>(
        &'r self,
        at: usize,
        view: &'r SegmentView,
        field: FieldId,
        room: &'r mut Option<Cow<'r, RoaringBitmap>>,
    ) -> Rows<'r> {
        match self {
            Self::Indexed(matching) => Rows::Only(room.insert(view.segment.slots_of(field, &matching.segments[at]))),
            _ if view.dead.is_empty() => Rows::All,
            _ => Rows::Except(room.insert(view.segment.slots_of(field, &view.dead))),
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

    pub(crate) fn text(error: impl Into<Error>) -> Self {
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

/// Rows found, besides twice those wanted, after which the others are dropped.
const FOUND_MORE: usize = 4096;

/// The best rows of all that are found; ties by row.
pub(crate) struct BestRows {
    depth: usize,
    found: Vec<ScoredRow>,
}

impl BestRows {
    pub(crate) fn new(depth: usize) -> Self {
        Self { depth, found: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: ScoredRow) {
        self.found.push(row);
        if self.found.len() >= 2 * self.depth + FOUND_MORE {
            self.keep();
        }
    }

    fn keep(&mut self) {
        self.found.sort_unstable_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.row.cmp(&b.row)));
        self.found.truncate(self.depth);
    }

    /// The best first.
    pub(crate) fn finish(mut self) -> Vec<ScoredRow> {
        self.keep();
        self.found
    }
}
