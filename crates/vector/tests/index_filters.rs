//! Searching for rows that a filter lets through, or that are not deleted, whatever share of all and wherever they lie.

#[path = "data/built.rs"]
mod built;
mod data;

use std::sync::OnceLock;

use built::{Built, Kind, LIMIT, built, clustered, hits, reach};
use data::{Matrix, Numbers};
use nuthatch_vector::*;
use roaring::RoaringBitmap;

const ROWS: u32 = 20_000;
const KIND: Kind = Kind { dim: 64, metric: Metric::Cosine, element: Element::F32 };
const CLUSTERS: usize = 40;

/// One index, its rows and queries for all tests.
fn shared() -> &'static (Built, Matrix, Matrix) {
    static SHARED: OnceLock<(Built, Matrix, Matrix)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (rows, queries) = clustered(KIND, ROWS as usize, 50, 0.8, 7);
        (built(KIND, &rows), rows, queries)
    })
}

/// Some rows of all, at random.
fn random(per_ten_thousand: u64) -> RoaringBitmap {
    let mut numbers = Numbers(per_ten_thousand);
    (0..ROWS).filter(|_| numbers.next() % 10_000 < per_ten_thousand).collect()
}

/// How searches among some rows went.
#[derive(Debug, Default)]
struct Outcome {
    recall: f64,
    /// Queries that a walk answered.
    walked: usize,
    /// Queries whose walk was given up.
    given_up: usize,
    /// Records that walks read, mean.
    hops: f64,
}

/// Checks what holds for every single answer, and returns how good all of them were. `filter` makes one for each query.
fn ask(accuracy: Accuracy, filter: impl Fn(&[f32]) -> (bool, RoaringBitmap)) -> Outcome {
    let (built, rows, queries) = shared();
    let mut outcome = Outcome::default();
    for query in queries.rows() {
        let (only, bitmap) = filter(query);
        let matches = |slot: u32| bitmap.contains(slot) == only;
        let which = if only { Rows::Only(&bitmap) } else { Rows::Except(&bitmap) };
        let found = built.index.search(query, which, LIMIT, accuracy, &|| false).unwrap();
        assert!(
            found.candidates.iter().all(|candidate| matches(candidate.slot)),
            "a row that does not match came back"
        );
        let matching = if only { bitmap.len() } else { u64::from(ROWS) - bitmap.len() };
        let wanted = LIMIT.min(matching as usize);
        assert!(found.candidates.len() >= wanted, "{} of {wanted} candidates", found.candidates.len());
        let reach = reach(KIND.metric, rows, query, LIMIT, matches);
        let share = hits(&built.index, query, &found, reach, wanted) as f64 / wanted.max(1) as f64;
        outcome.recall += if wanted == 0 { 1.0 } else { share } / queries.len() as f64;
        let walked = matches!(found.plan, Plan::Walk { .. });
        outcome.walked += usize::from(walked);
        outcome.hops += found.walk.hops as f64 / queries.len() as f64;
        outcome.given_up += usize::from(!walked && found.walk.hops > 0);
    }
    println!("{accuracy:?}: {outcome:?}");
    outcome
}

#[test]
fn any_share_of_the_rows_is_searched_as_well_as_all() {
    let mut lowest: f64 = 1.0;
    for per_ten_thousand in [5000, 1000, 100, 10, 1] {
        let bitmap = random(per_ten_thousand);
        for only in [true, false] {
            for accuracy in [Accuracy::Ef(48), Accuracy::Recall(0.98), Accuracy::default(), Accuracy::Exact] {
                let outcome = ask(accuracy, |_| (only, bitmap.clone()));
                lowest = lowest.min(outcome.recall);
                let at_least = if accuracy == Accuracy::Exact { 1.0 - 1e-9 } else { 0.98 };
                assert!(outcome.recall >= at_least, "{per_ten_thousand} {only} {accuracy:?}: {outcome:?}");
            }
        }
    }
    println!(
        "proof: filters that pass 0.01 to 99.99 % of {ROWS} rows: every limit filled, the lowest recall {lowest:.3}"
    );
}

#[test]
fn a_filter_that_half_of_the_rows_pass_is_walked_and_one_that_few_pass_is_not() {
    for (per_ten_thousand, walked) in [(5000, 50), (10, 0)] {
        let bitmap = random(per_ten_thousand);
        assert_eq!(ask(Accuracy::Ef(32), |_| (true, bitmap.clone())).walked, walked);
    }
}

#[test]
fn a_filtered_walk_reads_few_more_records_than_an_unfiltered_one() {
    let ef = Accuracy::Ef(64);
    let everything = ask(ef, |_| (false, RoaringBitmap::new()));
    for (per_ten_thousand, times) in [(9000, 1.5), (5000, 1.7), (2000, 2.5), (1000, 4.0)] {
        let bitmap = random(per_ten_thousand);
        let filtered = ask(ef, |_| (true, bitmap.clone()));
        assert_eq!((filtered.walked, filtered.given_up), (50, 0), "{per_ten_thousand}");
        assert!(filtered.hops <= times * everything.hops, "{per_ten_thousand}: {filtered:?}, {everything:?}");
        assert!(filtered.recall >= everything.recall - 0.01, "{per_ten_thousand}: {filtered:?}, {everything:?}");
    }
}

#[test]
fn rows_around_the_query_are_found_as_quickly_as_without_a_filter() {
    let ef = Accuracy::Ef(64);
    let everything = ask(ef, |_| (false, RoaringBitmap::new()));
    let filtered = ask(ef, |query| (true, clusters_beside(query, true, 8)));
    assert_eq!((filtered.walked, filtered.given_up), (50, 0));
    assert!(filtered.hops <= 1.5 * everything.hops, "{filtered:?}, {everything:?}");
}

#[test]
fn a_walk_that_meets_next_to_nothing_of_what_matches_is_given_up_early() {
    let ef = Accuracy::Ef(64);
    let everything = ask(ef, |_| (false, RoaringBitmap::new()));
    let filtered = ask(ef, |query| (true, clusters_beside(query, false, 16)));
    assert_eq!((filtered.walked, filtered.given_up), (0, 50));
    assert!(filtered.hops <= 1.2 * everything.hops, "{filtered:?}, {everything:?}");
    assert!(filtered.recall >= 0.98, "{filtered:?}");
}

#[test]
fn deleted_rows_never_come_back() {
    let (built, _, queries) = shared();
    let mut deleted = RoaringBitmap::new();
    for query in queries.rows().take(10) {
        // The best go, again and again.
        for accuracy in [Accuracy::Ef(20), Accuracy::Recall(0.9), Accuracy::default(), Accuracy::Exact] {
            let found = built.index.search(query, Rows::Except(&deleted), LIMIT, accuracy, &|| false).unwrap();
            assert!(found.candidates.len() >= LIMIT);
            assert!(found.candidates.iter().all(|candidate| !deleted.contains(candidate.slot)));
            deleted.extend(found.candidates.iter().take(LIMIT).map(|candidate| candidate.slot));
        }
    }
    // Slots that the segment does not have change nothing.
    let beyond: RoaringBitmap = (ROWS..ROWS + 1000).chain([u32::MAX]).collect();
    let ask = |rows, accuracy| built.index.search(queries.row(0), rows, LIMIT, accuracy, &|| false).unwrap();
    for accuracy in [Accuracy::Ef(20), Accuracy::Exact] {
        assert_eq!(ask(Rows::Except(&beyond), accuracy).candidates, ask(Rows::All, accuracy).candidates);
        assert_eq!(ask(Rows::Only(&beyond), accuracy).plan, Plan::Nothing);
    }
}

#[test]
fn deleting_everything_but_a_few_leaves_those() {
    let mut few = RoaringBitmap::new();
    few.insert_range(0..ROWS);
    let kept = [0, 77, ROWS - 1];
    kept.iter().for_each(|slot| assert!(few.remove(*slot)));
    for accuracy in [Accuracy::Ef(32), Accuracy::default(), Accuracy::Exact] {
        assert!(ask(accuracy, |_| (false, few.clone())).recall > 1.0 - 1e-9);
    }
}

/// The rows of some clusters: those whose middle is nearest to the query, or those whose is farthest.
fn clusters_beside(query: &[f32], nearest: bool, count: usize) -> RoaringBitmap {
    static CLUSTER_OF: OnceLock<(Matrix, Vec<usize>)> = OnceLock::new();
    let (middles, cluster_of) = CLUSTER_OF.get_or_init(|| {
        // The first values that `clusters` draws.
        let mut numbers = Numbers(7);
        let values = (0..CLUSTERS * KIND.dim).map(|_| numbers.gaussian()).collect();
        let middles = Matrix { dim: KIND.dim, values };
        let (_, rows, _) = shared();
        let of = rows.rows().map(|row| by_nearness(&middles, row)[0]).collect();
        (middles, of)
    });
    let mut order = by_nearness(middles, query);
    if !nearest {
        order.reverse();
    }
    (0..ROWS).filter(|slot| order[..count].contains(&cluster_of[*slot as usize])).collect()
}

fn by_nearness(middles: &Matrix, vector: &[f32]) -> Vec<usize> {
    let nearness = |middle: &usize| -Metric::L2.similarity(vector, middles.row(*middle));
    let mut order: Vec<usize> = (0..CLUSTERS).collect();
    order.sort_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    order
}

#[test]
fn a_filter_that_goes_along_with_the_query_finds_what_matches() {
    for clusters in [20, 4, 1] {
        for accuracy in [Accuracy::Ef(48), Accuracy::Recall(0.98), Accuracy::default()] {
            let outcome = ask(accuracy, |query| (true, clusters_beside(query, true, clusters)));
            assert!(outcome.recall >= 0.98, "{clusters} {accuracy:?}: {outcome:?}");
        }
    }
}

#[test]
fn a_filter_that_goes_against_the_query_finds_what_matches() {
    for clusters in [36, 20, 4, 1] {
        for accuracy in [Accuracy::Ef(48), Accuracy::Recall(0.98), Accuracy::default()] {
            let outcome = ask(accuracy, |query| (true, clusters_beside(query, false, clusters)));
            assert!(outcome.recall >= 0.98, "{clusters} {accuracy:?}: {outcome:?}");
        }
    }
}
