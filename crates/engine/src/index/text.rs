//! The text index as a derived index: words, and the rows that have them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_store::Table;
use nuthatch_text::{TextIndex, TextRow};
use roaring::RoaringTreemap;

use crate::index::{DerivedIndex, EndSnapshots, IndexId, Indexed, Reach, Replayed, TEXT, is_damage};
use crate::record::Row;
use crate::runtime::Throttle;
use crate::state::State;
use crate::state::batch_sizing::BatchSizing;
use crate::{Error, ErrorKind, Result};

/// How long searches that read old files are waited for.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub(super) struct Text;

impl DerivedIndex for Text {
    fn id(&self) -> IndexId {
        TEXT
    }

    fn open(&self, collection: &dyn Indexed, reach: &Reach, state: &mut State) -> Result<Option<String>> {
        let text = TextIndex::open_or_create(&collection.folder_of(TEXT), collection.cache(), collection.language())?;
        let misses = reach.misses(text.applied());
        if misses.is_none() {
            state.text = Some(Arc::new(text));
        }
        Ok(misses)
    }

    fn applied(&self, state: &State) -> Option<u64> {
        state.text.as_ref().map(|text| text.applied())
    }

    fn replay(&self, state: &mut State, row: &Replayed<'_>) -> Result<()> {
        state.insert_text_of(row.row, row.stored);
        Ok(())
    }

    /// Commits the text memtable, and takes removed rows out of the index.
    fn seal(&self, collection: &dyn Indexed) -> Result<()> {
        let (text, rows, gone, upto) = {
            let mut state = collection.state().write();
            let Some(text) = state.text.clone() else { return Ok(()) };
            state.committing_upto = state.text_memtable_rows.max().unwrap_or(state.committing_upto);
            (text, state.text_memtable_rows.clone(), state.gone.clone(), state.sequence)
        };
        if rows.is_empty() && gone.is_empty() && text.applied() == upto {
            return Ok(());
        }
        let gone_rows: Vec<u64> = gone.iter().collect();
        let committed = {
            let _working = collection.runtime().memory.working.lock();
            let mut adds = text_rows(collection, rows.clone());
            text.commit_unpublished(&mut adds, &gone_rows, upto, collection.runtime().memory.budget.work_bytes as usize)
        };
        let mut state = collection.state().write();
        state.committing_upto = 0;
        match committed {
            Ok(unpublished) => {
                collection.runtime().crash_point("text");
                unpublished.publish();
            }
            Err(error) => {
                // The disk may refuse after the commit has landed: then its rows are in the index, and must leave the text memtable.
                if text.applied() == upto {
                    state.forget_in_text_memtable(rows, gone);
                }
                let error = Error::from(error);
                drop(state);
                if is_damage(&error) {
                    collection.note_damage(&error, TEXT);
                    return Ok(());
                }
                return Err(error);
            }
        }
        state.forget_in_text_memtable(rows, gone);
        drop(state);
        let _working = collection.runtime().memory.working.lock();
        text.merge().map(drop).or_else(|error| {
            let error = Error::from(error);
            match error.is_corrupt() {
                true => {
                    collection.note_damage(&error, TEXT);
                    Ok(())
                }
                false => Err(error),
            }
        })
    }

    fn rebuild(&self, collection: &dyn Indexed, why: &str) -> Result<()> {
        let _work = collection.index_work().work.lock();
        if collection.is_dropped() || collection.is_sound(TEXT) {
            return Ok(()); // another caller was first
        }
        let folder = collection.folder_of(TEXT);
        collection.state().write().text = None;
        collection.runtime().quarantine(&folder, why)?;
        let text = Arc::new(TextIndex::open_or_create(&folder, collection.cache(), collection.language())?);
        let (rows, upto) = {
            let counters = collection.pause_writes();
            let rows = collection.all_rows()?;
            let mut state = collection.state().write();
            for row in std::mem::take(&mut state.text_memtable_rows) {
                Arc::make_mut(&mut state.text_memtable).remove(row);
            }
            state.gone.clear();
            // From here on new texts go to the text memtable, and removed rows to `gone`; the index stays broken, so searches scan.
            state.committing_upto = u64::MAX;
            (rows, counters.sequence)
        };
        let outcome = {
            let _working = collection.runtime().memory.working.lock();
            let mut adds = text_rows(collection, rows.clone());
            text.commit(&mut adds, &[], upto, collection.runtime().memory.budget.work_bytes as usize)
        };
        collection.state().write().committing_upto = 0;
        if let Err(error) = outcome {
            // Half an index is of no use to the next attempt, nor to anyone who looks into the quarantine folder.
            drop(text);
            std::fs::remove_dir_all(&folder).ok();
            return Err(error.into());
        }
        // Texts written during the rebuild are in the store and in the log, but in no text memtable: there was no index
        // to analyse them for.
        let _writes = collection.pause_writes();
        let later = collection.rows_added_after(upto)?;
        let mut state = collection.state().write();
        state.text = Some(text);
        state.mend(TEXT);
        for (row, stored) in later {
            state.insert_text_of(row, &stored);
        }
        Ok(())
    }

    fn verify(&self, collection: &dyn Indexed) -> Result<Vec<Error>> {
        let text = collection.state().read().text.clone();
        let damaged = match text {
            Some(text) => text.verify()?,
            None => TextIndex::verify_folder(&collection.folder_of(TEXT)).unwrap_or_default(),
        };
        let error = |file: &nuthatch_text::DamagedFile| {
            Error::corrupt(&file.path, format!("{} is damaged: {}", file.path.display(), file.what))
        };
        Ok(damaged.iter().map(error).collect())
    }

    fn files(&self, collection: &dyn Indexed) -> Result<Vec<PathBuf>> {
        let text = collection.state().read().text.clone();
        Ok(text.map(|text| text.files()).transpose()?.unwrap_or_default())
    }

    fn reclaim(&self, collection: &dyn Indexed, ending: &mut dyn EndSnapshots) -> Result<()> {
        let Some(text) = collection.state().read().text.clone() else { return Ok(()) };
        loop {
            let _working = collection.runtime().memory.working.lock();
            if !text.merge_removed()? {
                break;
            }
        }
        if text.sweep()? {
            return Ok(());
        }
        // Those that are taken from here on read the new files.
        ending.all_of(collection.shard().tenant)?;
        let started = Instant::now();
        while !text.sweep()? {
            if started.elapsed() > WAIT_MAX {
                let message = format!(
                    "a search of collection {:?} still reads old files; end it, or try again later",
                    collection.name()
                );
                return Err(Error::new(ErrorKind::Conflict, message));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn resident_bytes(&self, state: &State) -> u64 {
        state.text.as_ref().map_or(0, |text| text.resident_bytes())
    }
}

/// The texts of rows, a page at a time. Rows that the store no longer has are passed over: they are in `gone`. At the end all that
/// was written until then is durable: an index that lacks a row must not be so before the removal is.
fn text_rows(
    collection: &dyn Indexed,
    rows: RoaringTreemap,
) -> impl Iterator<Item = std::result::Result<TextRow, nuthatch_text::RowsError>> + '_ {
    let mut rows = rows.into_iter();
    let mut page: std::vec::IntoIter<TextRow> = Vec::new().into_iter();
    let mut batch_sizing = BatchSizing::default();
    let mut throttle = Throttle::default();
    let synced = std::iter::once_with(|| collection.runtime().store()?.sync_all().map_err(Error::from));
    let failed = synced.filter_map(|synced| Some(Err(synced.err()?.into())));
    let rows = std::iter::from_fn(move || {
        loop {
            if let Some(row) = page.next() {
                return Some(Ok(row));
            }
            throttle.rest(collection.runtime(), &|| collection.is_waited_for());
            let chunk: Vec<u64> = rows.by_ref().take(batch_sizing.rows()).collect();
            if chunk.is_empty() {
                return None;
            }
            match text_page(collection, &chunk) {
                Ok(texts) => {
                    batch_sizing.learn(texts.iter().map(|row| row.text.len()).sum());
                    page = texts.into_iter();
                }
                Err(error) => return Some(Err(error.into())),
            }
        }
    });
    rows.chain(failed)
}

fn text_page(collection: &dyn Indexed, rows: &[u64]) -> Result<Vec<TextRow>> {
    let keys: Vec<Vec<u8>> = rows.iter().map(|row| collection.shard().number_key(*row)).collect();
    let mut texts = Vec::with_capacity(rows.len());
    for (row_id, stored) in rows.iter().zip(collection.runtime().store()?.multi_get(Table::Records, &keys)?) {
        if let Some(stored) = stored {
            let stored = Row::decode(&stored)?;
            texts.extend(stored.searchable().map(|text| TextRow { row_id: *row_id, text, code: stored.code }));
        }
    }
    Ok(texts)
}
