//! The promises of a segment's code files.

mod data;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use data::{Matrix, Numbers, clusters};
use nuthatch_segment::{BlockCache, BlockFile, BlockFileWriter, SegmentError};
use nuthatch_vector::*;
use proptest::prelude::*;
use roaring::RoaringBitmap;

const METRICS: [Metric; 3] = [Metric::Cosine, Metric::Dot, Metric::L2];

fn cache() -> Arc<BlockCache> {
    BlockCache::new(64 << 20)
}

fn write(folder: &Path, rows: &Matrix, metric: Metric, seed: u64) -> Vec<(String, u64)> {
    let mut centroid = Centroid::new(rows.dim, metric).unwrap();
    rows.rows().for_each(|row| centroid.add(row).unwrap());
    let mut writer = CodesWriter::create(folder, rows.dim, metric, seed, &centroid.mean()).unwrap();
    rows.rows().for_each(|row| writer.push(row).unwrap());
    writer.finish().unwrap()
}

fn written(rows: &Matrix, metric: Metric) -> (tempfile::TempDir, Codes) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), rows, metric, 42);
    let codes = Codes::open(folder.path(), &cache()).unwrap();
    (folder, codes)
}

#[test]
fn the_format_does_not_drift() {
    // Golden checksums of the files' data: a change of rotation, quantiser or layout changes them, and needs a new
    // CODES_FORMAT_VERSION.
    let expected = GOLDEN;
    let mut found = Vec::new();
    for (dim, rows) in [(2, 33), (100, 70), (384, 40), (1024, 33)] {
        for metric in METRICS {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &clusters(dim, rows, 0, 3, 0.5, 1).0, metric, 7);
            let sum = |name| crc32c::crc32c(&std::fs::read(folder.path().join(name)).unwrap());
            found.push((dim, metric.as_str(), sum("codes1"), sum("codes4")));
        }
    }
    assert_eq!(found, expected, "{found:#x?}");
}

#[test]
fn the_rotation_does_not_drift() {
    let mut rotated = Vec::new();
    for (dim, expected) in GOLDEN_ROTATION {
        let vector: Vec<f32> = (0..dim).map(|i| (i % 7) as f32 - 3.0).collect();
        Rotation::new(dim, 7).unwrap().rotate(&vector, &mut rotated);
        let bits: Vec<u8> = rotated.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(crc32c::crc32c(&bits), expected, "{dim} dimensions: {:#x}", crc32c::crc32c(&bits));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn the_rotation_keeps_lengths_and_dot_products(dim in 2usize..=4096, seed: u64) {
        let mut numbers = Numbers(seed);
        let mut draw = || -> Vec<f32> { (0..dim).map(|_| numbers.gaussian()).collect() };
        let (a, b) = (draw(), draw());
        let rotation = Rotation::new(dim, seed).unwrap();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        rotation.rotate(&a, &mut x);
        rotation.rotate(&b, &mut y);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        let lengths = (dot(&a, &a) * dot(&b, &b)).sqrt();
        prop_assert!((dot(&a, &a) - dot(&x, &x)).abs() < 1e-4 * dot(&a, &a));
        prop_assert!((dot(&a, &b) - dot(&x, &y)).abs() < 1e-4 * lengths);
    }
}

#[test]
fn the_rotation_spreads_a_single_spike_over_all_dimensions() {
    for dim in [64, 100, 384, 1000, 1024, 4032] {
        let mut rotated = Vec::new();
        let mut spike = vec![0.0; dim];
        spike[dim / 3] = 1.0;
        Rotation::new(dim, 3).unwrap().rotate(&spike, &mut rotated);
        let deviation = 1.0 / (rotated.len() as f32).sqrt();
        let greatest = rotated.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs()));
        assert!(greatest < 6.0 * deviation, "{dim}: {greatest} of {deviation}");
        assert!(rotated.iter().filter(|x| x.abs() < 0.01 * deviation).count() < rotated.len() / 10, "{dim}");
    }
}

#[test]
fn estimates_are_unbiased_and_their_bounds_hold_as_often_as_they_say() {
    for dim in [2, 8, 64, 100, 384, 1024, 4096] {
        let (rows, queries) = clusters(dim, 400, 20, 5, 0.5, 11);
        for metric in METRICS {
            let (_folder, codes) = written(&rows, metric);
            let (mut errors, mut outside, mut count) = (0.0, 0, 0);
            for query in queries.rows() {
                for found in codes.search(query, Rows::All, 400).unwrap() {
                    let exact = metric.similarity(query, rows.row(found.slot as usize));
                    errors += f64::from(found.similarity - exact) / f64::from(found.upper - found.lower).max(1e-30);
                    outside += usize::from(exact < found.lower || exact > found.upper);
                    count += 1;
                }
            }
            assert_eq!(count, 400 * queries.len());
            let (bias, outside) = (errors / count as f64, outside as f64 / count as f64);
            assert!(bias.abs() < 0.03, "{dim} {metric}: bias {bias} of the interval");
            // Two deviations: 4.6 % of normal errors.
            assert!(outside < 0.09, "{dim} {metric}: {outside} outside the bounds");
        }
    }
}

#[test]
fn a_row_is_found_by_itself_at_every_place_of_a_page() {
    for (dim, rows) in [(2, 2000), (100, 1500), (384, 1300), (1024, 600), (4096, 100)] {
        let (rows, _) = clusters(dim, rows, 0, 20, 0.7, 5);
        let (_folder, codes) = written(&rows, Metric::L2);
        codes.verify().unwrap();
        assert_eq!((codes.rows() as usize, codes.dim(), codes.metric()), (rows.len(), dim, Metric::L2));
        for (slot, row) in rows.rows().enumerate() {
            let found = codes.search(row, Rows::All, 1).unwrap();
            assert!(found.iter().any(|found| found.slot as usize == slot), "{dim}: row {slot}");
        }
    }
}

#[test]
fn filters_return_only_what_matches_and_find_the_best_of_it() {
    let (rows, queries) = clusters(64, 5000, 10, 10, 0.8, 3);
    let (_folder, codes) = written(&rows, Metric::Dot);
    for share in [2, 3, 10, 50, 1000] {
        let only: RoaringBitmap = (0..6000).filter(|slot| slot % share == 1).collect();
        let mut except = RoaringBitmap::from_iter(0..7000);
        except -= &only;
        for query in queries.rows() {
            let found = codes.search(query, Rows::Only(&only), 10).unwrap();
            assert_eq!(candidates(&codes, query, Rows::Except(&except)), slots(&found), "1 of {share}");
            assert!(found.iter().all(|found| only.contains(found.slot) && found.slot < 5000));
            let mut exact: Vec<(f32, u32)> = only
                .iter()
                .take_while(|slot| *slot < 5000)
                .map(|slot| (Metric::Dot.similarity(query, rows.row(slot as usize)), slot))
                .collect();
            exact.sort_by(|a, b| b.0.total_cmp(&a.0));
            let hits = exact.iter().take(10).filter(|(_, slot)| found.iter().any(|found| found.slot == *slot));
            assert!(hits.count() >= exact.len().min(10) - 1, "1 of {share}");
            assert!(found.len() >= exact.len().min(10));
        }
    }
}

/// Codes of two segments on one cache: of the first the cache holds all, of both it does not.
fn crowding() -> (tempfile::TempDir, Arc<BlockCache>, Codes, Codes, Matrix) {
    let (dim, folder, cache) = (64, tempfile::tempdir().unwrap(), BlockCache::new(1 << 20));
    let open = |name: &str, rows: &Matrix| {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        write(&place, rows, Metric::Cosine, 42);
        Codes::open(&place, &cache).unwrap()
    };
    let (few, queries) = clusters(dim, 6_000, 100, 20, 0.5, 1);
    let (codes, large) = (open("few", &few), open("many", &clusters(dim, 24_000, 0, 20, 0.5, 2).0));
    (folder, cache, codes, large, queries)
}

/// Reads of files that each of these searches takes, on average.
fn reads_of(cache: &BlockCache, codes: &Codes, queries: &Matrix) -> f64 {
    let before = cache.file_reads();
    queries.rows().for_each(|query| drop(codes.search(query, Rows::All, 10).unwrap()));
    (cache.file_reads() - before) as f64 / queries.rows().count() as f64
}

#[test]
fn codes_of_files_that_are_only_open_do_not_crowd_the_cache() {
    let (_folder, cache, codes, _large, queries) = crowding();
    (0..2).for_each(|_| cache.age()); // opening has read a header of each
    reads_of(&cache, &codes, &queries);
    assert_eq!(reads_of(&cache, &codes, &queries), 0.0);
    assert!(!cache.is_crowded());
}

#[test]
fn a_crowded_cache_still_serves_the_codes_that_are_wanted_most() {
    let (_folder, cache, codes, large, queries) = crowding();
    reads_of(&cache, &codes, &queries);
    let few = queries.rows().next().unwrap();
    large.search(few, Rows::All, 10).unwrap();
    assert!(cache.is_crowded());
    let found =
        |codes: &Codes| -> Vec<Vec<u32>> { queries.rows().map(|query| candidates(codes, query, Rows::All)).collect() };
    let alone = found(&Codes::open(_folder.path().join("few").as_path(), &self::cache()).unwrap());
    assert!(found(&codes) == alone, "whichever way its rows are read");
    let reads = reads_of(&cache, &codes, &queries);
    assert!(reads < 1.0, "{reads} reads a search, though the cache has room for all that is searched");
}

fn slots(found: &[Candidate]) -> Vec<u32> {
    let mut slots: Vec<u32> = found.iter().map(|found| found.slot).collect();
    slots.sort_unstable();
    slots
}

fn candidates(codes: &Codes, query: &[f32], rows: Rows<'_>) -> Vec<u32> {
    slots(&codes.search(query, rows, 10).unwrap())
}

#[test]
fn asked_for_more_than_there_is_it_returns_all() {
    let (rows, queries) = clusters(16, 700, 1, 2, 1.0, 9);
    let (_folder, codes) = written(&rows, Metric::Cosine);
    let query = queries.row(0);
    for limit in [700, 701, usize::MAX] {
        assert_eq!(slots(&codes.search(query, Rows::All, limit).unwrap()), Vec::from_iter(0..700));
    }
    assert!(codes.search(query, Rows::All, 0).unwrap().is_empty());
    let none = RoaringBitmap::new();
    assert!(codes.search(query, Rows::Only(&none), 10).unwrap().is_empty());
    assert!(codes.search(query, Rows::Only(&RoaringBitmap::from_iter(700..900)), 10).unwrap().is_empty());
    assert!(codes.search(query, Rows::Except(&RoaringBitmap::from_iter(0..900)), 10).unwrap().is_empty());
    assert_eq!(candidates(&codes, query, Rows::Except(&none)), candidates(&codes, query, Rows::All));
}

#[test]
fn an_empty_segment_is_a_segment() {
    let (_folder, codes) = written(&Matrix { dim: 3, values: vec![] }, Metric::L2);
    assert_eq!(codes.rows(), 0);
    codes.verify().unwrap();
    assert!(codes.search(&[1.0, 2.0, 3.0], Rows::All, 10).unwrap().is_empty());
}

#[test]
fn equal_rows_at_the_centroid_fill_the_limit() {
    let rows = Matrix { dim: 4, values: [1.0, 2.0, 3.0, 4.0].repeat(600) };
    for metric in METRICS {
        let (_folder, codes) = written(&rows, metric);
        let found = codes.search(&[1.0, 2.0, 3.0, 4.5], Rows::All, 5).unwrap();
        assert!(found.len() >= 5, "{metric}: {}", found.len());
        let exact = metric.similarity(&[1.0, 2.0, 3.0, 4.5], rows.row(0));
        assert!((found[0].similarity - exact).abs() < 1e-4, "{metric}: {} {exact}", found[0].similarity);
    }
}

#[test]
fn a_refused_row_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = CodesWriter::create(folder.path(), 2, Metric::Cosine, 1, &[0.0, 0.0]).unwrap();
    writer.push(&[1.0, 0.0]).unwrap();
    assert!(matches!(writer.push(&[1.0]), Err(VectorError::WrongDimension { expected: 2, found: 1 })));
    assert!(matches!(writer.push(&[1.0, f32::NAN]), Err(VectorError::NotFinite { position: 1, .. })));
    assert!(matches!(writer.push(&[0.0, 0.0]), Err(VectorError::Zero)));
    writer.push(&[0.0, 1.0]).unwrap();
    let sizes = writer.finish().unwrap();
    for (name, bytes) in sizes {
        assert_eq!(std::fs::metadata(folder.path().join(name)).unwrap().len(), bytes);
    }
    let codes = Codes::open(folder.path(), &cache()).unwrap();
    assert_eq!(codes.rows(), 2);
    assert_eq!(codes.search(&[0.1, 5.0], Rows::All, 1).unwrap()[0].slot, 1);
    assert!(matches!(codes.search(&[1.0], Rows::All, 1), Err(VectorError::WrongDimension { .. })));
    assert!(matches!(codes.search(&[0.0; 2], Rows::All, 1), Err(VectorError::Zero)));
}

#[test]
fn a_writer_refuses_what_cannot_be_coded() {
    let folder = tempfile::tempdir().unwrap();
    let create = |dim, centroid: &[f32]| CodesWriter::create(folder.path(), dim, Metric::L2, 1, centroid).err();
    assert!(matches!(create(1, &[0.0]), Some(VectorError::UnsupportedDimension { dim: 1 })));
    assert!(matches!(create(4097, &[0.0; 4097]), Some(VectorError::UnsupportedDimension { dim: 4097 })));
    assert!(matches!(create(3, &[0.0; 2]), Some(VectorError::WrongDimension { .. })));
    assert!(matches!(create(2, &[0.0, f32::INFINITY]), Some(VectorError::NotFinite { .. })));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left behind");
}

/// Rewrites `name` with valid checksums around changed data: what a bug or another program could leave behind.
fn forge(folder: &Path, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = folder.join(name);
    let file = BlockFile::open(&path, &cache()).unwrap();
    let mut data = vec![0; file.len() as usize];
    file.read_at(0, &mut data).unwrap();
    change(&mut data);
    std::fs::remove_file(&path).unwrap();
    let mut writer = BlockFileWriter::create(&path).unwrap();
    writer.write_all(&data).unwrap();
    writer.finish().unwrap();
}

fn assert_corrupt(folder: &Path, what: &str) {
    match Codes::open(folder, &cache()) {
        Err(VectorError::Segment(SegmentError::Corrupt { path, .. })) => assert!(path.starts_with(folder), "{what}"),
        other => panic!("{what}: {:?}", other.map(|codes| codes.rows())),
    }
}

#[test]
fn a_header_that_contradicts_its_file_is_refused_byte_by_byte() {
    let (rows, _) = clusters(3, 40, 0, 2, 0.5, 1);
    for name in ["codes1", "codes4"] {
        for back in 1..=64 + 12 {
            for bit in [0x01, 0x80] {
                let (folder, codes) = written(&rows, Metric::L2);
                drop(codes);
                forge(folder.path(), name, |data| {
                    let at = data.len() - back;
                    data[at] ^= bit;
                });
                assert_corrupt(folder.path(), &format!("{name}, byte {back} from the end"));
            }
        }
    }
}

#[test]
fn files_of_impossible_lengths_are_refused() {
    let (rows, _) = clusters(3, 40, 0, 2, 0.5, 1);
    for name in ["codes1", "codes4"] {
        for keep in [0, 1, 63, 64, 76, 500] {
            let (folder, codes) = written(&rows, Metric::L2);
            drop(codes);
            forge(folder.path(), name, |data| {
                let start = data.len() - keep;
                data.drain(..start);
            });
            assert_corrupt(folder.path(), &format!("{name}, {keep} bytes"));
        }
    }
    let (folder, codes) = written(&rows, Metric::L2);
    drop(codes);
    std::fs::rename(folder.path().join("codes1"), folder.path().join("codes4")).unwrap();
    assert!(matches!(Codes::open(folder.path(), &cache()), Err(VectorError::Segment(SegmentError::Io { .. }))));
}

#[test]
fn a_flipped_byte_on_disk_is_an_error_that_names_the_file() {
    let (rows, queries) = clusters(64, 3000, 1, 4, 0.5, 1);
    for name in ["codes1", "codes4"] {
        let (folder, codes) = written(&rows, Metric::L2);
        drop(codes);
        let path = folder.path().join(name);
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(good.len() / 50) {
            let mut bad = good.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            let error = Codes::open(folder.path(), &cache())
                .and_then(|codes| {
                    // A search may not touch the damaged block; when it does, it says so.
                    if let Err(error) = codes.search(queries.row(0), Rows::All, 5) {
                        assert!(error.to_string().contains(name), "{error}");
                    }
                    codes.verify()
                })
                .unwrap_err();
            assert!(
                matches!(&error, VectorError::Segment(SegmentError::Corrupt { path: named, .. }) if *named == path),
                "{error}"
            );
        }
    }
}

#[test]
fn nonsense_factors_under_valid_checksums_do_not_panic() {
    let (rows, queries) = clusters(64, 3000, 5, 4, 0.5, 1);
    for metric in METRICS {
        let (folder, codes) = written(&rows, metric);
        drop(codes);
        for name in ["codes1", "codes4"] {
            forge(folder.path(), name, |data| {
                let end = data.len() - 64 - 256;
                let mut numbers = Numbers(1);
                data[..end].iter_mut().for_each(|byte| *byte = numbers.next() as u8);
            });
        }
        let codes = Codes::open(folder.path(), &cache()).unwrap();
        for query in queries.rows() {
            let found = codes.search(query, Rows::All, 10).unwrap();
            assert!(found.iter().all(|found| found.slot < 3000));
        }
    }
}

const GOLDEN: [(usize, &str, u32, u32); 12] = [
    (2, "cosine", 0x1b36d5e5, 0xb63826d7),
    (2, "dot", 0x53f3b52a, 0xc937ae09),
    (2, "l2", 0x0706b950, 0x834379b3),
    (100, "cosine", 0x6ad26df8, 0x2d4729e4),
    (100, "dot", 0x86ed8a5e, 0xb3317a52),
    (100, "l2", 0xbbb4f67c, 0xf945ade8),
    (384, "cosine", 0x68673069, 0x2c0eff5),
    (384, "dot", 0x4f10ac8a, 0xacea053b),
    (384, "l2", 0xeccdf7e0, 0xe69ed281),
    (1024, "cosine", 0xd89ce9cf, 0xa2a0d8fb),
    (1024, "dot", 0xf3af6ca1, 0x29a2e294),
    (1024, "l2", 0x593253f9, 0x63d6352e),
];
const GOLDEN_ROTATION: [(usize, u32); 3] = [(64, 0x5300719b), (100, 0x01571e2e), (384, 0x2cd4d7eb)];
