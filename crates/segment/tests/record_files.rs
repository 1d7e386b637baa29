//! The guarantees of a record file.

use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::*;
use proptest::prelude::*;

fn record(number: u32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i as u32 * 31 + number * 7 + i as u32 / 251) as u8).collect()
}

fn write(path: &Path, record_bytes: usize, records: u32, meta: &[u8]) {
    let mut writer = RecordFileWriter::create(path, record_bytes).unwrap();
    for number in 0..records {
        writer.push(&record(number, record_bytes - 4)).unwrap();
    }
    assert_eq!(writer.records(), u64::from(records));
    let file_bytes = writer.finish(meta).unwrap();
    assert_eq!(file_bytes, std::fs::metadata(path).unwrap().len());
}

/// Every way in which a reader can come to its records.
fn readers(path: &Path) -> Vec<(&'static str, RecordReader)> {
    let open = |access| RecordFile::open(path, access).unwrap().reader();
    vec![
        ("read", open(Access::Read)),
        ("advised", open(Access::Read).force(Route::Advised)),
        ("threads", open(Access::Read).force(Route::Threads)),
        ("mapped", open(Access::Mapped)),
    ]
}

fn read(reader: &mut RecordReader, indices: &[u32]) -> Result<Vec<Vec<u8>>> {
    let mut out = Vec::new();
    reader.read(indices, &mut |place, bytes| -> Result<()> {
        assert_eq!(place, out.len(), "records come in the order that they were asked for");
        out.push(bytes.to_vec());
        Ok(())
    })?;
    Ok(out)
}

/// The error of opening, verifying or reading everything in every way; `None` when nothing was noticed anywhere.
fn noticed(path: &Path) -> Option<SegmentError> {
    let file = match RecordFile::open(path, Access::Read) {
        Ok(file) => file,
        Err(error) => return Some(error),
    };
    let all: Vec<u32> = (0..file.records() as u32).collect();
    let error = file.verify().err()?;
    for (way, mut reader) in readers(path) {
        let by_reader = read(&mut reader, &all).expect_err(way);
        assert_eq!(by_reader.to_string(), error.to_string(), "{way}");
    }
    Some(error)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_way_gives_back_what_was_written(
        record_bytes in prop_oneof![Just(1024usize), Just(4096), Just(8192), 5usize..3000],
        records in 1u32..200,
        picks in prop::collection::vec(any::<u32>(), 0..150),
        meta in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        write(&path, record_bytes, records, &meta);
        let file = RecordFile::open(&path, Access::Read).unwrap();
        prop_assert_eq!((file.records(), file.record_bytes(), file.meta()), (u64::from(records), record_bytes, &meta[..]));
        prop_assert_eq!(file.len(), std::fs::metadata(&path).unwrap().len());
        prop_assert!(!file.is_empty() && file.path() == path);
        file.verify().unwrap();
        let indices: Vec<u32> = picks.iter().map(|pick| pick % records).collect();
        let expected: Vec<_> = indices.iter().map(|index| record(*index, record_bytes - 4)).collect();
        for (way, mut reader) in readers(&path) {
            for _ in 0..2 {
                indices.iter().for_each(|index| reader.prefetch(*index));
                prop_assert_eq!(&read(&mut reader, &indices).unwrap(), &expected, "{}", way);
            }
            let stats = reader.stats();
            prop_assert_eq!((stats.rounds, stats.records), (2, 2 * indices.len() as u64));
            prop_assert_eq!(stats.bytes, stats.records * record_bytes as u64);
            prop_assert!(stats.cold <= stats.records);
        }
    }
}

#[test]
fn a_short_record_is_padded_with_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let mut writer = RecordFileWriter::create(&path, 64).unwrap();
    writer.push(&[7; 60]).unwrap();
    writer.push(&[9; 3]).unwrap();
    writer.push(&[]).unwrap();
    writer.finish(b"").unwrap();
    for (way, mut reader) in readers(&path) {
        let records = read(&mut reader, &[1, 2]).unwrap();
        assert_eq!((&records[0][..3], &records[0][3..]), (&[9; 3][..], &[0; 57][..]), "{way}");
        assert_eq!(records[1], [0; 60], "{way}");
    }
}

#[test]
fn a_file_without_records_keeps_its_meta() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 1024, 0, b"nobody here");
    for access in [Access::Read, Access::Mapped] {
        let file = RecordFile::open(&path, access).unwrap();
        assert!(file.is_empty() && file.meta() == b"nobody here" && file.is_mapped() == (access == Access::Mapped));
        file.verify().unwrap();
        assert!(read(&mut file.reader(), &[0]).unwrap_err().is_corrupt());
        assert!(read(&mut file.reader(), &[]).unwrap().is_empty());
    }
}

#[test]
fn what_the_format_cannot_hold_is_refused_and_no_file_accused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    for record_bytes in [0, 4, (1 << 16) + 1] {
        assert!(!RecordFileWriter::create(&path, record_bytes).err().unwrap().is_corrupt());
    }
    assert!(!path.exists());
    let mut writer = RecordFileWriter::create(&path, 16).unwrap();
    assert!(!writer.push(&[0; 13]).unwrap_err().is_corrupt());
    writer.push(&[1; 12]).unwrap();
    assert!(RecordFileWriter::create(&path, 16).is_err(), "record files are immutable");
    assert!(!writer.finish(&vec![0; (1 << 20) + 1]).unwrap_err().is_corrupt());
}

#[test]
fn every_flipped_byte_is_noticed_and_its_file_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 72, 9, b"seed 7, entry 3");
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).unwrap();
        let error = noticed(&path).unwrap_or_else(|| panic!("byte {at}"));
        assert!(error.is_corrupt() && error.path() == path, "byte {at}: {error}");
        if at < 72 * 9 {
            let named = format!("record {} at byte {} ", at / 72, at / 72 * 72);
            assert!(error.to_string().contains(&named), "byte {at}: {error}");
        }
    }
}

#[test]
fn swapped_records_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let mut writer = RecordFileWriter::create(&path, 128).unwrap();
    // Two of them with the same bytes: even those are not each other.
    for filling in [1, 2, 3, 3] {
        writer.push(&[filling; 100]).unwrap();
    }
    writer.finish(b"").unwrap();
    let good = std::fs::read(&path).unwrap();
    for (a, b) in [(0, 1), (0, 3), (1, 2), (2, 3)] {
        let mut bad = good.clone();
        bad[a * 128..][..128].copy_from_slice(&good[b * 128..][..128]);
        bad[b * 128..][..128].copy_from_slice(&good[a * 128..][..128]);
        std::fs::write(&path, &bad).unwrap();
        assert!(noticed(&path).is_some_and(|error| error.is_corrupt()), "{a} and {b}");
    }
}

#[test]
fn a_cut_or_lengthened_file_is_refused_at_every_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 64, 5, b"meta");
    let mut good = std::fs::read(&path).unwrap();
    for length in 0..good.len() {
        std::fs::write(&path, &good[..length]).unwrap();
        for access in [Access::Read, Access::Mapped] {
            let error = RecordFile::open(&path, access).unwrap_err();
            assert!(error.is_corrupt() && error.path() == path, "{length} bytes: {error}");
        }
    }
    good.push(0);
    std::fs::write(&path, &good).unwrap();
    assert!(RecordFile::open(&path, Access::Read).unwrap_err().is_corrupt());
}

#[test]
fn a_file_cut_while_it_is_open_is_damage_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 4096, 20, b"");
    let file = RecordFile::open(&path, Access::Read).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(4096 * 10 + 100).unwrap();
    let ways = [file.reader(), file.reader().force(Route::Advised), file.reader().force(Route::Threads)];
    for mut reader in ways {
        assert_eq!(read(&mut reader, &[3, 9]).unwrap(), [record(3, 4092), record(9, 4092)]);
        for outside in [10, 19] {
            let error = read(&mut reader, &[0, outside]).unwrap_err();
            assert!(error.is_corrupt() && error.to_string().contains(&format!("record {outside} ")), "{error}");
        }
    }
    assert!(file.verify().unwrap_err().is_corrupt());
}

#[test]
fn an_index_out_of_range_is_damage_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 1024, 10, b"");
    for (way, mut reader) in readers(&path) {
        reader.prefetch(u32::MAX);
        for outside in [10, u32::MAX] {
            let error = read(&mut reader, &[0, outside]).unwrap_err();
            assert!(error.is_corrupt() && error.path() == path, "{way}: {error}");
            let named = format!("record {outside} at byte {}", u64::from(outside) * 1024);
            assert!(error.to_string().contains(&named), "{way}: {error}");
        }
        assert_eq!(read(&mut reader, &[9]).unwrap(), [record(9, 1020)], "{way}: it goes on afterwards");
    }
}

#[test]
fn the_visitor_may_end_with_an_error_of_its_own() {
    #[derive(Debug)]
    enum Mine {
        Enough,
        #[allow(dead_code, reason = "there for From alone")]
        Segment(SegmentError),
    }
    impl From<SegmentError> for Mine {
        fn from(error: SegmentError) -> Self {
            Self::Segment(error)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 256, 100, b"");
    for (way, mut reader) in readers(&path) {
        let mut seen = 0;
        let error = reader
            .read(&(0..100).collect::<Vec<_>>(), &mut |place, _| {
                seen += 1;
                if place == 70 { Err(Mine::Enough) } else { Ok(()) }
            })
            .unwrap_err();
        assert!(matches!(error, Mine::Enough) && seen == 71, "{way}");
        assert_eq!(reader.stats().records, 71, "{way}");
        assert_eq!(read(&mut reader, &[5]).unwrap(), [record(5, 252)], "{way}");
    }
}

#[test]
fn many_threads_read_the_same_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 2048, 500, b"");
    for access in [Access::Read, Access::Mapped] {
        let file = RecordFile::open(&path, access).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file: Arc<RecordFile> = file.clone();
                scope.spawn(move || {
                    let reader = file.reader();
                    let mut reader = if thread % 3 == 0 { reader.force(Route::Threads) } else { reader };
                    let mut dice = fastrand::Rng::with_seed(thread);
                    for _ in 0..60 {
                        let indices: Vec<u32> = (0..dice.usize(1..70)).map(|_| dice.u32(0..500)).collect();
                        let expected: Vec<_> = indices.iter().map(|index| record(*index, 2044)).collect();
                        assert_eq!(read(&mut reader, &indices).unwrap(), expected);
                    }
                });
            }
        });
    }
}

#[test]
fn a_mapped_record_is_verified_before_it_is_handed_out_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 1024, 70, b"");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[66 * 1024 + 5] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = RecordFile::open(&path, Access::Mapped).unwrap().reader();
    for _ in 0..2 {
        assert_eq!(read(&mut reader, &[2]).unwrap(), [record(2, 1020)], "its bit is of another word than that of 66");
        assert!(read(&mut reader, &[66]).unwrap_err().is_corrupt(), "damage stays damage");
    }
}

#[test]
fn reading_what_is_cached_is_not_called_cold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    write(&path, 1024, 64, b"");
    let mut reader = RecordFile::open(&path, Access::Mapped).unwrap().reader();
    read(&mut reader, &(0..64).collect::<Vec<_>>()).unwrap();
    assert!(!reader.cold() && reader.stats().cold == 0);
    let mut reader = RecordFile::open(&path, Access::Read).unwrap().reader().force(Route::Advised);
    read(&mut reader, &(0..64).collect::<Vec<_>>()).unwrap();
    assert!(reader.cold() && reader.stats().cold == 64, "what is read past the page cache's answer counts as missed");
}
