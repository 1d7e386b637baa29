//! Counting again what trees refer to: to check it, and to make it whole after the store has lost a part.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table, after_prefix};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::durability::Durability;
use crate::kv::{Rows, inline_value, stored_inline};
use crate::runtime::Runtime;
use crate::scan::until_error;
use crate::tree::value::{Chunk, Content, Held, Piece, Place, Totals, Tree, Version, decode, encode};
use crate::tree::{ContentId, content, grams, key};

/// Changes of one batch.
const MENDED_AT_ONCE: usize = 10_000;
/// Bytes of a content that are hashed at once.
const HASHED_AT_ONCE: usize = 4 << 20;

/// The result of recounting a tenant's trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeCheck {
    /// Versions that were counted.
    pub versions: u64,
    /// Contents that were counted.
    pub contents: u64,
    /// Bytes whose hash was compared with the content's name; 0 where only counts are checked.
    pub hashed_bytes: u64,
    /// The problems found, a sentence each. Empty if all is well.
    pub findings: Vec<String>,
}

/// Everything that refers to something else.
#[derive(Default)]
struct Counted {
    /// By content, how many versions have it.
    versions_of: BTreeMap<ContentId, u64>,
    /// By chunk, how often contents and uploads name it.
    names_of: BTreeMap<ContentId, u64>,
    /// Blobs that a content or a chunk has.
    blobs: BTreeSet<u64>,
    /// Contents that are whole: their chunks are there.
    whole: BTreeMap<ContentId, Content>,
    totals: Totals,
}

/// The rows of one keyspace of trees.
struct Shelf<'r> {
    reader: &'r dyn Reader,
    shard: Shard,
}

impl Shelf<'_> {
    fn each<T: DeserializeOwned>(&self, prefix: &[u8], mut visit: impl FnMut(&[u8], T) -> Result<()>) -> Result<()> {
        let from = self.shard.key(prefix);
        let to = after_prefix(&from);
        until_error(
            |visit| self.reader.scan_through(Table::Kv, &from, &to, visit),
            |row, stored| {
                if let Some(value) = inline_value(stored).and_then(|stored| decode(stored).ok()) {
                    visit(Shard::suffix(row), value)?;
                }
                Ok(ControlFlow::Continue(()))
            },
        )
    }

    fn get<T: DeserializeOwned>(&self, row: &[u8]) -> Result<Option<T>> {
        let stored = self.reader.get(Table::Kv, &self.shard.key(row))?;
        Ok(stored.and_then(|stored| decode(inline_value(&stored)?).ok()))
    }

    fn blob_bytes(&self, number: u64) -> Result<Option<u64>> {
        Ok(self.reader.get(Table::Blobs, &self.shard.number_key(number))?.map(|bytes| bytes.len() as u64))
    }

    /// The list of a content's chunks; `None` where a part of it or of them is lost.
    fn pieces(&self, id: &ContentId, parts: u32) -> Result<Option<Vec<Piece>>> {
        let mut pieces = Vec::new();
        for number in 0..parts {
            let Some(part) = self.get::<Vec<Piece>>(&key::part(id, number))? else { return Ok(None) };
            pieces.extend(part);
        }
        for piece in &pieces {
            if self.blob_bytes(piece.number)? != Some(piece.bytes.into()) {
                return Ok(None);
            }
        }
        Ok(Some(pieces))
    }

    /// Goes through versions, contents and uploads.
    fn count(&self) -> Result<Counted> {
        let mut counted = Counted::default();
        self.each(&key::all_versions(), |_, version: Version| {
            if let Some(content) = version.what.content() {
                *counted.versions_of.entry(*content).or_default() += 1;
            }
            Ok(())
        })?;
        self.each(&key::contents(), |row, content: Content| {
            let Some(id) = key::content_of(row) else { return Ok(()) };
            if self.count_content(&id, &content, &mut counted)? {
                counted.totals.contents += 1;
                counted.totals.content_bytes += content.bytes;
                counted.whole.insert(id, content);
            }
            Ok(())
        })?;
        self.each(&key::uploads(), |_, pieces: Vec<Piece>| {
            pieces.iter().for_each(|piece| counted.name(piece));
            Ok(())
        })?;
        Ok(counted)
    }

    /// Whether a content is whole and some version has it; then its chunks count.
    fn count_content(&self, id: &ContentId, content: &Content, counted: &mut Counted) -> Result<bool> {
        let is_wanted = counted.versions_of.contains_key(id);
        match content.place {
            Place::Inline(_) => {}
            Place::One(number) => {
                if !is_wanted || self.blob_bytes(number)? != Some(content.bytes) {
                    return Ok(false);
                }
                counted.blobs.insert(number);
                counted.totals.chunks += 1;
                counted.totals.chunk_bytes += content.bytes;
            }
            Place::Many { parts } => {
                let Some(pieces) = self.pieces(id, parts)?.filter(|_| is_wanted) else { return Ok(false) };
                pieces.iter().for_each(|piece| counted.name(piece));
            }
        }
        Ok(is_wanted)
    }
}

impl Counted {
    fn name(&mut self, piece: &Piece) {
        let names = self.names_of.entry(piece.id).or_default();
        *names += 1;
        if *names == 1 {
            self.blobs.insert(piece.number);
            self.totals.chunks += 1;
            self.totals.chunk_bytes += u64::from(piece.bytes);
        }
    }
}

/// Counts everything again and compares; with `hash`, reads every content and compares it with its name, too.
pub(crate) fn check(rows: &dyn Rows, reader: &dyn Reader, shard: Shard, hash: bool) -> Result<TreeCheck> {
    let shelf = Shelf { reader, shard };
    let counted = shelf.count()?;
    let mut check = TreeCheck {
        versions: counted.versions_of.values().sum(),
        contents: counted.whole.len() as u64,
        ..TreeCheck::default()
    };
    let findings = &mut check.findings;
    for (id, refs) in &counted.versions_of {
        match counted.whole.get(id) {
            None => findings.push(format!("content {id}, which {refs} versions have, is not whole")),
            Some(content) if content.refs != *refs => {
                findings.push(format!("content {id} counts {} versions and has {refs}", content.refs));
            }
            Some(_) => {}
        }
    }
    shelf.each(&key::contents(), |row, _: Content| {
        let id = key::content_of(row).filter(|id| !counted.versions_of.contains_key(id));
        findings.extend(id.map(|id| format!("no version has content {id}")));
        Ok(())
    })?;
    shelf.each(&key::chunks(), |row, chunk: Chunk| {
        let Some(id) = key::chunk_of(row) else { return Ok(()) };
        let names = counted.names_of.get(&id).copied().unwrap_or(0);
        if chunk.refs != names {
            findings.push(format!("chunk {id} counts {} references and has {names}", chunk.refs));
        }
        Ok(())
    })?;
    let known = |id: ContentId| counted.versions_of.contains_key(&id);
    shelf.each(&key::code(), |row, _: Vec<Piece>| {
        let id = key::code_content(row).filter(|id| !known(*id));
        findings.extend(id.map(|id| format!("facts of source code are kept of content {id}, which no version has")));
        Ok(())
    })?;
    findings.extend(grams::check(rows, &known, hash)?);
    let (from, to) = (shard.prefix(), shard.end());
    reader.scan(Table::Blobs, &from, &to, Direction::Forward, &mut |row, _| {
        let number = Shard::suffix(row).try_into().map(u64::from_be_bytes);
        if !number.is_ok_and(|number| counted.blobs.contains(&number)) {
            findings.push(format!("nothing names the bytes with number {number:?}"));
        }
        ControlFlow::Continue(())
    })?;
    let totals: Totals = shelf.get(&key::totals())?.unwrap_or_default();
    if totals != counted.totals {
        findings.push(format!("the totals say {totals:?}, and there are {:?}", counted.totals));
    }
    if hash {
        for (id, content) in &counted.whole {
            check.hashed_bytes += content.bytes;
            if hash_of(rows, id, content.bytes)? != *id {
                check.findings.push(format!("the bytes of content {id} have another hash"));
            }
        }
    }
    Ok(check)
}

fn hash_of(rows: &dyn Rows, id: &ContentId, bytes: u64) -> Result<ContentId> {
    let (mut hasher, mut at) = (blake3::Hasher::new(), 0);
    while at < bytes {
        let Some(part) = content::read(rows, id, at, HASHED_AT_ONCE)?.filter(|part| !part.is_empty()) else { break };
        hasher.update(&part);
        at += part.len() as u64;
    }
    Ok(ContentId(*hasher.finalize().as_bytes()))
}

/// True when the first row of a shard is that of trees.
pub(crate) fn looks_like_trees(reader: &dyn Reader, shard: Shard) -> Result<bool> {
    let mut is_signed = false;
    reader.scan(Table::Kv, &shard.prefix(), &shard.end(), Direction::Forward, &mut |row, stored| {
        let row = Shard::suffix(row);
        is_signed = match row {
            key::SIGNATURE => inline_value(stored).is_some_and(|stored| decode::<u64>(stored).is_ok()),
            // The signature was lost with its file.
            _ => key::version_of(row).is_some() || key::content_of(row).is_some(),
        };
        ControlFlow::Break(())
    })?;
    Ok(is_signed)
}

/// Makes trees whole again after the store has lost a part: versions go whose content is not whole, references are counted
/// again, and what nothing refers to goes. Says how many versions had to go.
pub(crate) fn mend_trees(shared: &Runtime, shard: Shard) -> Result<u64> {
    let store = shared.store()?;
    let shelf = Shelf { reader: &*store, shard };
    let counted = shelf.count()?;
    let mut mending = Mending { shared, shard, batch: Batch::new() };
    let mut lost = 0;
    let mut trees: BTreeMap<String, Tree> = BTreeMap::new();
    let mut newest: Option<(String, String)> = None;
    let mut sequence: u64 = shelf.get(key::SIGNATURE)?.unwrap_or(0);
    shelf.each(&key::all_versions(), |row, version: Version| {
        let Some((tree, path, written)) = key::version_of(row) else { return Ok(()) };
        sequence = sequence.max(written);
        if version.what.content().is_some_and(|content| !counted.whole.contains_key(content)) {
            lost += 1;
            mending.delete(key::change(tree, written, path))?;
            return mending.delete(row.to_vec());
        }
        let change = key::change(tree, written, path);
        if shelf.reader.get(Table::Kv, &shard.key(&change))?.is_none() {
            mending.put(change, Vec::new())?;
        }
        if !trees.contains_key(tree) {
            let known = shelf.get::<Tree>(&key::tree(tree))?;
            let made = Tree {
                created_ms: version.recorded_ms,
                retention: crate::tree::Retention::ALL,
                files: 0,
                bytes: 0,
                versions: 0,
            };
            trees.insert(tree.into(), Tree { files: 0, bytes: 0, versions: 0, ..known.unwrap_or(made) });
        }
        let Some(counts) = trees.get_mut(tree) else { return Ok(()) };
        counts.versions += 1;
        let is_newest = newest.as_ref().is_none_or(|(of, at)| (of.as_str(), at.as_str()) != (tree, path));
        if is_newest {
            newest = Some((tree.into(), path.into()));
            if let Held::File { bytes, .. } = version.what {
                (counts.files, counts.bytes) = (counts.files + 1, counts.bytes + bytes);
            }
        }
        Ok(())
    })?;
    for (name, tree) in &trees {
        mending.put(key::tree(name), encode(tree)?)?;
    }
    mending.put(key::SIGNATURE.to_vec(), encode(&sequence)?)?;
    mending.put(key::totals(), encode(&counted.totals)?)?;
    mend_contents(&shelf, &counted, &mut mending)?;
    mending.finish()?;
    Ok(lost)
}

/// Rewrites the counts of contents and chunks, and removes what nothing refers to.
fn mend_contents(shelf: &Shelf<'_>, counted: &Counted, mending: &mut Mending<'_>) -> Result<()> {
    shelf.each(&key::contents(), |row, content: Content| {
        let Some(id) = key::content_of(row) else { return Ok(()) };
        match (counted.whole.contains_key(&id), counted.versions_of.get(&id)) {
            (true, Some(&refs)) if refs != content.refs => {
                mending.put(row.to_vec(), encode(&Content { refs, ..content })?)
            }
            (true, Some(_)) => Ok(()),
            _ => {
                if let Place::Many { parts } = content.place {
                    (0..parts).try_for_each(|number| mending.delete(key::part(&id, number)))?;
                }
                mending.delete(row.to_vec())
            }
        }
    })?;
    shelf.each(&key::code(), |row, _: Vec<Piece>| match key::code_content(row) {
        Some(id) if counted.whole.contains_key(&id) && counted.versions_of.contains_key(&id) => Ok(()),
        _ => mending.delete(row.to_vec()),
    })?;
    // The index is made again from what there is.
    shelf.each(&key::grams(), |row, _: Vec<Piece>| mending.delete(row.to_vec()))?;
    let mut known = BTreeSet::new();
    shelf.each(&key::chunks(), |row, chunk: Chunk| {
        let Some(id) = key::chunk_of(row) else { return Ok(()) };
        match counted.names_of.get(&id) {
            None => mending.delete(row.to_vec()),
            Some(&refs) => {
                known.insert(id);
                if refs == chunk.refs { Ok(()) } else { mending.put(row.to_vec(), encode(&Chunk { refs, ..chunk })?) }
            }
        }
    })?;
    // Chunks whose own rows were lost are known from the lists that name them.
    let mut again = |pieces: Vec<Piece>| -> Result<()> {
        for piece in pieces.into_iter().filter(|piece| counted.names_of.contains_key(&piece.id)) {
            if known.insert(piece.id) {
                let chunk = Chunk { number: piece.number, refs: counted.names_of[&piece.id] };
                mending.put(key::chunk(&piece.id), encode(&chunk)?)?;
            }
        }
        Ok(())
    };
    for (id, content) in &counted.whole {
        if let Place::Many { parts } = content.place {
            again(shelf.pieces(id, parts)?.unwrap_or_default())?;
        }
    }
    let (shard, mut orphans) = (shelf.shard, Vec::new());
    shelf.reader.scan(Table::Blobs, &shard.prefix(), &shard.end(), Direction::Forward, &mut |row, _| {
        let number = Shard::suffix(row).try_into().map(u64::from_be_bytes);
        if !number.is_ok_and(|number| counted.blobs.contains(&number)) {
            orphans.push(row.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    orphans.into_iter().try_for_each(|row| {
        mending.batch.delete(Table::Blobs, row);
        mending.write_when_long()
    })
}

struct Mending<'s> {
    shared: &'s Runtime,
    shard: Shard,
    batch: Batch,
}

impl Mending<'_> {
    fn put(&mut self, row: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.batch.put(Table::Kv, self.shard.key(&row), stored_inline(value));
        self.write_when_long()
    }

    fn delete(&mut self, row: Vec<u8>) -> Result<()> {
        self.batch.delete(Table::Kv, self.shard.key(&row));
        self.write_when_long()
    }

    fn write_when_long(&mut self) -> Result<()> {
        match self.batch.len() < MENDED_AT_ONCE {
            true => Ok(()),
            false => self.shared.write(std::mem::take(&mut self.batch)).map(drop),
        }
    }

    fn finish(self) -> Result<()> {
        let position = self.shared.write(self.batch)?;
        self.shared.make_durable(position, Durability::Commit)
    }
}
