//! Late interaction: reranks the best rows of a search by a vector for each token.
//!
//! **Useful for** precision at the top: words and single vectors find candidates, token vectors order them. **Not for** finding: a field
//! of token vectors has no index.
//!
//! **Invariant:** the candidates are the first rows of the ranking without this step, whatever page is asked for, so that pages neither
//! repeat a hit nor miss one.

use serde::{Deserialize, Serialize};

use crate::collection::ranking::{Ranking, Trouble};
use crate::collection::request::{LIMIT_MAX, Leg};
use crate::collection::search::Query;
use crate::collection::{Core, ReadSource, Search};
use crate::descriptor::field::{FieldKind, Fields};
use crate::vector_value::TokenVectors;
use crate::{Error, Result};

/// Rows whose vectors are in memory at once: some MB.
const ROWS_AT_ONCE: usize = 32;

/// How to rerank the best rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rerank {
    /// A field of token vectors.
    pub field: String,
    /// Of the query: one vector of the field's dimension for each token.
    pub tokens: TokenVectors,
    /// How many of the best rows are compared. At least `limit + offset`, at most 10,000.
    pub candidates: usize,
}

impl Rerank {
    /// Candidates where nobody says how many.
    pub const CANDIDATES: usize = 100;

    /// # Errors
    /// `Invalid` for a field that does not hold token vectors, for vectors of another dimension, and for fewer
    /// candidates than hits.
    pub(crate) fn check(&self, fields: &Fields, depth: usize) -> Result<()> {
        let field = fields.named(&self.field)?;
        if field.kind() != FieldKind::Tokens {
            return Err(Error::invalid(format!(
                "`rerank` needs a field of token vectors, and {:?} is {}; make one with kind \"tokens\"",
                self.field,
                field.kind().as_str()
            )));
        }
        self.tokens.rows().try_for_each(|row| field.check_query(row))?;
        if self.candidates < depth || self.candidates > LIMIT_MAX {
            return Err(Error::invalid(format!(
                "`rerank` looks at {} candidates; give {depth} (limit and offset) to {LIMIT_MAX}",
                self.candidates
            )));
        }
        Ok(())
    }
}

impl Core {
    /// The ranking, with its first rows in the order of their token vectors. Rows without any follow in the order that they had.
    pub(super) fn reranked(
        &self,
        place: ReadSource<'_>,
        search: &Search,
        query: &Query<'_>,
    ) -> std::result::Result<Ranking, Trouble> {
        let Some(rerank) = &search.refine.rerank else { return self.ranking(place, search, query) };
        let limit = search.depth().max(rerank.candidates).min(LIMIT_MAX);
        let mut ranking = self.ranking(place, &Search { limit, offset: 0, ..search.clone() }, query)?;
        let fields = self.fields();
        let field = fields.named(&rerank.field)?;
        let later = ranking.rows.split_off(ranking.rows.len().min(rerank.candidates));
        let (mut compared, mut others) = (Vec::with_capacity(ranking.rows.len()), Vec::new());
        let rows = std::mem::take(&mut ranking.rows);
        for rows in rows.chunks(ROWS_AT_ONCE) {
            if place.waits.is_over() {
                return Err(Trouble::Other(nuthatch_vector::VectorError::Stopped.into()));
            }
            let ids: Vec<u64> = rows.iter().map(|(row, ..)| *row).collect();
            for (row, stored) in rows.iter().zip(field.stored(place.reader, self.shard, &ids)?) {
                match stored {
                    Some(stored) => {
                        let score = field.max_sim(&rerank.tokens, &field.tokens(&stored)?);
                        compared.push((row.0, score, row.2.clone()));
                    }
                    None => others.push(row.clone()),
                }
            }
        }
        // Stable: equals stay in the order that the legs gave.
        compared.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranking.explain.reranked = Some(compared.len());
        for (at, (_, score, legs)) in compared.iter_mut().enumerate() {
            legs.rerank = Some(Leg { rank: at + 1, score: *score });
        }
        ranking.rows = compared.into_iter().chain(others).chain(later).collect();
        Ok(ranking)
    }
}
