//! The state of a tree at a moment: for the number of each source, the paths of its files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::TreePassages;
use super::source::Source;
use crate::Result;
use crate::kv::Rows;
use crate::tree::TreeAt;
use crate::tree::read::{self, Moment};
use crate::tree::value::Held;

/// Bytes of memory that a tenant's remembered states of trees take; what is larger is read again by each search.
const REMEMBERED_BYTES_MAX: usize = 8 << 20;

/// The files of a tree at a moment.
pub(super) struct Live {
    stamp: Stamp,
    /// The numbers of all sources, ascending.
    pub numbers: Arc<[i64]>,
    /// Each file's number and where its path begins, ascending.
    files: Vec<(i64, u32)>,
    /// All paths, each with a byte 0 behind it.
    paths: String,
    /// Every source has its passages, in a collection of this number.
    is_complete: AtomicBool,
}

/// Two equal stamps are of the same files: each write of a tree raises the sequence, and whatever removes versions
/// otherwise leaves fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub tree: String,
    pub moment: Moment,
    sequence: u64,
    versions: u64,
    /// Identifies what makes the passages, and their collection.
    made_by: String,
    collection: u32,
}

/// A file whose source may have no passages yet.
pub(super) struct Wanted {
    pub number: i64,
    pub source: Source,
    pub bytes: u64,
    pub path: String,
}

impl Live {
    /// The paths at which a source of that number stands.
    pub fn paths_of(&self, number: i64) -> impl Iterator<Item = &str> {
        let first = self.files.partition_point(|(of, _)| *of < number);
        let own = self.files[first..].iter().take_while(move |(of, _)| *of == number);
        own.filter_map(|(_, at)| self.paths[*at as usize..].split('\0').next())
    }

    pub fn moment(&self) -> Moment {
        self.stamp.moment
    }

    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    fn bytes(&self) -> usize {
        self.numbers.len() * 8 + self.files.len() * size_of::<(i64, u32)>() + self.paths.len()
    }
}

impl TreePassages {
    /// The files of a tree at a moment, and those of them of which it is not known that they have their passages.
    pub(super) fn live(&self, rows: &dyn Rows, at: &TreeAt, made_by: &str) -> Result<(Arc<Live>, Vec<Wanted>)> {
        let stamp = self.stamp(rows, at, made_by)?;
        let known = {
            let mut lives = self.trees.attached.passages.lives.lock();
            let known = lives.iter().position(|live| live.stamp == stamp);
            known.map(|known| {
                let live = lives.remove(known);
                lives.push(live.clone());
                live
            })
        };
        match known {
            Some(live) => Ok((live, Vec::new())),
            None => {
                let complete = self.complete_numbers(&stamp);
                read_live(rows, stamp, complete.as_deref().unwrap_or_default())
            }
        }
    }

    fn stamp(&self, rows: &dyn Rows, at: &TreeAt, made_by: &str) -> Result<Stamp> {
        let sequence = read::newest(rows)?;
        // Later writes do not belong to the moment, however the moment is named.
        let moment = match at.moment(rows)? {
            Moment::Sequence(last) => Moment::Sequence(last.min(sequence)),
            time => time,
        };
        Ok(Stamp {
            versions: read::find(rows, &at.tree)?.versions,
            tree: at.tree.clone(),
            moment,
            sequence,
            made_by: made_by.to_owned(),
            collection: self.collection.id(),
        })
    }

    /// Every source of it has its passages: the next search need not look.
    pub(super) fn remember(&self, live: &Arc<Live>) {
        live.is_complete.store(true, Ordering::Release);
        let mut lives = self.trees.attached.passages.lives.lock();
        let replaces = |known: &Arc<Live>| {
            let (known, new) = (&known.stamp, &live.stamp);
            (&known.tree, known.moment) == (&new.tree, new.moment)
        };
        lives.retain(|known| !replaces(known));
        lives.push(live.clone());
        while lives.iter().map(|live| live.bytes()).sum::<usize>() > REMEMBERED_BYTES_MAX {
            lives.remove(0);
        }
    }

    /// Passages have gone: what is remembered may not be complete any more.
    pub(crate) fn forget(&self) {
        self.trees.attached.passages.lives.lock().clear();
    }

    /// Numbers of sources that have their passages for certain, because a state was complete that had them: best of the same
    /// tree, of which most are the same.
    fn complete_numbers(&self, stamp: &Stamp) -> Option<Arc<[i64]>> {
        let lives = self.trees.attached.passages.lives.lock();
        let made_so =
            |live: &&Arc<Live>| (&live.stamp.made_by, live.stamp.collection) == (&stamp.made_by, stamp.collection);
        let mut of_tree = lives.iter().rev().filter(made_so).filter(|live| live.stamp.tree == stamp.tree);
        let found = of_tree.next().or_else(|| lives.iter().filter(made_so).max_by_key(|live| live.numbers.len()));
        found.map(|live| live.numbers.clone())
    }
}

/// `complete`: numbers of sources that have their passages.
fn read_live(rows: &dyn Rows, stamp: Stamp, complete: &[i64]) -> Result<(Arc<Live>, Vec<Wanted>)> {
    let (mut files, mut paths, mut wanted) = (Vec::new(), String::new(), Vec::new());
    read::visit_versions(rows, &stamp.tree, stamp.moment, "", None, &mut |path, _, version| {
        if let Held::File { content, bytes } = version.what {
            let source = Source::of(path, content);
            let number = source.number();
            files.push((number, paths.len() as u32));
            paths.push_str(path);
            paths.push('\0');
            if complete.binary_search(&number).is_err() {
                wanted.push(Wanted { number, source, bytes, path: path.to_owned() });
            }
        }
        Ok(true)
    })?;
    files.sort_unstable();
    let mut numbers: Vec<i64> = files.iter().map(|(number, _)| *number).collect();
    numbers.dedup();
    let numbers = numbers.into();
    wanted.sort_by(|one: &Wanted, other| (one.number, &one.source.id).cmp(&(other.number, &other.source.id)));
    wanted.dedup_by(|one, other| one.source == other.source);
    Ok((Arc::new(Live { stamp, numbers, files, paths, is_complete: AtomicBool::new(false) }), wanted))
}
