//! Graphs of more rows than fit into the memory for building them: cut into shards, linked, written in one.

#[path = "data/built.rs"]
mod built;
mod data;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use built::{Kind, LIMIT, built, clustered, measure, open, roomy, writer_within};
use data::Matrix;
use nuthatch_segment::Access;
use nuthatch_vector::*;

const KINDS: [Kind; 4] = [
    Kind { dim: 64, metric: Metric::Cosine, element: Element::F32 },
    Kind { dim: 128, metric: Metric::L2, element: Element::Uint8 },
    Kind { dim: 96, metric: Metric::Dot, element: Element::F16 },
    Kind { dim: 256, metric: Metric::Hamming, element: Element::Binary },
];
/// Less than any graph takes: shards of the fewest rows.
const NO_MEMORY: u64 = 1;
const NO_CHECKPOINT: Option<(PathBuf, Vec<u8>)> = None;

type Report<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

fn build_within(
    memory_bytes: u64,
    folder: &Path,
    kind: Kind,
    rows: &Matrix,
    (threads, checkpoint, progress): (usize, Option<(PathBuf, Vec<u8>)>, Report<'_>),
) -> Result<Index> {
    let options = BuildOptions { threads, previous: None, checkpoint, progress };
    writer_within(memory_bytes, folder, kind, rows, 42).finish(options, &roomy(), Access::Mapped)
}

fn build_in_shards(folder: &Path, kind: Kind, rows: &Matrix, threads: usize) {
    let go_on = &mut |_| ControlFlow::Continue(());
    build_within(NO_MEMORY, folder, kind, rows, (threads, NO_CHECKPOINT, go_on)).unwrap();
}

#[test]
fn a_graph_in_shards_finds_what_one_built_at_once_finds_in_as_many_hops() {
    for kind in KINDS {
        let (rows, queries) = clustered(kind, 10_000, 100, 0.8, 7);
        let at_once = built(kind, &rows);
        let folder = tempfile::tempdir().unwrap();
        build_in_shards(folder.path(), kind, &rows, 2);
        let in_shards = open(folder.path(), Access::Mapped);
        in_shards.verify().unwrap();
        for ef in [24, 64, 256] {
            let one = measure(&at_once.index, &rows, &queries, LIMIT, Accuracy::Ef(ef));
            let many = measure(&in_shards, &rows, &queries, LIMIT, Accuracy::Ef(ef));
            println!("{kind:?}, ef {ef}: at once {one:?}, in shards {many:?}");
            assert_eq!(many.walked, 1.0);
            assert!(many.recall >= one.recall - 0.03, "{kind:?}, ef {ef}: {one:?} {many:?}");
            assert!(many.hops <= one.hops * 1.15, "{kind:?}, ef {ef}: {one:?} {many:?}");
        }
        let promised = measure(&in_shards, &rows, &queries, LIMIT, Accuracy::Recall(0.95));
        assert!(promised.recall >= 0.945, "{kind:?}: {promised:?}");
    }
}

#[test]
fn a_graph_in_shards_is_the_same_for_any_number_of_threads() {
    for kind in KINDS {
        let (rows, _) = clustered(kind, 4000, 1, 0.8, 7);
        let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        build_in_shards(one.path(), kind, &rows, 1);
        build_in_shards(three.path(), kind, &rows, 3);
        assert_same_index(one.path(), three.path());
    }
}

#[test]
fn a_build_in_shards_that_was_stopped_goes_on_to_the_same_bytes_and_leaves_nothing() {
    let kind = KINDS[0];
    let (rows, _) = clustered(kind, 4000, 1, 0.8, 7);
    let whole = tempfile::tempdir().unwrap();
    build_in_shards(whole.path(), kind, &rows, 1);
    for stop_at in [0, 500, 1330, 1400, 2600, 2700, 3999] {
        let place = tempfile::tempdir().unwrap();
        let checkpoint = || Some((place.path().join("unfinished"), b"these rows".to_vec()));
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        [&first, &second].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let stop = &mut |progress: Progress| match progress.done >= stop_at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let stopped = build_within(NO_MEMORY, &first, kind, &rows, (1, checkpoint(), stop));
        assert!(matches!(stopped, Err(VectorError::Stopped)), "at {stop_at}");
        let mut least = usize::MAX;
        let go_on = &mut |progress: Progress| {
            least = least.min(progress.done);
            ControlFlow::Continue(())
        };
        build_within(NO_MEMORY, &second, kind, &rows, (1, checkpoint(), go_on)).unwrap();
        assert_same_index(&second, whole.path());
        assert!(!place.path().join("unfinished.shards").exists(), "the shards are still there");
        if stop_at >= 1330 {
            assert!(least >= 200, "it built the first shard again: {least}");
        }
    }
}

#[test]
fn shards_of_other_rows_are_not_used_and_damaged_ones_are_made_again() {
    let kind = KINDS[1];
    let (rows, _) = clustered(kind, 4000, 1, 0.8, 7);
    let whole = tempfile::tempdir().unwrap();
    build_in_shards(whole.path(), kind, &rows, 1);
    for damaged in ["", "plan", "rows-0", "edges-1"] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("unfinished");
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        [&first, &second].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let stop = &mut |progress: Progress| match progress.done > 1340 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let checkpoint = Some((path.clone(), b"these rows".to_vec()));
        assert!(build_within(NO_MEMORY, &first, kind, &rows, (1, checkpoint, stop)).is_err());
        let name = if damaged.is_empty() { b"other rows".to_vec() } else { b"these rows".to_vec() };
        if !damaged.is_empty() {
            let file = path.with_extension("shards").join(damaged);
            let mut bytes = std::fs::read(&file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&file, bytes).unwrap();
        }
        let go_on = &mut |_| ControlFlow::Continue(());
        build_within(NO_MEMORY, &second, kind, &rows, (1, Some((path, name)), go_on)).unwrap();
        assert_same_index(&second, whole.path());
    }
}

#[test]
fn rows_that_are_all_alike_and_rows_of_one_shard_are_built_and_found() {
    let kind = KINDS[0];
    let same = Matrix { dim: kind.dim, values: (0..3000).flat_map(|_| vec![0.5; kind.dim]).collect() };
    let (few, _) = clustered(kind, 700, 1, 0.8, 7);
    for rows in [same, few] {
        let folder = tempfile::tempdir().unwrap();
        build_in_shards(folder.path(), kind, &rows, 2);
        let index = open(folder.path(), Access::Read);
        let query = Matrix { dim: kind.dim, values: rows.row(5).to_vec() };
        let found = measure(&index, &rows, &query, LIMIT, Accuracy::Ef(64));
        assert!(found.walked == 1.0 && found.recall >= 0.9, "{} rows: {found:?}", rows.len());
    }
}

fn assert_same_index(a: &Path, b: &Path) {
    for file in ["graph", "vectors", "codes1", "codes4", "efforts", "slacks"] {
        assert!(std::fs::read(a.join(file)).unwrap() == std::fs::read(b.join(file)).unwrap(), "{file} differs");
    }
}
