//! The text index as a derived index: words, and the rows that have them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_store::Table;
use nuthatch_text::{TextIndex, TextRow};
use roaring::RoaringTreemap;

use crate::collection::Core;
use crate::collection::batch_sizing::BatchSizing;
use crate::collection::open::is_damage;
use crate::collection::state::State;
use crate::index::{DerivedIndex, IndexId, Reach, Replayed, TEXT};
use crate::record::Row;
use crate::runtime::Throttle;
use crate::snapshot::Ending;
use crate::{Error, ErrorKind, Result};

/// How long searches that read old files are waited for.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub(super) struct Text;

impl DerivedIndex for Text {
    fn id(&self) -> IndexId {
        TEXT
    }

    fn open(&self, core: &Core, reach: &Reach, state: &mut State) -> Result<Option<String>> {
        let text = TextIndex::open_or_create(&core.folder_of(TEXT), &core.cache, &core.language)?;
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
    fn seal(&self, core: &Core) -> Result<()> {
        let (text, rows, gone, upto) = {
            let mut state = core.state.write();
            let Some(text) = state.text.clone() else { return Ok(()) };
            state.committing_upto = state.text_memtable_rows.max().unwrap_or(state.committing_upto);
            (text, state.text_memtable_rows.clone(), state.gone.clone(), state.sequence)
        };
        if rows.is_empty() && gone.is_empty() && text.applied() == upto {
            return Ok(());
        }
        let gone_rows: Vec<u64> = gone.iter().collect();
        let committed = {
            let _working = core.shared.working.lock();
            let mut adds = text_rows(core, rows.clone());
            text.commit_unpublished(&mut adds, &gone_rows, upto, core.shared.budget.work_bytes as usize)
        };
        let mut state = core.state.write();
        state.committing_upto = 0;
        match committed {
            Ok(unpublished) => {
                core.shared.crash_point("text");
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
                    core.note_damage(&error, TEXT);
                    return Ok(());
                }
                return Err(error);
            }
        }
        state.forget_in_text_memtable(rows, gone);
        drop(state);
        let _working = core.shared.working.lock();
        text.merge().map(drop).or_else(|error| {
            let error = Error::from(error);
            match error.is_corrupt() {
                true => {
                    core.note_damage(&error, TEXT);
                    Ok(())
                }
                false => Err(error),
            }
        })
    }

    fn rebuild(&self, core: &Core, why: &str) -> Result<()> {
        let _work = core.work.lock();
        if core.is_dropped() || core.is_sound(TEXT) {
            return Ok(()); // another caller was first
        }
        let folder = core.folder_of(TEXT);
        core.state.write().text = None;
        core.shared.quarantine(&folder, why)?;
        let text = Arc::new(TextIndex::open_or_create(&folder, &core.cache, &core.language)?);
        let (rows, upto) = {
            let writer = core.writer.lock();
            let rows = core.all_rows()?;
            let mut state = core.state.write();
            for row in std::mem::take(&mut state.text_memtable_rows) {
                Arc::make_mut(&mut state.text_memtable).remove(row);
            }
            state.gone.clear();
            // From here on new texts go to the text memtable, and removed rows to `gone`; the index stays broken, so searches scan.
            state.committing_upto = u64::MAX;
            (rows, writer.counters.sequence)
        };
        let outcome = {
            let _working = core.shared.working.lock();
            let mut adds = text_rows(core, rows.clone());
            text.commit(&mut adds, &[], upto, core.shared.budget.work_bytes as usize)
        };
        core.state.write().committing_upto = 0;
        if let Err(error) = outcome {
            // Half an index is of no use to the next attempt, nor to anyone who looks into the quarantine folder.
            drop(text);
            std::fs::remove_dir_all(&folder).ok();
            return Err(error.into());
        }
        // Texts written meanwhile are in the store and in the log, but in no text memtable: there was no index to analyse them for.
        let _writer = core.writer.lock();
        let later = core.rows_added_after(upto)?;
        let mut state = core.state.write();
        state.text = Some(text);
        state.mend(TEXT);
        for (row, stored) in later {
            state.insert_text_of(row, &stored);
        }
        Ok(())
    }

    fn verify(&self, core: &Core) -> Result<Vec<Error>> {
        let text = core.state.read().text.clone();
        let damaged = match text {
            Some(text) => text.verify()?,
            None => TextIndex::verify_folder(&core.folder_of(TEXT)).unwrap_or_default(),
        };
        let error = |file: &nuthatch_text::DamagedFile| {
            Error::corrupt(&file.path, format!("{} is damaged: {}", file.path.display(), file.what))
        };
        Ok(damaged.iter().map(error).collect())
    }

    fn files(&self, core: &Core) -> Result<Vec<PathBuf>> {
        let text = core.state.read().text.clone();
        Ok(text.map(|text| text.files()).transpose()?.unwrap_or_default())
    }

    fn reclaim(&self, core: &Core, ending: &mut Ending<'_>) -> Result<()> {
        let Some(text) = core.state.read().text.clone() else { return Ok(()) };
        loop {
            let _working = core.shared.working.lock();
            if !text.merge_removed()? {
                break;
            }
        }
        if text.sweep()? {
            return Ok(());
        }
        // Those that are taken from here on read the new files.
        ending.all_of(core.shard.tenant)?;
        let started = Instant::now();
        while !text.sweep()? {
            if started.elapsed() > WAIT_MAX {
                let message =
                    format!("a search of collection {:?} still reads old files; end it, or try again later", core.name);
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
    core: &Core,
    rows: RoaringTreemap,
) -> impl Iterator<Item = std::result::Result<TextRow, nuthatch_text::RowsError>> + '_ {
    let mut rows = rows.into_iter();
    let mut page: std::vec::IntoIter<TextRow> = Vec::new().into_iter();
    let mut batch_sizing = BatchSizing::default();
    let mut throttle = Throttle::default();
    let synced = std::iter::once_with(|| core.shared.store()?.sync_all().map_err(Error::from));
    let failed = synced.filter_map(|synced| Some(Err(synced.err()?.into())));
    let rows = std::iter::from_fn(move || {
        loop {
            if let Some(row) = page.next() {
                return Some(Ok(row));
            }
            throttle.rest(&core.shared, &|| core.is_waited_for());
            let chunk: Vec<u64> = rows.by_ref().take(batch_sizing.rows()).collect();
            if chunk.is_empty() {
                return None;
            }
            match text_page(core, &chunk) {
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

fn text_page(core: &Core, rows: &[u64]) -> Result<Vec<TextRow>> {
    let keys: Vec<Vec<u8>> = rows.iter().map(|row| core.shard.number_key(*row)).collect();
    let mut texts = Vec::with_capacity(rows.len());
    for (row_id, stored) in rows.iter().zip(core.shared.store()?.multi_get(Table::Records, &keys)?) {
        if let Some(stored) = stored {
            let stored = Row::decode(&stored)?;
            texts.extend(stored.searchable().map(|text| TextRow { row_id: *row_id, text, code: stored.code }));
        }
    }
    Ok(texts)
}
