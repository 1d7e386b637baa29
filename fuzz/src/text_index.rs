//! The files of a text index with changed bytes: found, named, and never an answer that is wrong.

use std::path::Path;

use nuthatch_segment::BlockCache;
use nuthatch_text::{RowFilter, TextError, TextHit, TextIndex, TextRow};

use crate::Run;
use crate::folder::Folder;
use crate::patch::patched;

const QUERIES: [&str; 3] = ["heron", "osprey fishes running", "nowhere"];
const BUDGET_BYTES: usize = 8 << 20;

/// The first byte chooses the file.
pub fn start() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let index = open(folder.path()).expect("an index");
    let words = ["heron", "osprey", "fishes", "runs", "lake", "reed"];
    let text = |row: u64| (0..20).map(|at| words[(row * (at + 3) % 6) as usize]).collect::<Vec<_>>().join(" ");
    let mut rows = (1..200).map(|row_id| Ok(TextRow { row_id, text: text(row_id), code: false }));
    index.commit(&mut rows, &[], 1, BUDGET_BYTES).expect("committed");
    let mut rows = (300..340).map(|row_id| Ok(TextRow { row_id, text: text(row_id), code: true }));
    index.commit(&mut rows, &[3, 5, 7], 2, BUDGET_BYTES).expect("committed");
    let expected = answers(&index).expect("a healthy index");
    drop(index);
    let healthy = Folder::read(folder.path());
    Box::new(move |input| {
        let Some((chosen, changes)) = input.split_first() else { return };
        let (name, bytes) = &healthy.files[usize::from(*chosen) % healthy.files.len()];
        let changed = patched(bytes, changes);
        let copy = healthy.copy();
        let path = copy.path().join(name);
        std::fs::write(&path, &changed).expect("written");
        let damaged = TextIndex::verify_folder(copy.path()).expect("a folder that can be read");
        if changed == *bytes {
            assert!(damaged.is_empty());
        } else {
            assert_eq!(damaged.iter().map(|damaged| damaged.path.as_path()).collect::<Vec<_>>(), [path.as_path()]);
        }
        match open(copy.path()).and_then(|index| answers(&index)) {
            Ok(found) => assert_eq!(found, expected, "{name:?}"),
            Err(error) => assert!(error.is_corrupt(), "{name:?}: {error}"),
        }
    })
}

fn open(folder: &Path) -> Result<TextIndex, TextError> {
    TextIndex::open_or_create(folder, &BlockCache::new(1 << 20), "english")
}

fn answers(index: &TextIndex) -> Result<Vec<Vec<TextHit>>, TextError> {
    QUERIES.iter().map(|query| index.search(*query, 10, RowFilter::All, None)).collect()
}
