//! The guarantees of graphs of small segments: they are built where files are mapped and nobody writes, and kept from
//! then on.

mod support;

use nuthatch_link::*;
use support::quiet;

const DIM: usize = 4;
/// More than scans are left with at leisure, by what is allowed for an estimate; fewer than get a graph whatever is going on.
const ROWS: usize = 42_000;

fn open(folder: &std::path::Path, mapped: bool) -> (Database, Collection) {
    let db = Database::open(folder, Options { mapped: Some(mapped), ..quiet() }).unwrap();
    let settings = CollectionOptions {
        dim: Some(DIM),
        metric: Some(Metric::L2),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    };
    let rows = db.collection("rows", settings).unwrap();
    (db, rows)
}

/// Graphs and segments once everything was done that is worth it.
fn graphs(rows: &Collection) -> (usize, usize) {
    assert!(rows.optimize(None).unwrap());
    let info = rows.info().unwrap();
    (info.vector_graphs, info.segments)
}

#[test]
fn a_small_segment_gets_its_graph_where_files_are_mapped_and_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(3);
    let vectors: Vec<Vec<f32>> = (0..ROWS).map(|_| (0..DIM).map(|_| dice.f32()).collect()).collect();
    let ids_near = |rows: &Collection| -> Vec<String> {
        let answer = rows.search(&Search::vector(vec![0.5; DIM]).limit(10).accuracy(Accuracy::Recall(0.999))).unwrap();
        answer.hits.into_iter().map(|hit| hit.id).collect()
    };
    let (db, rows) = open(folder.path(), false);
    for (part, vectors) in vectors.chunks(7_000).enumerate() {
        let record =
            |(at, vector): (usize, &Vec<f32>)| Record::new((part * 7_000 + at).to_string()).vector(vector.clone());
        rows.upsert(vectors.iter().enumerate().map(record).collect()).unwrap();
    }
    assert_eq!(graphs(&rows), (0, 1), "a scan of so few costs no more than reading a graph");
    let expected = ids_near(&rows);
    db.close().unwrap();
    let (db, rows) = open(folder.path(), true);
    assert_eq!(graphs(&rows), (1, 1), "though there is nothing to merge");
    assert_eq!(ids_near(&rows), expected);
    db.close().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    assert_eq!(db.collections().unwrap()[0].vector_graphs, 1, "a listing sees it without opening it");
    db.close().unwrap();
    let (db, rows) = open(folder.path(), false);
    assert_eq!(graphs(&rows), (1, 1), "it stays");
    assert_eq!(ids_near(&rows), expected);
    db.close().unwrap();
}
