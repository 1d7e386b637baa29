//! Symbol data about files from type-aware indexers, imported from SCIP indexes and stored alongside the contents.
//!
//! A row hangs on a content, and tells at which path of which tree the index has it: the same bytes at another path, or in
//! another tree, may mean something else. It begins as an upload's without chunks, as all that is known of source code does.

use nuthatch_code::{Document, Language, PARSED_BYTES_MAX, Symbols};
use serde::{Deserialize, Serialize};

use crate::call::Outcome;
use crate::kv::{Live, Rows};
use crate::tree::code::kept::{PART_BYTES, head};
use crate::tree::draft::{self, Draft, lacking};
use crate::tree::path::check_path;
use crate::tree::read::{self, TreeAt};
use crate::tree::value::{Content, Version};
use crate::tree::{ContentId, Trees, content, history, key};
use crate::{Error, Result};

/// The layout of a row.
const LAYOUT: u8 = 1;
/// Documents of one call, and names of all of them.
const SYMBOL_FILES_MAX: usize = 1_000;
const SYMBOLS_MAX: usize = 1_000_000;
/// Bytes of a name in memory: as it comes, as it is placed, as it is kept.
const NAME_BYTES: u64 = 256;

/// Takes in what an index says of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportSymbols {
    /// The tree.
    pub tree: String,
    /// Where in the tree the folder is that was indexed; empty for all of it.
    pub below: String,
    /// At most 1,000, with at most a million names.
    pub documents: Vec<Document>,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolsImported {
    /// Files whose names have a meaning now.
    pub files: u64,
    /// Names of these.
    pub names: u64,
    /// Paths of the index at which the tree has no source file in a language that is known.
    pub missing: Vec<String>,
    /// Paths at which the tree has another text than the index.
    pub changed: Vec<String>,
}

impl SymbolsImported {
    /// Of both.
    pub fn and(mut self, more: Self) -> Self {
        self.missing.extend(more.missing);
        self.changed.extend(more.changed);
        Self { files: self.files + more.files, names: self.names + more.names, ..self }
    }
}

impl Trees {
    /// Imports an index's data about files, as the tree has them now. It replaces the data of an earlier index about
    /// the same files.
    ///
    /// # Errors
    /// `NotFound` for a tree that is not there; `Invalid` for too much at once.
    pub(crate) fn import_symbols(&self, ask: ImportSymbols) -> Result<SymbolsImported> {
        let names: usize = ask.documents.iter().map(|document| document.occurrences.len()).sum();
        if ask.documents.len() > SYMBOL_FILES_MAX || names > SYMBOLS_MAX {
            let files = ask.documents.len();
            return Err(Error::invalid(format!(
                "{files} files with {names} names in one call; give at most {SYMBOL_FILES_MAX} with {SYMBOLS_MAX}"
            )));
        }
        let space = &*self.keyspace.space;
        let _room = space.shared.reserve_to_write(names as u64 * NAME_BYTES + PARSED_BYTES_MAX as u64)?;
        let mut report = SymbolsImported::default();
        let found = self.keyspace.at_once(|rows| {
            let moment = TreeAt::now(&*ask.tree).moment(rows)?;
            let mut found = Vec::new();
            for document in &ask.documents {
                let path = match ask.below.is_empty() {
                    true => document.path.clone(),
                    false => format!("{}/{}", ask.below, document.path),
                };
                let entry = match check_path(&path).is_ok() && Language::of_path(&path).is_some() {
                    true => read::entry_at(rows, &ask.tree, moment, &path)?,
                    false => None,
                };
                let Some((id, bytes)) = entry.and_then(|entry| Some((entry.content?, entry.bytes))) else {
                    report.missing.push(path);
                    continue;
                };
                let text = match bytes <= PARSED_BYTES_MAX as u64 {
                    true => content::read_all(rows, &[id])?.pop().ok_or_else(lacking)?,
                    false => Vec::new(),
                };
                match document.placed(&text) {
                    None => report.changed.push(path),
                    Some(symbols) => {
                        report.files += 1;
                        report.names += symbols.len() as u64;
                        found.push((id, spelt(&ask.tree, &path, &symbols)));
                    }
                }
            }
            Ok(found)
        })?;
        let (_, position) = draft::change(space, &self.keyspace.call, |draft| {
            found.iter().try_for_each(|(id, spelt)| draft.keep_symbols(id, spelt))?;
            Ok(((), Outcome::default()))
        })?;
        if let Some(position) = position {
            space.shared.make_durable(position, self.keyspace.durability)?;
        }
        Ok(report)
    }
}

impl Draft<'_> {
    /// Keeps what an indexer says of a content for as long as that is there.
    fn keep_symbols(&mut self, id: &ContentId, spelt: &[u8]) -> Result<()> {
        // Content that was erased in the meantime needs no symbols.
        if self.get::<Content>(&key::content(id))?.is_none() {
            return Ok(());
        }
        let rows = Live { space: self.space, reader: self.reader };
        let first = rows.values(&[key::code_symbols(id, 0)])?.pop().flatten();
        let before = first.as_deref().and_then(part_of).map_or(0, |(count, _)| count);
        (0..before).for_each(|number| self.delete(key::code_symbols(id, number)));
        let (head, parts) = (head()?, spelt.chunks(PART_BYTES));
        let count = (parts.len() as u32).to_be_bytes();
        for (number, part) in (0..).zip(parts) {
            self.put_spelt(key::code_symbols(id, number), [&head, &count[..], part].concat());
        }
        Ok(())
    }

    /// Removes what an indexer says of a content at a path, when the last version of the path goes that has it.
    pub(crate) fn forget_symbols(&mut self, (tree, path, sequence): (&str, &str, u64), id: &ContentId) -> Result<()> {
        let rows = Live { space: self.space, reader: self.reader };
        let first = rows.values(&[key::code_symbols(id, 0)])?.pop().flatten();
        let Some((count, part)) = first.as_deref().and_then(part_of) else { return Ok(()) };
        if named(tree, path, part).is_none() {
            return Ok(());
        }
        for (other, version) in history::versions(&rows, tree, path)? {
            let has_it = other != sequence && version.what.content() == Some(id);
            if has_it && self.get::<Version>(&key::version(tree, path, other))?.is_some() {
                return Ok(());
            }
        }
        (0..count).for_each(|number| self.delete(key::code_symbols(id, number)));
        Ok(())
    }
}

fn spelt(tree: &str, path: &str, symbols: &Symbols) -> Vec<u8> {
    // Neither has a byte 0.
    [&[LAYOUT], tree.as_bytes(), &[0], path.as_bytes(), &[0], &symbols.encode()].concat()
}

/// Returns the index data for some files of a tree; `None` for a file without any.
pub(super) fn symbols(rows: &dyn Rows, tree: &str, files: &[(&str, ContentId)]) -> Result<Vec<Option<Symbols>>> {
    let keys: Vec<_> = files.iter().map(|(_, id)| key::code_symbols(id, 0)).collect();
    let mut found = Vec::with_capacity(files.len());
    for (stored, (path, id)) in rows.values(&keys)?.into_iter().zip(files) {
        let Some((count, part)) = stored.as_deref().and_then(part_of) else {
            found.push(None);
            continue;
        };
        let mut whole = Some(part.to_vec());
        let more: Vec<_> = (1..count).map(|number| key::code_symbols(id, number)).collect();
        for stored in if more.is_empty() { Vec::new() } else { rows.values(&more)? } {
            // Without one of them, nothing that follows can be read.
            let part = stored.as_deref().and_then(part_of).filter(|(all, _)| *all == count);
            whole = whole.zip(part).map(|(whole, (_, part))| [&whole[..], part].concat());
        }
        found.push(whole.and_then(|whole| named(tree, path, &whole).and_then(Symbols::decode)));
    }
    Ok(found)
}

/// How many parts there are, and what one has.
fn part_of(stored: &[u8]) -> Option<(u32, &[u8])> {
    let (count, part) = stored.strip_prefix(&head().ok()?[..])?.split_first_chunk()?;
    Some((u32::from_be_bytes(*count), part))
}

/// Returns the bytes after the path; `None` if they were imported at another path.
fn named<'s>(tree: &str, path: &str, spelt: &'s [u8]) -> Option<&'s [u8]> {
    let rest = spelt.strip_prefix(&[LAYOUT])?.strip_prefix(tree.as_bytes())?.strip_prefix(&[0])?;
    rest.strip_prefix(path.as_bytes())?.strip_prefix(&[0])
}
