//! Damage is detected and named, never a panic and never a silently wrong answer; a commit is all or nothing.

mod support;

use std::path::{Path, PathBuf};

use nuthatch_segment::{BlockCache, read_sealed, write_sealed};
use nuthatch_text::{RowFilter, TextError, TextHit, TextIndex, TextRow};
use support::{passage, row};

const BUDGET: usize = 8 << 20;
const QUERIES: [&str; 3] = ["alpha", "beta gamma running", "delta"];

fn open(folder: &Path) -> Result<TextIndex, TextError> {
    TextIndex::open_or_create(folder, &BlockCache::new(1 << 20), "english")
}

fn rows(from: u64, count: u64) -> impl Iterator<Item = Result<TextRow, nuthatch_text::RowsError>> {
    (from..from + count).map(|row_id| {
        let words: Vec<u8> = (0..20).map(|at| (row_id * (at + 3) % 251) as u8).collect();
        Ok(row(row_id, &passage(&words), false))
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn answers(index: &TextIndex) -> Result<Vec<Vec<TextHit>>, TextError> {
    let search = |query: &&str| index.search(*query, 10, RowFilter::All, None);
    QUERIES.iter().map(search).collect()
}

/// Two segments, one with removed rows: every kind of file that there is.
fn damaged_folder() -> (tempfile::TempDir, Vec<Vec<TextHit>>) {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).unwrap();
    index.commit(&mut rows(1, 3_000), &[], 1, BUDGET).unwrap();
    index.commit(&mut rows(4_000, 500), &[3, 5, 7], 2, BUDGET).unwrap();
    assert_eq!(index.verify().unwrap(), []);
    let answers = answers(&index).unwrap();
    (folder, answers)
}

#[test]
fn a_flipped_byte_anywhere_is_named_and_never_answers_wrongly() {
    let (folder, expected) = damaged_folder();
    let mut kinds = std::collections::BTreeSet::new();
    for path in files(folder.path()) {
        kinds.insert(path.extension().unwrap().to_owned());
        let sound = std::fs::read(&path).unwrap();
        let last = sound.len() - 1;
        for at in [0, 1, 13, last / 3, last / 2, last - 30.min(last), last - 9.min(last), last] {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x40;
            std::fs::write(&path, &bytes).unwrap();
            let named = TextIndex::verify_folder(folder.path()).unwrap();
            let named: Vec<_> = named.iter().map(|damaged| &damaged.path).collect();
            assert_eq!(named, [&path], "byte {at}");
            match open(folder.path()) {
                Err(error) => assert!(error.is_corrupt(), "{path:?} byte {at}: {error}"),
                Ok(index) => {
                    assert_eq!(index.verify().unwrap().len(), 1, "{path:?} byte {at}");
                    match answers(&index) {
                        Ok(answers) => assert_eq!(answers, expected, "{path:?} byte {at}"),
                        Err(error) => {
                            assert!(error.is_corrupt(), "{path:?} byte {at}: {error}");
                            let name = path.file_name().unwrap().to_str().unwrap();
                            assert!(error.to_string().contains(name), "{error}");
                        }
                    }
                }
            }
        }
        std::fs::write(&path, &sound).unwrap();
    }
    for kind in ["json", "idx", "term", "fast", "fieldnorm", "store", "pos", "del"] {
        assert!(kinds.contains(std::ffi::OsStr::new(kind)), "no .{kind} file was tried");
    }
    assert_eq!(answers(&open(folder.path()).unwrap()).unwrap(), expected);
}

#[test]
fn a_truncated_or_missing_file_is_named() {
    let (folder, expected) = damaged_folder();
    for path in files(folder.path()) {
        let sound = std::fs::read(&path).unwrap();
        for bytes in [&sound[..sound.len() / 2], &[]] {
            std::fs::write(&path, bytes).unwrap();
            let named = TextIndex::verify_folder(folder.path()).unwrap();
            assert!(named.iter().any(|damaged| damaged.path == path), "{path:?}");
            if let Ok(index) = open(folder.path()) {
                match answers(&index) {
                    Ok(answers) => assert_eq!(answers, expected, "{path:?}"),
                    Err(error) => assert!(error.is_corrupt(), "{error}"),
                }
            }
        }
        std::fs::remove_file(&path).unwrap();
        match open(folder.path()) {
            Err(error) => assert!(error.is_corrupt(), "{path:?}: {error}"),
            // tantivy's list of its own files is needed for nothing but tidying up.
            Ok(_) => assert!(path.ends_with(".managed.json"), "{path:?} was not missed"),
        }
        std::fs::write(&path, &sound).unwrap();
    }
}

#[test]
fn a_file_removed_under_an_open_index_is_named_by_verify() {
    let (folder, _) = damaged_folder();
    let index = open(folder.path()).unwrap();
    let path = files(folder.path())
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "idx"))
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let named = index.verify().unwrap();
    assert_eq!(named.len(), 1);
    assert_eq!(named[0].path, path);
}

#[test]
fn a_commit_whose_rows_fail_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).unwrap();
    index.commit(&mut rows(1, 50), &[], 1, BUDGET).unwrap();
    let (before, disk) = (answers(&index).unwrap(), index.disk_bytes());
    let mut failing = rows(100, 30_000).chain([Err("the truth is closed".into())]);
    let error = index.commit(&mut failing, &[1, 2, 3], 2, BUDGET).unwrap_err();
    assert!(matches!(error, TextError::Rows(_)), "{error}");
    assert_eq!(answers(&index).unwrap(), before);
    assert_eq!((index.applied(), index.rows()), (1, 50));
    assert!(index.disk_bytes() <= disk + 64, "files of the failed commit stay");
    drop(index);
    let index = open(folder.path()).unwrap();
    assert_eq!((index.applied(), index.rows()), (1, 50));
    index.commit(&mut rows(100, 10), &[1], 3, BUDGET).unwrap();
    assert_eq!((index.applied(), index.rows()), (3, 59));
}

/// The worst moment for a kill: all new files are written, the manifest is not.
#[test]
fn leftovers_of_a_killed_commit_do_not_hinder_the_next() {
    let (folder, _) = damaged_folder();
    let before = tempfile::tempdir().unwrap();
    copy(folder.path(), before.path());
    let commit = |index: &TextIndex| index.commit(&mut rows(9_000, 10), &[1, 2], 3, BUDGET);
    let index = open(folder.path()).unwrap();
    commit(&index).unwrap();
    let expected = answers(&index).unwrap();
    drop(index);

    let killed = tempfile::tempdir().unwrap();
    copy(folder.path(), killed.path());
    copy(before.path(), killed.path()); // the old manifest, and what the commit had tidied up
    let managed = [folder.path(), before.path()].map(|folder| {
        let list = read_sealed(&folder.join(".managed.json")).unwrap().unwrap();
        serde_json::from_slice::<Vec<String>>(&list).unwrap()
    });
    let managed = serde_json::to_vec(&managed.concat()).unwrap();
    write_sealed(&killed.path().join(".managed.json"), &managed).unwrap();
    std::fs::write(killed.path().join("meta.writing"), b"half").unwrap();

    let index = open(killed.path()).unwrap();
    assert_eq!(index.applied(), 2);
    commit(&index).unwrap();
    assert_eq!(index.applied(), 3);
    assert_eq!(answers(&index).unwrap(), expected);
    assert_eq!(index.verify().unwrap(), []);
    let (after, clean) = (files(killed.path()).len(), files(folder.path()).len());
    assert_eq!(after, clean, "something of the killed commit stays");
}

fn copy(source: &Path, target: &Path) {
    for path in files(source) {
        std::fs::copy(&path, target.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn another_language_is_refused_with_both_names() {
    let (folder, _) = damaged_folder();
    let error = TextIndex::open_or_create(folder.path(), &BlockCache::new(1 << 20), "german");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("english") && error.contains("german"), "{error}");
}

#[test]
fn reopens_with_the_last_commit_and_merges_away_what_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).unwrap();
    assert_eq!((index.applied(), index.rows()), (0, 0));
    for batch in 0..9u64 {
        let mut adds = rows(1 + batch * 100, 100);
        index.commit(&mut adds, &[], batch + 1, BUDGET).unwrap();
    }
    assert_eq!(index.segments(), 9);
    let before = answers(&index).unwrap();
    while index.merge().unwrap() {}
    assert_eq!(index.segments(), 2);
    assert_eq!(answers(&index).unwrap(), before);
    let all: Vec<u64> = (1..=900).collect();
    index.commit(&mut rows(2_000, 1), &all, 10, BUDGET).unwrap();
    while index.merge().unwrap() {}
    drop(index);
    let index = open(folder.path()).unwrap();
    assert_eq!((index.applied(), index.rows(), index.segments()), (10, 1, 1));
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn searches_see_whole_commits_while_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).unwrap();
    std::thread::scope(|scope| {
        let searcher = scope.spawn(|| {
            let mut last = 0;
            while last < 12 {
                let hits = index.search("common", 10_000, RowFilter::All, None).unwrap();
                assert_eq!(hits.len() % 25, 0, "half a commit");
                assert!(hits.len() / 25 >= last, "a commit was unseen again");
                last = hits.len() / 25;
            }
        });
        for batch in 0..12u64 {
            let mut adds = (0..25).map(|at| Ok(row(batch * 25 + at, "common word", false)));
            index.commit(&mut adds, &[], batch + 1, BUDGET).unwrap();
            index.merge().unwrap();
        }
        searcher.join().unwrap();
    });
}
