//! The graph of a large segment while it is built: sameness, reachability, growing, and its quality, pinned.

mod data;
mod greedy;

use std::ops::ControlFlow;

use data::{Matrix, Numbers, clusters};
use nuthatch_vector::{BuildCodes, BuildParameters, Edges, GraphBuilder};

const LIMIT: usize = 10;
const DEGREE_MAX: usize = 32;
const PARAMETERS: BuildParameters = BuildParameters { beam: 40, alpha: 1.2, seed: 7 };

fn codes<'a>(dim: usize, rows: impl IntoIterator<Item = &'a [f32]>) -> BuildCodes {
    let mut codes = BuildCodes::new(dim);
    rows.into_iter().for_each(|row| codes.push(row, 0.0));
    codes
}

fn built(codes: &BuildCodes) -> Edges {
    GraphBuilder::new(codes, PARAMETERS).finish(2)
}

/// Inserts until `rows` rows are in the graph.
fn build_until(builder: &mut GraphBuilder<'_>, rows: usize) {
    let _ = builder.build(2, &mut |progress| match progress.done >= rows {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
}

fn assert_whole(edges: &Edges, rows: usize) {
    assert_eq!(edges.len(), rows);
    assert_eq!(edges.entries().is_empty(), rows == 0);
    let mut reached = vec![false; rows];
    let mut waiting: Vec<u32> = edges.entries().iter().copied().take(1).collect();
    while let Some(node) = waiting.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            let neighbours = edges.neighbours(node);
            assert!(neighbours.len() <= DEGREE_MAX && !neighbours.contains(&node));
            assert!(neighbours.iter().all(|neighbour| (*neighbour as usize) < rows));
            let mut distinct = neighbours.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), neighbours.len(), "node {node} has a neighbour twice");
            waiting.extend(neighbours);
        }
    }
    assert!(reached.iter().all(|reached| *reached));
}

/// Recall@10 of searches of the given width, and their hops. A row counts as found when it is no farther than the tenth.
fn recall(edges: &Edges, rows: &[&[f32]], queries: &Matrix, width: usize) -> (f64, f64) {
    let codes = codes(queries.dim, rows.iter().copied().chain(queries.rows()));
    let (mut hits, mut hops) = (0, 0);
    for query in rows.len()..codes.len() {
        let mut exact: Vec<f32> = (0..rows.len()).map(|row| codes.distance(query as u32, row as u32)).collect();
        let reach = *exact.select_nth_unstable_by(LIMIT - 1, f32::total_cmp).1;
        let found = greedy::search(&codes, edges, query as u32, width);
        let near = found.nearest.iter().filter(|row| codes.distance(query as u32, **row) <= reach);
        hits += near.count().min(LIMIT);
        hops += found.hops;
    }
    let asked = queries.len() as f64;
    let answer = (hits as f64 / (asked * LIMIT as f64), hops as f64 / asked);
    println!("{} rows, width {width}: recall@{LIMIT} {:.4}, {:.1} hops", rows.len(), answer.0, answer.1);
    answer
}

#[test]
fn the_graph_is_the_same_for_any_number_of_threads() {
    let (rows, _) = clusters(64, 6000, 0, 50, 0.5, 7);
    let codes = codes(64, rows.rows());
    let one = GraphBuilder::new(&codes, PARAMETERS).finish(1);
    assert!(one == GraphBuilder::new(&codes, PARAMETERS).finish(2));
    assert!(one == GraphBuilder::new(&codes, PARAMETERS).finish(3));
}

#[test]
fn an_interrupted_build_ends_in_the_graph_of_an_uninterrupted_one() {
    let (rows, _) = clusters(64, 4000, 0, 50, 0.5, 7);
    let codes = codes(64, rows.rows());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("building");
    let mut builder = GraphBuilder::new(&codes, PARAMETERS);
    for rows in [1, 100, 3000, 4000] {
        build_until(&mut builder, rows);
        builder.checkpoint(&path, b"these rows").unwrap();
        builder = GraphBuilder::resume(&codes, PARAMETERS, &path, b"these rows").unwrap();
    }
    assert!(builder.finish(2) == built(&codes));
}

#[test]
fn a_grown_graph_can_be_interrupted_too() {
    let (rows, _) = clusters(64, 3000, 0, 50, 0.5, 7);
    let (before, after) = (codes(64, rows.rows().take(2000)), codes(64, rows.rows().skip(500)));
    let new_of_old: Vec<u32> = (0..2000u32).map(|old| old.checked_sub(500).unwrap_or(u32::MAX)).collect();
    let old = built(&before);
    let grown = || GraphBuilder::from_previous(&after, &old, &new_of_old, PARAMETERS, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("building");
    let mut builder = grown();
    build_until(&mut builder, 2000);
    builder.checkpoint(&path, b"").unwrap();
    let resumed = GraphBuilder::resume(&after, PARAMETERS, &path, b"").unwrap().finish(1);
    assert!(resumed == grown().finish(3));
    assert_whole(&resumed, 2500);
}

#[test]
fn a_checkpoint_that_is_damaged_or_of_another_build_is_ignored() {
    let (rows, _) = clusters(64, 1000, 0, 10, 0.5, 7);
    let all = codes(64, rows.rows());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("building");
    assert!(GraphBuilder::resume(&all, PARAMETERS, &path, b"a").is_none());
    let mut builder = GraphBuilder::new(&all, PARAMETERS);
    build_until(&mut builder, 500);
    builder.checkpoint(&path, b"a").unwrap();
    assert!(GraphBuilder::resume(&all, PARAMETERS, &path, b"a").is_some());
    assert!(GraphBuilder::resume(&all, PARAMETERS, &path, b"b").is_none());
    assert!(GraphBuilder::resume(&all, BuildParameters { beam: 41, ..PARAMETERS }, &path, b"a").is_none());
    assert!(GraphBuilder::resume(&codes(64, rows.rows().take(999)), PARAMETERS, &path, b"a").is_none());
    let mut bytes = std::fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(997) {
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(GraphBuilder::resume(&all, PARAMETERS, &path, b"a").is_none(), "byte {at}");
        bytes[at] ^= 1;
    }
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(GraphBuilder::resume(&all, PARAMETERS, &path, b"a").is_none());
}

#[test]
fn progress_counts_every_row_once() {
    let (rows, _) = clusters(64, 700, 0, 10, 0.5, 7);
    let codes = codes(64, rows.rows());
    let mut seen = Vec::new();
    let mut builder = GraphBuilder::new(&codes, PARAMETERS);
    let end = builder.build(2, &mut |progress| {
        assert_eq!(progress.total, 700);
        seen.push(progress.done);
        ControlFlow::Continue(())
    });
    assert!(end.is_continue() && seen.is_sorted_by(|a, b| a < b));
    assert_eq!((seen[0], seen[seen.len() - 1]), (1, 700));
}

#[test]
fn every_node_is_reached_however_few_or_wide_the_rows() {
    for count in [0, 1, 2, 3, 20, 33, 60, 300] {
        for dim in [64, 4096] {
            let (rows, _) = clusters(dim, count, 0, 5, 0.5, 7);
            assert_whole(&built(&codes(dim, rows.rows())), count);
        }
    }
}

#[test]
fn equal_rows_are_all_reached() {
    let row = [0.5; 64];
    assert_whole(&built(&codes(64, std::iter::repeat_n(row.as_slice(), 3000))), 3000);
}

#[test]
fn rows_that_are_there_many_times_are_found_like_others() {
    let (rows, queries) = clusters(64, 300, 60, 10, 0.5, 7);
    let repeated: Vec<&[f32]> = (0..6000).map(|row| rows.row(row % 300)).collect();
    let edges = built(&codes(64, repeated.iter().copied()));
    assert_whole(&edges, 6000);
    assert!(recall(&edges, &repeated, &queries, 100).0 >= 0.99);
    // As many as a search keeps have nothing but themselves within reach, and yet must lead on.
    let crowd: Vec<&[f32]> = (0..6000).map(|row| rows.row(if row < 3000 { 0 } else { row % 300 })).collect();
    let edges = built(&codes(64, crowd.iter().copied()));
    assert_whole(&edges, 6000);
    assert!(recall(&edges, &crowd, &queries, 100).0 >= 0.95);
}

#[test]
fn quality_is_as_measured_whatever_the_order_of_rows() {
    let (rows, queries) = clusters(64, 10_000, 200, 100, 1.0, 7);
    let mut ordered: Vec<&[f32]> = rows.rows().collect();
    let edges = built(&codes(64, ordered.iter().copied()));
    assert_eq!(recall(&edges, &ordered, &queries, 10).0, 0.9835);
    // Cluster after cluster: the rows of one are nearest to its first.
    let first = |row: &[f32]| {
        let distance = |other: &[f32]| row.iter().zip(other).map(|(x, y)| (x - y) * (x - y)).sum::<f32>();
        (0..200).min_by(|a, b| distance(rows.row(*a)).total_cmp(&distance(rows.row(*b))))
    };
    ordered.sort_by_cached_key(|row| first(row));
    let edges = built(&codes(64, ordered.iter().copied()));
    assert_eq!(recall(&edges, &ordered, &queries, 10).0, 0.9820);
}

#[test]
fn a_graph_that_lost_and_gained_a_third_is_as_good_as_a_fresh_one() {
    let (rows, queries) = clusters(64, 13_000, 200, 100, 1.0, 7);
    let mut numbers = Numbers(3);
    let kept: Vec<bool> = (0..10_000).map(|_| numbers.next() % 10 >= 3).collect();
    let mut survivors: Vec<&[f32]> = Vec::new();
    let new_of_old: Vec<u32> = (0..10_000)
        .map(|old| match kept[old] {
            true => {
                survivors.push(rows.row(old));
                survivors.len() as u32 - 1
            }
            false => u32::MAX,
        })
        .collect();
    survivors.extend(rows.rows().skip(10_000));
    let old = built(&codes(64, rows.rows().take(10_000)));
    let after = codes(64, survivors.iter().copied());
    let grown = GraphBuilder::from_previous(&after, &old, &new_of_old, PARAMETERS, 2).finish(2);
    assert!(grown == GraphBuilder::from_previous(&after, &old, &new_of_old, PARAMETERS, 1).finish(3));
    assert_whole(&grown, survivors.len());
    let fresh = recall(&built(&after), &survivors, &queries, 10).0;
    assert!(recall(&grown, &survivors, &queries, 10).0 >= fresh - 0.01);
}
