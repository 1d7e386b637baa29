//! Options of a search beyond the best rows: facets to report, and which rows count as hits.
//!
//! **Useful for** adding such an option: its field and its effect stand here, and [`Search`] carries it.
//! **Not for** finding and ranking.
//!
//! [`Search`]: crate::collection::Search

use std::collections::{BTreeSet, HashMap};

use nuthatch_filter::{Filter, Scalar, Schema, Value};
use nuthatch_text::TextQuery;
use serde::{Deserialize, Serialize};

use crate::collection::ranking::{Ranking, Trouble};
use crate::collection::request::{LIMIT_MAX, Mode};
use crate::collection::rerank::Rerank;
use crate::collection::search::Query;
use crate::collection::values::{self, FieldValues};
use crate::collection::{Core, ReadSource, Search};
use crate::{Error, Result};

/// Values of each field that a search tells.
const FACET_VALUES: usize = 10;

/// Everything is left out at first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Refine {
    /// Fields whose values are counted among all records that pass the filter, hits or not.
    pub facets: Vec<String>,
    /// A field to group by: of records that share a value, only the best is a hit. Records without a value are one
    /// group.
    pub group_by: Option<String>,
    /// Only records whose text, or context, has the words of each of these one after another, whatever their case and
    /// whatever stands between them that is no letter or digit.
    pub phrases: Vec<String>,
    /// The text leg also finds words that differ by a letter or two from those of the text; they count less.
    pub fuzzy: bool,
    /// The text leg takes the last word of the text for the beginning of a word, unless something stands behind it.
    pub prefix: bool,
    /// Records with a worse score are not hits: a lower score, or a greater distance where the score is a distance.
    pub score_threshold: Option<f32>,
    /// Reranks the best rows by their token vectors; their scores are those of that comparison.
    pub rerank: Option<Rerank>,
}

/// How much further a search looks when its hits are of too few groups.
const DEEPER: usize = 4;

impl Refine {
    /// # Errors
    /// `Invalid` for fields that the collection never had.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        if let Some(score) = self.score_threshold.filter(|score| !score.is_finite()) {
            return Err(Error::invalid(format!("score_threshold is {score}; give a finite number")));
        }
        if let Some(field) = &self.group_by {
            Filter::Exists { field: field.clone() }.check(schema)?;
        }
        match self.facets.is_empty() {
            true => Ok(()),
            false => values::check(&self.facets, schema),
        }
    }
}

impl Search {
    /// The text leg's question.
    pub(crate) fn words<'t>(&self, text: &'t str) -> TextQuery<'t> {
        TextQuery { text, fuzzy: self.refine.fuzzy, prefix: self.refine.prefix }
    }
}

impl Core {
    /// Returns the facets that a search reports with the hits.
    pub(crate) fn facets_of(&self, place: ReadSource<'_>, search: &Search) -> Result<Vec<FieldValues>> {
        match &search.refine.facets[..] {
            [] => Ok(Vec::new()),
            fields => self.count_values(place, fields, search.filter.as_ref(), FACET_VALUES),
        }
    }
}

/// The values of a row by which it is grouped; `None` alone where it has none.
type Group = Vec<Option<Scalar>>;

impl Core {
    /// The ranking of which the hits are taken.
    pub(crate) fn refined(
        &self,
        place: ReadSource<'_>,
        search: &Search,
        query: &Query<'_>,
    ) -> std::result::Result<Ranking, Trouble> {
        let Some(field) = &search.refine.group_by else { return self.good_enough(place, search, query) };
        let (first, mut groups) = ((search.depth() * DEEPER).min(LIMIT_MAX), HashMap::new());
        let (mut kept, mut seen) = (Vec::new(), BTreeSet::new());
        let mut deeper = Search { limit: first, offset: 0, ..search.clone() };
        loop {
            let mut ranking = self.good_enough(place, &deeper, query)?;
            let is_all = ranking.rows.len() < deeper.limit;
            let rows: Vec<u64> = ranking.rows.iter().map(|(row, ..)| *row).collect();
            ranking.complete &= self.learn_groups(place, field, &rows, &mut groups)?;
            let (mut best, mut shown) = (kept.clone(), seen.clone());
            for row in ranking.rows {
                let Some(group) = groups.get(&row.0).filter(|group| !group.iter().any(|value| shown.contains(value)))
                else {
                    continue;
                };
                shown.extend(group.iter().cloned());
                best.push(row);
            }
            let is_stuck = deeper.limit == LIMIT_MAX && best.len() == kept.len();
            if best.len() >= search.depth() || is_all || is_stuck {
                return Ok(Ranking { rows: best, ..ranking });
            }
            if deeper.limit < LIMIT_MAX {
                deeper.limit = (deeper.limit * DEEPER).min(LIMIT_MAX);
                continue;
            }
            // Whatever else there is, is of other groups. Pages agree: this happens at the same row for each.
            (kept, seen) = (best, shown);
            deeper.filter = Some(others(search.filter.clone(), field, &seen));
            deeper.limit = first;
        }
    }

    /// The ranking without rows whose score is worse than the threshold.
    fn good_enough(
        &self,
        place: ReadSource<'_>,
        search: &Search,
        query: &Query<'_>,
    ) -> std::result::Result<Ranking, Trouble> {
        let mut ranking = self.reranked(place, search, query)?;
        if let Some(threshold) = search.refine.score_threshold {
            // A fused score is the higher the better.
            let is_distance = match &query.legs[..] {
                [leg] => query.mode == Mode::Vector && leg.field.metric.lower_is_better(),
                _ => false,
            };
            ranking.rows.retain(|(_, score, _)| if is_distance { *score <= threshold } else { *score >= threshold });
        }
        Ok(ranking)
    }

    /// Adds the groups of those rows that are not known yet. False when a row is no longer there.
    fn learn_groups(
        &self,
        place: ReadSource<'_>,
        field: &str,
        rows: &[u64],
        groups: &mut HashMap<u64, Group>,
    ) -> Result<bool> {
        let new: Vec<u64> = rows.iter().copied().filter(|row| !groups.contains_key(row)).collect();
        // The search has its share already: two that hold one and wait for another would wait for each other.
        let (mut all_there, mut memory) = (true, self.shared.reservation_at_once());
        self.read_each(place.reader, &new, false, &mut memory, &mut |at, found| {
            let Some((stored, _)) = found else {
                all_there = false;
                return Ok(());
            };
            let values = Scalar::all_of(&nuthatch_filter::decode(stored.payload)?, field);
            let group: Group = match values.is_empty() {
                true => vec![None],
                false => values.into_iter().map(|value| Some(as_compared(value))).collect(),
            };
            groups.insert(new[at], group);
            Ok(())
        })?;
        Ok(all_there)
    }
}

/// Filters treat 1 and 1.0 as equal.
fn as_compared(value: Scalar) -> Scalar {
    match value.into_value() {
        // Whole, and exact in 64 bits.
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => Scalar::Int(float as i64),
        other => Scalar::of(&other).unwrap_or(Scalar::Bool(false)),
    }
}

/// Those that pass a filter and have none of these values.
fn others(filter: Option<Filter>, field: &str, seen: &BTreeSet<Option<Scalar>>) -> Filter {
    let values = seen.iter().flatten().cloned().map(Scalar::into_value).collect();
    let shown = Filter::In { field: field.into(), values };
    let mut parts: Vec<Filter> = filter.into_iter().chain([Filter::Not(Box::new(shown))]).collect();
    if seen.contains(&None) {
        parts.push(Filter::Exists { field: field.into() });
    }
    Filter::And(parts)
}
