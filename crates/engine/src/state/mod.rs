//! The state that a search reads: segments, fresh rows, the text index and its memtable, and which rows are gone.

pub(crate) mod batch_sizing;
pub(crate) mod building;
pub(crate) mod change;
pub(crate) mod ids;
mod index_id;
pub(crate) mod manifest;
pub(crate) mod memtable;
mod pending;
mod rows;
pub(crate) mod segment;

use std::collections::BTreeMap;
use std::sync::Arc;

use nuthatch_filter::Filter;
use nuthatch_sparse::SparseVector;
use nuthatch_text::{RowFilter, RowWords, TextIndex, TextMemtable, TextView};
use nuthatch_vector::MemtableSearch;
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::Result;
pub(crate) use crate::state::index_id::{IndexId, SEGMENTS, TEXT};
pub use crate::state::pending::Pending;
pub(crate) use crate::state::rows::{each_row_in, words_of};

use crate::call::Waits;
use crate::descriptor::field::FieldId;
use crate::record::Row;
use crate::state::memtable::Memtable;
use crate::state::segment::Segment;

/// A segment and the ordinals of its rows that were deleted since.
#[derive(Clone)]
pub(crate) struct SegmentView {
    pub segment: Arc<Segment>,
    /// Shared with the searches that are looking at it.
    pub dead: Arc<RoaringBitmap>,
}

impl SegmentView {
    /// A segment that was built while rows were removed: those are dead in it from the start.
    pub fn new(segment: Arc<Segment>, removed: &RoaringTreemap) -> Self {
        let dead = (segment.rows() & removed).iter().filter_map(|row| segment.ordinal(row)).collect();
        Self { segment, dead: Arc::new(dead) }
    }

    /// Ordinals of the live rows whose payload passes the filter.
    pub fn matching(&self, filter: &Filter) -> Result<RoaringBitmap> {
        let mut matching = self.segment.matching(filter)?;
        matching -= &*self.dead;
        Ok(matching)
    }

    pub fn live(&self) -> u64 {
        self.segment.rows().len() - self.dead.len()
    }
}

/// Returns a violation of the order of a collection's segments: they ascend by rows and share none, each has a unique
/// number that was given out, and the dead rows of a segment are rows of it.
pub(crate) fn contradiction(views: &[SegmentView], next_segment: u64) -> Option<&'static str> {
    let follows = |pair: &[SegmentView]| {
        let (last, first) = (pair[0].segment.rows().max(), pair[1].segment.rows().min());
        first.is_none_or(|first| last < Some(first))
    };
    let mut ids: Vec<u64> = views.iter().map(|view| view.segment.id).collect();
    ids.sort_unstable();
    if !views.windows(2).all(follows) {
        return Some("two segments share rows");
    }
    if !ids.is_sorted_by(|a, b| a < b) || ids.last().is_some_and(|last| *last > next_segment) {
        return Some("a segment has a number that was not given to it");
    }
    let is_own = |view: &SegmentView| view.dead.max().is_none_or(|last| u64::from(last) < view.segment.rows().len());
    (!views.iter().all(is_own)).then_some("a deleted row is none of its segment")
}

/// Rows on their way into a segment, and the last change among them.
pub(crate) struct ImmutableMemtable {
    pub rows: Arc<Memtable>,
    pub upto: u64,
}

/// The rows as of one moment: a search takes them under the lock and reads them without it.
#[derive(Clone)]
pub(crate) struct View {
    pub sequence: u64,
    pub segments: Vec<SegmentView>,
    /// False: they are passed by.
    pub segments_are_sound: bool,
    mutable: Arc<Memtable>,
    immutable: Option<Arc<ImmutableMemtable>>,
    tombstones_while_sealing: Option<Arc<RoaringTreemap>>,
}

impl View {
    /// Rows that no segment holds.
    pub fn fresh_rows(&self) -> usize {
        self.mutable.len() + self.immutable.as_ref().map_or(0, |immutable| immutable.rows.len())
    }

    /// Adds the fresh rows that can be among the best by their vectors of a field, of those passing `keep`.
    pub fn search_memtables(&self, field: FieldId, search: &mut MemtableSearch, keep: impl Fn(u64) -> bool) {
        self.mutable.search(field, search, &keep);
        if let Some(immutable) = &self.immutable {
            immutable.rows.search(field, search, |row| !self.removed_from_immutable(row) && keep(row));
        }
    }

    /// Shows the fresh rows that share a term with a sparse query, of those passing `keep`, and their scores.
    pub fn search_sparse_memtables(
        &self,
        field: FieldId,
        query: &SparseVector,
        keep: &dyn Fn(u64) -> bool,
        show: &mut dyn FnMut(u64, f32),
    ) {
        self.mutable.search_sparse(field, query, keep, show);
        if let Some(immutable) = &self.immutable {
            let keep = |row| !self.removed_from_immutable(row) && keep(row);
            immutable.rows.search_sparse(field, query, &keep, show);
        }
    }

    /// The payload of each row that no segment holds.
    pub fn each_in_memtables(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.mutable.live().try_for_each(|(_, payload)| visit(payload))?;
        let Some(immutable) = &self.immutable else { return Ok(()) };
        let mut live = immutable.rows.live().filter(|(row, _)| !self.removed_from_immutable(*row));
        live.try_for_each(|(_, payload)| visit(payload))
    }

    /// The rows whose payload passes the filter, by where they are. Only while the segments are sound.
    pub fn matching(&self, filter: &Filter, waits: &Waits) -> Result<Matching> {
        let of_segment = |view: &SegmentView| waits.check().and_then(|()| view.matching(filter));
        let segments = self.segments.iter().map(of_segment).collect::<Result<_>>()?;
        waits.check()?;
        let mut fresh = self.mutable.matching(filter)?;
        if let Some(immutable) = &self.immutable {
            let immutable = immutable.rows.matching(filter)?;
            fresh.extend(immutable.into_iter().filter(|row| !self.removed_from_immutable(*row)));
        }
        Ok(Matching { segments, fresh })
    }

    /// Where rows are, of those that there are. Only while the segments are sound.
    pub fn places_of(&self, rows: &RoaringTreemap) -> Matching {
        let mut fresh = rows.clone();
        let of_segment = |view: &SegmentView| {
            let own = rows & view.segment.rows();
            fresh -= &own;
            let ordinals: RoaringBitmap = own.iter().filter_map(|row| view.segment.ordinal(row)).collect();
            ordinals - &*view.dead
        };
        let segments = self.segments.iter().map(of_segment).collect();
        Matching { segments, fresh }
    }

    /// True when a row of the immutable memtable has been removed since.
    fn removed_from_immutable(&self, row: u64) -> bool {
        self.tombstones_while_sealing.as_ref().is_some_and(|removed| removed.contains(row))
    }
}

/// Large parts are shared with searches and snapshots; the first change after one has taken them copies them.
#[derive(Clone, Default)]
pub(crate) struct State {
    /// The last change that everything below shows.
    pub sequence: u64,
    /// Vectors that there are, and that are still to come.
    pub vectors: Pending,
    pub segments: Vec<SegmentView>,
    /// Indexes that do not answer, and why: damaged, missing or behind. Until a rebuild, searches compare exactly from
    /// the store.
    broken: BTreeMap<IndexId, String>,
    /// The last change in the manifest on disk.
    pub segments_applied: u64,
    pub next_segment: u64,
    /// Takes new rows.
    pub mutable: Arc<Memtable>,
    /// Being sealed.
    pub immutable: Option<Arc<ImmutableMemtable>>,
    /// Rows removed while the immutable ones are being sealed, or everything is rebuilt: dead in the new segments from the start.
    pub tombstones_while_sealing: Option<Arc<RoaringTreemap>>,
    /// The same for a merge, which takes long and must not keep rows from being sealed.
    pub tombstones_while_merging: Option<RoaringTreemap>,
    pub text: Option<Arc<TextIndex>>,
    /// Of a snapshot: the text index as it was.
    pub pinned_text: Option<TextView>,
    /// Texts that the text index does not hold yet.
    pub text_memtable: Arc<TextMemtable>,
    pub text_memtable_rows: RoaringTreemap,
    /// Rows up to this one are being committed to the text index.
    pub committing_upto: u64,
    /// Removed rows that the text index holds, or is about to.
    pub gone: RoaringTreemap,
}

/// Where the segment stands that may have a row: segments are in row order and do not overlap.
pub(crate) fn place_of(views: &[SegmentView], row: u64) -> usize {
    views.partition_point(|view| view.segment.rows().max().is_some_and(|last| last < row))
}

impl State {
    /// One that is going to show a change when its indexes are loaded and the log is replayed.
    pub fn before_replay(sequence: u64) -> Self {
        Self { sequence, ..Self::default() }
    }

    /// Forgets a row everywhere.
    pub fn remove(&mut self, row: u64) {
        if let Some(removed) = &mut self.tombstones_while_sealing {
            Arc::make_mut(removed).insert(row);
        }
        if let Some(removed) = &mut self.tombstones_while_merging {
            removed.insert(row);
        }
        if !(self.mutable.contains(row) && Arc::make_mut(&mut self.mutable).remove(row)) {
            let at = place_of(&self.segments, row);
            if let Some(view) = self.segments.get_mut(at)
                && let Some(ordinal) = view.segment.ordinal(row)
            {
                Arc::make_mut(&mut view.dead).insert(ordinal);
            }
        }
        let in_text_memtable = self.text_memtable.contains(row) && Arc::make_mut(&mut self.text_memtable).remove(row);
        self.text_memtable_rows.remove(row);
        if !in_text_memtable || row <= self.committing_upto {
            self.gone.insert(row);
        }
    }

    /// Returns the rows that the text index may answer with: all of its rows except those that are gone.
    pub fn rows_there(&self) -> RowFilter<'_> {
        if self.gone.is_empty() { RowFilter::All } else { RowFilter::Except(&self.gone) }
    }

    /// A row whose text the index does not hold yet.
    pub fn insert_text(&mut self, row: u64, words: RowWords) {
        Arc::make_mut(&mut self.text_memtable).insert_words(row, words);
        self.text_memtable_rows.insert(row);
    }

    /// The same, if it has one and there is an index.
    pub fn insert_text_of(&mut self, row: u64, stored: &Row) {
        if let Some(words) = words_of(stored, self.text.as_deref()) {
            self.insert_text(row, words);
        }
    }

    /// The text index has these rows now, and is without those that are gone.
    pub fn forget_in_text_memtable(&mut self, rows: RoaringTreemap, gone: RoaringTreemap) {
        for row in &rows {
            Arc::make_mut(&mut self.text_memtable).remove(row);
        }
        self.text_memtable_rows -= rows;
        if self.text_memtable.is_empty() {
            self.text_memtable = Arc::new(TextMemtable::new()); // its holes would count as fresh bytes
        }
        self.gone -= gone;
    }

    /// A broken index that knows only the reason: the store answers instead.
    pub fn unindexed(why: &str) -> Self {
        let broken = [SEGMENTS, TEXT].map(|index| (index, why.to_string())).into();
        Self { broken, ..Self::default() }
    }

    pub fn is_sound(&self, index: IndexId) -> bool {
        !self.broken.contains_key(&index)
    }

    pub fn why_broken(&self, index: IndexId) -> Option<&str> {
        self.broken.get(&index).map(String::as_str)
    }

    /// From now on searches bypass the index.
    pub fn pass_by(&mut self, index: IndexId, why: String) {
        self.broken.insert(index, why);
        if index == TEXT {
            // Texts are analysed for an index that is there.
            self.text = None;
            self.pinned_text = None;
        }
    }

    /// The index was rebuilt.
    pub fn mend(&mut self, index: IndexId) {
        self.broken.remove(&index);
    }

    /// Each broken index, and why it is.
    pub fn broken(&self) -> impl Iterator<Item = (IndexId, &str)> {
        self.broken.iter().map(|(index, why)| (*index, why.as_str()))
    }

    /// The same, one sentence each.
    pub fn degraded(&self) -> Vec<String> {
        let sentence =
            |(index, why): (IndexId, &str)| format!("{} are searched exactly, without their index: {why}", index.holds);
        self.broken().map(sentence).collect()
    }

    /// Returns the state that a snapshot keeps.
    pub fn pinned(&self) -> Self {
        Self { pinned_text: self.text_view(), ..self.clone() }
    }

    /// The text index as searches are to see it.
    pub fn text_view(&self) -> Option<TextView> {
        self.pinned_text.clone().or_else(|| self.text.as_ref().map(TextIndex::view))
    }

    /// Returns the current view for searches.
    pub fn view(&self) -> View {
        View {
            sequence: self.sequence,
            segments: self.segments.clone(),
            segments_are_sound: self.is_sound(SEGMENTS),
            mutable: self.mutable.clone(),
            immutable: self.immutable.clone(),
            tombstones_while_sealing: self.tombstones_while_sealing.clone(),
        }
    }

    /// Rows that wait outside the indexes.
    pub fn fresh_rows(&self) -> usize {
        (self.mutable.len() + self.immutable.as_ref().map_or(0, |f| f.rows.len())).max(self.text_memtable.len())
    }

    /// The most rows that the indexes and the fresh rows can show.
    pub fn rows_shown(&self) -> u64 {
        self.segments.iter().map(SegmentView::live).sum::<u64>() + self.fresh_rows() as u64
    }

    /// An upper bound on the rows; `u64::MAX` while an index is damaged.
    pub fn rows_max(&self) -> u64 {
        match self.is_sound(SEGMENTS) {
            true => self.rows_shown(),
            false => u64::MAX,
        }
    }

    /// Bytes of memory that stay with the open segments and with the removed rows, whatever is asked.
    pub fn segment_bytes(&self) -> u64 {
        let of_view = |view: &SegmentView| view.segment.resident_bytes() + view.dead.serialized_size() as u64;
        let sets = self.gone.serialized_size() + self.text_memtable_rows.serialized_size();
        self.segments.iter().map(of_view).sum::<u64>() + sets as u64
    }

    /// Bytes of memory that the fresh rows take.
    pub fn fresh_bytes(&self) -> u64 {
        self.mutable.bytes() + self.immutable.as_ref().map_or(0, |f| f.rows.bytes()) + self.text_memtable.bytes() as u64
    }
}

/// Rows that pass a filter.
pub(crate) struct Matching {
    /// Live ordinals, per segment in the state's order.
    pub segments: Vec<RoaringBitmap>,
    /// Row ids among the fresh rows.
    pub fresh: RoaringTreemap,
}

impl Matching {
    pub fn count(&self) -> u64 {
        self.segments.iter().map(RoaringBitmap::len).sum::<u64>() + self.fresh.len()
    }

    /// All of them as row ids.
    pub fn rows(&self, views: &[SegmentView]) -> RoaringTreemap {
        let sealed = views.iter().zip(&self.segments).map(|(view, ordinals)| view.segment.rows_of(ordinals));
        sealed.fold(self.fresh.clone(), |all, rows| all | rows)
    }
}
