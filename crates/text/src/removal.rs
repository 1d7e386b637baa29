//! tantivy's delete-by-query, for a set of row ids: one walk over a column instead of an index of every row id.

use std::sync::Arc;

use roaring::RoaringTreemap;
use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

use crate::schema::ROW_ID;

/// Matches the documents of these rows.
#[derive(Clone, Debug)]
pub(crate) struct RowsQuery {
    rows: Arc<RoaringTreemap>,
}

impl RowsQuery {
    pub fn new(rows: RoaringTreemap) -> Self {
        Self { rows: Arc::new(rows) }
    }
}

impl Query for RowsQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for RowsQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let row_ids = reader.fast_fields().u64(ROW_ID)?.first_or_default_col(0);
        let mut docs = BitSet::with_max_value(reader.max_doc());
        let span = row_ids.min_value()..=row_ids.max_value();
        if self.rows.range_cardinality(span) > 0 {
            for (doc, row_id) in row_ids.iter().enumerate() {
                if self.rows.contains(row_id) {
                    docs.insert(doc as DocId);
                }
            }
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(docs), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument("a removal has no score".into()))
    }
}
