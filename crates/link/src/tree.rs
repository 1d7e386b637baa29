//! Trees of files as callers see them.

use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use nuthatch_engine::call::Choice;
use nuthatch_engine::codec::Bytes;
use nuthatch_engine::collection::{Answer, FieldValues, Search};
use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::{Keyspace as LocalKeyspace, Kind};
use nuthatch_engine::ops::{Op, on, trees};
use nuthatch_engine::tree::{
    AskCode, CodeAnswer, CountTree, DiffTrees, FilePart, GREP_BYTES_MAX, GrepCut, GrepPage, GrepRead, GrepTree,
    ImportSymbols, ListFiles, MakePassages, PUT_BYTES_MAX, PassagesMade, PutFile, PutFiles, PutReport, PutWhat,
    Retention, ScipDocument, ScipDocuments, SearchTree, SymbolsImported, TREES, TreeAt, TreeChange, TreeCheck,
    TreeEntry, TreeErased, TreeIndex, TreeInfo, TreePage, TreeRoot, TreeSnapshot, UpdateTree, VerifyPage, VerifyTree,
    check_path,
};
use nuthatch_engine::{EmbedderChoice, Error, ErrorKind, FieldChange, Result, What};

use crate::route::Route;
use crate::rows::{From, Inner};

/// Files of an index that one call carries, and names of these.
const SYMBOL_FILES: usize = 200;
const SYMBOLS: usize = 50_000;
/// Bytes of a file that one call carries where it is put in parts.
const PART_BYTES: usize = 8 << 20;

/// The reads of a tree's files, versions and named snapshots. A [`Tree`] and a tree of a [`Snapshot`](crate::Snapshot) offer them.
///
/// `as_of` is `None` for the tree as it is; else the name of one of its snapshots, a sequence, or a time such as
/// `2026-11-25T10:00:00Z`.
#[derive(Clone)]
pub struct Files {
    from: From<'static>,
    name: String,
}

/// A handle on a tree: a named root with relative paths, whose files are kept bit for bit, with every version and named
/// snapshots. Cheap to clone; safe to share between threads and with forks of the process.
///
/// Paths have `/` between their parts and up to 4,096 bytes; none is empty, `.` or `..`. A call with any other is `Invalid`, and
/// changes nothing.
#[derive(Clone)]
pub struct Tree {
    files: Files,
    inner: Arc<Inner>,
    link: Route,
    durability: Durability,
    embedder: EmbedderChoice,
}

/// The result of a search of a tree's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrepReport {
    /// Some content counted as a match.
    pub matched: bool,
    /// Contents that were searched.
    pub searched: u64,
    /// Those that could not be searched to their end, with the reason.
    pub cut: Vec<GrepCut>,
    /// How much was read.
    pub read: GrepRead,
}

impl Files {
    pub(crate) fn new(from: From<'static>, name: &str) -> Self {
        Self { from, name: name.into() }
    }

    /// The tree's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tree at a moment.
    pub fn at(&self, as_of: Option<&str>) -> TreeAt {
        TreeAt { tree: self.name.clone(), as_of: as_of.map(str::to_owned) }
    }

    /// Describes the contents of the tree.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are, when no file was ever put into a tree of this name.
    pub fn info(&self) -> Result<TreeInfo> {
        self.ask(trees::Info(self.name.clone()))
    }

    /// A page of the files, folders and links, by path in the order of their bytes. `after` is the last path of the page
    /// before.
    ///
    /// # Errors
    /// `NotFound` for a snapshot that is not there, `Invalid` for a limit of 0 or over 10,000.
    pub fn list(&self, as_of: Option<&str>, below: &str, after: Option<String>, limit: usize) -> Result<TreePage> {
        self.page(ListFiles { at: self.at(as_of), below: below.into(), after, limit, filter: None })
    }

    /// The same with a condition on the files' fields.
    ///
    /// # Errors
    /// `Invalid` for a condition that cannot be read, or on a field that no file has at that moment.
    pub fn page(&self, ask: ListFiles) -> Result<TreePage> {
        self.ask(ask)
    }

    /// Counts the values of fields among the files that pass a condition: those that were given, and `path`, `name`, `mode`,
    /// `mtime`, `sequence`, `bytes`, `content`.
    ///
    /// # Errors
    /// `Invalid` for a field that no file has at that moment, `Exhausted` for one with too many values.
    pub fn facets(&self, ask: CountTree) -> Result<Vec<FieldValues>> {
        self.ask(ask)
    }

    /// All entries at or below a path, one page after another.
    ///
    /// # Errors
    /// As [`list`](Self::list), and those of `visit`.
    pub fn each_entry<E: std::convert::From<Error>>(
        &self,
        as_of: Option<&str>,
        below: &str,
        visit: impl FnMut(TreeEntry) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_entry_where(as_of, below, None, visit)
    }

    /// The same with a condition on the files' fields.
    ///
    /// # Errors
    /// As [`page`](Self::page), and those of `visit`.
    pub fn each_entry_where<E: std::convert::From<Error>>(
        &self,
        as_of: Option<&str>,
        below: &str,
        condition: Option<&str>,
        mut visit: impl FnMut(TreeEntry) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (at, filter) = (self.at(as_of), condition.map(str::to_owned));
        let mut ask = ListFiles { at, below: below.into(), after: None, limit: 5_000, filter };
        loop {
            let page = self.page(ask.clone())?;
            page.entries.into_iter().try_for_each(&mut visit)?;
            ask.after = page.cursor;
            if ask.after.is_none() {
                return Ok(());
            }
        }
    }

    /// Returns the entry at a path; `None` if there is none.
    pub fn entry(&self, as_of: Option<&str>, path: &str) -> Result<Option<TreeEntry>> {
        self.ask(trees::Entry(self.at(as_of), path.into()))
    }

    /// All versions of a path that are kept, the newest first, those included that say that it is gone.
    pub fn versions(&self, path: &str) -> Result<Vec<TreeEntry>> {
        self.ask(trees::Versions { tree: self.name.clone(), path: path.into() })
    }

    /// Up to `limit` bytes of a file from `offset` on, at most 8 MiB; `None` when nothing stands there.
    ///
    /// # Errors
    /// `Invalid` for a folder or a link.
    pub fn read(&self, as_of: Option<&str>, path: &str, offset: u64, limit: usize) -> Result<Option<FilePart>> {
        self.ask(trees::Read { at: self.at(as_of), path: path.into(), offset, limit })
    }

    /// Up to `limit` bytes of a version from `offset` on, at most 8 MiB, whatever is written at its path meanwhile: for files that
    /// are read in parts. `as_of` is what the version was found by.
    ///
    /// # Errors
    /// `NotFound` when the version is gone, `Invalid` for a folder or a link.
    pub fn read_version(&self, as_of: Option<&str>, entry: &TreeEntry, offset: u64, limit: usize) -> Result<Vec<u8>> {
        let sequence = entry.sequence.to_string();
        // Nothing between the ends would keep a caller that reads on for ever.
        let is_whole = |bytes: &[u8]| !bytes.is_empty() || limit == 0 || offset >= entry.bytes;
        for as_of in [as_of, Some(&sequence)] {
            match self.read(as_of, &entry.path, offset, limit) {
                Ok(Some(part)) if part.entry.content == entry.content && is_whole(&part.bytes) => return Ok(part.bytes),
                // The snapshot that it was found by may be gone, and something else may stand at the path.
                Ok(_) => {}
                Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid) => {}
                Err(error) => return Err(error),
            }
        }
        let (path, tree) = (&entry.path, &self.name);
        let why = format!("the version of {path:?} of tree {tree:?} that was being read is gone; read it again");
        Err(Error::not_found(why).about(What::File, path))
    }

    /// The differences between two states, by path, files that moved included. Times do not count.
    pub fn diff(&self, ask: DiffTrees) -> Result<Vec<TreeChange>> {
        self.ask(ask)
    }

    /// The named snapshots, the oldest first.
    pub fn snapshots(&self) -> Result<Vec<TreeSnapshot>> {
        self.ask(trees::Snapshots(self.name.clone()))
    }

    /// The root: one hash over all that [`diff`](Self::diff) compares, of what lies below a path or, with an empty one, of the
    /// tree. Two states have the same root exactly when they do not differ, in whatever database they are.
    pub fn root(&self, as_of: Option<&str>, below: &str) -> Result<TreeRoot> {
        let roots = self.roots(&[as_of.map(str::to_owned)], below)?;
        roots.into_iter().next().ok_or_else(|| Error::internal("an answer lacks the root that was asked for"))
    }

    /// The roots at several moments, in their order, which reads the tree's versions once for 64 of them.
    pub fn roots(&self, moments: &[Option<String>], below: &str) -> Result<Vec<TreeRoot>> {
        self.ask(trees::Roots { tree: self.name.clone(), below: below.into(), moments: moments.to_vec() })
    }

    /// One page of [`verify`](Self::verify), behind the path `after`.
    pub fn verify_page(&self, as_of: Option<&str>, below: &str, after: Option<String>) -> Result<VerifyPage> {
        self.ask(VerifyTree { at: self.at(as_of), below: below.into(), after })
    }

    /// Reads every file at or below a path, and compares its chunks and its bytes with their hashes. Answers as one page, with
    /// everything that is damaged by path, and the root of what was read. `going` hears what was read so far.
    ///
    /// # Errors
    /// `NotFound` for a tree or a snapshot that is not there. Damage is no error.
    pub fn verify(&self, as_of: Option<&str>, below: &str, mut going: impl FnMut(&VerifyPage)) -> Result<VerifyPage> {
        let mut all = self.verify_page(as_of, below, None)?;
        while let Some(after) = all.cursor.take() {
            going(&all);
            let page = self.verify_page(Some(&all.as_of), below, Some(after))?;
            (all.files, all.bytes) = (all.files + page.files, all.bytes + page.bytes);
            all.damaged.extend(page.damaged);
            all.cursor = page.cursor;
        }
        Ok(all)
    }

    /// One page of what ripgrep prints over the tree's files.
    pub fn grep_page(&self, ask: GrepTree) -> Result<GrepPage> {
        self.ask(ask)
    }

    /// Searches the files as ripgrep does, and hands over what it prints, a page at a time. All pages show one moment.
    ///
    /// # Errors
    /// `Invalid` for a pattern, glob or type that ripgrep refuses; those of `print`, which ends the search.
    pub fn grep<E: std::convert::From<Error>>(
        &self,
        mut ask: GrepTree,
        mut print: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<GrepReport, E> {
        ask.bytes_max = ask.bytes_max.min(GREP_BYTES_MAX);
        let mut report = GrepReport::default();
        loop {
            let page = self.grep_page(ask.clone())?;
            print(&page.output)?;
            report.matched = page.matched;
            report.searched += page.searched;
            report.cut.extend(page.cut);
            report.read.join(page.read);
            ask.cursor = page.cursor;
            if ask.cursor.is_none() {
                return Ok(report);
            }
        }
    }

    /// How far the index is that searches use, which all trees of the tenant share; with `wait`, after everything that waits for it
    /// is in it. It is derived in the background otherwise.
    ///
    /// # Errors
    /// `Exhausted` when the tenant's limits leave no room for it.
    pub fn index(&self, wait: bool) -> Result<TreeIndex> {
        self.ask(trees::Index { wait })
    }

    /// One step of a question about source code: the first one finds what is not known of the files yet, up to 64 MiB of them.
    /// When some are left, the answer is empty and says how many, and asking again goes on.
    ///
    /// # Errors
    /// `NotFound` for a file that is not there, `Invalid` for a name that is none, or a limit of 0 or over 10,000.
    pub fn code_step(&self, ask: AskCode) -> Result<CodeAnswer> {
        self.ask(ask)
    }

    /// Answers a question about source code, in as many steps as that takes. `going` hears how many files are left.
    ///
    /// # Errors
    /// As [`code_step`](Self::code_step).
    pub fn code(&self, ask: &AskCode, mut going: impl FnMut(u64)) -> Result<CodeAnswer> {
        loop {
            let answer = self.code_step(ask.clone())?;
            match answer.files.pending {
                0 => return Ok(answer),
                left => going(left),
            }
        }
    }

    fn ask<O: Op<On = on::Trees>>(&self, op: O) -> Result<O::Answer> {
        self.from.ask(op)
    }
}

/// Reads are those of [`Files`].
impl Deref for Tree {
    type Target = Files;

    fn deref(&self) -> &Files {
        &self.files
    }
}

impl Tree {
    pub(crate) fn held(link: Route, local: LocalKeyspace, name: &str) -> Self {
        Self::of(Inner::held(link.clone(), local), link, name)
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        Self::of(Inner::served(link.clone(), TREES, Kind::Trees, id), link, name)
    }

    fn of(inner: Inner, link: Route, name: &str) -> Self {
        let (inner, durability) = (Arc::new(inner), Durability::default());
        let files = Files::new(From::Now(inner.clone()), name);
        Self { files, inner, link, durability, embedder: EmbedderChoice::Auto }
    }

    /// The same tree, whose passages and questions get their vectors from this embedder. The first that makes any settles it
    /// for all trees of the tenant.
    #[must_use]
    pub fn with_embedder(&self, embedder: EmbedderChoice) -> Self {
        Self { embedder, ..self.clone() }
    }

    /// The same tree, written with another durability.
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// Makes the passages that the tree's files lack at a moment, in as many steps as that takes: a search would make them,
    /// too, and then waits for it. `going` hears what has been made so far, and ends the work with `false`; what was made stays.
    ///
    /// # Errors
    /// `Unavailable` when vectors are to be made and there is no embedder, `Invalid` for another one than the tenant's trees
    /// have.
    pub fn make_passages(
        &self,
        as_of: Option<&str>,
        mut going: impl FnMut(&PassagesMade) -> bool,
    ) -> Result<PassagesMade> {
        let mut all = PassagesMade::default();
        loop {
            let ask = MakePassages { at: self.at(as_of), embedder: Choice::from(&self.embedder) };
            let made = self.link.ask_everything(&self.embedder, ask)?;
            all.contents += made.contents;
            all.passages += made.passages;
            all.reused += made.reused;
            all.bytes += made.bytes;
            all.unread.extend(made.unread);
            (all.left, all.pending) = (made.left, made.pending);
            if !going(&all) || all.left == 0 {
                return Ok(all);
            }
        }
    }

    /// Finds the best passages of the tree's files as they were at a moment, as [`Records::search`](crate::Records::search)
    /// does. Hits have the paths of that moment, and conditions may name what files have: `path`, `name`, `mtime`, `mode`,
    /// `sequence`. Passages that are not there yet are made first.
    ///
    /// # Errors
    /// `NotFound` for a tree or a snapshot that is not there; those of a collection's search.
    pub fn search(&self, as_of: Option<&str>, below: &str, search: &Search) -> Result<Answer> {
        let (at, embedder) = (self.at(as_of), Choice::from(&self.embedder));
        let mut ask = SearchTree { at, below: below.into(), embedder, search: search.clone() };
        let started = Instant::now();
        loop {
            let found = self.link.ask_everything(&self.embedder, ask.clone())?;
            if found.left == 0 {
                return Ok(found.answer);
            }
            if let Some(limit) = search.time_limit {
                let Some(left) = limit.checked_sub(started.elapsed()) else {
                    let why = format!(
                        "passages of {} contents of tree {:?} are still to be made; those made so far stay: search again, \
                        or make them first",
                        found.left, self.name
                    );
                    return Err(Error::new(ErrorKind::Unavailable, why));
                };
                ask.search.time_limit = Some(left);
            }
        }
    }

    /// Takes in an index in SCIP's form, as an indexer that knows types has made it of the folder that is `below` in the tree: what it
    /// says of names wins over what is found without it. Files whose text the index does not fit are left as they are, and named.
    ///
    /// # Errors
    /// `Invalid` for what is no such index: what came before stays. Otherwise as [`put`](Self::put).
    pub fn import_scip(&self, index: impl Read, below: &str) -> Result<SymbolsImported> {
        let send = |documents: &mut Vec<ScipDocument>| {
            let ask =
                ImportSymbols { tree: self.name.clone(), below: below.into(), documents: std::mem::take(documents) };
            self.write(ask)
        };
        let (mut report, mut next, mut names) = (SymbolsImported::default(), Vec::new(), 0);
        for document in ScipDocuments::of(index) {
            let document = document.map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => Error::invalid("the SCIP index ends in the middle; make it again"),
                _ => Error::invalid(error.to_string()),
            })?;
            if !next.is_empty() && (next.len() == SYMBOL_FILES || names + document.occurrences.len() > SYMBOLS) {
                report = report.and(send(&mut next)?);
                names = 0;
            }
            names += document.occurrences.len();
            next.push(document);
        }
        Ok(report.and(send(&mut next)?))
    }

    /// Writes files, folders and links, and removes paths, all or nothing and as one write. Entries that are already
    /// there unchanged are not written again. The first file creates the tree.
    ///
    /// # Errors
    /// `Invalid` for a path that a tree cannot have, or one that is there twice; `Exhausted` for more than 64 MiB or 10,000
    /// paths; `NotFound` for an upload that has ended.
    pub fn put(&self, put: PutFiles) -> Result<PutReport> {
        self.write(PutFiles { tree: self.name.clone(), ..put })
    }

    /// The same for files of any size: what one call should not carry is uploaded first, up to 1,000 files. All are visible
    /// together.
    ///
    /// # Errors
    /// Those of [`put`](Self::put) and [`upload`](Self::upload).
    pub fn put_all(&self, mut put: PutFiles) -> Result<PutReport> {
        put.files.iter().try_for_each(|file| check_path(&file.path))?;
        let mut uploads = Vec::new();
        let done = self.upload_large(&mut put.files, &mut uploads).and_then(|()| self.put(put));
        if done.is_err() {
            // They would end with the process; what failed is what the caller hears.
            uploads.into_iter().for_each(|upload| drop(self.end_upload(upload)));
        }
        done
    }

    /// Uploads large files, and all files beyond the first `PUT_BYTES_MAX / 2` bytes.
    fn upload_large(&self, files: &mut [PutFile], uploads: &mut Vec<u64>) -> Result<()> {
        let mut carried = 0;
        for file in files {
            let PutWhat::File(bytes) = &file.what else { continue };
            if bytes.len() <= PART_BYTES && carried + bytes.len() <= PUT_BYTES_MAX / 2 {
                carried += bytes.len();
                continue;
            }
            let upload = self.begin_upload()?;
            uploads.push(upload);
            let mut offset = 0;
            for part in bytes.chunks(PART_BYTES) {
                let end = offset + part.len();
                self.upload(upload, offset as u64, part.to_vec(), end == bytes.len())?;
                offset = end;
            }
            file.what = PutWhat::Uploaded(upload);
        }
        Ok(())
    }

    /// Changes fields of files, and of all files below folders, in as many batches as that takes; their bytes stay where they are.
    /// With a condition, only files that pass it; no path is every file. Says how many changed.
    ///
    /// # Errors
    /// `NotFound` for a path at which nothing stands, `Invalid` for a field that the tree says itself (`path`, `lang`): then
    /// nothing is changed.
    pub fn update(&self, paths: Vec<String>, condition: Option<&str>, change: FieldChange) -> Result<u64> {
        let filter = condition.map(str::to_owned);
        self.write(UpdateTree { tree: self.name.clone(), paths, filter, change })
    }

    /// Begins an upload of a file that one call should not carry, and returns its number. It ends with the process that holds
    /// the folder.
    pub fn begin_upload(&self) -> Result<u64> {
        self.write(trees::BeginUpload)
    }

    /// Adds bytes from `offset` on to an upload, at most 16 MiB; `is_last` ends it, and a [`put`](Self::put) uses it then.
    ///
    /// # Errors
    /// `NotFound` for an upload that has ended, `Invalid` for an offset that leaves a gap.
    pub fn upload(&self, upload: u64, offset: u64, bytes: Vec<u8>, is_last: bool) -> Result<()> {
        self.write(trees::Upload { upload, offset, bytes: Bytes(bytes), is_last })
    }

    /// Ends an upload without using it.
    pub fn end_upload(&self, upload: u64) -> Result<()> {
        self.write(trees::EndUpload(upload))
    }

    /// Removes what stands at or below a path, everything for an empty one. Versions stay for as long as the tree keeps them.
    /// Says how many files, folders and links.
    pub fn remove(&self, path: &str) -> Result<u64> {
        self.write(trees::Remove { tree: self.name.clone(), path: path.into() })
    }

    /// Erases every version of what ever stood at or below a path, also those that snapshots show. Bytes that nothing else
    /// holds leave the disk with the next [`reclaim`](crate::Database::reclaim), whose receipt proves it.
    pub fn erase(&self, path: &str) -> Result<TreeErased> {
        let erased = self.write(trees::Erase { tree: self.name.clone(), path: path.into() })?;
        self.sweep()?;
        Ok(erased)
    }

    /// Names the tree as it stands. That takes no time whatever its size, and lasts until the snapshot is dropped.
    ///
    /// # Errors
    /// `Conflict` when there is a snapshot of that name.
    pub fn name_snapshot(&self, name: &str) -> Result<TreeSnapshot> {
        self.write(trees::NameSnapshot { tree: self.name.clone(), name: name.into() })
    }

    /// Drops a snapshot, and the versions that only it has kept. Returns false if there is no snapshot of that name.
    pub fn drop_snapshot(&self, name: &str) -> Result<bool> {
        let was_there = self.write(trees::DropSnapshot { tree: self.name.clone(), name: name.into() })?;
        self.sweep()?;
        Ok(was_there)
    }

    /// Changes how long versions are kept, and removes those that need not be kept any longer. By default those of the last
    /// 30 days are kept, and the last ten of each path; named snapshots keep theirs.
    pub fn set_retention(&self, retention: Retention) -> Result<()> {
        self.write(trees::SetRetention { tree: self.name.clone(), retention })?;
        self.sweep()
    }

    /// Removes the passages of contents that are gone.
    fn sweep(&self) -> Result<()> {
        self.link.ask_everything(&EmbedderChoice::Auto, trees::SweepPassages).map(drop)
    }

    /// Erases it with all versions and snapshots.
    pub(crate) fn erase_all(&self) -> Result<bool> {
        let was_there = self.write(trees::Drop(self.name.clone()))?;
        self.sweep()?;
        Ok(was_there)
    }

    /// The names of all trees.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        self.ask(trees::Names)
    }

    /// Counts again what all trees of the tenant refer to; with `hash`, reads every content and compares it with its name.
    pub fn check(&self, hash: bool) -> Result<TreeCheck> {
        self.write(trees::Check { hash })
    }

    pub(crate) fn write<O: Op<On = on::Trees>>(&self, op: O) -> Result<O::Answer> {
        self.inner.ask(op, self.durability)
    }
}
