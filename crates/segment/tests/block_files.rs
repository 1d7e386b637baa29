//! The guarantees of a block file and a sealed file.

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

/// Writes a file of `count` whole blocks.
fn blocks(path: &Path, count: u64) {
    written(path, &pattern(count as usize * BLOCK_BYTES));
}

fn read_all(file: &BlockFile) {
    (0..file.len().div_ceil(BLOCK_BYTES as u64)).for_each(|index| drop(file.block(index).unwrap()));
}

#[test]
fn who_reads_everything_takes_nothing_from_those_within_their_share() {
    let folder = tempfile::tempdir().unwrap();
    let (small, large) = (folder.path().join("small"), folder.path().join("large"));
    blocks(&small, 100);
    blocks(&large, 2000);
    let victim = BlockCache::new(32 << 20);
    let noisy = victim.for_another();
    let mine = BlockFile::open(&small, &victim).unwrap();
    let theirs = BlockFile::open(&large, &noisy).unwrap();
    read_all(&mine);
    assert_eq!(victim.missed_blocks(), 100);
    for round in 0..3 {
        read_all(&theirs);
        read_all(&mine);
        assert_eq!(victim.missed_blocks(), 100, "round {round}");
        assert!(victim.resident_bytes() <= 32 << 20);
    }
    // Each of the two holds all that the other leaves.
    assert!(noisy.owner_bytes() > 20 << 20 && victim.owner_bytes() > 6 << 20);
    assert_eq!(victim.owner_bytes() + noisy.owner_bytes(), victim.resident_bytes());
    drop(mine);
    assert_eq!(victim.owner_bytes(), 0);
    read_all(&theirs);
    assert!(noisy.owner_bytes() > 30 << 20, "{}", noisy.owner_bytes());
}

#[test]
fn who_came_first_gives_up_what_is_over_its_share() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    blocks(&first, 600);
    blocks(&second, 600);
    let one = BlockCache::new(32 << 20);
    let two = one.for_another();
    let (a, b) = (BlockFile::open(&first, &one).unwrap(), BlockFile::open(&second, &two).unwrap());
    read_all(&a);
    assert!(one.owner_bytes() > 30 << 20);
    read_all(&b);
    let half = 16 << 20;
    assert!(one.owner_bytes().abs_diff(half) < 2 << 20 && two.owner_bytes().abs_diff(half) < 2 << 20);
}

#[test]
fn who_has_not_asked_for_long_gives_up_what_others_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let (small, large) = (folder.path().join("small"), folder.path().join("large"));
    blocks(&small, 100);
    blocks(&large, 480);
    let asleep = BlockCache::new(32 << 20);
    let awake = asleep.for_another();
    let theirs = BlockFile::open(&small, &asleep).unwrap();
    let mine = BlockFile::open(&large, &awake).unwrap();
    read_all(&theirs);
    let before = asleep.owner_bytes();
    (0..8).for_each(|_| read_all(&mine));
    assert_eq!(asleep.owner_bytes(), before, "it has asked a moment ago");
    (0..2).for_each(|_| asleep.age());
    (0..8).for_each(|_| read_all(&mine));
    assert!(asleep.owner_bytes() < before / 2, "{} of {before}", asleep.owner_bytes());
}

#[test]
fn a_smaller_limit_holds_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    blocks(&path, 600);
    let cache = BlockCache::new(32 << 20);
    let file = BlockFile::open(&path, &cache).unwrap();
    for most in [32 << 20, 8 << 20, 24 << 20] {
        cache.set_capacity(most);
        assert!(cache.resident_bytes() <= most);
        read_all(&file);
        assert!(cache.resident_bytes() <= most && cache.resident_bytes() > most - (1 << 20));
        assert_eq!(cache.capacity_bytes(), most);
    }
}
