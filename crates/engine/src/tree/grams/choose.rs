//! The choice of what a search reads: every file, or only those whose contents have the grams that its patterns need.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};

use nuthatch_grep::{Bits, Gram, Needed, Postings, no_bits, part_of};

use crate::Result;
use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::fields::Condition;
use crate::tree::grams::{Block, Derived, Pending, block_of, head, number_in, state};
use crate::tree::grep::{GrepIndex, GrepRead, GrepTree, Wanted};
use crate::tree::path::lies_at;
use crate::tree::read::{self, Moment};
use crate::tree::value::{Held, Tree, Version, decode};
use crate::tree::{ContentId, history, key};

/// Below this many bytes, reading a tree is as quick as reading the index.
const TREE_BYTES_MIN: u64 = 1 << 20;
/// The part of the bytes, of a tree and of all contents, from which on all are read.
const SHARE: u64 = 4;
/// Contents that may match, at most: their paths are held.
const CANDIDATES_MAX: usize = 100_000;
/// Grams of blocks that are held.
const LOOKED_UP_MAX: usize = 200_000;
/// Contents of a block from which on all paths of the block are read in one go.
const BLOCK_AT_ONCE: usize = 16;
const ROWS_AT_ONCE: usize = 1_000;

/// The files that a search reads.
pub(crate) enum Choice {
    /// Every file, for this reason.
    Scan(&'static str),
    /// These, in the order in which they are printed.
    Files(Vec<Wanted>),
}

/// Contents that may match.
#[derive(Default)]
struct Candidates {
    /// Numbers, ascending; of more than can be used, some.
    numbers: Vec<u64>,
    count: u64,
    bytes: u64,
    /// Of all contents.
    all_bytes: u64,
}

/// Chooses, and says in `read` what was known.
pub(crate) fn choose(
    rows: &dyn Rows,
    ask: &GrepTree,
    moment: Moment,
    condition: Option<&Condition>,
    wants: &dyn Fn(&str) -> bool,
    read: &mut GrepRead,
) -> Result<Choice> {
    if ask.index == GrepIndex::Never {
        return Ok(Choice::Scan("the index was not to be used"));
    }
    let is_forced = ask.index == GrepIndex::Always;
    let needed = Needed::of(&ask.request);
    if needed == Needed::Nothing {
        return Ok(Choice::Scan("no three bytes in a row are in every match, or files without a match are printed"));
    }
    match state(rows)? {
        None => return Ok(Choice::Scan("there is no index yet")),
        Some(state) if state.filled_to.is_some() => return Ok(Choice::Scan("the index is still being made")),
        Some(_) => {}
    }
    let tree: Tree = read::find(rows, &ask.at.tree)?;
    if tree.bytes < TREE_BYTES_MIN && !ask.history && !is_forced {
        return Ok(Choice::Scan("the tree is small"));
    }
    let candidates = match candidates(rows, &needed, read)? {
        Ok(candidates) => candidates,
        Err(why) => return Ok(Choice::Scan(why)),
    };
    if !is_forced {
        // The bytes to search in history are not counted, and exceed those of the current tree.
        let of_tree = if ask.history { u64::MAX } else { tree.bytes };
        if candidates.bytes > of_tree.min(candidates.all_bytes) / SHARE {
            return Ok(Choice::Scan("too many contents may match"));
        }
    }
    if candidates.numbers.len() > CANDIDATES_MAX {
        return Ok(Choice::Scan("too many contents may match"));
    }
    let versions = versions(rows, ask, wants, &candidates.numbers)?;
    let passes = |path: &str, sequence: u64, version: &Version| {
        condition.is_none_or(|condition| condition.passes(path, sequence, version))
    };
    let wanted = match ask.history {
        true => every(rows, ask, moment, versions, &passes)?,
        false => latest(rows, ask, moment, versions, &passes)?,
    };
    Ok(Choice::Files(wanted))
}

/// Those that have what is needed, and those of which nothing is known; otherwise why none can be told.
fn candidates(
    rows: &dyn Rows,
    needed: &Needed,
    read: &mut GrepRead,
) -> Result<std::result::Result<Candidates, &'static str>> {
    let grams = needed.grams();
    read.grams = grams.len() as u64;
    let mut having: HashMap<(u64, Gram), Bits> = HashMap::new();
    let mut parts: BTreeMap<u8, Vec<Gram>> = BTreeMap::new();
    grams.iter().for_each(|gram| parts.entry(part_of(*gram)).or_default().push(*gram));
    let (head, mut failed) = (head()?, None);
    for (part, grams) in &parts {
        rows.each(KeyScan { limit: ROWS_AT_ONCE, ..KeyScan::prefix(key::gram_part(*part)) }, &mut |row, stored| {
            let (_, block, _) = key::gram_postings_of(row).ok_or_else(lacking)?;
            read.index_bytes += (row.len() + stored.len()) as u64;
            let Some(found) = stored.strip_prefix(&head[..]).and_then(|piece| Postings(piece).look(grams)) else {
                failed = Some("a row of the index cannot be read; `nuthatch doctor --repair` makes it again");
                return Ok(ControlFlow::Break(()));
            };
            for (gram, found) in grams.iter().zip(found).filter(|(_, found)| *found != no_bits()) {
                let bits = having.entry((block, *gram)).or_insert_with(no_bits);
                bits.iter_mut().zip(found).for_each(|(bits, found)| *bits |= found);
            }
            if having.len() > LOOKED_UP_MAX {
                failed = Some("the patterns have too many grams");
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    if let Some(why) = failed {
        return Ok(Err(why));
    }
    let mut candidates = Candidates::default();
    rows.each(KeyScan { limit: ROWS_AT_ONCE, ..KeyScan::prefix(key::gram_blocks()) }, &mut |row, stored| {
        let number = key::gram_block_of(row).ok_or_else(lacking)?;
        let (_, block): Derived<Block> = decode(stored)?;
        read.index_bytes += (row.len() + stored.len()) as u64;
        let bits = needed.of_block(&|gram| having.get(&(number, gram)).copied().unwrap_or_else(no_bits));
        for indexed in block.contents {
            read.contents += 1;
            let can_match = indexed.is_always || bits[usize::from(indexed.at / 64)] >> (indexed.at % 64) & 1 == 1;
            candidates.add(number_in(number, indexed.at), indexed.bytes, can_match);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    rows.each(KeyScan { limit: ROWS_AT_ONCE, ..KeyScan::prefix(key::gram_pendings()) }, &mut |row, stored| {
        let (_, pending): Derived<Pending> = decode(stored)?;
        read.pending += 1;
        candidates.add(key::gram_pending_of(row).ok_or_else(lacking)?, pending.bytes, true);
        Ok(ControlFlow::Continue(()))
    })?;
    candidates.numbers.sort_unstable();
    read.candidates = candidates.count;
    Ok(Ok(candidates))
}

impl Candidates {
    fn add(&mut self, number: u64, bytes: u64, can_match: bool) {
        self.all_bytes += bytes;
        if can_match {
            self.count += 1;
            self.bytes += bytes;
            if self.numbers.len() <= CANDIDATES_MAX {
                self.numbers.push(number);
            }
        }
    }
}

/// Paths of the tree with the sequences at which they got one of these contents, the newest first.
type Versions = BTreeMap<String, Vec<u64>>;

/// Where these contents are.
fn versions(rows: &dyn Rows, ask: &GrepTree, wants: &dyn Fn(&str) -> bool, numbers: &[u64]) -> Result<Versions> {
    let mut found = Versions::new();
    let mut note = |row: &[u8], is_candidate: &dyn Fn(u64) -> bool| {
        let (number, tree, path, sequence) = key::gram_path_of(row).ok_or_else(lacking)?;
        if tree == ask.at.tree && is_candidate(number) && lies_at(&ask.below, path) && wants(path) {
            match found.get_mut(path) {
                Some(sequences) => sequences.push(sequence),
                None => drop(found.insert(path.to_string(), vec![sequence])),
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    for some in numbers.chunk_by(|one, next| block_of(*one).0 == block_of(*next).0) {
        let scan = |prefix| KeyScan { keys_only: true, limit: ROWS_AT_ONCE, ..KeyScan::prefix(prefix) };
        if some.len() < BLOCK_AT_ONCE {
            for number in some {
                rows.each(scan(key::gram_paths_of(*number)), &mut |row, _| note(row, &|_| true))?;
            }
            continue;
        }
        let scan = KeyScan {
            from: Bound::Included(key::gram_paths_of(some[0])),
            to: Bound::Excluded(key::gram_paths_of(some[some.len() - 1] + 1)),
            ..scan(key::gram_paths())
        };
        rows.each(scan, &mut |row, _| note(row, &|number| some.binary_search(&number).is_ok()))?;
    }
    found.values_mut().for_each(|sequences| sequences.sort_unstable_by(|one, other| other.cmp(one)));
    Ok(found)
}

/// Those that were there at the moment.
fn latest(
    rows: &dyn Rows,
    ask: &GrepTree,
    moment: Moment,
    found: Versions,
    passes: &dyn Fn(&str, u64, &Version) -> bool,
) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::with_capacity(found.len());
    for (path, sequences) in found {
        let versions = history::versions(rows, &ask.at.tree, &path)?;
        let seen = versions.into_iter().find(|(sequence, version)| moment.shows(*sequence, version));
        if let Some((sequence, version)) = seen
            && sequences.contains(&sequence)
            && passes(&path, sequence, &version)
            && let Held::File { content, bytes } = version.what
        {
            wanted.push(Wanted { path, sequence, content, bytes, printed: 0 });
        }
    }
    Ok(wanted)
}

/// All up to the moment, each content of a path once.
fn every(
    rows: &dyn Rows,
    ask: &GrepTree,
    moment: Moment,
    found: Versions,
    passes: &dyn Fn(&str, u64, &Version) -> bool,
) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::with_capacity(found.len());
    for (path, sequences) in found {
        let keys: Vec<Vec<u8>> =
            sequences.iter().map(|sequence| key::version(&ask.at.tree, &path, *sequence)).collect();
        let mut held: Vec<ContentId> = Vec::new();
        for (sequence, stored) in sequences.into_iter().zip(rows.values(&keys)?) {
            let version: Version = decode(&stored.ok_or_else(lacking)?)?;
            if let Held::File { content, bytes } = version.what
                && moment.shows(sequence, &version)
                && passes(&path, sequence, &version)
                && !held.contains(&content)
            {
                held.push(content);
                wanted.push(Wanted { path: path.clone(), sequence, content, bytes, printed: 0 });
            }
        }
    }
    Ok(wanted)
}
