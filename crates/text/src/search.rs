//! The best rows of a snapshot: block-max WAND finds the candidates, an exact pass orders them.

use roaring::RoaringTreemap;
use tantivy::postings::Postings;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanWeight, BoostQuery, EnableScoring, Query, SumCombiner, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, TERMINATED, Term};

use crate::TextMemtable;
use crate::bm25::{Bag, Weights};
use crate::candidates::Candidates;
use crate::hits::{RowFilter, TextHit, best};
use crate::snapshot::{FoundTerms, Segment, Snapshot};
use crate::wide::{Like, Pattern};

/// Sets of allowed rows up to this part of the index are looked up row by row instead of walking posting lists.
const SMALL_SET_DIVISOR: u64 = 64;

pub(crate) fn search(
    snapshot: &Snapshot,
    text: Field,
    mut bag: Bag,
    patterns: &[Pattern],
    limit: usize,
    filter: RowFilter<'_>,
    memtable: Option<&TextMemtable>,
) -> tantivy::Result<Vec<TextHit>> {
    if !patterns.is_empty() {
        widen(snapshot, text, &mut bag, patterns, memtable)?;
    }
    let bag = &bag;
    let mut found = snapshot.look_up(text, bag)?;
    if let Some(memtable) = memtable {
        found.statistics.add(&memtable.statistics(bag));
    }
    let weights = found.statistics.weights(bag);
    let mut hits = memtable.map_or_else(Vec::new, |memtable| memtable.score(bag, &weights, filter));
    let search = SnapshotSearch { snapshot, text, bag, found: &found, weights: &weights, filter, memtable };
    let candidates = match filter {
        RowFilter::Only { allowed } if allowed.len() <= snapshot.rows / SMALL_SET_DIVISOR => search.allowed_rows(),
        _ => search.best_candidates(limit, &hits)?,
    };
    for (at, docs) in candidates.into_iter().enumerate() {
        search.score_exactly(at, docs, &mut hits)?;
    }
    Ok(best(hits, limit))
}

/// The rows that have every word of a bag.
pub(crate) fn rows_with_all(
    snapshot: &Snapshot,
    text: Field,
    bag: &Bag,
    filter: RowFilter<'_>,
    memtable: Option<&TextMemtable>,
) -> tantivy::Result<RoaringTreemap> {
    let mut found = memtable.map_or_else(RoaringTreemap::new, |memtable| memtable.rows_with_all(bag, filter));
    let infos = snapshot.look_up(text, bag)?.infos;
    for ((reader, segment), infos) in snapshot.searcher.segment_readers().iter().zip(&snapshot.segments).zip(infos) {
        let Some(mut infos) = infos.into_iter().collect::<Option<Vec<_>>>() else { continue };
        // The rarest word leads.
        infos.sort_by_key(|info| info.doc_freq);
        let index = reader.inverted_index(text)?;
        let lists = infos.iter().map(|info| index.read_postings_from_terminfo(info, IndexRecordOption::Basic));
        let mut lists = lists.collect::<std::io::Result<Vec<_>>>()?;
        let Some((lead, others)) = lists.split_first_mut() else { continue };
        let alive = reader.alive_bitset();
        let mut doc = lead.doc();
        while doc != TERMINATED {
            let has_all = others.iter_mut().all(|other| {
                let at = if other.doc() < doc { other.seek(doc) } else { other.doc() };
                at == doc
            });
            let row_id = segment.row_ids.get_val(doc);
            if has_all
                && alive.is_none_or(|alive| alive.is_alive(doc))
                && filter.allows(row_id)
                && !memtable.is_some_and(|memtable| memtable.contains(row_id))
            {
                found.insert(row_id);
            }
            doc = lead.advance();
        }
    }
    Ok(found)
}

/// Adds words that index or memtable have and that are like the query's.
fn widen(
    snapshot: &Snapshot,
    text: Field,
    bag: &mut Bag,
    patterns: &[Pattern],
    memtable: Option<&TextMemtable>,
) -> tantivy::Result<()> {
    let like = |pattern: &Pattern| {
        let mut found: Vec<Like> = memtable.map_or_else(Vec::new, |memtable| memtable.words_like(pattern));
        for reader in snapshot.searcher.segment_readers() {
            let index = reader.inverted_index(text)?;
            let mut words = index.terms().search(pattern).into_stream()?;
            while let Some((word, _)) = words.next() {
                if let Ok(word) = std::str::from_utf8(word)
                    && let Some(distance) = pattern.distance(word)
                {
                    found.push((distance, word.to_string()));
                }
            }
        }
        Ok(found)
    };
    let rows_with = |words: &[String]| {
        let bag = Bag { words: words.to_vec(), boosts: vec![1.0; words.len()] };
        let mut statistics = snapshot.look_up(text, &bag)?.statistics;
        if let Some(memtable) = memtable {
            statistics.add(&memtable.statistics(&bag));
        }
        Ok(statistics.rows_with)
    };
    bag.widen(patterns, like, rows_with)
}

/// Segments where the query's words have at most this many postings are scored without pruning: it would save less than
/// looking the words up for it costs.
const FEW_POSTINGS: u64 = 1024;

struct SnapshotSearch<'a> {
    snapshot: &'a Snapshot,
    text: Field,
    bag: &'a Bag,
    found: &'a FoundTerms,
    weights: &'a Weights,
    filter: RowFilter<'a>,
    memtable: Option<&'a TextMemtable>,
}

impl SnapshotSearch<'_> {
    /// Live, allowed, and not (any more) in the memtable, whose copy wins.
    fn returns(&self, row_id: u64) -> bool {
        self.filter.allows(row_id) && !self.memtable.is_some_and(|memtable| memtable.contains(row_id))
    }

    /// Per segment, documents among which are surely all that belong to the best `limit`.
    fn best_candidates(&self, limit: usize, memtable_hits: &[TextHit]) -> tantivy::Result<Vec<Vec<DocId>>> {
        let mut candidates = Candidates::new(limit, self.bag.words.len());
        for hit in memtable_hits {
            candidates.note(hit.score);
        }
        let statistics = &self.found.statistics;
        let Some(weight) = self.weight()? else {
            return Ok(Vec::new());
        };
        let average_words = statistics.words as f32 / statistics.rows as f32;
        let readers = self.snapshot.searcher.segment_readers();
        let mut few = Vec::new();
        for (at, (reader, segment)) in readers.iter().zip(&self.snapshot.segments).enumerate() {
            let postings = self.found.infos[at].iter().flatten().map(|info| u64::from(info.doc_freq));
            if postings.sum::<u64>() <= FEW_POSTINGS {
                few.push((at, self.matching(at)?));
                continue;
            }
            // tantivy stores, per block of postings, the row that scores best under the segment's own average row length.
            // Under ours another row of the block may score higher, by at most the ratio of the averages (the length
            // factor is linear in 1/average, and tf/(tf+k) is concave). Lowering the bar by it keeps pruning exact.
            let ratio = average_words / segment.average_words;
            let slack = match ratio.max(1.0 / ratio) {
                slack if slack.is_finite() => slack * 1.0001,
                _ => f32::MAX,
            };
            let alive = reader.alive_bitset();
            weight.for_each_pruning(candidates.bar() / slack, reader, &mut |doc, score| {
                // The callback sees every document above the lowered bar, so the real bar is applied here.
                if score > candidates.bar()
                    && alive.is_none_or(|alive| alive.is_alive(doc))
                    && self.returns(segment.row_ids.get_val(doc))
                {
                    candidates.add(at as u32, doc, score);
                }
                candidates.bar() / slack
            })?;
        }
        let mut docs = candidates.by_segment(readers.len());
        for (at, matching) in few {
            docs[at] = matching;
        }
        Ok(docs)
    }

    /// All documents of a segment that contain a word and may be returned.
    fn matching(&self, at: usize) -> tantivy::Result<Vec<DocId>> {
        let reader = &self.snapshot.searcher.segment_readers()[at];
        let row_ids = &self.snapshot.segments[at].row_ids;
        let index = reader.inverted_index(self.text)?;
        let alive = reader.alive_bitset();
        let mut docs = Vec::new();
        for info in self.found.infos[at].iter().flatten() {
            let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            while postings.doc() != TERMINATED {
                docs.push(postings.doc());
                postings.advance();
            }
        }
        docs.sort_unstable();
        docs.dedup();
        docs.retain(|&doc| alive.is_none_or(|alive| alive.is_alive(doc)) && self.returns(row_ids.get_val(doc)));
        Ok(docs)
    }

    /// The documents of a small set of allowed rows, whether they match or not.
    fn allowed_rows(&self) -> Vec<Vec<DocId>> {
        let RowFilter::Only { allowed } = self.filter else {
            return Vec::new();
        };
        let readers = self.snapshot.searcher.segment_readers();
        let segments = self.snapshot.segments.iter().zip(readers);
        segments
            .map(|(segment, reader)| {
                let mut docs: Vec<DocId> = if segment.ascending {
                    let rows = allowed.iter();
                    rows.filter_map(|row_id| bisect(segment, reader.max_doc(), row_id)).collect()
                } else {
                    let rows = segment.row_ids.iter().zip(0..);
                    rows.filter(|(row_id, _)| allowed.contains(*row_id)).map(|(_, doc)| doc).collect()
                };
                let alive = reader.alive_bitset();
                docs.retain(|&doc| {
                    alive.is_none_or(|alive| alive.is_alive(doc)) && self.returns(segment.row_ids.get_val(doc))
                });
                docs
            })
            .collect()
    }

    /// Scores `docs` in the order of summation that all scorers share: WAND adds a row's words up in an order that depends on
    /// its neighbours, and the last bit of the score with it.
    fn score_exactly(&self, at: usize, mut docs: Vec<DocId>, hits: &mut Vec<TextHit>) -> tantivy::Result<()> {
        if docs.is_empty() {
            return Ok(());
        }
        docs.sort_unstable();
        let reader = &self.snapshot.searcher.segment_readers()[at];
        let index = reader.inverted_index(self.text)?;
        let norms = reader.get_fieldnorms_reader(self.text)?;
        let mut scores = vec![0.0; docs.len()];
        for (info, weight) in self.found.infos[at].iter().zip(&self.weights.per_word) {
            let (Some(info), Some(weight)) = (info, weight) else {
                continue;
            };
            let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
            let mut doc = postings.doc();
            for (&wanted, score) in docs.iter().zip(&mut scores) {
                if doc < wanted {
                    doc = postings.seek(wanted);
                }
                if doc == wanted {
                    *score += weight.score(norms.fieldnorm_id(doc), postings.term_freq());
                }
            }
        }
        let row_ids = &self.snapshot.segments[at].row_ids;
        let scored = docs.into_iter().zip(scores);
        hits.extend(
            scored
                .filter(|(_, score)| *score > 0.0)
                .map(|(doc, score)| TextHit { row_id: row_ids.get_val(doc), score }),
        );
        Ok(())
    }

    /// tantivy's scorer of the bag under our statistics; a lone word keeps its own pruning walk.
    fn weight(&self) -> tantivy::Result<Option<Box<dyn Weight>>> {
        let scoring = EnableScoring::enabled_from_statistics_provider(self.found, &self.snapshot.searcher);
        let mut words = Vec::new();
        for ((term, boost), rows_with) in
            self.found.terms.iter().zip(&self.bag.boosts).zip(&self.found.statistics.rows_with)
        {
            if *rows_with > 0 {
                let query = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
                words.push((query, *boost));
            }
        }
        if let [(query, 1.0)] = &words[..] {
            return query.weight(scoring).map(Some);
        }
        let weights = words
            .into_iter()
            .map(|(query, boost)| {
                let query = BoostQuery::new(Box::new(query), boost);
                Ok((tantivy::query::Occur::Should, query.weight(scoring)?))
            })
            .collect::<tantivy::Result<Vec<_>>>()?;
        if weights.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(BooleanWeight::with_minimum_number_should_match(
            weights,
            1,
            true,
            Box::new(SumCombiner::default),
        ))))
    }
}

/// Index and memtable together, as tantivy asks for them.
impl Bm25StatisticsProvider for FoundTerms {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.statistics.words)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        let most = self.statistics.rows_with.iter().max().copied();
        Ok(self.statistics.rows.max(most.unwrap_or(0)))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let word = self.terms.iter().position(|word| word == term);
        Ok(word.map_or(0, |at| self.statistics.rows_with[at]))
    }
}

fn bisect(segment: &Segment, docs: u32, row_id: u64) -> Option<DocId> {
    let (mut low, mut high) = (0, docs);
    while low < high {
        let middle = low + (high - low) / 2;
        match segment.row_ids.get_val(middle).cmp(&row_id) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}
