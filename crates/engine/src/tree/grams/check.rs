//! Comparing the index with what it is derived from.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use nuthatch_grep::Postings;

use crate::Result;
use crate::kv::{KeyScan, Rows};
use crate::tree::grams::build::{find, members};
use crate::tree::grams::{Block, Derived, block_of, head, number_in, state};
use crate::tree::value::{Held, Version, decode};
use crate::tree::{ContentId, key};

/// Returns the faults of the index, a sentence each; with `deep`, finds all grams again. `known` tells which contents
/// versions have.
pub(crate) fn check(rows: &dyn Rows, known: &dyn Fn(ContentId) -> bool, deep: bool) -> Result<Vec<String>> {
    let Some(state) = state(rows)? else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    let mut numbers: BTreeMap<ContentId, u64> = BTreeMap::new();
    each(rows, key::gram_numbers(), &mut |row, stored| {
        let (Some(id), Ok((_, number))) = (key::gram_number_of(row), decode::<Derived<u64>>(stored)) else {
            findings.push("the index has a number that cannot be read".into());
            return Ok(());
        };
        if !known(id) {
            findings.push(format!("the index knows content {id}, which no version has"));
        }
        numbers.insert(id, number);
        Ok(())
    })?;
    let mut paths = BTreeSet::new();
    each(rows, key::gram_paths(), &mut |row, _| {
        paths.insert(row.to_vec());
        Ok(())
    })?;
    let is_filled = state.filled_to.is_none();
    each(rows, key::all_versions(), &mut |row, stored| {
        let (Some((tree, path, sequence)), Ok(Version { what: Held::File { content, .. }, .. })) =
            (key::version_of(row), decode(stored))
        else {
            return Ok(());
        };
        let number = numbers.get(&content);
        let is_noted = number.is_some_and(|number| paths.remove(&key::gram_path(*number, tree, path, sequence)));
        if is_filled && !is_noted {
            findings.push(format!("the index does not know version {sequence} of {path:?} of tree {tree:?}"));
        }
        Ok(())
    })?;
    findings.extend((!paths.is_empty()).then(|| format!("the index knows {} versions that are gone", paths.len())));
    let mut placed = BTreeSet::new();
    each(rows, key::gram_pendings(), &mut |row, _| {
        placed.extend(key::gram_pending_of(row));
        Ok(())
    })?;
    let head = head()?;
    let mut blocks = Vec::new();
    each(rows, key::gram_blocks(), &mut |row, stored| {
        let (Some(block), Ok((_, kept))) = (key::gram_block_of(row), decode::<Derived<Block>>(stored)) else {
            findings.push("the index has a block that cannot be read".into());
            return Ok(());
        };
        placed.extend(kept.contents.iter().map(|indexed| number_in(block, indexed.at)));
        blocks.push((block, kept));
        Ok(())
    })?;
    let mut pieces = 0;
    for (block, kept) in blocks {
        let again = match deep {
            true => {
                let mut members = members(rows, block)?;
                members.retain(|member| kept.contents.iter().any(|indexed| indexed.at == block_of(member.number).1));
                find(rows, &members, &AtomicBool::new(false))?
            }
            false => None,
        };
        for (part, count) in kept.pieces.iter().enumerate() {
            let keys: Vec<_> = (0..*count).map(|piece| key::gram_postings(part as u8, block, piece)).collect();
            pieces += keys.len();
            let stored = rows.values(&keys)?;
            let spelt: Option<Vec<&[u8]>> =
                stored.iter().map(|stored| stored.as_deref()?.strip_prefix(&head[..])).collect();
            let is_read =
                spelt.as_ref().is_some_and(|spelt| spelt.iter().all(|piece| Postings(piece).look(&[]).is_some()));
            let is_same = again.as_ref().is_none_or(|(_, parts)| {
                let same = parts.iter().find(|(number, _)| usize::from(*number) == part);
                let same: Vec<&[u8]> =
                    same.map_or_else(Vec::new, |(_, pieces)| pieces.iter().map(Vec::as_slice).collect());
                spelt.as_ref() == Some(&same)
            });
            if !is_read || !is_same {
                findings.push(format!("part {part} of block {block} of the index is not what its contents have"));
            }
        }
        if again.is_some_and(|(row, _)| row.contents != kept.contents) {
            findings.push(format!("block {block} of the index has other contents"));
        }
    }
    let mut rows_of_parts = 0;
    each(rows, key::gram_parts(), &mut |_, _| {
        rows_of_parts += 1;
        Ok(())
    })?;
    if rows_of_parts != pieces {
        findings.push(format!("the index has {rows_of_parts} rows of grams and names {pieces}"));
    }
    for (id, number) in &numbers {
        if !placed.remove(number) {
            findings
                .push(format!("content {id} is in no block of the index ({:?}), and does not wait", block_of(*number)));
        }
    }
    findings.extend((!placed.is_empty()).then(|| format!("the index has {} contents that are gone", placed.len())));
    Ok(findings)
}

/// Looks at a row.
type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'v;

fn each(rows: &dyn Rows, prefix: Vec<u8>, visit: &mut Visit<'_>) -> Result<()> {
    rows.each(KeyScan { limit: 1_000, ..KeyScan::prefix(prefix) }, &mut |row, stored| {
        visit(row, stored)?;
        Ok(ControlFlow::Continue(()))
    })
}
