//! Making one ranking of several.
//!
//! Reciprocal rank fusion: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
//! learning methods", SIGIR 2009.

use std::collections::BTreeMap;

use roaring::RoaringTreemap;

use crate::collection::request::{LIMIT_MAX, Leg, Legs};
pub(crate) use crate::descriptor::field::ScoredRow;
use crate::{Error, Result};

/// Candidates of each leg that the first hits are ranked by: ranks below that hardly move a fused score.
const WINDOW_MIN: usize = 100;

/// Candidates of each leg that hits down to this depth are ranked by: a hundred, twice as many, and so on.
pub(crate) fn window(depth: usize) -> usize {
    (WINDOW_MIN * depth.div_ceil(WINDOW_MIN).max(1).next_power_of_two()).min(LIMIT_MAX)
}

/// How several legs become one score: that of the text, and those of vectors, each with the vectors' weight. A leg that did not find
/// a row adds nothing to it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Fusion {
    /// Sum of `weight / (k + rank)`. Needs no comparable scores.
    Rrf {
        /// Evens out the ranks: the greater, the less the first ones stand out.
        k: f32,
        /// Of the text leg.
        text_weight: f32,
        /// Of each vector leg.
        vector_weight: f32,
    },
    /// Sum of `weight * score`: raw BM25 and similarity (minus squared distance under L2), for callers who know their scales.
    Weighted {
        /// Of the text leg.
        text_weight: f32,
        /// Of each vector leg.
        vector_weight: f32,
    },
    /// Sum of `weight * score`, each leg's scores first mapped to 0..1 between its worst and its best candidate.
    Normalised {
        /// Of the text leg.
        text_weight: f32,
        /// Of each vector leg.
        vector_weight: f32,
    },
}

impl Default for Fusion {
    fn default() -> Self {
        Self::Rrf { k: 60.0, text_weight: 1.0, vector_weight: 1.0 }
    }
}

/// Where a leg is shown in a hit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegKind<'f> {
    Text,
    Vector,
    /// A further one, by its field.
    Named(&'f str),
}

impl Legs {
    pub(crate) fn set(&mut self, kind: LegKind<'_>, leg: Leg) {
        match kind {
            LegKind::Text => self.text = Some(leg),
            LegKind::Vector => self.vector = Some(leg),
            LegKind::Named(field) => drop(self.vectors.insert(field.to_string(), leg)),
        }
    }
}

impl Fusion {
    /// `rrf`, `weighted` or `normalised`, with weights.
    pub fn named(name: &str, text_weight: f32, vector_weight: f32) -> Result<Self> {
        let fusion = match name {
            "rrf" => Self::Rrf { k: 60.0, text_weight, vector_weight },
            "weighted" => Self::Weighted { text_weight, vector_weight },
            "normalised" | "normalized" => Self::Normalised { text_weight, vector_weight },
            _ => {
                return Err(Error::invalid(format!(
                    "unknown fusion {name:?}; use \"rrf\", \"weighted\" or \"normalised\""
                )));
            }
        };
        fusion.check()?;
        Ok(fusion)
    }

    /// `rrf`, `weighted` or `normalised`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rrf { .. } => "rrf",
            Self::Weighted { .. } => "weighted",
            Self::Normalised { .. } => "normalised",
        }
    }

    fn weights(&self) -> (f32, f32) {
        match *self {
            Self::Rrf { text_weight, vector_weight, .. }
            | Self::Weighted { text_weight, vector_weight }
            | Self::Normalised { text_weight, vector_weight } => (text_weight, vector_weight),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let (text, vector) = self.weights();
        let fine = |weight: f32| weight.is_finite() && weight >= 0.0;
        if !fine(text) || !fine(vector) || text + vector == 0.0 {
            return Err(Error::invalid(format!(
                "invalid fusion weights {text} and {vector}; give two finite numbers of 0 or more, not both 0"
            )));
        }
        Ok(())
    }

    /// The ranking down to some depth, of legs of at least [`window`] candidates, each best first. It is the same ranking whatever the
    /// depth, so that pages neither repeat a hit nor miss one: the first hundred hits are the best of the first hundred candidates of
    /// each leg, the next hundred the best others of the first two hundred, and so on, each time twice as many.
    pub(crate) fn rank(&self, legs: &[(LegKind<'_>, &[ScoredRow])], depth: usize) -> Vec<(u64, f32, Legs)> {
        let (mut ranked, mut taken) = (Vec::new(), RoaringTreemap::new());
        let mut size = window(1);
        loop {
            let first: Vec<_> = legs.iter().map(|(kind, leg)| (*kind, &leg[..leg.len().min(size)])).collect();
            let others = self.fuse(&first).into_iter().filter(|(row, ..)| !taken.contains(*row));
            let more: Vec<_> = others.take(size - ranked.len()).collect();
            taken.extend(more.iter().map(|(row, ..)| *row));
            ranked.extend(more);
            if size >= window(depth) {
                return ranked;
            }
            size = window(size + 1);
        }
    }

    /// Legs, each best first, into one list, best first; ties by row.
    fn fuse(&self, legs: &[(LegKind<'_>, &[ScoredRow])]) -> Vec<(u64, f32, Legs)> {
        let (text_weight, vector_weight) = self.weights();
        let mut rows: BTreeMap<u64, (f32, Legs)> = BTreeMap::new();
        for (kind, leg) in legs {
            let weight = match kind {
                LegKind::Text => text_weight,
                LegKind::Vector | LegKind::Named(_) => vector_weight,
            };
            let (best, worst) = (leg.first().map_or(0.0, |f| f.similarity), leg.last().map_or(0.0, |f| f.similarity));
            for (at, found) in leg.iter().enumerate() {
                let part = match self {
                    Self::Rrf { k, .. } => 1.0 / (k + at as f32 + 1.0),
                    Self::Weighted { .. } => found.similarity,
                    Self::Normalised { .. } if best > worst => (found.similarity - worst) / (best - worst),
                    Self::Normalised { .. } => 1.0,
                };
                let (score, legs) = rows.entry(found.row).or_default();
                *score += weight * part;
                legs.set(*kind, Leg { rank: at + 1, score: found.shown });
            }
        }
        let mut fused: Vec<_> = rows.into_iter().map(|(row, (score, legs))| (row, score, legs)).collect();
        fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        fused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(rows: &[(u64, f32)]) -> Vec<ScoredRow> {
        rows.iter().map(|&(row, similarity)| ScoredRow { row, similarity, shown: similarity }).collect()
    }

    #[test]
    fn rrf_prefers_rows_that_both_legs_found() {
        let (text, vector) = (leg(&[(1, 9.0), (2, 8.0)]), leg(&[(3, 0.9), (2, 0.8)]));
        let fused = Fusion::default().fuse(&[(LegKind::Text, &text), (LegKind::Vector, &vector)]);
        assert_eq!(fused.iter().map(|f| f.0).collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!(fused[0].2.text, Some(Leg { rank: 2, score: 8.0 }));
        assert!((fused[0].1 - 2.0 / 62.0).abs() < 1e-6);
    }

    #[test]
    fn every_vector_leg_counts_and_is_shown_by_its_field() {
        let (title, image) = (leg(&[(1, 0.9), (2, 0.8)]), leg(&[(2, 7.0)]));
        let fused = Fusion::default().fuse(&[(LegKind::Named("title"), &title), (LegKind::Named("image"), &image)]);
        assert_eq!(fused.iter().map(|f| f.0).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(fused[0].2.vectors["image"], Leg { rank: 1, score: 7.0 });
        assert_eq!(fused[1].2.vectors.keys().collect::<Vec<_>>(), ["title"]);
    }

    #[test]
    fn weights_of_zero_switch_a_leg_off() {
        let fusion = Fusion::named("normalised", 0.0, 1.0).unwrap();
        let (text, vector) = (leg(&[(1, 9.0)]), leg(&[(3, 0.9), (2, 0.8)]));
        let fused = fusion.fuse(&[(LegKind::Text, &text), (LegKind::Vector, &vector)]);
        assert_eq!(fused[0].0, 3);
        assert!(Fusion::named("rrf", 0.0, 0.0).is_err() && Fusion::named("rrf", f32::NAN, 1.0).is_err());
        assert!(Fusion::named("best", 1.0, 1.0).is_err());
    }

    #[test]
    fn pages_of_any_size_are_of_one_ranking() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut of = |rows: std::ops::Range<u64>| {
            let mut rows: Vec<u64> = rows.collect();
            random.shuffle(&mut rows);
            leg(&rows.iter().zip(0..).map(|(row, at)| (*row, 1000.0 - at as f32)).collect::<Vec<_>>())
        };
        let (text, vector) = (of(0..700), of(300..1000));
        for fusion in ["rrf", "weighted", "normalised"].map(|name| Fusion::named(name, 1.0, 2.0).unwrap()) {
            let down_to = |depth: usize| {
                let legs = [&text, &vector].map(|leg| &leg[..leg.len().min(window(depth))]);
                let ranked = fusion.rank(&[(LegKind::Text, legs[0]), (LegKind::Vector, legs[1])], depth);
                ranked.into_iter().take(depth).map(|(row, ..)| row).collect::<Vec<_>>()
            };
            let all = down_to(2000);
            assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 1000, "each once");
            for depth in [1, 10, 99, 100, 101, 150, 200, 201, 399, 400, 999, 1000] {
                assert_eq!(down_to(depth), all[..depth], "{fusion:?} to {depth}");
            }
        }
        assert_eq!((window(0), window(100), window(101), window(201), window(10_000)), (100, 100, 200, 400, 10_000));
    }
}
