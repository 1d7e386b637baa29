//! The index of one segment: what holds for any rows, any number of threads, any way of reading and any request.

#[path = "data/built.rs"]
mod built;
mod data;

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;

use built::{Built, Kind, LIMIT, build, build_with, built, clustered, hits, measure, open, reach, roomy, writer};
use data::{Matrix, Numbers};
use nuthatch_segment::Access;
use nuthatch_vector::*;
use roaring::RoaringBitmap;

const FILES: [&str; 6] = ["graph", "vectors", "codes1", "codes4", "efforts", "slacks"];

const fn kind(dim: usize, metric: Metric, element: Element) -> Kind {
    Kind { dim, metric, element }
}

/// Two planes and exact vectors; one plane and codes, rows lifted; one plane and exact vectors.
const KINDS: [Kind; 3] = [
    kind(64, Metric::Cosine, Element::F32),
    kind(384, Metric::Dot, Element::F16),
    kind(200, Metric::Hamming, Element::Binary),
];

fn matrix(dim: usize, rows: usize, of: impl Fn(usize, usize) -> f32) -> Matrix {
    Matrix { dim, values: (0..rows * dim).map(|at| of(at / dim, at % dim)).collect() }
}

fn all(index: &Index, query: &[f32], limit: usize, accuracy: Accuracy) -> SegmentHits {
    index.search(query, Rows::All, limit, accuracy, &|| false).unwrap()
}

/// Every way of searching finds enough rows, each once, and of the nearest at least so great a share.
fn assert_answers(built: &Built, kind: Kind, rows: &Matrix, query: &[f32], share: f64) {
    for limit in [1, LIMIT, rows.len().max(1), rows.len() + 5, usize::MAX] {
        for accuracy in [Accuracy::Ef(64), Accuracy::default(), Accuracy::Exact] {
            let found = all(&built.index, query, limit, accuracy);
            assert!(found.candidates.len() >= limit.min(rows.len()), "{kind:?} {limit} {accuracy:?}");
            let best = limit.min(rows.len());
            let hits = hits(&built.index, query, &found, reach(kind.metric, rows, query, limit, |_| true), best);
            let share = if accuracy == Accuracy::Exact { 1.0 } else { share };
            let plan = found.plan;
            assert!(hits as f64 >= share * best as f64, "{kind:?} {limit} {accuracy:?}, {plan:?}: {hits} of {best}");
        }
    }
}

#[test]
fn the_bytes_are_the_same_for_any_number_of_threads() {
    for kind in KINDS {
        let (rows, _) = clustered(kind, 2500, 1, 0.8, 7);
        let [one, three] = [1, 3].map(|threads| {
            let folder = tempfile::tempdir().unwrap();
            build(folder.path(), kind, &rows, threads);
            folder
        });
        for file in FILES {
            let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
            assert!(read(one.path()) == read(three.path()), "{kind:?}: {file} differs");
        }
    }
}

#[test]
fn the_files_are_those_of_the_format_that_was_promised() {
    let expected = [[0x8236_ca0f, 0x5a31_7276], [0x83cd_a041, 0x3131_d302], [0x7761_1fa3, 0x93dc_c83c]];
    let found = KINDS.map(|kind| {
        let (rows, _) = clustered(kind, 300, 1, 0.8, 7);
        let folder = tempfile::tempdir().unwrap();
        build(folder.path(), kind, &rows, 1);
        ["graph", "vectors"].map(|file| crc32c::crc32c(&std::fs::read(folder.path().join(file)).unwrap()))
    });
    assert_eq!(found, expected, "{found:#010x?}: a change of the bytes needs another version of the format");
    assert_eq!((GRAPH_FORMAT_VERSION, VECTORS_FORMAT_VERSION), (1, 1));
}

#[test]
fn mapped_and_read_files_give_the_same_answers() {
    let mut compared = 0;
    for kind in KINDS {
        let (rows, queries) = clustered(kind, 3000, 50, 0.8, 7);
        let mapped = built(kind, &rows);
        let read = open(mapped.folder.path(), Access::Read);
        let some: RoaringBitmap = (0..3000).filter(|slot| slot % 10 < 7).collect();
        for (query, rows) in queries.rows().flat_map(|query| [(query, Rows::All), (query, Rows::Only(&some))]) {
            for accuracy in [Accuracy::Ef(12), Accuracy::Ef(24), Accuracy::Exact] {
                let [a, b] =
                    [&mapped.index, &read].map(|index| index.search(query, rows, LIMIT, accuracy, &|| false).unwrap());
                // Where records come from the disk, several are read at once, and that is another walk.
                if a.plan == b.plan && b.walk.hops == b.walk.rounds {
                    assert_eq!(a.candidates, b.candidates, "{kind:?} {accuracy:?} {:?}", a.plan);
                    compared += usize::from(matches!(a.plan, Plan::Walk { .. }) || accuracy == Accuracy::Exact);
                }
            }
            let slots: Vec<u32> = (0..3000).step_by(7).collect();
            assert_eq!(mapped.index.compare(query, &slots).unwrap(), read.compare(query, &slots).unwrap());
        }
    }
    assert!(compared >= 300, "{compared}");
}

#[test]
fn any_number_of_rows_is_searched() {
    for kind in KINDS {
        for rows in [0, 1, 2, 33, 100] {
            let (rows, queries) = clustered(kind, rows, 3, 0.8, 7);
            let built = built(kind, &rows);
            assert!(built.index.has_graph() && built.index.rows() as usize == rows.len());
            built.index.verify().unwrap();
            queries.rows().for_each(|query| assert_answers(&built, kind, &rows, query, 0.9));
            if rows.len() == 0 {
                assert_eq!(all(&built.index, queries.row(0), LIMIT, Accuracy::Exact).plan, Plan::Nothing);
            }
        }
    }
}

#[test]
fn any_dimension_is_searched() {
    for dim in [2, 3, 63, 65, 4096] {
        for (metric, element) in [
            (Metric::Cosine, Element::F32),
            (Metric::L2, Element::Uint8),
            (Metric::Dot, Element::F16),
            (Metric::Hamming, Element::Binary),
        ] {
            let kind = kind(dim, metric, element);
            let (rows, queries) = clustered(kind, if dim > 1000 { 150 } else { 800 }, 3, 0.5, 7);
            // In two dimensions a binary vector may well be zero, which only cosine refuses.
            let built = built(kind, &rows);
            queries.rows().for_each(|query| assert_answers(&built, kind, &rows, query, 0.9));
        }
    }
}

#[test]
fn equal_rows_are_all_found() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let kind = kind(16, metric, Element::F32);
        let rows = matrix(16, 500, |_, at| at as f32 - 3.0);
        let built = built(kind, &rows);
        for query in [rows.row(0).to_vec(), vec![1.0; 16]] {
            assert_answers(&built, kind, &rows, &query, 1.0);
        }
    }
}

#[test]
fn of_many_copies_of_a_row_enough_are_found() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let kind = kind(64, metric, Element::F32);
        let (distinct, queries) = clustered(kind, 100, 20, 0.5, 7);
        let rows = matrix(64, 5000, |row, at| distinct.row(row % 100)[at]);
        let built = built(kind, &rows);
        // Fifty copies each fill a pool quickly: some other group may be nearer, which the calibration knows.
        let few = measure(&built.index, &rows, &queries, LIMIT, Accuracy::Ef(64)).recall;
        let asked = measure(&built.index, &rows, &queries, LIMIT, Accuracy::Recall(0.99)).recall;
        assert!(few >= 0.85 && asked >= 0.97, "{metric}: {few}, {asked}");
    }
}

#[test]
fn zero_vectors_are_rows_like_any() {
    for (metric, element) in [(Metric::L2, Element::F32), (Metric::Dot, Element::F16), (Metric::L2, Element::Int8)] {
        let kind = kind(32, metric, element);
        let (rows, queries) = clustered(kind, 1500, 30, 0.5, 7);
        let some = matrix(32, 1500, |row, at| if row % 3 == 0 { 0.0 } else { rows.row(row)[at] });
        let none = matrix(32, 1500, |_, _| 0.0);
        for rows in [&some, &none] {
            let built = built(kind, rows);
            // Five hundred copies in the middle fill a small pool, which the calibration knows.
            for (accuracy, at_least) in
                [(Accuracy::Ef(64), 0.8), (Accuracy::Recall(0.99), 0.97), (Accuracy::Exact, 0.999)]
            {
                let recall = measure(&built.index, rows, &queries, LIMIT, accuracy).recall;
                assert!(recall >= at_least, "{kind:?} {accuracy:?}: {recall}");
                assert!(all(&built.index, &[0.0; 32], LIMIT, accuracy).candidates.len() >= LIMIT);
            }
        }
    }
}

#[test]
fn a_query_at_the_centroid_is_answered() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let kind = kind(48, metric, Element::F32);
        // Each row is followed by its mirror image through (1, 0, 0, ...), so that this point is exactly the centroid.
        let (half, _) = clustered(kind, 400, 1, 0.5, 7);
        let middle = |at: usize| if at == 0 { 1.0 } else { 0.0 };
        let rows = matrix(48, 800, |row, at| {
            let x = half.row(row / 2)[at];
            if row % 2 == 0 { x } else { 2.0 * middle(at) - x }
        });
        let built = built(kind, &rows);
        let query: Vec<f32> = (0..48).map(middle).collect();
        assert_answers(&built, kind, &rows, &query, 0.6);
    }
}

#[test]
fn lengths_as_great_and_as_small_as_are_allowed_are_searched() {
    let mut numbers = Numbers(5);
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        for length in [1e18f32, 1e-9] {
            let kind = kind(64, metric, Element::F32);
            let mut unit = || {
                let row: Vec<f32> = (0..64).map(|_| numbers.gaussian()).collect();
                let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt() * 1.0001;
                row.into_iter().map(|x| x / norm * length).collect::<Vec<f32>>()
            };
            let rows = Matrix { dim: 64, values: (0..700).flat_map(|_| unit()).collect() };
            let built = built(kind, &rows);
            (0..3).for_each(|_| assert_answers(&built, kind, &rows, &unit(), 0.8));
        }
    }
}

#[test]
fn a_search_that_is_told_to_stop_says_so_whatever_its_plan() {
    let kind = KINDS[0];
    let (rows, queries) = clustered(kind, 3000, 1, 0.8, 7);
    let built = built(kind, &rows);
    let few: RoaringBitmap = (0..20).collect();
    let plans = [
        (Rows::All, Accuracy::Ef(16)),
        (Rows::All, Accuracy::Ef(100_000)),
        (Rows::All, Accuracy::Exact),
        (Rows::Only(&few), Accuracy::default()),
    ];
    for (rows, accuracy) in plans {
        let stopped = built.index.search(queries.row(0), rows, LIMIT, accuracy, &|| true);
        assert!(matches!(stopped, Err(VectorError::Stopped)), "{rows:?} {accuracy:?}");
        // And in the midst of it.
        let (asked, searched) = (Cell::new(0), |after: u32, asked: &Cell<u32>| {
            asked.set(0);
            built.index.search(queries.row(0), rows, LIMIT, accuracy, &|| asked.replace(asked.get() + 1) >= after)
        });
        searched(u32::MAX, &asked).unwrap();
        let times = asked.get();
        assert!(matches!(searched(times - 1, &asked), Err(VectorError::Stopped)), "{rows:?} {accuracy:?}");
        searched(times, &asked).unwrap();
    }
}

#[test]
fn a_build_that_is_told_to_stop_says_so() {
    let (rows, _) = clustered(KINDS[0], 500, 1, 0.8, 7);
    for stop_at in [0, 250, 500] {
        let folder = tempfile::tempdir().unwrap();
        let progress = &mut |progress: Progress| match progress.done >= stop_at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = BuildOptions { threads: 1, previous: None, checkpoint: None, progress };
        assert!(matches!(build_with(folder.path(), KINDS[0], &rows, options), Err(VectorError::Stopped)));
        assert!(!folder.path().join("graph").exists());
    }
}

#[test]
fn an_accuracy_out_of_range_is_refused_by_name() {
    let (rows, queries) = clustered(KINDS[0], 50, 1, 0.8, 7);
    let built = built(KINDS[0], &rows);
    let ask = |accuracy| built.index.search(queries.row(0), Rows::All, LIMIT, accuracy, &|| false);
    let refused = |accuracy, words: [&str; 2]| match ask(accuracy) {
        Err(VectorError::Accuracy { what }) => assert!(words.iter().all(|word| what.contains(word)), "{what}"),
        other => panic!("{accuracy:?}: {other:?}"),
    };
    refused(Accuracy::Ef(0), ["ef is 0", "1 to 100000"]);
    refused(Accuracy::Ef(100_001), ["ef is 100001", "1 to 100000"]);
    refused(Accuracy::Recall(0.4), ["recall is 0.4", "0.5 to 0.999"]);
    refused(Accuracy::Recall(1.0), ["recall is 1", "exact"]);
    refused(Accuracy::Recall(f32::NAN), ["recall is NaN", "0.5 to 0.999"]);
    for accuracy in [1, 100_000].map(Accuracy::Ef).into_iter().chain([0.5, 0.999].map(Accuracy::Recall)) {
        assert_eq!(ask(accuracy).unwrap().candidates.len().min(LIMIT), LIMIT);
    }
}

#[test]
fn queries_and_rows_that_do_not_fit_are_refused() {
    let kind = KINDS[0];
    let (rows, _) = clustered(kind, 50, 1, 0.8, 7);
    let built = built(kind, &rows);
    let ask = |query: &[f32]| built.index.search(query, Rows::All, LIMIT, Accuracy::default(), &|| false).unwrap_err();
    assert!(matches!(ask(&[1.0; 63]), VectorError::WrongDimension { expected: 64, found: 63 }));
    assert!(matches!(ask(&[f32::NAN; 64]), VectorError::NotFinite { position: 0, .. }));
    assert!(matches!(ask(&[0.0; 64]), VectorError::Zero));
    assert!(matches!(built.index.compare(&[1.0; 63], &[0]), Err(VectorError::WrongDimension { .. })));
    assert!(built.index.compare(&[1.0; 64], &[50]).is_err());

    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path(), kind, &rows, 42);
    assert!(matches!(writer.push(&[0; 63 * 4]), Err(VectorError::WrongDimension { found: 63, .. })));
    assert!(writer.push(&[0; 64 * 4]).is_err());
    assert!(writer.push(&Element::F32.encode(&[1.0; 65]).unwrap()).is_err());
}

#[test]
fn without_a_graph_the_same_is_found_by_scanning() {
    let kind = KINDS[1];
    let (rows, queries) = clustered(kind, 1000, 3, 0.8, 7);
    let folder = tempfile::tempdir().unwrap();
    let options = IndexOptions {
        dim: kind.dim,
        metric: kind.metric,
        element: kind.element,
        seed: 42,
        centroid: vec![0.0; kind.dim],
        graph: false,
        build_memory_bytes: u64::MAX,
    };
    let mut writer = IndexWriter::create(folder.path(), options).unwrap();
    rows.rows().for_each(|row| writer.push(&kind.element.encode(row).unwrap()).unwrap());
    let progress = &mut |_| ControlFlow::Continue(());
    let options = BuildOptions { threads: 1, previous: None, checkpoint: None, progress };
    let index = writer.finish(options, &roomy(), Access::Read).unwrap();
    assert!(!index.has_graph());
    let built = Built { folder, index };
    queries.rows().for_each(|query| assert_answers(&built, kind, &rows, query, 0.95));
}
