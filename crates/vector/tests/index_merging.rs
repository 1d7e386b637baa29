//! An index that begins with the graph of another one, and one that begins where it was interrupted.

#[path = "data/built.rs"]
mod built;
mod data;

use std::ops::ControlFlow;
use std::path::Path;

use built::{Built, Kind, LIMIT, build, build_with, built, clustered, measure, open};
use data::{Matrix, Numbers};
use nuthatch_segment::Access;
use nuthatch_vector::*;

const KINDS: [Kind; 2] = [
    Kind { dim: 64, metric: Metric::Cosine, element: Element::F32 },
    Kind { dim: 96, metric: Metric::Dot, element: Element::F16 },
];
const ROWS: usize = 4000;
const EF: Accuracy = Accuracy::Ef(32);

/// Merges again and again: three rows in ten go, as many come.
struct Merging {
    kind: Kind,
    all: Matrix,
    /// Of `all`, in the order of slots.
    rows: Vec<usize>,
    next: usize,
    numbers: Numbers,
    built: Built,
}

impl Merging {
    fn new(kind: Kind, all: Matrix) -> Self {
        let rows: Vec<usize> = (0..ROWS).collect();
        let built = built(kind, &matrix(&all, &rows));
        Self { kind, all, rows, next: ROWS, numbers: Numbers(3), built }
    }

    /// Returns the rows of the index as it is now.
    fn merge(&mut self) -> Matrix {
        let mut new_of_old = vec![u32::MAX; ROWS];
        let mut rows = Vec::new();
        for (old, row) in self.rows.iter().enumerate() {
            if self.numbers.next() % 10 < 7 {
                new_of_old[old] = rows.len() as u32;
                rows.push(*row);
            }
        }
        let new = self.next..self.next + ROWS - rows.len();
        self.next = new.end;
        rows.extend(new);
        let matrix = matrix(&self.all, &rows);
        let folder = tempfile::tempdir().unwrap();
        let progress = &mut |_| ControlFlow::Continue(());
        let previous = Some((&self.built.index, new_of_old.as_slice()));
        let options = BuildOptions { threads: 1, previous, checkpoint: None, progress };
        build_with(folder.path(), self.kind, &matrix, options).unwrap();
        let index = open(folder.path(), Access::Mapped);
        self.built = Built { folder, index };
        self.rows = rows;
        matrix
    }
}

fn matrix(all: &Matrix, rows: &[usize]) -> Matrix {
    Matrix { dim: all.dim, values: rows.iter().flat_map(|row| all.row(*row)).copied().collect() }
}

#[test]
fn a_merged_index_finds_what_a_fresh_one_of_the_same_rows_finds() {
    for kind in KINDS {
        let (all, queries) = clustered(kind, ROWS * 2, 200, 0.8, 7);
        let mut merging = Merging::new(kind, all);
        let rows = merging.merge();
        let merged = measure(&merging.built.index, &rows, &queries, LIMIT, EF);
        let fresh = measure(&built(kind, &rows).index, &rows, &queries, LIMIT, EF);
        println!("{kind:?}: merged {merged:?}, fresh {fresh:?}");
        assert!(merged.walked == 1.0 && merged.recall >= fresh.recall - 0.01, "{kind:?}");
        assert!(merged.hops <= fresh.hops * 1.05, "{kind:?}");
    }
}

#[test]
fn ten_merges_in_a_row_wear_the_graph_by_less_than_a_hundredth() {
    for kind in KINDS {
        let (all, queries) = clustered(kind, ROWS * 5, 200, 0.8, 7);
        let mut merging = Merging::new(kind, all);
        let mut rows = Matrix { dim: kind.dim, values: Vec::new() };
        (0..10).for_each(|_| rows = merging.merge());
        let merged = measure(&merging.built.index, &rows, &queries, LIMIT, EF);
        let fresh = measure(&built(kind, &rows).index, &rows, &queries, LIMIT, EF);
        println!("{kind:?}: merged {merged:?}, fresh {fresh:?}");
        assert!(merged.recall >= fresh.recall - 0.01, "{kind:?}");
        assert!(merged.hops <= fresh.hops * 1.05, "{kind:?}");
    }
}

#[test]
fn a_merge_that_drops_everything_is_a_build_from_nothing() {
    let (rows, _) = clustered(KINDS[0], 1000, 1, 0.8, 7);
    let (others, _) = clustered(KINDS[0], 1000, 1, 0.8, 8);
    let previous = built(KINDS[0], &others);
    let dropped = vec![u32::MAX; 1000];
    let (merged, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let progress = &mut |_| ControlFlow::Continue(());
    let options = BuildOptions { threads: 1, previous: Some((&previous.index, &dropped)), checkpoint: None, progress };
    build_with(merged.path(), KINDS[0], &rows, options).unwrap();
    build(fresh.path(), KINDS[0], &rows, 1);
    assert_same_graph(merged.path(), fresh.path());
}

#[test]
fn a_build_that_was_stopped_goes_on_to_the_same_bytes() {
    let kind = KINDS[0];
    let (rows, _) = clustered(kind, 3000, 1, 0.8, 7);
    let whole = tempfile::tempdir().unwrap();
    build(whole.path(), kind, &rows, 1);
    for stop_at in [0, 1, 700, 2999, 3000] {
        let place = tempfile::tempdir().unwrap();
        let checkpoint = || Some((place.path().join("unfinished"), b"these rows".to_vec()));
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        [&first, &second].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let progress = &mut |progress: Progress| match progress.done >= stop_at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = BuildOptions { threads: 1, previous: None, checkpoint: checkpoint(), progress };
        assert!(matches!(build_with(&first, kind, &rows, options), Err(VectorError::Stopped)));
        let mut begun_at = None;
        let progress = &mut |progress: Progress| {
            begun_at.get_or_insert(progress.done);
            ControlFlow::Continue(())
        };
        let options = BuildOptions { threads: 1, previous: None, checkpoint: checkpoint(), progress };
        build_with(&second, kind, &rows, options).unwrap();
        assert!(begun_at.unwrap() >= stop_at, "it began at {begun_at:?}, not at {stop_at}");
        assert_same_graph(&second, whole.path());
    }
}

#[test]
fn a_checkpoint_of_other_rows_or_a_damaged_one_is_not_gone_on_from() {
    let kind = KINDS[0];
    let (rows, _) = clustered(kind, 1500, 1, 0.8, 7);
    let whole = tempfile::tempdir().unwrap();
    build(whole.path(), kind, &rows, 1);
    for damaged in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("unfinished");
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        [&first, &second].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let progress = &mut |progress: Progress| match progress.done > 1000 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let checkpoint = Some((path.clone(), b"other rows".to_vec()));
        let options = BuildOptions { threads: 1, previous: None, checkpoint, progress };
        assert!(build_with(&first, kind, &rows, options).is_err());
        let mut name = b"these rows".to_vec();
        if damaged {
            name = b"other rows".to_vec();
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
        let mut begun_at = None;
        let progress = &mut |progress: Progress| {
            begun_at.get_or_insert(progress.done);
            ControlFlow::Continue(())
        };
        let options = BuildOptions { threads: 1, previous: None, checkpoint: Some((path, name)), progress };
        build_with(&second, kind, &rows, options).unwrap();
        assert!(begun_at.unwrap() <= 1);
        assert_same_graph(&second, whole.path());
    }
}

fn assert_same_graph(a: &Path, b: &Path) {
    for file in ["graph", "vectors", "codes1", "codes4", "efforts", "slacks"] {
        assert!(std::fs::read(a.join(file)).unwrap() == std::fs::read(b.join(file)).unwrap(), "{file} differs");
    }
}
