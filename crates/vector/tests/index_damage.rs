//! Damaged files of an index: noticed when they are opened, verified or met, and never a panic, a loop or a wrong row.

#[path = "data/built.rs"]
mod built;
mod data;

use std::path::Path;

use built::{Kind, LIMIT, build, build_with, clustered, cramped, writer};
use data::{Matrix, Numbers};
use nuthatch_segment::{Access, RecordFile, RecordFileWriter};
use nuthatch_vector::*;

const ROWS: usize = 300;
/// Two planes and vectors in the records; one plane and codes.
const KINDS: [Kind; 2] = [
    Kind { dim: 64, metric: Metric::Cosine, element: Element::F32 },
    Kind { dim: 384, metric: Metric::Dot, element: Element::F16 },
];
const FILES: [&str; 6] = ["graph", "vectors", "efforts", "slacks", "codes1", "codes4"];

struct Healthy {
    folder: tempfile::TempDir,
    queries: Matrix,
}

fn healthy(kind: Kind) -> Healthy {
    let (rows, queries) = clustered(kind, ROWS, 5, 0.8, 7);
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), kind, &rows, 1);
    Healthy { folder, queries }
}

/// The same files in another folder, one of them changed.
fn with_file(healthy: &Path, file: &str, bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for other in FILES.into_iter().filter(|other| *other != file) {
        std::fs::hard_link(healthy.join(other), folder.path().join(other)).unwrap();
    }
    std::fs::write(folder.path().join(file), bytes).unwrap();
    folder
}

/// Opens and verifies; what is wrong, if anything.
fn checked(folder: &Path, access: Access) -> Result<()> {
    Index::open(folder, &cramped(), access)?.verify()
}

fn assert_names(error: &VectorError, file: &str) {
    assert!(matches!(error, VectorError::Segment(_)), "{error:?}");
    assert!(error.to_string().contains(file), "{error} does not name {file}");
}

#[test]
fn every_flipped_byte_is_noticed() {
    let mut numbers = Numbers(9);
    for kind in KINDS {
        let healthy = healthy(kind);
        for file in FILES {
            let bytes = std::fs::read(healthy.folder.path().join(file)).unwrap();
            // All of what lies behind the records at the end, and a sample of the rest.
            let tail = 1500.min(bytes.len());
            let sample = (0..100).map(|_| numbers.next() as usize % bytes.len());
            let offsets: Vec<usize> = sample.chain(bytes.len() - tail..bytes.len()).collect();
            let mut damaged = bytes.clone();
            let folder = with_file(healthy.folder.path(), file, &damaged);
            for offset in offsets {
                damaged[offset] ^= 1 << (numbers.next() % 8);
                std::fs::write(folder.path().join(file), &damaged).unwrap();
                let error = checked(folder.path(), Access::Read).expect_err(&format!("{file}: byte {offset}"));
                assert_names(&error, file);
                damaged[offset] = bytes[offset];
            }
        }
    }
}

#[test]
fn a_search_that_meets_a_damaged_record_says_so() {
    for kind in KINDS {
        let healthy = healthy(kind);
        for (file, accuracy) in [("graph", Accuracy::Ef(32)), ("vectors", Accuracy::Exact)] {
            let path = healthy.folder.path().join(file);
            let record_bytes = RecordFile::open(&path, Access::Read).unwrap().record_bytes();
            let mut bytes = std::fs::read(&path).unwrap();
            (0..ROWS).for_each(|row| bytes[row * record_bytes + row % record_bytes] ^= 4);
            let folder = with_file(healthy.folder.path(), file, &bytes);
            for access in [Access::Read, Access::Mapped] {
                let index = Index::open(folder.path(), &cramped(), access).unwrap();
                for query in healthy.queries.rows() {
                    let search = || index.search(query, Rows::All, 1, accuracy, &|| false);
                    // A scratch that met damage is used again.
                    assert_names(&search().unwrap_err(), file);
                    assert_names(&search().unwrap_err(), file);
                }
                assert_names(&index.verify().unwrap_err(), file);
                if file == "vectors" {
                    assert_names(&index.compare(healthy.queries.row(0), &[7]).unwrap_err(), file);
                }
            }
        }
    }
}

#[test]
fn truncated_and_missing_files_are_noticed() {
    let healthy = healthy(KINDS[0]);
    for file in FILES {
        let bytes = std::fs::read(healthy.folder.path().join(file)).unwrap();
        for len in [0, 1, 20, 31, 32, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            let folder = with_file(healthy.folder.path(), file, &bytes[..len]);
            for access in [Access::Read, Access::Mapped] {
                assert_names(&checked(folder.path(), access).expect_err(&format!("{file} of {len} bytes")), file);
            }
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(checked(with_file(healthy.folder.path(), file, &longer).path(), Access::Read).is_err(), "{file}");
        let folder = with_file(healthy.folder.path(), file, &bytes);
        std::fs::remove_file(folder.path().join(file)).unwrap();
        match (file, checked(folder.path(), Access::Read)) {
            // A segment without a graph is whole without that file, and one of an earlier version has no slacks.
            ("graph" | "slacks", without) => assert!(without.is_ok(), "{file}"),
            (_, without) => assert_names(&without.unwrap_err(), file),
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_open_is_noticed() {
    let healthy = healthy(KINDS[0]);
    for (file, accuracy) in [("graph", Accuracy::Ef(32)), ("vectors", Accuracy::Exact)] {
        let bytes = std::fs::read(healthy.folder.path().join(file)).unwrap();
        let folder = with_file(healthy.folder.path(), file, &bytes);
        let index = Index::open(folder.path(), &cramped(), Access::Read).unwrap();
        std::fs::OpenOptions::new().write(true).open(folder.path().join(file)).unwrap().set_len(100).unwrap();
        let found = index.search(healthy.queries.row(0), Rows::All, 1, accuracy, &|| false);
        assert_names(&found.unwrap_err(), file);
    }
}

#[test]
fn files_of_another_segment_are_noticed() {
    let kind = KINDS[0];
    let healthy = healthy(kind);
    let (rows, _) = clustered(kind, ROWS, 1, 0.8, 7);
    let (fewer, _) = clustered(kind, ROWS - 1, 1, 0.8, 7);
    let other_dim = Kind { dim: 63, ..kind };
    let other_metric = Kind { metric: Metric::L2, ..kind };
    let other_element = Kind { element: Element::F16, ..kind };
    let (narrow, _) = clustered(other_dim, ROWS, 1, 0.8, 7);
    let (rounded, _) = clustered(other_element, ROWS, 1, 0.8, 7);
    let others = [
        (kind, &fewer, 42, ["graph", "vectors"].as_slice()),
        (other_dim, &narrow, 42, &["graph", "vectors"]),
        (other_metric, &rows, 42, &["graph"]),
        (other_element, &rounded, 42, &["graph", "vectors"]),
        (kind, &rows, 43, &["graph"]),
    ];
    for (kind, rows, seed, files) in others {
        let other = tempfile::tempdir().unwrap();
        let progress = &mut |_| std::ops::ControlFlow::Continue(());
        let options = BuildOptions { threads: 1, previous: None, checkpoint: None, progress };
        writer(other.path(), kind, rows, seed).finish(options, &cramped(), Access::Read).unwrap();
        for file in files {
            let bytes = std::fs::read(other.path().join(file)).unwrap();
            let folder = with_file(healthy.folder.path(), file, &bytes);
            assert!(
                Index::open(folder.path(), &cramped(), Access::Read).is_err(),
                "{file} of {kind:?}, {} rows, seed {seed}",
                rows.len()
            );
        }
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    let healthy = healthy(KINDS[0]);
    for file in ["graph", "vectors"] {
        let folder =
            rewritten(healthy.folder.path(), file, |_, _| {}, |meta| meta[8..12].copy_from_slice(&[77, 0, 0, 0]));
        let error = checked(folder.path(), Access::Read).unwrap_err();
        assert!(error.to_string().contains("version 77"), "{error}");
    }
}

/// A change to the record of a node.
type Change<'a> = &'a dyn Fn(u32, &mut Vec<u8>);

/// The file with other records or another meta, all checksums right.
fn rewritten(
    healthy: &Path,
    file: &str,
    record: impl Fn(u32, &mut Vec<u8>),
    meta: impl Fn(&mut Vec<u8>),
) -> tempfile::TempDir {
    let source = RecordFile::open(&healthy.join(file), Access::Read).unwrap();
    let folder = with_file(healthy, file, &[]);
    std::fs::remove_file(folder.path().join(file)).unwrap();
    let mut writer = RecordFileWriter::create(&folder.path().join(file), source.record_bytes()).unwrap();
    let mut reader = source.reader();
    for row in 0..source.records() as u32 {
        let take = &mut |_, bytes: &[u8]| -> Result<()> {
            let mut bytes = bytes.to_vec();
            record(row, &mut bytes);
            Ok(writer.push(&bytes)?)
        };
        reader.read(&[row], take).unwrap();
    }
    let mut bytes = source.meta().to_vec();
    meta(&mut bytes);
    writer.finish(&bytes).unwrap();
    folder
}

#[test]
fn nonsense_with_right_checksums_neither_panics_nor_loops() {
    for kind in KINDS {
        let healthy = healthy(kind);
        let own = if kind.element == Element::F32 { 64 * 4 } else { 384 / 2 };
        let ids = 12 + own;
        let nonsense: [(&str, Change<'_>); 8] = [
            ("neighbours that are no nodes", &move |_, bytes| bytes[ids..ids + 128].fill(0xF7)),
            ("itself as its only neighbour", &move |row, bytes| {
                bytes[ids..ids + 128].as_chunks_mut::<4>().0.iter_mut().for_each(|id| *id = row.to_le_bytes());
            }),
            ("a degree beyond any", &|_, bytes| bytes[8..10].fill(0xFF)),
            ("no neighbours", &|_, bytes| bytes[8..10].fill(0)),
            ("factors that are no numbers", &|_, bytes| {
                let from = bytes.len() - 256;
                bytes[from..].fill(0xFF);
                bytes[..8].fill(0xFF);
            }),
            ("all infinite", &|_, bytes| {
                bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|x| *x = f32::INFINITY.to_le_bytes());
            }),
            ("all ones", &|_, bytes| bytes.fill(0xFF)),
            ("noise", &|row, bytes| {
                let mut numbers = Numbers(u64::from(row));
                bytes.iter_mut().for_each(|byte| *byte = numbers.next() as u8);
            }),
        ];
        for (what, record) in nonsense {
            let folder = rewritten(healthy.folder.path(), "graph", record, |_| {});
            for access in [Access::Read, Access::Mapped] {
                let index = Index::open(folder.path(), &cramped(), access).unwrap();
                index.verify().unwrap();
                for query in healthy.queries.rows() {
                    for (limit, ef) in [(1, 1), (LIMIT, 32), (ROWS, 400)] {
                        let ef = Accuracy::Ef(ef);
                        let found = index.search(query, Rows::All, limit, ef, &|| false).unwrap();
                        assert!(found.walk.hops <= ROWS, "{what}");
                        assert!(found.candidates.iter().all(|candidate| candidate.slot < ROWS as u32), "{what}");
                    }
                }
                // And as the beginning of another graph.
                let (rows, _) = clustered(kind, ROWS, 1, 0.8, 7);
                let same: Vec<u32> = (0..ROWS as u32).collect();
                let progress = &mut |_| std::ops::ControlFlow::Continue(());
                let previous = Some((&index, same.as_slice()));
                let options = BuildOptions { threads: 1, previous, checkpoint: None, progress };
                let merged = tempfile::tempdir().unwrap();
                build_with(merged.path(), kind, &rows, options).unwrap().verify().unwrap();
            }
        }
    }
}

#[test]
fn a_meta_that_says_nonsense_is_refused_or_harmless() {
    let healthy = healthy(KINDS[0]);
    let mut numbers = Numbers(11);
    for file in ["graph", "vectors"] {
        let head = if file == "graph" { 64 } else { 24 };
        for at in 0..head {
            for value in [0, 1, 0x7F, 0xFF] {
                let folder = rewritten(healthy.folder.path(), file, |_, _| {}, |meta| meta[at] = value);
                let Ok(index) = Index::open(folder.path(), &cramped(), Access::Read) else { continue };
                index.search(healthy.queries.row(0), Rows::All, 1, Accuracy::Ef(32), &|| false).unwrap();
            }
        }
    }
    for _ in 0..20 {
        // The entries and their codes.
        let noise = |meta: &mut Vec<u8>| meta[64 + 4..].iter_mut().for_each(|byte| *byte = 0xF0);
        let seed = numbers.next();
        let noisy_codes = |meta: &mut Vec<u8>| {
            let (mut numbers, from) = (Numbers(seed), meta.len() - 500);
            meta[from..].iter_mut().for_each(|byte| *byte = numbers.next() as u8);
        };
        let folder = rewritten(healthy.folder.path(), "graph", |_, _| {}, noise);
        assert!(Index::open(folder.path(), &cramped(), Access::Read).is_err());
        let folder = rewritten(healthy.folder.path(), "graph", |_, _| {}, noisy_codes);
        let index = Index::open(folder.path(), &cramped(), Access::Read).unwrap();
        let found = index.search(healthy.queries.row(0), Rows::All, LIMIT, Accuracy::Ef(32), &|| false).unwrap();
        assert!(found.candidates.len() >= LIMIT);
    }
}

#[test]
fn efforts_that_say_nonsense_are_refused_or_harmless() {
    let healthy = healthy(KINDS[0]);
    let lines = |ef: &str| -> String {
        let of = |limit| ["0.9", "0.95", "0.98", "0.99", "0.995", "0.999"].map(|r| format!("{limit} {r} {ef}\n"));
        of("10").concat() + &of("100").concat()
    };
    for (ef, opens) in [("0", true), ("18446744073709551615", true), ("-1", false), ("x", false), ("", false)] {
        let folder = with_file(healthy.folder.path(), "efforts", b"");
        nuthatch_segment::write_sealed(&folder.path().join("efforts"), lines(ef).as_bytes()).unwrap();
        match Index::open(folder.path(), &cramped(), Access::Read) {
            Err(error) => {
                assert!(!opens, "{error}");
                assert_names(&error, "efforts");
            }
            Ok(index) => {
                assert!(opens, "{ef}");
                for limit in [1, LIMIT, 200, ROWS + 1] {
                    let query = healthy.queries.row(0);
                    let found = index.search(query, Rows::All, limit, Accuracy::default(), &|| false).unwrap();
                    assert!(found.candidates.len() >= limit.min(ROWS), "{ef} {limit}");
                }
            }
        }
    }
}
