//! Files that moved and changed on the way.
//!
//! As git tells it: two files are alike by the bytes of the lines that both have, and the best pairs come first.

use std::collections::HashMap;

use nuthatch_link::{ChangeKind, EntryKind, Result, TreeChange};

use crate::patch::Side;

/// Of each of both sorts; more are not compared with each other.
const FILES_MAX: usize = 1_000;
const BYTES_MAX: u64 = 1 << 20;
/// In hundredths of the larger file: git's own limit.
const ALIKE_MIN: u64 = 50;

/// Lines of a text by their hash, with how many bytes of them there are.
struct Lines {
    change: usize,
    bytes: u64,
    lines: HashMap<u64, u64>,
}

/// Joins files that are gone with files that are new and at least half alike, each once. Files of over 1 MiB, and those beyond
/// a thousand of a sort, stay as they are.
///
/// # Errors
/// Those of reading either side.
pub fn with_similar(changes: Vec<TreeChange>, before: Side<'_>, after: Side<'_>) -> Result<Vec<TreeChange>> {
    let removed = read(&changes, ChangeKind::Removed, &before)?;
    let added = if removed.is_empty() { Vec::new() } else { read(&changes, ChangeKind::Added, &after)? };
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    for old in &removed {
        for new in &added {
            if old.bytes.min(new.bytes) * 100 < old.bytes.max(new.bytes) * ALIKE_MIN {
                continue;
            }
            let common: u64 =
                old.lines.iter().map(|(line, bytes)| new.lines.get(line).map_or(0, |own| *own.min(bytes))).sum();
            let alike = common * 100 / old.bytes.max(new.bytes);
            if alike >= ALIKE_MIN {
                pairs.push((alike, old.change, new.change));
            }
        }
    }
    pairs.sort_by_key(|(alike, old, new)| (std::cmp::Reverse(*alike), *old, *new));
    let mut source: HashMap<usize, usize> = HashMap::new();
    let mut used: HashMap<usize, usize> = HashMap::new();
    for (_, old, new) in pairs {
        if !source.contains_key(&new) && !used.contains_key(&old) {
            source.insert(new, old);
            used.insert(old, new);
        }
    }
    let earlier: Vec<_> = changes.iter().map(|change| change.before.clone()).collect();
    let joined = changes.into_iter().enumerate().filter(|(at, _)| !used.contains_key(at));
    Ok(joined
        .map(|(at, change)| match source.get(&at) {
            Some(from) => TreeChange { kind: ChangeKind::Renamed, before: earlier[*from].clone(), ..change },
            None => change,
        })
        .collect())
}

fn read(changes: &[TreeChange], kind: ChangeKind, side: &Side<'_>) -> Result<Vec<Lines>> {
    let mut found = Vec::new();
    for (at, change) in changes.iter().enumerate().filter(|(_, change)| change.kind == kind) {
        let entry = if kind == ChangeKind::Removed { &change.before } else { &change.after };
        let Some(entry) = entry else { continue };
        if entry.kind != EntryKind::File || entry.bytes == 0 || entry.bytes > BYTES_MAX {
            continue;
        }
        if found.len() == FILES_MAX {
            break;
        }
        let Some(bytes) = side.bytes(entry)? else { continue };
        let mut lines: HashMap<u64, u64> = HashMap::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let hash = blake3::hash(line);
            let (first, _) = hash.as_bytes().split_at(8);
            *lines.entry(first.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))).or_default() +=
                line.len() as u64;
        }
        found.push(Lines { change: at, bytes: bytes.len() as u64, lines });
    }
    Ok(found)
}
