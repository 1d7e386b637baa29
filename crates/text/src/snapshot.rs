//! One committed state of the index, as searches see it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use roaring::RoaringBitmap;
use tantivy::columnar::ColumnValues;
use tantivy::index::SegmentId;
use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::bm25::{Bag, Statistics};
use crate::schema::{ROW_ID, ROW_WORDS};

/// Document frequencies of this many words are remembered per snapshot, where removed rows make counting them a walk.
const REMEMBERED_WORDS_MAX: usize = 4096;

pub(crate) struct Snapshot {
    pub searcher: Searcher,
    pub segments: Vec<Arc<Segment>>,
    /// Last change sequence in it.
    pub applied: u64,
    pub rows: u64,
    words: u64,
    removed_rows_with: Mutex<HashMap<String, u64>>,
}

/// A bag's words in a snapshot.
pub(crate) struct FoundTerms {
    pub statistics: Statistics,
    /// By word.
    pub terms: Vec<Term>,
    /// By segment, by word: where its postings are. Looking a word up costs more than scoring most lists.
    pub infos: Vec<Vec<Option<TermInfo>>>,
}

/// The data kept for a segment besides tantivy's reader.
pub(crate) struct Segment {
    id: SegmentId,
    removed_count: u32,
    /// Row id by document number.
    pub row_ids: Arc<dyn ColumnValues<u64>>,
    /// Row ids ascend with document numbers, so that a row can be found by bisection.
    pub ascending: bool,
    /// Documents that are still in the files but removed.
    removed: RoaringBitmap,
    live_words: u64,
    /// The average row length with which tantivy chose the block maxima of this segment.
    pub average_words: f32,
}

impl Snapshot {
    /// `before` lends what has not changed.
    pub fn new(searcher: Searcher, text: Field, applied: u64, before: Option<&Snapshot>) -> tantivy::Result<Self> {
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| {
                let old = before.and_then(|before| before.segments.iter().find(|old| old.id == reader.segment_id()));
                match old {
                    Some(old) if old.removed_count == reader.num_deleted_docs() => Ok(old.clone()),
                    old => Segment::new(reader, text, old.map(Arc::as_ref)).map(Arc::new),
                }
            })
            .collect::<tantivy::Result<Vec<_>>>()?;
        Ok(Self {
            applied,
            rows: searcher.num_docs(),
            words: segments.iter().map(|segment| segment.live_words).sum(),
            segments,
            searcher,
            removed_rows_with: Mutex::default(),
        })
    }

    /// Looks the bag's words up in every segment, and counts the rows that are not removed, exactly.
    pub fn look_up(&self, text: Field, bag: &Bag) -> tantivy::Result<FoundTerms> {
        let words = bag.words.iter().map(|word| Term::from_field_text(text, word));
        let mut found = FoundTerms {
            statistics: Statistics { rows: self.rows, words: self.words, rows_with: vec![0; bag.words.len()] },
            terms: words.collect(),
            infos: Vec::with_capacity(self.segments.len()),
        };
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(text)?;
            let infos = found.terms.iter().map(|term| index.get_term_info(term));
            let infos = infos.collect::<std::io::Result<Vec<Option<TermInfo>>>>()?;
            for (rows_with, info) in found.statistics.rows_with.iter_mut().zip(&infos) {
                *rows_with += info.as_ref().map_or(0, |info| u64::from(info.doc_freq));
            }
            found.infos.push(infos);
        }
        if self.segments.iter().any(|segment| !segment.removed.is_empty()) {
            for (at, word) in bag.words.iter().enumerate() {
                let rows_with = &mut found.statistics.rows_with[at];
                if *rows_with > 0 {
                    let infos = found.infos.iter().map(|infos| infos[at].as_ref());
                    *rows_with -= self.removed_rows_with(text, word, infos)?.min(*rows_with);
                }
            }
        }
        Ok(found)
    }

    fn removed_rows_with<'a>(
        &self,
        text: Field,
        word: &str,
        infos: impl Iterator<Item = Option<&'a TermInfo>>,
    ) -> tantivy::Result<u64> {
        let remembered = self.removed_rows_with.lock().get(word).copied();
        if let Some(removed) = remembered {
            return Ok(removed);
        }
        let mut removed = 0;
        let readers = self.searcher.segment_readers();
        for ((reader, segment), info) in readers.iter().zip(&self.segments).zip(infos) {
            if let (Some(info), false) = (info, segment.removed.is_empty()) {
                let index = reader.inverted_index(text)?;
                let postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
                removed += segment.removed_among(postings);
            }
        }
        let mut remembered = self.removed_rows_with.lock();
        if remembered.len() < REMEMBERED_WORDS_MAX {
            remembered.insert(word.to_string(), removed);
        }
        Ok(removed)
    }

    /// Bytes in addition to what tantivy holds of its files.
    pub fn own_bytes(&self) -> u64 {
        let removed: usize = self.segments.iter().map(|segment| segment.removed.serialized_size()).sum();
        let remembered = self.removed_rows_with.lock().len() * 64;
        // Roughly what tantivy's readers and ours cost per open segment, without file contents.
        (removed + remembered + self.segments.len() * 4096) as u64
    }
}

impl Segment {
    /// Leapfrogs over a posting list and the removed documents: cheap while either is short.
    fn removed_among(&self, mut postings: SegmentPostings) -> u64 {
        let mut count = 0;
        let mut removed = self.removed.iter();
        let mut doc = postings.doc();
        while doc != TERMINATED {
            removed.advance_to(doc);
            let Some(candidate) = removed.next() else {
                break;
            };
            if doc < candidate {
                doc = postings.seek(candidate);
            }
            if doc == candidate {
                count += 1;
                doc = postings.advance();
            }
        }
        count
    }

    fn new(reader: &SegmentReader, text: Field, old: Option<&Segment>) -> tantivy::Result<Self> {
        let docs = reader.max_doc();
        let row_ids = match old {
            Some(old) => old.row_ids.clone(),
            None => reader.fast_fields().u64(ROW_ID)?.first_or_default_col(0),
        };
        let ascending = match old {
            Some(old) => old.ascending,
            None => row_ids.iter().is_sorted(),
        };
        let removed: RoaringBitmap = match reader.alive_bitset() {
            Some(alive) => (0..docs).filter(|doc| alive.is_deleted(*doc)).collect(),
            None => RoaringBitmap::new(),
        };
        // tantivy estimates the words of a merged segment from its rounded row lengths; ours are exact.
        let row_words = reader.fast_fields().u64(ROW_WORDS)?.first_or_default_col(0);
        let all: u64 = row_words.iter().sum();
        let gone: u64 = removed.iter().map(|doc| row_words.get_val(doc)).sum();
        let stored_words = reader.inverted_index(text)?.total_num_tokens();
        Ok(Self {
            id: reader.segment_id(),
            removed_count: reader.num_deleted_docs(),
            row_ids,
            ascending,
            live_words: all.saturating_sub(gone),
            removed,
            average_words: stored_words as f32 / docs.max(1) as f32,
        })
    }
}
