//! How much a walk over records finds, pinned: a worse graph, estimator or calibration is a visible difference.

#[path = "data/built.rs"]
mod built;
mod data;

use built::{Kind, LIMIT, built, clustered, measure};
use nuthatch_vector::*;

/// Rows of the case, and for each `ef` recall@10 and mean hops of 100 queries.
type Case = (Kind, usize, [(usize, f64, f64); 2]);

const fn kind(dim: usize, metric: Metric, element: Element) -> Kind {
    Kind { dim, metric, element }
}

/// Two planes of edge codes up to 192 dimensions, one beyond; records with the vector itself where it fits, else with its
/// 4-bit code; of 384 and 1,024 dimensions some are not scanned.
const CASES: [Case; 9] = [
    (kind(64, Metric::Cosine, Element::F32), 6000, [(24, 0.954, 20.9), (48, 0.995, 32.4)]),
    (kind(128, Metric::L2, Element::F32), 6000, [(24, 0.953, 21.0), (48, 0.997, 33.6)]),
    (kind(128, Metric::Dot, Element::F16), 6000, [(24, 0.959, 19.5), (48, 0.997, 30.5)]),
    (kind(128, Metric::L2, Element::Uint8), 6000, [(24, 0.958, 21.3), (48, 0.996, 33.8)]),
    (kind(100, Metric::Dot, Element::Int8), 6000, [(24, 0.963, 19.2), (48, 0.996, 29.0)]),
    (kind(256, Metric::Hamming, Element::Binary), 6000, [(24, 0.942, 26.3), (48, 0.992, 43.4)]),
    (kind(384, Metric::Cosine, Element::F16), 5000, [(24, 0.811, 26.7), (48, 0.953, 43.3)]),
    (kind(384, Metric::Dot, Element::F32), 5000, [(24, 0.865, 24.6), (48, 0.984, 39.9)]),
    (kind(1024, Metric::Cosine, Element::F32), 3000, [(24, 0.826, 26.7), (48, 0.957, 39.9)]),
];
/// The last bits of exact comparisons depend on the CPU, and a hop may depend on them.
const RECALL_TOLERANCE: f64 = 0.005;
const HOPS_TOLERANCE: f64 = 0.3;

#[test]
fn walks_over_records_find_what_they_found_in_as_many_hops() {
    let mut differing = Vec::new();
    for (kind, rows, expected) in CASES {
        let (rows, queries) = clustered(kind, rows, 100, 0.8, 7);
        let built = built(kind, &rows);
        for (ef, recall, hops) in expected {
            let found = measure(&built.index, &rows, &queries, LIMIT, Accuracy::Ef(ef));
            println!("{kind:?}, ef {ef}: {found:?}");
            assert_eq!(found.walked, 1.0);
            if (found.recall - recall).abs() > RECALL_TOLERANCE || (found.hops - hops).abs() > HOPS_TOLERANCE {
                differing.push(format!("{kind:?}, ef {ef}: {found:?}, not recall {recall} and {hops} hops"));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn the_recall_that_is_asked_for_is_reached_by_queries_that_are_no_rows() {
    let kinds = [
        kind(64, Metric::Cosine, Element::F32),
        kind(64, Metric::Dot, Element::F16),
        kind(128, Metric::Hamming, Element::Binary),
        kind(384, Metric::L2, Element::F32),
    ];
    let mut walked = 0.0;
    for kind in kinds {
        let (rows, queries) = clustered(kind, 15_000, 60, 0.5, 7);
        let built = built(kind, &rows);
        for limit in [1, LIMIT, 100, 1000] {
            let mut before = 0.0;
            for asked in [0.9, 0.95, 0.98, 0.99] {
                let found = measure(&built.index, &rows, &queries, limit, Accuracy::Recall(asked));
                println!("{kind:?}, {limit} at {asked}: {found:?}");
                walked += found.walked;
                assert!(found.recall >= f64::from(asked) - 0.02, "{kind:?}, {limit} at {asked}: {found:?}");
                // A scan of codes may miss a row in a thousand that a walk does not.
                assert!(found.recall >= before - 0.002, "{kind:?}, {limit} at {asked}: {found:?} after {before}");
                before = found.recall;
            }
        }
    }
    assert!(walked >= 10.0, "few of these were walks: {walked}");
}

#[test]
fn asked_for_all_rows_or_more_it_gives_all_rows() {
    for kind in [kind(64, Metric::Cosine, Element::F32), kind(384, Metric::Dot, Element::F16)] {
        let (rows, queries) = clustered(kind, 3000, 5, 0.8, 7);
        let built = built(kind, &rows);
        for limit in [2999, 3000, 3001, 100_000] {
            for accuracy in [Accuracy::Ef(16), Accuracy::Recall(0.9), Accuracy::Recall(0.999), Accuracy::Exact] {
                for query in queries.rows() {
                    let found = built.index.search(query, Rows::All, limit, accuracy, &|| false).unwrap();
                    let mut slots: Vec<u32> = found.candidates.iter().map(|candidate| candidate.slot).collect();
                    slots.sort_unstable();
                    slots.dedup();
                    assert!(slots.len() >= limit.min(3000), "{limit} {accuracy:?}");
                }
            }
        }
    }
}

#[test]
fn a_greater_ef_finds_more() {
    let kind = kind(64, Metric::Cosine, Element::F32);
    let (rows, queries) = clustered(kind, 10_000, 100, 0.8, 7);
    let built = built(kind, &rows);
    let recalls = [12, 24, 48, 96].map(|ef| {
        let found = measure(&built.index, &rows, &queries, LIMIT, Accuracy::Ef(ef));
        assert_eq!(found.walked, 1.0, "{ef}");
        found.recall
    });
    assert!(recalls.is_sorted() && recalls[0] < recalls[3], "{recalls:?}");
}
