//! The text index of one collection: open, search, account.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_segment::BlockCache;
use parking_lot::{Mutex, RwLock};
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use tantivy::{Directory, Index, IndexReader, ReloadPolicy};

use crate::bm25::Bag;
use crate::directory::BlockDirectory;
use crate::error::guarded;
use crate::hits::{RowFilter, TextHit};
use crate::schema::{Fields, schema, settings, stored_analyzer};
use crate::snapshot::Snapshot;
use crate::verify::lost_manifest;
use crate::wide::{TextQuery, patterns};
use crate::{Analyzer, Result, TextError, TextMemtable};

pub(crate) const META: &str = "meta.json";
/// BM25 over the rows of one collection. Share it between threads; commits are serialised, searches never wait for them.
pub struct TextIndex {
    pub(crate) folder: PathBuf,
    pub(crate) analyzer: Analyzer,
    pub(crate) fields: Fields,
    pub(crate) index: Index,
    directory: BlockDirectory,
    reader: IndexReader,
    snapshot: RwLock<Arc<Snapshot>>,
    /// Held while writing. True when files of an unfinished commit may lie around.
    pub(crate) writing: Mutex<bool>,
}

/// The note stored with each commit.
#[derive(Serialize, Deserialize)]
pub(crate) struct CommitNote {
    pub applied: u64,
}

impl TextIndex {
    /// Opens the index in `folder`, or creates an empty one there. `language` is a name for [`Analyzer::new`].
    ///
    /// # Errors
    /// [`TextError::Corrupt`] when it is damaged (the manifest and the parts that stay in memory are checked here, posting lists
    /// when a query reads them); [`TextError::OtherLanguage`] when it was built with another analyzer.
    pub fn open_or_create(folder: &Path, cache: &Arc<BlockCache>, language: &str) -> Result<Self> {
        let analyzer = Analyzer::new(language)?;
        std::fs::create_dir_all(folder).map_err(|error| TextError::from_io(folder, Arc::new(error)))?;
        let directory = BlockDirectory::new(folder, cache);
        guarded(folder, || {
            let index = open_tantivy(folder, &directory, &analyzer)?;
            let from = |error| TextError::from_tantivy(folder, error);
            let fields = Fields::of(&index.schema()).map_err(from)?;
            let reader: IndexReader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .doc_store_cache_num_blocks(1)
                .try_into()
                .map_err(from)?;
            let applied = applied(folder, &index)?;
            let snapshot = Snapshot::new(reader.searcher(), fields.text, applied, None).map_err(from)?;
            Ok(Self {
                folder: folder.to_path_buf(),
                analyzer,
                fields,
                index,
                directory,
                reader,
                snapshot: RwLock::new(Arc::new(snapshot)),
                writing: Mutex::new(true),
            })
        })
    }

    /// Turns texts into words for the index; scanning and highlighting must use the same one.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// Last change sequence in the index; 0 when nothing was ever committed.
    pub fn applied(&self) -> u64 {
        self.snapshot().applied
    }

    /// Rows in the index, without those removed.
    pub fn rows(&self) -> u64 {
        self.snapshot().rows
    }

    /// The best `limit` rows of index and `memtable` together: descending score, ties by row id ascending. A row in both is returned
    /// once. The query is a bag of words; one without any (empty, stop words only) finds nothing.
    ///
    /// Scores are those of [`scan`](crate::scan) over the same rows, bit for bit, wherever a row lies. A row removed from the
    /// store but not yet from the index is kept out by `rows` and still counts in the statistics until the next commit.
    pub fn search<'q>(
        &self,
        query: impl Into<TextQuery<'q>>,
        limit: usize,
        rows: RowFilter<'_>,
        memtable: Option<&TextMemtable>,
    ) -> Result<Vec<TextHit>> {
        self.search_in(&self.snapshot(), query.into(), limit, rows, memtable)
    }

    /// The index as it is now, whatever is committed later.
    pub fn view(self: &Arc<Self>) -> TextView {
        TextView { index: self.clone(), snapshot: self.snapshot() }
    }

    fn search_in(
        &self,
        snapshot: &Snapshot,
        query: TextQuery<'_>,
        limit: usize,
        rows: RowFilter<'_>,
        memtable: Option<&TextMemtable>,
    ) -> Result<Vec<TextHit>> {
        let bag = Bag::new(&self.analyzer, query.text);
        let patterns = patterns(&self.analyzer, query, &bag);
        if bag.words.is_empty() && patterns.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        guarded(&self.folder, || {
            crate::search::search(snapshot, self.fields.text, bag, &patterns, limit, rows, memtable)
                .map_err(|error| TextError::from_tantivy(&self.folder, error))
        })
    }

    /// Bytes held in RAM: field norms (one byte per row), row ids, the dictionaries' indexes, removed rows. The blocks of the
    /// shared cache are the cache's to report.
    pub fn resident_bytes(&self) -> u64 {
        self.directory.held_bytes() + self.snapshot().own_bytes()
    }

    /// Bytes of the folder's files.
    pub fn disk_bytes(&self) -> u64 {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten();
        files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().clone()
    }

    /// Loads the latest commit on disk, for [`publish`](Self::publish).
    pub(crate) fn load_snapshot(&self) -> Result<Snapshot> {
        let from = |error| TextError::from_tantivy(&self.folder, error);
        self.reader.reload().map_err(from)?;
        let applied = applied(&self.folder, &self.index)?;
        let before = self.snapshot();
        let searcher = self.reader.searcher();
        Snapshot::new(searcher, self.fields.text, applied, Some(&before)).map_err(from)
    }

    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        let mut shown = self.snapshot.write();
        assert!(snapshot.applied >= shown.applied, "a later commit has applied as much");
        *shown = snapshot;
    }
}

/// A [`TextIndex`] as it was at some moment. Files that later commits replace stay as long as it is held.
#[derive(Clone)]
pub struct TextView {
    index: Arc<TextIndex>,
    snapshot: Arc<Snapshot>,
}

impl TextView {
    /// See [`TextIndex::search`].
    pub fn search<'q>(
        &self,
        query: impl Into<TextQuery<'q>>,
        limit: usize,
        rows: RowFilter<'_>,
        memtable: Option<&TextMemtable>,
    ) -> Result<Vec<TextHit>> {
        self.index.search_in(&self.snapshot, query.into(), limit, rows, memtable)
    }

    /// The rows of index and memtable that have every word of a text, in any order; `None` for a text without words that are
    /// indexed.
    pub fn rows_with_all(
        &self,
        text: &str,
        rows: RowFilter<'_>,
        memtable: Option<&TextMemtable>,
    ) -> Result<Option<RoaringTreemap>> {
        let (index, bag) = (&self.index, Bag::new(&self.index.analyzer, text));
        if bag.words.is_empty() {
            return Ok(None);
        }
        guarded(&index.folder, || {
            crate::search::rows_with_all(&self.snapshot, index.fields.text, &bag, rows, memtable)
                .map(Some)
                .map_err(|error| TextError::from_tantivy(&index.folder, error))
        })
    }

    /// Rows in the index, without those removed.
    pub fn rows(&self) -> u64 {
        self.snapshot.rows
    }
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "TextIndex({})", self.folder.display())
    }
}

fn open_tantivy(folder: &Path, directory: &BlockDirectory, analyzer: &Analyzer) -> Result<Index> {
    let from = |error| TextError::from_tantivy(folder, error);
    let exists = directory.exists(Path::new(META));
    let index = if exists.map_err(|error| from(error.into()))? {
        Index::open(directory.clone()).map_err(from)?
    } else {
        let files = std::fs::read_dir(folder).map_err(|error| TextError::from_io(folder, Arc::new(error)))?;
        let names: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        if lost_manifest(&names) {
            return Err(TextError::corrupt(folder.join(META), "it is missing"));
        }
        Index::create(directory.clone(), schema(analyzer), settings()).map_err(from)?
    };
    let stored = stored_analyzer(&index.schema());
    if stored.as_deref() != Some(&analyzer.stored_name()) {
        return Err(TextError::OtherLanguage {
            path: folder.to_path_buf(),
            stored: stored.unwrap_or_default(),
            asked: analyzer.stored_name(),
        });
    }
    if index.schema() != schema(analyzer) {
        return Err(TextError::corrupt(folder.join(META), "its fields are not those of a text index"));
    }
    index.tokenizers().register(&analyzer.stored_name(), analyzer.chain_for_schema());
    Ok(index)
}

fn applied(folder: &Path, index: &Index) -> Result<u64> {
    let meta = index.load_metas().map_err(|error| TextError::from_tantivy(folder, error))?;
    match meta.payload {
        None => Ok(0),
        Some(note) => serde_json::from_str::<CommitNote>(&note)
            .map(|note| note.applied)
            .map_err(|error| TextError::corrupt(folder.join(META), error.to_string())),
    }
}
