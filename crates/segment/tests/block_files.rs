//! What a block file and a sealed file promise.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::*;
use proptest::prelude::*;

fn written(path: &Path, bytes: &[u8]) -> Arc<BlockFile> {
    let mut writer = BlockFileWriter::create(path).unwrap();
    writer.write_all(bytes).unwrap();
    let file_bytes = writer.finish().unwrap();
    assert_eq!(file_bytes, std::fs::metadata(path).unwrap().len());
    BlockFile::open(path, &BlockCache::new(1 << 20)).unwrap()
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 251) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_range_reads_back_what_was_written(bytes in 0usize..300_000, start in 0.0..1.0f64, end in 0.0..1.0f64) {
        let folder = tempfile::tempdir().unwrap();
        let data = pattern(bytes);
        let file = written(&folder.path().join("f"), &data);
        let (a, b) = ((start * bytes as f64) as usize, (end * bytes as f64) as usize);
        let range = a.min(b)..a.max(b);
        let mut out = vec![0; range.len()];
        file.read_at(range.start as u64, &mut out).unwrap();
        prop_assert_eq!(&out, &data[range.clone()]);
        let owned = tantivy_common::file_slice::FileHandle::read_bytes(&*file, range.clone()).unwrap();
        prop_assert_eq!(owned.as_slice(), &data[range]);
    }
}

#[test]
fn a_flipped_byte_anywhere_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codes1");
    written(&path, &pattern(150_000));
    let good = std::fs::read(&path).unwrap();
    let near_the_end = good.len() - 60..good.len();
    for at in (0..good.len()).step_by(997).chain(near_the_end) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, &bad).unwrap();
        let error = BlockFile::open(&path, &BlockCache::new(1 << 20)).and_then(|file| file.verify()).unwrap_err();
        assert!(error.is_corrupt() && error.path() == path, "byte {at}: {error}");
    }
}

#[test]
fn a_cut_file_is_refused_at_every_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codes4");
    written(&path, &pattern(70_000));
    let good = std::fs::read(&path).unwrap();
    for bytes in (0..good.len()).step_by(501) {
        std::fs::write(&path, &good[..bytes]).unwrap();
        assert!(BlockFile::open(&path, &BlockCache::new(1 << 20)).is_err());
    }
}

#[test]
fn reading_past_the_end_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder.path().join("f"), &pattern(100));
    assert!(file.read_at(90, &mut [0; 20]).is_err());
    assert!(file.read_at(u64::MAX, &mut [0; 1]).is_err());
    assert!(file.block(1).is_err());
}

#[test]
fn the_cache_stays_within_its_bytes_and_forgets_closed_files() {
    let folder = tempfile::tempdir().unwrap();
    let cache = BlockCache::new(4 << 20);
    let path = folder.path().join("f");
    written(&path, &pattern(12 << 20));
    let file = BlockFile::open(&path, &cache).unwrap();
    for index in 0..192 {
        file.block(index).unwrap();
    }
    assert!(cache.resident_bytes() > 1 << 20 && cache.resident_bytes() <= 4 << 20);
    drop(file);
    assert_eq!(cache.resident_bytes(), 0);
}

#[test]
fn a_block_file_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    written(&path, b"once");
    assert!(BlockFileWriter::create(&path).is_err());
}

#[test]
fn a_sealed_file_comes_back_whole_or_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("MANIFEST");
    assert!(read_sealed(&path).unwrap().is_none());
    write_sealed(&path, b"{\"a\":1}").unwrap();
    write_sealed(&path, b"{\"a\":2}").unwrap();
    assert_eq!(read_sealed(&path).unwrap().unwrap(), b"{\"a\":2}");
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        let error = verify_sealed(&path).unwrap_err();
        assert!(error.is_corrupt() && error.path() == path, "byte {at}");
    }
    std::fs::write(&path, b"").unwrap();
    assert!(verify_sealed(&path).is_err());
}
