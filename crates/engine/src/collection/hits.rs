//! Hits that carry nothing but their ids: named by the segments that were searched, without a look at their records.
//!
//! **Invariant:** an id is that of the row as the search's view shows it. Rows that no segment of the view can name, such as fresh ones
//! and those of segments from earlier builds, are read from the store.

use crate::Result;
use crate::collection::ranking::Trouble;
use crate::collection::request::{Hit, Include, Legs};
use crate::state::{SegmentView, place_of};

impl Include {
    /// Hits are their ids, scores and legs.
    pub(crate) fn is_nothing(self) -> bool {
        !(self.text || self.payload || self.vector)
    }
}

impl SegmentView {
    /// The id of a row that it shows; `None` where only the store knows.
    fn id_of(&self, row: u64) -> Result<Option<String>> {
        match self.segment.ordinal(row).filter(|ordinal| !self.dead.contains(*ordinal)) {
            Some(ordinal) => self.segment.id_at(ordinal),
            None => Ok(None),
        }
    }
}

/// Reads the ids of rows from the store; `None` for those that are not there.
type ReadIds<'r> = dyn FnMut(&[u64]) -> Result<Vec<Option<String>>> + 'r;

/// Names what was found. False when a row that the store had to be asked for is no longer there.
pub(crate) fn named_hits(
    segments: &[SegmentView],
    ranked: Vec<(u64, f32, Legs)>,
    read: &mut ReadIds<'_>,
) -> std::result::Result<(Vec<Hit>, bool), Trouble> {
    let mut ids = Vec::with_capacity(ranked.len());
    let (mut unnamed, mut places) = (Vec::new(), Vec::new());
    for (at, (row, ..)) in ranked.iter().enumerate() {
        let id = match segments.get(place_of(segments, *row)) {
            Some(view) => view.id_of(*row).map_err(Trouble::segments)?,
            None => None,
        };
        if id.is_none() {
            unnamed.push(*row);
            places.push(at);
        }
        ids.push(id);
    }
    if !unnamed.is_empty() {
        for (at, id) in places.into_iter().zip(read(&unnamed)?) {
            ids[at] = id;
        }
    }
    let wanted = ranked.len();
    let named = ranked.into_iter().zip(ids).filter_map(|((_, score, legs), id)| Some(hit(id?, score, legs)));
    let hits: Vec<Hit> = named.collect();
    let all_there = hits.len() == wanted;
    Ok((hits, all_there))
}

fn hit(id: String, score: f32, legs: Legs) -> Hit {
    Hit {
        id,
        score,
        text: None,
        context: None,
        payload: Default::default(),
        vector: None,
        vectors: Default::default(),
        legs,
    }
}
