//! Searching for rows that a filter lets through and that lie elsewhere than the query: in one cloud, in islands, or partly anywhere.

#[path = "data/built.rs"]
mod built;
mod data;

use std::sync::OnceLock;

use built::{Built, Kind, LIMIT, built, hits, reach};
use data::{Matrix, Numbers};
use nuthatch_vector::*;
use roaring::RoaringBitmap;

const ROWS: usize = 20_000;
const QUERIES: usize = 60;
const KIND: Kind = Kind { dim: 64, metric: Metric::L2, element: Element::F32 };
/// Directions in which the rows differ: one cloud without gaps, in which every row has neighbours on all sides.
const DIRECTIONS: usize = 8;
const NOISE: f32 = 0.1;

/// One index, its rows and queries for all tests.
fn shared() -> &'static (Built, Matrix, Matrix) {
    static SHARED: OnceLock<(Built, Matrix, Matrix)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut numbers = Numbers(3);
        let directions: Vec<f32> = (0..DIRECTIONS * KIND.dim).map(|_| numbers.gaussian()).collect();
        let mut draw = |count: usize| {
            let mut values = Vec::with_capacity(count * KIND.dim);
            for _ in 0..count {
                let along: Vec<f32> = (0..DIRECTIONS).map(|_| numbers.gaussian()).collect();
                values.extend((0..KIND.dim).map(|i| {
                    let at = along.iter().zip(directions.iter().skip(i).step_by(KIND.dim));
                    at.map(|(along, direction)| along * direction).sum::<f32>() + NOISE * numbers.gaussian()
                }));
            }
            Matrix { dim: KIND.dim, values }
        };
        let (rows, queries) = (draw(ROWS), draw(QUERIES));
        (built(KIND, &rows), rows, queries)
    })
}

/// The rows nearest to any one.
fn ball(numbers: &mut Numbers, share: f64) -> RoaringBitmap {
    let (_, rows, _) = shared();
    let middle = rows.row((numbers.next() % ROWS as u64) as usize);
    let mut all: Vec<(f32, u32)> =
        rows.rows().zip(0..).map(|(row, slot)| (KIND.metric.similarity(middle, row), slot)).collect();
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    all[..(ROWS as f64 * share) as usize].iter().map(|(_, slot)| *slot).collect()
}

/// Recall, checked to be .98 at least, and how many queries a walk answered.
fn ask(accuracy: Accuracy, mut filter: impl FnMut(&mut Numbers) -> RoaringBitmap) -> usize {
    let (built, rows, queries) = shared();
    let (mut numbers, mut recall, mut walked) = (Numbers(11), 0.0, 0);
    for (at, query) in queries.rows().enumerate() {
        let bitmap = filter(&mut numbers);
        let lacking = RoaringBitmap::from_iter(0..ROWS as u32) - &bitmap;
        // Both forms select the same rows.
        let which = if at % 2 == 0 { Rows::Only(&bitmap) } else { Rows::Except(&lacking) };
        let found = built.index.search(query, which, LIMIT, accuracy, &|| false).unwrap();
        assert!(found.candidates.iter().all(|candidate| bitmap.contains(candidate.slot)));
        assert!(found.candidates.len() >= LIMIT, "{} candidates", found.candidates.len());
        let reach = reach(KIND.metric, rows, query, LIMIT, |slot| bitmap.contains(slot));
        recall += hits(&built.index, query, &found, reach, LIMIT) as f64 / (LIMIT * QUERIES) as f64;
        walked += usize::from(matches!(found.plan, Plan::Walk { .. }));
    }
    println!("{accuracy:?}: recall {recall:.4}, {walked} walked");
    assert!(recall >= 0.98, "{accuracy:?}: {recall}");
    walked
}

const ACCURACIES: [Accuracy; 3] = [Accuracy::Ef(64), Accuracy::Recall(0.98), Accuracy::Recall(0.99)];

#[test]
fn rows_that_lie_elsewhere_are_found_and_most_of_them_by_a_walk() {
    for (share, walked_min) in [(0.5, 40), (0.2, 20), (0.1, 10)] {
        for accuracy in ACCURACIES {
            let walked = ask(accuracy, |numbers| ball(numbers, share));
            assert!(walked >= walked_min, "{share}: {walked}");
        }
    }
}

#[test]
fn islands_of_any_size_are_found() {
    for share in [0.4, 0.1] {
        for accuracy in ACCURACIES {
            ask(accuracy, |numbers| {
                [0.9, 0.08, 0.015, 0.005]
                    .map(|part| ball(numbers, share * part))
                    .into_iter()
                    .fold(RoaringBitmap::new(), |all, ball| all | ball)
            });
        }
    }
}

#[test]
fn a_cloud_elsewhere_hides_no_rows_that_lie_anywhere() {
    for (cloud, per_thousand) in [(0.4, 50), (0.3, 10), (0.1, 20), (0.1, 3)] {
        for accuracy in ACCURACIES {
            ask(accuracy, |numbers| {
                let anywhere = (0..ROWS as u32).filter(|_| numbers.next() % 1000 < per_thousand);
                anywhere.collect::<RoaringBitmap>() | ball(numbers, cloud)
            });
        }
    }
}
