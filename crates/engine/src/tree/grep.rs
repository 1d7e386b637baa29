//! Searching the bytes of a tree's files as ripgrep does: exact, over all of them, in the order of their paths.
//!
//! The calling thread reads contents, other threads search them, and what they print is joined in order. A page ends at a
//! path, so that an answer is never larger than its caller allows.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};

use nuthatch_grep::{Apart, Grep, GrepError, Progress, Request};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::path::{check_place, lies_at};
use crate::tree::read::{self, Moment};
use crate::tree::value::{Held, Version, decode};
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
const THREADS_MAX: usize = 4;
/// What one content may print in a page, however small that is: pages end between lines, which are seldom longer.
const OUTPUT_BYTES_MIN: usize = 64 << 10;
/// Batches that a thread may be ahead of the one that is printed next.
const BATCHES_AHEAD: usize = 4;
/// Paths whose rows are read together.
const PATHS_AT_ONCE: usize = 2_000;

/// What to search for, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepTree {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// The path at or below which it searches; empty for all.
    pub below: String,
    /// What ripgrep's flags say.
    pub request: Request,
    /// Searches every version of each path that is kept, up to that moment, each content of a path once. A path is then
    /// followed by `@` and the sequence of the write.
    pub history: bool,
    /// Where the page before has ended.
    pub cursor: Option<GrepCursor>,
    /// A page is about as long as this, 1 byte to 64 MiB. What one content prints may go on in the next page, which searches it
    /// once more.
    pub bytes_max: usize,
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
}

/// A page of print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepPage {
    /// What ripgrep prints.
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
struct Wanted {
    path: String,
    sequence: u64,
    content: ContentId,
    bytes: u64,
    /// How much of its print was on earlier pages.
    printed: usize,
}

type Batch = Vec<(Wanted, Vec<u8>)>;
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
    let mut reading = Reading { rows, ask, moment, after: ask.cursor.as_ref().map(GrepCursor::place) };
    let mut begun = ask.cursor.as_ref().map_or(Ok(None), |cursor| cursor.begun(rows, &ask.at.tree))?;
    let mut printing = Printing { ask, moment, grep, page: GrepPage::default(), early: BTreeMap::new(), next: 0 };
    let workers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).clamp(1, THREADS_MAX);
    std::thread::scope(|scope| -> Result<()> {
        let (to_search, batches) = mpsc::sync_channel::<(usize, Batch)>(workers);
        let (to_print, searched) = mpsc::channel::<(usize, Found)>();
        let batches = Arc::new(Mutex::new(batches));
        for _ in 0..workers {
            let own = printing.grep.another().map_err(|error| Error::internal(error.to_string()))?;
            let (to_print, batches) = (to_print.clone(), batches.clone());
            scope.spawn(move || search_batches(own, ask.history, &batches, &to_print));
        }
        drop(to_print);
        let mut number = 0;
        while let Some(wanted) =
            begun.take().map_or_else(|| reading.next(&printing.grep), |begun| Ok(Some(vec![begun])))?
        {
            for some in in_batches(wanted) {
                if some.iter().any(|wanted| wanted.bytes > WHOLE_BYTES_MAX) {
                    let found = some.into_iter().map(|wanted| printing.search_large(rows, wanted)).collect();
                    printing.early.insert(number, found);
                } else if to_search.send((number, read_whole(rows, some)?)).is_err() {
                    return Err(Error::internal("the threads that search have ended"));
                }
                number += 1;
                let is_ahead = |printing: &Printing<'_>| number - printing.next > workers * BATCHES_AHEAD;
                while let Some(found) =
                    if is_ahead(&printing) { searched.recv().ok() } else { searched.try_recv().ok() }
                {
                    printing.early.insert(found.0, found.1);
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
            printing.early.insert(number, found);
        }
        Ok(())
    })?;
    let Printing { mut grep, mut page, .. } = printing;
    if page.cursor.is_none() {
        grep.finish(&mut page.output).map_err(|error| Error::internal(error.to_string()))?;
    }
    page.matched = grep.matched();
    Ok(page)
}

/// Searches batches until there are no more, or nobody waits for them.
fn search_batches(
    mut own: Grep,
    history: bool,
    batches: &Mutex<mpsc::Receiver<(usize, Batch)>>,
    to_print: &mpsc::Sender<(usize, Found)>,
) {
    loop {
        let taken = batches.lock().recv();
        let Ok((number, batch)) = taken else { return };
        let found = batch.into_iter().map(|(wanted, bytes)| {
            let apart = own.search_apart(&label(&wanted, history), &bytes, wanted.printed);
            (wanted, apart)
        });
        if to_print.send((number, found.collect())).is_err() {
            return;
        }
    }
}

/// What stands before the lines of a content.
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

/// The bytes of files, read together.
fn read_whole(rows: &dyn Rows, wanted: Vec<Wanted>) -> Result<Batch> {
    let ids: Vec<ContentId> = wanted.iter().map(|wanted| wanted.content).collect();
    let contents = content::read_all(rows, &ids)?;
    Ok(wanted.into_iter().zip(contents).collect())
}

/// What is printed, in the order of the paths.
struct Printing<'a> {
    ask: &'a GrepTree,
    moment: Moment,
    grep: Grep,
    page: GrepPage,
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
        self.page.cursor = Some(GrepCursor { path, sequence, printed, last, progress });
    }

    /// Searches a content that is too large to be held.
    fn search_large(&self, rows: &dyn Rows, wanted: Wanted) -> (Wanted, std::result::Result<Apart, GrepError>) {
        let path = label(&wanted, self.ask.history);
        if self.ask.request.multiline {
            let why =
                format!("it has {} bytes, and -U holds a whole file; the limit is {WHOLE_BYTES_MAX}", wanted.bytes);
            return (wanted, Err(GrepError::Content { path, source: std::io::Error::other(why) }));
        }
        let from = Streamed { rows, id: wanted.content, bytes: wanted.bytes, at: 0, part: Cursor::default() };
        let found = self.grep.another().and_then(|mut own| own.search_stream(&path, from, wanted.printed));
        (wanted, found)
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
    /// The path and the sequence of the last one.
    after: Option<(String, u64)>,
}

impl Reading<'_> {
    /// The next files; `None` at the end.
    fn next(&mut self, grep: &Grep) -> Result<Option<Vec<Wanted>>> {
        let (mut wanted, mut seen) = (Vec::new(), 0);
        let mut last = None;
        let mut look = |path: &str, sequence: u64, what: &Held| {
            if let Held::File { content, bytes } = what
                && grep.wants(path)
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
                    Ok(look(path, sequence, &version.what))
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
    fn each_version(&self, look: &mut dyn FnMut(&str, u64, &Held) -> bool) -> Result<()> {
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
            let Some(content) = version.what.content().filter(|content| !held.1.contains(content)) else {
                return Ok(ControlFlow::Continue(()));
            };
            held.1.push(*content);
            let is_done = self.after.as_ref().is_some_and(|(last, newest)| last == path && sequence >= *newest);
            Ok(match is_done || look(path, sequence, &version.what) {
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
