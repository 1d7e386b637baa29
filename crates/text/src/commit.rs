//! Bringing rows into the index: one atomic commit, with memory for one bounded writer while it runs.

use std::sync::Arc;

use parking_lot::MutexGuard;
use roaring::RoaringTreemap;
use tantivy::indexer::{AddOperation, IndexWriterOptions, NoMergePolicy, SegmentWriter};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{IndexWriter, TantivyDocument};

use crate::error::guarded;
use crate::index::CommitNote;
use crate::removal::RowsQuery;
use crate::scan::RowsError;
use crate::snapshot::Snapshot;
use crate::{Result, TextError, TextIndex};

/// Smaller writer budgets are raised to this: tantivy's arena grows by 1 MiB at a time.
pub const WRITER_BUDGET_BYTES_MIN: usize = 4 << 20;

/// A row to index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRow {
    /// The number under which a search returns it.
    pub row_id: u64,
    /// The text to index; it is not kept.
    pub text: String,
    /// Source code: identifiers are also found by their parts.
    pub code: bool,
}

/// A commit that is durable, but not yet what searches see. Publishing is a pointer swap: do it together with removing
/// the rows from the [`TextMemtable`](crate::TextMemtable), and no search sees them in both or in neither. Dropping publishes too.
pub struct Unpublished<'a> {
    index: &'a TextIndex,
    snapshot: Arc<Snapshot>,
    _writing: MutexGuard<'a, bool>,
}

impl Unpublished<'_> {
    /// Lets searches see the commit now, which dropping would do too: for a caller who wants to say where.
    pub fn publish(self) {}

    /// The change sequence that the index will have applied.
    pub fn applied(&self) -> u64 {
        self.snapshot.applied
    }
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        self.index.publish(self.snapshot.clone());
    }
}

impl TextIndex {
    /// Adds rows, removes rows and moves [`applied`](Self::applied), all or nothing, and shows it to searches. A row id both
    /// added and deleted ends up deleted. Give rows in ascending row id where you can: filters look them up faster.
    ///
    /// Memory: `writer_budget_bytes` (at least [`WRITER_BUDGET_BYTES_MIN`]) while it runs, nothing after. More rows than
    /// fit make more segments. Do not call it on the write path: it fsyncs some seven files per segment.
    ///
    /// # Errors
    /// [`TextError::Rows`] when the iterator fails; then nothing has changed. After [`TextError::Io`] ask
    /// [`applied`](Self::applied) before trying again: the disk may have refused after the commit had landed.
    pub fn commit(
        &self,
        adds: &mut dyn Iterator<Item = std::result::Result<TextRow, RowsError>>,
        deletes: &[u64],
        applied: u64,
        writer_budget_bytes: usize,
    ) -> Result<()> {
        self.commit_unpublished(adds, deletes, applied, writer_budget_bytes).map(Unpublished::publish)
    }

    /// Like [`commit`](Self::commit), for callers that publish at a moment of their own.
    pub fn commit_unpublished(
        &self,
        adds: &mut dyn Iterator<Item = std::result::Result<TextRow, RowsError>>,
        deletes: &[u64],
        applied: u64,
        writer_budget_bytes: usize,
    ) -> Result<Unpublished<'_>> {
        let mut writing = self.writing.lock();
        let snapshot = guarded(&self.folder, || {
            let mut writer = self.writer(&mut writing)?;
            let written = self
                .add(&writer, adds, writer_budget_bytes)
                .and_then(|()| self.remove_and_commit(&mut writer, deletes, applied));
            match written {
                Ok(()) => *writing = false,
                Err(error) => {
                    self.roll_back(writer);
                    self.catch_up();
                    return Err(error);
                }
            }
            drop(writer);
            self.load_snapshot().inspect_err(|_| self.catch_up())
        })?;
        Ok(Unpublished { index: self, snapshot: Arc::new(snapshot), _writing: writing })
    }

    /// A writer for one commit or merge. tantivy's own indexing thread stays idle (and without memory): see [`add`](Self::add).
    pub(crate) fn writer(&self, leftovers: &mut bool) -> Result<IndexWriter> {
        let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1).build();
        let writer: IndexWriter = self.index.writer_with_options(options).map_err(|error| self.named(error))?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        if std::mem::replace(leftovers, true) {
            let collected = writer.garbage_collect_files().wait();
            collected.map_err(|error| self.named(error))?;
        }
        Ok(writer)
    }

    /// Builds segments in this thread. tantivy's indexing threads would be fed through a queue of 10,000 documents, which holds
    /// more memory than the writer itself.
    fn add(
        &self,
        writer: &IndexWriter,
        adds: &mut dyn Iterator<Item = std::result::Result<TextRow, RowsError>>,
        writer_budget_bytes: usize,
    ) -> Result<()> {
        let budget = writer_budget_bytes.max(WRITER_BUDGET_BYTES_MIN);
        let mut adds = adds.peekable();
        while adds.peek().is_some() {
            let segment = writer.new_segment();
            let mut segment_writer =
                SegmentWriter::for_segment(budget, segment.clone()).map_err(|error| self.named(error))?;
            // An empty writer claims seven pages of 1 MiB that it never touches. It does fill a hash table, a third of
            // the budget, and serialising needs another part.
            let full = segment_writer.mem_usage() + budget / 2;
            for row in adds.by_ref() {
                let row = row.map_err(TextError::Rows)?;
                let operation = AddOperation { opstamp: 0, document: self.document(&row) };
                segment_writer.add_document(operation).map_err(|error| self.named(error))?;
                if segment_writer.mem_usage() >= full {
                    break;
                }
            }
            let docs = segment_writer.max_doc();
            segment_writer
                .finalize()
                .and_then(|_| writer.add_segment(self.index.new_segment_meta(segment.id(), docs)))
                .map_err(|error| self.named(error))?;
        }
        Ok(())
    }

    fn document(&self, row: &TextRow) -> TantivyDocument {
        let mut tokens = Vec::with_capacity(row.text.len() / 6);
        self.analyzer.passage_words(&row.text, row.code, |token| {
            // Offsets and positions are not indexed.
            tokens.push(Token { text: token.text.clone(), ..Token::default() });
        });
        let mut document = TantivyDocument::new();
        document.add_u64(self.fields.row_id, row.row_id);
        document.add_u64(self.fields.row_words, tokens.len() as u64);
        let text = String::new();
        document.add_pre_tokenized_text(self.fields.text, PreTokenizedString { text, tokens });
        document
    }

    fn remove_and_commit(&self, writer: &mut IndexWriter, deletes: &[u64], applied: u64) -> Result<()> {
        let from = |error| self.named(error);
        if !deletes.is_empty() {
            let rows: RoaringTreemap = deletes.iter().copied().collect();
            let query = RowsQuery::new(rows);
            writer.delete_query(Box::new(query)).map_err(from)?;
        }
        let note = serde_json::to_string(&CommitNote { applied })
            .map_err(|error| TextError::corrupt(&self.folder, error.to_string()))?;
        let mut prepared = writer.prepare_commit().map_err(from)?;
        prepared.set_payload(&note);
        prepared.commit().map_err(from)?;
        Ok(())
    }

    /// Best effort: what cannot be removed now is removed before the next commit.
    fn roll_back(&self, mut writer: IndexWriter) {
        let collected = writer.rollback().and_then(|_| writer.garbage_collect_files().wait());
        drop(collected);
    }

    /// The disk may refuse after the manifest was replaced: then the commit did land, and adding its rows again would double them.
    fn catch_up(&self) {
        if let Ok(snapshot) = self.load_snapshot()
            && snapshot.applied != self.applied()
        {
            self.publish(Arc::new(snapshot));
        }
    }

    /// A tantivy error with our folder's name.
    pub(crate) fn named(&self, error: tantivy::TantivyError) -> TextError {
        TextError::from_tantivy(&self.folder, error)
    }
}
