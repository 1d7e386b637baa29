//! Searching the bytes of a tree's files as ripgrep does: exact, over all of them, in the order of their paths.
//!
//! The calling thread tells which contents come next, other threads read and search them, and what they print is joined in order.
//! Contents that the index of grams rules out are not read. A page ends at a path, so that an answer is never larger than its
//! caller allows.

use std::collections::{BTreeMap, HashMap};
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use nuthatch_grep::{Apart, Grep, GrepError, Progress, Request};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::fields::Condition;
use crate::tree::grams::{Choice, choose};
use crate::tree::path::{check_place, lies_at};
use crate::tree::read::{self, Moment};
use crate::tree::value::{Held, Tree, Version, decode};
use crate::tree::{ContentId, TreeAt, content, key};
use crate::{Error, ErrorKind, Result};

/// Most bytes of one page.
pub const GREP_BYTES_MAX: usize = 64 << 20;
/// Contents that one thread searches in a row, by their bytes and by their number.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_FILES: usize = 256;
/// Larger contents are read as the search goes on.
const WHOLE_BYTES_MAX: u64 = 16 << 20;
const STREAM_BYTES: usize = 1 << 20;
/// Bytes of contents that all threads hold together.
const HELD_BYTES_MAX: u64 = 24 << 20;
const THREADS_MAX: usize = 16;
/// The output that one content may add to a page, however small the page is: pages end between lines, which are seldom
/// longer.
const OUTPUT_BYTES_MIN: usize = 64 << 10;
/// Batches that a thread may be ahead of the one that is printed next.
const BATCHES_AHEAD: usize = 4;
/// Paths whose rows are read together.
const PATHS_AT_ONCE: usize = 2_000;
/// Contents of several versions of which it is remembered that nothing is printed.
const REMEMBERED_MAX: usize = 50_000;

/// A search of a tree: the patterns, and where to look for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepTree {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// The path at or below which it searches; empty for all.
    pub below: String,
    /// The flags of ripgrep.
    pub request: Request,
    /// Searches every version of each path that is kept, up to that moment, each content of a path once. A path is then
    /// followed by `@` and the sequence of the write.
    pub history: bool,
    /// Where the page before has ended.
    pub cursor: Option<GrepCursor>,
    /// The approximate length of a page, 1 byte to 64 MiB. The output of one content may continue in the next page,
    /// which searches the content once more.
    pub bytes_max: usize,
    /// Whether the index selects the contents to read. The output is the same.
    pub index: GrepIndex,
    /// Searches only files that pass this condition on their fields, as they were in each version.
    pub filter: Option<String>,
}

/// Whether a search uses the index of grams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepIndex {
    /// Where few contents can match.
    #[default]
    Auto,
    /// Reads every file.
    Never,
    /// Wherever it tells anything at all.
    Always,
}

/// Where a page has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepCursor {
    path: String,
    /// Of the last version that was searched.
    sequence: u64,
    /// How much of its print was on earlier pages, when it is not whole yet.
    printed: usize,
    /// The moment as of which everything is searched.
    last: Option<u64>,
    progress: Progress,
    /// Files, and their bytes, that count as searched when all is done: those that the index rules out.
    passed_over: Option<(u64, u64)>,
}

/// A page of print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepPage {
    /// The output, as ripgrep prints it.
    #[serde(with = "crate::codec::bytes")]
    pub output: Vec<u8>,
    /// Some content counted as a match so far.
    pub matched: bool,
    /// Files, or versions, of this page that were searched to their end.
    pub searched: u64,
    /// Those that could not be searched to their end, with the reason.
    pub cut: Vec<GrepCut>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<GrepCursor>,
    /// Statistics of the reads.
    pub read: GrepRead,
}

/// Statistics of the reads of one page of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepRead {
    /// Why every file was read; `None` where the index told which ones to read.
    pub scanned: Option<String>,
    /// Files, or versions, whose bytes were searched.
    pub files: u64,
    /// Bytes of contents that were read. A content that several files have is read once where nothing in it matches.
    pub bytes: u64,
    /// Grams that were looked up in the index.
    pub grams: u64,
    /// Bytes of the index that were read.
    pub index_bytes: u64,
    /// Contents that the index knows, of all versions of all trees.
    pub contents: u64,
    /// Contents that can match by their grams, with those whose grams are not known.
    pub candidates: u64,
    /// Contents that wait for their grams to be found.
    pub pending: u64,
}

impl GrepRead {
    /// Adds what the next page has read.
    pub fn join(&mut self, next: Self) {
        let (files, bytes, index_bytes) = (self.files, self.bytes, self.index_bytes);
        let scanned = self.scanned.take().filter(|_| files > 0).or(next.scanned.clone());
        *self = Self { scanned, ..next };
        (self.files, self.bytes, self.index_bytes) =
            (self.files + files, self.bytes + bytes, self.index_bytes + index_bytes);
    }
}

/// A content that was not searched to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepCut {
    /// Its path.
    pub path: String,
    /// Why.
    pub why: String,
}

/// A content to search.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub path: String,
    pub sequence: u64,
    pub content: ContentId,
    pub bytes: u64,
    /// How much of its print was on earlier pages.
    pub printed: usize,
}

type Found = Vec<(Wanted, std::result::Result<Apart, GrepError>)>;

/// One page.
pub(crate) fn grep(rows: &dyn Rows, ask: &GrepTree) -> Result<GrepPage> {
    check_place(&ask.below)?;
    if ask.bytes_max == 0 || ask.bytes_max > GREP_BYTES_MAX {
        let why = format!("a page of {} bytes is none; ask for 1 byte to 64 MiB", ask.bytes_max);
        return Err(Error::invalid(why));
    }
    let mut grep = Grep::new(&ask.request).map_err(|error| Error::invalid(error.to_string()))?;
    grep.set_output_bytes_max(ask.bytes_max.max(OUTPUT_BYTES_MIN));
    if let Some(cursor) = &ask.cursor {
        grep.go_on(&cursor.progress);
    }
    // Later pages see what the first one saw.
    let moment = match (ask.cursor.as_ref().and_then(|cursor| cursor.last), ask.at.moment(rows)?) {
        (Some(last), _) => Moment::Sequence(last),
        (None, Moment::Sequence(u64::MAX)) => Moment::Sequence(read::newest(rows)?),
        (None, moment) => moment,
    };
    let condition = Condition::of(ask.filter.as_deref())?;
    if let (Some(condition), None, false) = (&condition, &ask.cursor, ask.history) {
        condition.check_known(rows, &ask.at.tree, moment, "")?;
    }
    let mut page = GrepPage::default();
    let mut reading =
        Reading { rows, ask, moment, condition, after: ask.cursor.as_ref().map(GrepCursor::place), chosen: None };
    let passed_over = reading.choose(&grep, &mut page.read)?;
    let mut begun = ask.cursor.as_ref().map_or(Ok(None), |cursor| cursor.begun(rows, &ask.at.tree))?;
    let mut printing = Printing { ask, moment, grep, page, passed_over, early: BTreeMap::new(), next: 0 };
    let workers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).clamp(1, THREADS_MAX);
    let (held, silent, bytes_read) = (HeldBytes::default(), Silent::default(), AtomicU64::new(0));
    let outcome = std::thread::scope(|scope| -> Result<()> {
        let (to_search, batches) = mpsc::sync_channel::<(usize, Vec<Wanted>)>(workers);
        let (to_print, searched) = mpsc::channel::<(usize, Result<Found>)>();
        let batches = Arc::new(Mutex::new(batches));
        for _ in 0..workers {
            let own = printing.grep.another().map_err(|error| Error::internal(error.to_string()))?;
            let worker = Worker { rows, ask, own, held: &held, silent: &silent, bytes_read: &bytes_read };
            let (to_print, batches) = (to_print.clone(), batches.clone());
            scope.spawn(move || worker.search_batches(&batches, &to_print));
        }
        drop(to_print);
        let mut number = 0;
        while let Some(wanted) =
            begun.take().map_or_else(|| reading.next(&printing.grep), |begun| Ok(Some(vec![begun])))?
        {
            for some in in_batches(wanted) {
                if to_search.send((number, some)).is_err() {
                    return Err(Error::internal("the threads that search have ended"));
                }
                number += 1;
                let is_ahead = |printing: &Printing<'_>| number - printing.next > workers * BATCHES_AHEAD;
                while let Some((number, found)) =
                    if is_ahead(&printing) { searched.recv().ok() } else { searched.try_recv().ok() }
                {
                    printing.early.insert(number, found?);
                    if !printing.print() {
                        return Ok(());
                    }
                }
            }
        }
        drop(to_search);
        while printing.print()
            && let Ok((number, found)) = searched.recv()
        {
            printing.early.insert(number, found?);
        }
        Ok(())
    });
    outcome?;
    let Printing { mut grep, mut page, passed_over, .. } = printing;
    if page.cursor.is_none() {
        if let Some((files, bytes)) = passed_over {
            grep.pass_over(files, bytes);
        }
        grep.finish(&mut page.output).map_err(|error| Error::internal(error.to_string()))?;
    }
    page.matched = grep.matched();
    page.read.bytes = bytes_read.into_inner();
    Ok(page)
}

/// The bytes of contents that all threads of a search hold.
#[derive(Default)]
struct HeldBytes {
    bytes: Mutex<u64>,
    less: Condvar,
}

impl HeldBytes {
    /// Waits until there is room; a single content always has.
    fn hold(&self, bytes: u64) -> Holding<'_> {
        let mut held = self.bytes.lock();
        while *held > 0 && *held + bytes > HELD_BYTES_MAX {
            self.less.wait(&mut held);
        }
        *held += bytes;
        Holding { of: self, bytes }
    }
}

struct Holding<'h> {
    of: &'h HeldBytes,
    bytes: u64,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        *self.of.bytes.lock() -= self.bytes;
        self.of.less.notify_all();
    }
}

/// Contents that several versions have and of which nothing is printed.
type Silent = Mutex<HashMap<ContentId, Apart>>;

/// A thread that reads and searches.
struct Worker<'w> {
    rows: &'w dyn Rows,
    ask: &'w GrepTree,
    own: Grep,
    held: &'w HeldBytes,
    silent: &'w Silent,
    bytes_read: &'w AtomicU64,
}

impl Worker<'_> {
    /// Searches batches until there are no more, or nobody waits for them.
    fn search_batches(
        mut self,
        batches: &Mutex<mpsc::Receiver<(usize, Vec<Wanted>)>>,
        to_print: &mpsc::Sender<(usize, Result<Found>)>,
    ) {
        loop {
            let taken = batches.lock().recv();
            let Ok((number, batch)) = taken else { return };
            let found = self.search(batch);
            if to_print.send((number, found)).is_err() {
                return;
            }
        }
    }

    /// Searches contents, each of which is read once.
    fn search(&mut self, batch: Vec<Wanted>) -> Result<Found> {
        if let [one] = &batch[..]
            && one.bytes > WHOLE_BYTES_MAX
        {
            return Ok(batch.into_iter().map(|wanted| self.search_large(wanted)).collect());
        }
        let mut known: HashMap<ContentId, Known> = HashMap::new();
        let (mut ids, mut bytes) = (Vec::new(), 0);
        {
            let silent = self.silent.lock();
            for wanted in &batch {
                known.entry(wanted.content).or_insert_with(|| match silent.get(&wanted.content) {
                    Some(apart) if wanted.printed == 0 => Known::Silent(apart.clone()),
                    _ => {
                        ids.push(wanted.content);
                        bytes += wanted.bytes;
                        Known::Read(ids.len() - 1)
                    }
                });
            }
        }
        let _held = self.held.hold(bytes);
        let (contents, refs) = content::read_with_refs(self.rows, &ids)?;
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
        let mut found = Vec::with_capacity(batch.len());
        for wanted in batch {
            let at = match known.get(&wanted.content).ok_or_else(lacking)? {
                Known::Silent(apart) => {
                    found.push((wanted, Ok(apart.clone())));
                    continue;
                }
                Known::Read(at) => *at,
            };
            let apart = self.own.search_apart(&label(&wanted, self.ask.history), &contents[at], wanted.printed);
            if let Ok(apart) = &apart
                && apart.out.is_empty()
                && wanted.printed == 0
                && refs[at] > 1
            {
                let mut silent = self.silent.lock();
                if silent.len() < REMEMBERED_MAX {
                    silent.insert(wanted.content, apart.clone());
                }
                known.insert(wanted.content, Known::Silent(apart.clone()));
            }
            found.push((wanted, apart));
        }
        Ok(found)
    }

    /// Searches a content that is too large to be held.
    fn search_large(&mut self, wanted: Wanted) -> (Wanted, std::result::Result<Apart, GrepError>) {
        let path = label(&wanted, self.ask.history);
        if self.ask.request.multiline {
            let why =
                format!("it has {} bytes, and -U holds a whole file; the limit is {WHOLE_BYTES_MAX}", wanted.bytes);
            return (wanted, Err(GrepError::Content { path, source: std::io::Error::other(why) }));
        }
        self.bytes_read.fetch_add(wanted.bytes, Ordering::Relaxed);
        let from =
            Streamed { rows: self.rows, id: wanted.content, bytes: wanted.bytes, at: 0, part: Cursor::default() };
        let found = self.own.search_stream(&path, from, wanted.printed);
        (wanted, found)
    }
}

/// The state of a content in a thread's batch.
enum Known {
    Silent(Apart),
    /// Which of those that were read it is.
    Read(usize),
}

/// Returns the text before the lines of a content.
fn label(wanted: &Wanted, history: bool) -> String {
    if history { format!("{}@{}", wanted.path, wanted.sequence) } else { wanted.path.clone() }
}

/// Files in a row that one thread searches; a large one by itself.
fn in_batches(wanted: Vec<Wanted>) -> Vec<Vec<Wanted>> {
    let mut batches: Vec<Vec<Wanted>> = Vec::new();
    let mut room = 0;
    for wanted in wanted {
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_FILES && wanted.bytes <= room => {
                room -= wanted.bytes;
                batch.push(wanted);
            }
            _ => {
                room = BATCH_BYTES.saturating_sub(wanted.bytes);
                batches.push(vec![wanted]);
            }
        }
    }
    batches
}

/// The output, in the order of the paths.
struct Printing<'a> {
    ask: &'a GrepTree,
    moment: Moment,
    grep: Grep,
    page: GrepPage,
    /// Files, and their bytes, that are not searched and count as if they were.
    passed_over: Option<(u64, u64)>,
    /// Batches that came before their turn.
    early: BTreeMap<usize, Found>,
    next: usize,
}

impl Printing<'_> {
    /// Prints the batches whose turn it is. False once nothing more belongs to this page.
    fn print(&mut self) -> bool {
        while let Some(found) = self.early.remove(&self.next) {
            self.next += 1;
            for (wanted, apart) in found {
                self.page.read.files += 1;
                let is_whole = !matches!(&apart, Ok(apart) if apart.found.truncated);
                if let Some((files, bytes)) = self.passed_over.as_mut().filter(|_| is_whole) {
                    (*files, *bytes) = (files.saturating_sub(1), bytes.saturating_sub(wanted.bytes));
                }
                match apart {
                    Ok(apart) => {
                        self.grep.join(&apart, &mut self.page.output);
                        if apart.found.truncated {
                            self.end_page(&wanted, wanted.printed + apart.out.len());
                            return false;
                        }
                    }
                    Err(error) => {
                        let path = label(&wanted, self.ask.history);
                        let why = match error {
                            GrepError::Content { source, .. } => source.to_string(),
                            other => other.to_string(),
                        };
                        self.page.cut.push(GrepCut { path, why });
                    }
                }
                self.page.searched += 1;
                if !self.grep.wants_more() {
                    return false;
                }
                if self.page.output.len() >= self.ask.bytes_max {
                    self.end_page(&wanted, 0);
                    return false;
                }
            }
        }
        true
    }

    /// The next page begins behind a content, or in what it prints.
    fn end_page(&mut self, wanted: &Wanted, printed: usize) {
        let last = match self.moment {
            Moment::Sequence(last) => Some(last),
            Moment::Time(_) => None,
        };
        let (path, sequence, progress) = (wanted.path.clone(), wanted.sequence, self.grep.progress());
        let passed_over = self.passed_over;
        self.page.cursor = Some(GrepCursor { path, sequence, printed, last, progress, passed_over });
    }
}

/// A content that is read as it is needed.
struct Streamed<'r> {
    rows: &'r dyn Rows,
    id: ContentId,
    bytes: u64,
    at: u64,
    part: Cursor<Vec<u8>>,
}

impl Read for Streamed<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let taken = self.part.read(into)?;
        if taken > 0 || into.is_empty() || self.at == self.bytes {
            return Ok(taken);
        }
        let part = content::read(self.rows, &self.id, self.at, STREAM_BYTES);
        let part = part.and_then(|part| part.filter(|part| !part.is_empty()).ok_or_else(lacking));
        let part = part.map_err(|error| std::io::Error::other(error.to_string()))?;
        self.at += part.len() as u64;
        self.part = Cursor::new(part);
        self.part.read(into)
    }
}

/// Which files are searched, in the order of their paths.
struct Reading<'r> {
    rows: &'r dyn Rows,
    ask: &'r GrepTree,
    moment: Moment,
    condition: Option<Condition>,
    /// The path and the sequence of the last one.
    after: Option<(String, u64)>,
    /// Those that are searched, where the index tells which.
    chosen: Option<std::vec::IntoIter<Wanted>>,
}

impl Reading<'_> {
    /// Asks the index which files can match. Says how many files, and of how many bytes, count as searched when those are.
    fn choose(&mut self, grep: &Grep, read: &mut GrepRead) -> Result<Option<(u64, u64)>> {
        let before = self.ask.cursor.as_ref();
        let passed_over = before.and_then(|cursor| cursor.passed_over);
        if before.is_some() && passed_over.is_none() && grep.counts() {
            read.scanned = Some("the pages before have read every file".into());
            return Ok(None); // what they have counted is all that there is behind them
        }
        let condition = self.condition.as_ref();
        let mut wanted = match choose(self.rows, self.ask, self.moment, condition, &|path| grep.wants(path), read)? {
            Choice::Scan(why) => {
                read.scanned = Some(why.into());
                return Ok(passed_over);
            }
            Choice::Files(wanted) => wanted,
        };
        if let Some((path, sequence)) = &self.after {
            // Of a path, the newest version is the first.
            wanted.retain(|wanted| match self.ask.history {
                true => (&wanted.path, !wanted.sequence) > (path, !*sequence),
                false => wanted.path > *path,
            });
        }
        self.chosen = Some(wanted.into_iter());
        match before {
            None if grep.counts() => self.count_all(grep).map(Some),
            _ => Ok(passed_over),
        }
    }

    /// How many files there are to search, and of how many bytes.
    fn count_all(&mut self, grep: &Grep) -> Result<(u64, u64)> {
        let request = &self.ask.request;
        let is_whole = self.ask.below.is_empty()
            && [&request.globs, &request.iglobs, &request.types, &request.types_not].iter().all(|some| some.is_empty());
        if is_whole && !self.ask.history && self.ask.at.as_of.is_none() && self.condition.is_none() {
            let Tree { files, bytes, .. } = read::find(self.rows, &self.ask.at.tree)?;
            return Ok((files, bytes));
        }
        let (chosen, after) = (self.chosen.take(), self.after.take());
        let (mut files, mut bytes) = (0, 0);
        while let Some(some) = self.next(grep)? {
            files += some.len() as u64;
            bytes += some.iter().map(|wanted| wanted.bytes).sum::<u64>();
        }
        (self.chosen, self.after) = (chosen, after);
        Ok((files, bytes))
    }

    /// The next files; `None` at the end.
    fn next(&mut self, grep: &Grep) -> Result<Option<Vec<Wanted>>> {
        if let Some(chosen) = &mut self.chosen {
            let some: Vec<Wanted> = chosen.by_ref().take(PATHS_AT_ONCE).collect();
            return Ok((!some.is_empty()).then_some(some));
        }
        let (mut wanted, mut seen) = (Vec::new(), 0);
        let mut last = None;
        let condition = self.condition.as_ref();
        let mut look = |path: &str, sequence: u64, version: &Version| {
            if let Held::File { content, bytes } = &version.what
                && grep.wants(path)
                && condition.is_none_or(|condition| condition.passes(path, sequence, version))
            {
                wanted.push(Wanted { path: path.into(), sequence, content: *content, bytes: *bytes, printed: 0 });
            }
            last = Some((path.to_string(), sequence));
            seen += 1;
            seen < PATHS_AT_ONCE
        };
        match self.ask.history {
            true => self.each_version(&mut look)?,
            false => {
                let after = self.after.as_ref().map(|(path, _)| path.as_str());
                let (tree, below) = (&self.ask.at.tree, &self.ask.below);
                read::visit_versions(self.rows, tree, self.moment, below, after, &mut |path, sequence, version| {
                    Ok(look(path, sequence, &version))
                })?;
            }
        }
        if last.is_none() {
            return Ok(None);
        }
        self.after = last;
        Ok(Some(wanted))
    }

    /// Every version with a content that the path has not had in a newer one, until `look` says `false`.
    fn each_version(&self, look: &mut dyn FnMut(&str, u64, &Version) -> bool) -> Result<()> {
        let (tree, below) = (&self.ask.at.tree, &self.ask.below);
        let mut scan = KeyScan { limit: PATHS_AT_ONCE, ..KeyScan::prefix(key::versions_below(tree, below)) };
        if let Some((path, _)) = &self.after {
            // Its newer versions are read again, for what they held.
            scan.from = std::ops::Bound::Included(key::versions_of(tree, path));
        }
        let mut held: (String, Vec<ContentId>) = Default::default();
        self.rows.each(scan, &mut |row, stored| {
            let (_, path, sequence) = key::version_of(row).ok_or_else(lacking)?;
            let version: Version = decode(stored)?;
            if !lies_at(below, path) || !self.moment.shows(sequence, &version) {
                return Ok(ControlFlow::Continue(()));
            }
            if held.0 != path {
                held = (path.to_string(), Vec::new());
            }
            let passes = self.condition.as_ref().is_none_or(|condition| condition.passes(path, sequence, &version));
            let Some(content) = version.what.content().filter(|content| passes && !held.1.contains(content)) else {
                return Ok(ControlFlow::Continue(()));
            };
            held.1.push(*content);
            let is_done = self.after.as_ref().is_some_and(|(last, newest)| last == path && sequence >= *newest);
            Ok(match is_done || look(path, sequence, &version) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })
    }
}

impl GrepCursor {
    /// The content of which the page before has printed a part.
    fn begun(&self, rows: &dyn Rows, tree: &str) -> Result<Option<Wanted>> {
        let Self { path, sequence, printed: printed @ 1.., .. } = self else { return Ok(None) };
        let stored = rows.values(&[key::version(tree, path, *sequence)])?.pop().flatten();
        let gone =
            || Error::new(ErrorKind::Conflict, format!("{path:?} was erased while it was searched; search again"));
        let version: Version = decode(&stored.ok_or_else(gone)?)?;
        let Held::File { content, bytes } = version.what else { return Err(gone()) };
        Ok(Some(Wanted { path: path.clone(), sequence: *sequence, content, bytes, printed: *printed }))
    }

    fn place(&self) -> (String, u64) {
        (self.path.clone(), self.sequence)
    }
}
