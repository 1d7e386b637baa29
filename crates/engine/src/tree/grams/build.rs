//! Finding the grams of contents, a block at a time, behind the writes.

use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_grep::{BlockBuilder, CONTENTS_A_BLOCK, GramSet, PARTS};

use crate::Result;
use crate::call::{Call, Outcome};
use crate::kv::{KeyScan, Live, Rows, Space};
use crate::tree::draft::{self, Draft, lacking};
use crate::tree::grams::{
    Block, Derived, Indexed, PIECE_BYTES, Pending, State, TreeIndex, VERSION, block_of, derived, head, number_in, state,
};
use crate::tree::value::{Held, Version, decode};
use crate::tree::{ContentId, content, key};

/// A block that is not full yet is indexed once this many bytes wait in it.
const UNFULL_BYTES: u64 = 4 << 20;
/// A full block with so few contents left gives them new numbers, so that blocks stay few.
const SPARSE_CONTENTS: usize = CONTENTS_A_BLOCK / 4;
/// Rows of versions that are looked at in one batch, and rows that one batch removes.
const FILLED_AT_ONCE: usize = 1_000;
/// Contents that are read together.
const READ_BYTES: u64 = 1 << 20;
/// Memory of the work: marks of all grams, those of a block, a content, and the block as it is written.
const WORK_BYTES: u64 = 16 << 20;

/// Which blocks are worth the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Full ones, and those in which much waits.
    Full,
    /// All in which something waits.
    All,
}

/// Does a piece of work; false when there is none.
pub(crate) fn work(space: &Space, pace: Pace, stop: &AtomicBool) -> Result<bool> {
    let store = space.shared.store()?;
    let snapshot = store.snapshot();
    let rows = Live { space, reader: &*snapshot };
    let state = match state(&rows)? {
        Some(state) => state,
        // One of another version goes before the next write.
        None if rows.contains(key::SIGNATURE)? && !rows.contains(&key::gram_state())? => return fill(space),
        None => return Ok(false),
    };
    if state.filled_to.is_some() {
        return fill(space);
    }
    let Some((block, pending)) = next_block(&rows, &state, pace)? else { return Ok(false) };
    let members = members(&rows, block)?;
    if is_full(block, &state) && members.len() <= SPARSE_CONTENTS {
        move_away(space, block, &members, &pending)?;
        return Ok(true);
    }
    let reservation = space.shared.reserve_to_write(WORK_BYTES)?;
    let Some((row, parts)) = find(&rows, &members, stop)? else { return Ok(false) };
    keep(space, block, &members, &pending, &row, parts)?;
    drop(reservation);
    Ok(true)
}

/// How far the index is.
pub(crate) fn indexed(rows: &dyn Rows) -> Result<TreeIndex> {
    let mut index = TreeIndex::default();
    rows.each(KeyScan { limit: 1_000, ..KeyScan::prefix(key::gram_blocks()) }, &mut |_, stored| {
        let (_, block): Derived<Block> = decode(stored)?;
        index.indexed += block.contents.len() as u64;
        index.indexed_bytes += block.contents.iter().map(|indexed| indexed.bytes).sum::<u64>();
        Ok(ControlFlow::Continue(()))
    })?;
    rows.each(KeyScan { limit: 10_000, keys_only: true, ..KeyScan::prefix(key::gram_pendings()) }, &mut |_, _| {
        index.pending += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    // A part tells of the others: grams are spread evenly.
    rows.each(KeyScan { limit: 100, ..KeyScan::prefix(key::gram_part(0)) }, &mut |row, stored| {
        index.index_bytes += (row.len() + stored.len()) as u64 * PARTS as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(index)
}

/// Notes paths and contents that an earlier program wrote.
fn fill(space: &Space) -> Result<bool> {
    let change = |draft: &mut Draft<'_>| {
        let Some(from) = draft.gram_state()?.filled_to.clone() else { return Ok((true, Outcome::default())) };
        let rows = Live { space, reader: draft.reader };
        let mut scan = KeyScan { limit: FILLED_AT_ONCE, ..KeyScan::prefix(key::all_versions()) };
        if !from.is_empty() {
            scan.from = Bound::Excluded(from);
        }
        let page = rows.page(&scan)?;
        for (row, stored) in &page.entries {
            let place = key::version_of(row).ok_or_else(lacking)?;
            if let Held::File { content, bytes } = decode::<Version>(stored)?.what {
                draft.note_path(place, &content, bytes)?;
            }
        }
        let last = page.entries.into_iter().next_back().map(|(row, _)| row);
        draft.gram_state()?.filled_to = last.filter(|_| page.cursor.is_some());
        Ok((true, Outcome::default()))
    };
    draft::change(space, &Call::default(), change).map(|(more, _)| more)
}

/// Removes an index of another version, before anything is written.
pub(crate) fn remove_outdated(space: &Space) -> Result<()> {
    let store = space.shared.store()?;
    let rows = Live { space, reader: &*store };
    while state(&rows)?.is_none() && rows.contains(&key::gram_state())? {
        remove_some(space)?;
    }
    Ok(())
}

fn remove_some(space: &Space) -> Result<()> {
    let change = |draft: &mut Draft<'_>| {
        let rows = Live { space, reader: draft.reader };
        let scan = KeyScan {
            limit: FILLED_AT_ONCE,
            keys_only: true,
            from: Bound::Excluded(key::gram_state()),
            ..KeyScan::prefix(key::grams())
        };
        let page = rows.page(&scan)?;
        if page.entries.is_empty() {
            draft.delete(key::gram_state()); // the last one: until then, everything is removed
        }
        page.entries.into_iter().for_each(|(row, _)| draft.delete(row));
        Ok(((), Outcome::default()))
    };
    draft::change(space, &Call::default(), change).map(drop)
}

fn is_full(block: u64, state: &State) -> bool {
    number_in(block + 1, 0) <= state.next
}

/// The first block that is worth the work, and which of its numbers wait.
fn next_block(rows: &dyn Rows, state: &State, pace: Pace) -> Result<Option<(u64, Vec<u64>)>> {
    let (mut found, mut waits, mut bytes) = (None, Vec::new(), 0);
    let is_worth = |block: u64, bytes: u64| is_full(block, state) || pace == Pace::All || bytes >= UNFULL_BYTES;
    rows.each(KeyScan { limit: CONTENTS_A_BLOCK * 2, ..KeyScan::prefix(key::gram_pendings()) }, &mut |row, stored| {
        let number = key::gram_pending_of(row).ok_or_else(lacking)?;
        let (block, _) = block_of(number);
        if found.is_some_and(|found| found != block) {
            if found.is_some_and(|found| is_worth(found, bytes)) {
                return Ok(ControlFlow::Break(()));
            }
            (waits, bytes) = (Vec::new(), 0);
        }
        found = Some(block);
        waits.push(number);
        bytes += decode::<Derived<Pending>>(stored)?.1.bytes;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found.filter(|found| is_worth(*found, bytes)).map(|found| (found, waits)))
}

/// A content of a block.
pub(super) struct Member {
    pub number: u64,
    id: ContentId,
    bytes: u64,
}

/// The contents of a block, ascending.
pub(super) fn members(rows: &dyn Rows, block: u64) -> Result<Vec<Member>> {
    let scan = KeyScan {
        from: Bound::Included(key::gram_paths_of(number_in(block, 0))),
        to: Bound::Excluded(key::gram_paths_of(number_in(block + 1, 0))),
        keys_only: true,
        ..KeyScan::prefix(key::gram_paths())
    };
    let (mut numbers, mut versions): (Vec<u64>, Vec<Vec<u8>>) = Default::default();
    rows.each(scan, &mut |row, _| {
        let (number, tree, path, sequence) = key::gram_path_of(row).ok_or_else(lacking)?;
        if numbers.last() != Some(&number) {
            numbers.push(number);
            versions.push(key::version(tree, path, sequence));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut members = Vec::with_capacity(numbers.len());
    for (number, stored) in numbers.into_iter().zip(rows.values(&versions)?) {
        if let Held::File { content, bytes } = decode::<Version>(&stored.ok_or_else(lacking)?)?.what {
            members.push(Member { number, id: content, bytes });
        }
    }
    Ok(members)
}

pub(super) type Parts = Vec<(u8, Vec<Vec<u8>>)>;

/// Reads contents and finds their grams; `None` when it is told to stop.
pub(super) fn find(rows: &dyn Rows, members: &[Member], stop: &AtomicBool) -> Result<Option<(Block, Parts)>> {
    let (mut set, mut builder, mut row) = (GramSet::default(), BlockBuilder::default(), Block::default());
    let mut rest = members;
    while !rest.is_empty() {
        if stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let mut bytes = 0;
        let mut fits = |member: &Member| {
            bytes += member.bytes;
            bytes <= READ_BYTES
        };
        let (some, others) = rest.split_at(rest.iter().position(|member| !fits(member)).unwrap_or(rest.len()).max(1));
        rest = others;
        let mut note = |member: &Member, is_plain: bool, set: &GramSet| {
            let (_, at) = block_of(member.number);
            let is_always = !(is_plain && builder.add(at, set.grams()));
            row.contents.push(Indexed { at, bytes: member.bytes, is_always });
        };
        if let [large] = some
            && large.bytes > READ_BYTES
        {
            let Some(is_plain) = read_large(rows, large, &mut set, stop)? else { return Ok(None) };
            note(large, is_plain, &set);
            continue;
        }
        let ids: Vec<ContentId> = some.iter().map(|member| member.id).collect();
        for (member, content) in some.iter().zip(content::read_all(rows, &ids)?) {
            set.begin();
            let is_plain = set.add(&content);
            note(member, is_plain, &set);
        }
    }
    let parts = builder.finish(PIECE_BYTES);
    row.pieces = vec![0; PARTS];
    for (part, pieces) in &parts {
        row.pieces[usize::from(*part)] = pieces.len() as u8;
    }
    Ok(Some((row, parts)))
}

/// Finds the grams of a content that is too large to be held. Whether they tell anything; `None` when it is told to stop.
fn read_large(rows: &dyn Rows, member: &Member, set: &mut GramSet, stop: &AtomicBool) -> Result<Option<bool>> {
    set.begin();
    let mut at = 0;
    while at < member.bytes {
        if stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let part = content::read(rows, &member.id, at, READ_BYTES as usize)?.ok_or_else(lacking)?;
        if part.is_empty() {
            return Err(lacking());
        }
        if !set.add(&part) {
            return Ok(Some(false));
        }
        at += part.len() as u64;
    }
    Ok(Some(true))
}

/// Keeps a block, unless a content of it went meanwhile: then the work is done again.
fn keep(space: &Space, block: u64, members: &[Member], pending: &[u64], row: &Block, parts: Parts) -> Result<()> {
    let change = |draft: &mut Draft<'_>| {
        for member in members {
            if draft.gram_number(&member.id)? != Some(member.number) {
                return Ok(((), Outcome::default()));
            }
        }
        if let Some((_, before)) = draft.get::<Derived<Block>>(&key::gram_block(block))? {
            draft.drop_block(block, &before)?;
        }
        let head = head()?;
        for (part, pieces) in &parts {
            for (number, piece) in pieces.iter().enumerate() {
                let spelt = [&head[..], piece].concat();
                draft.put_spelt(key::gram_postings(*part, block, number as u8), spelt);
            }
        }
        draft.put(key::gram_block(block), &derived(row.clone()))?;
        let done = members.iter().map(|member| member.number).chain(pending.iter().copied());
        done.for_each(|number| draft.delete(key::gram_pending(number)));
        Ok(((), Outcome::default()))
    };
    draft::change(space, &Call::default(), change).map(drop) // derived: nobody waits until it is durable
}

/// Gives the contents of a sparse block new numbers, with which they wait.
fn move_away(space: &Space, block: u64, members: &[Member], pending: &[u64]) -> Result<()> {
    let change = |draft: &mut Draft<'_>| {
        if let Some((_, before)) = draft.get::<Derived<Block>>(&key::gram_block(block))? {
            draft.drop_block(block, &before)?;
        }
        let rows = Live { space, reader: draft.reader };
        for member in members {
            if draft.gram_number(&member.id)? != Some(member.number) {
                continue; // it went meanwhile
            }
            let number = draft.next_number()?;
            let mut paths = Vec::new();
            rows.each(
                KeyScan { keys_only: true, ..KeyScan::prefix(key::gram_paths_of(member.number)) },
                &mut |row, _| {
                    paths.push(row.to_vec());
                    Ok(ControlFlow::Continue(()))
                },
            )?;
            for row in paths {
                let (_, tree, path, sequence) = key::gram_path_of(&row).ok_or_else(lacking)?;
                draft.put(key::gram_path(number, tree, path, sequence), &derived(()))?;
                draft.delete(row);
            }
            draft.put(key::gram_number(&member.id), &derived(number))?;
            draft.put(key::gram_pending(number), &derived(Pending { bytes: member.bytes }))?;
        }
        let gone = members.iter().map(|member| member.number).chain(pending.iter().copied());
        gone.for_each(|number| draft.delete(key::gram_pending(number)));
        Ok(((), Outcome::default()))
    };
    draft::change(space, &Call::default(), change).map(drop)
}

const _: () = assert!(VERSION > 0 && PIECE_BYTES < 60 << 10, "a larger row would have its bytes elsewhere");
