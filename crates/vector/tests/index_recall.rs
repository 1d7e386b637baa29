//! How much a walk over records finds, pinned: a worse graph, estimator or calibration is a visible difference.

#[path = "data/built.rs"]
mod built;
mod data;

use built::{Kind, LIMIT, built, clustered, hits, measure, reach};
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
fn several_segments_searched_in_turn_find_what_is_asked_for_in_fewer_hops() {
    const SEGMENTS: usize = 4;
    let (mut alone, mut in_turn) = (0, 0);
    for kind in [kind(16, Metric::L2, Element::F32), kind(24, Metric::Dot, Element::F16)] {
        let (rows, queries) = clustered(kind, 24_000, 60, 0.5, 7);
        let part = |at: usize| {
            let values = rows.rows().skip(at).step_by(SEGMENTS).flatten().copied().collect();
            built(kind, &data::Matrix { dim: kind.dim, values })
        };
        let parts: Vec<_> = (0..SEGMENTS).map(part).collect();
        for asked in [0.95, 0.99] {
            let mut found = 0;
            for query in queries.rows() {
                let reach = reach(kind.metric, &rows, query, LIMIT, |_| true);
                let mut reached = Reached::new(LIMIT);
                for part in &parts {
                    let accuracy = Accuracy::Recall(asked);
                    let search = part.index.search_beyond(query, Rows::All, LIMIT, accuracy, &mut reached, &|| false);
                    let search = search.unwrap();
                    in_turn += search.walk.hops;
                    found += hits(&part.index, query, &search, reach, LIMIT);
                    alone += part.index.search(query, Rows::All, LIMIT, accuracy, &|| false).unwrap().walk.hops;
                }
            }
            let recall = found as f32 / (LIMIT * queries.len()) as f32;
            assert!(recall >= asked - 0.02, "{kind:?}: {recall} of {asked}");
        }
    }
    assert!(alone > 0 && in_turn * 10 < alone * 9, "{in_turn} hops, where each segment by itself takes {alone}");
}

#[test]
fn a_segment_without_near_rows_adds_none_and_one_with_the_nearest_gives_them() {
    let kind = kind(64, Metric::L2, Element::F32);
    let (rows, queries) = clustered(kind, 8_000, 20, 0.5, 7);
    let moved = |by: f32| {
        let values = rows.values.iter().map(|value| value + by).collect();
        built(kind, &data::Matrix { dim: kind.dim, values })
    };
    let (near, far) = (moved(0.0), moved(50.0));
    for query in queries.rows() {
        let ask = |index: &Index, reached: &mut Reached| {
            index.search_beyond(query, Rows::All, LIMIT, Accuracy::Recall(0.99), reached, &|| false).unwrap()
        };
        let (mut before, mut after) = (Reached::new(LIMIT), Reached::new(LIMIT));
        let alone = ask(&near.index, &mut before);
        let lost = ask(&far.index, &mut before);
        let alone_far = far.index.search(query, Rows::All, LIMIT, Accuracy::Recall(0.99), &|| false).unwrap();
        assert!(lost.walk.hops < alone_far.walk.hops, "{:?} {:?}", lost.walk, alone_far.walk);
        // Whatever the far one found keeps nothing of the near one out.
        ask(&far.index, &mut after);
        let second = ask(&near.index, &mut after);
        let reach = reach(kind.metric, &rows, query, LIMIT, |_| true);
        let found = |search| hits(&near.index, query, search, reach, LIMIT);
        assert_eq!(found(&second), found(&alone));
    }
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
