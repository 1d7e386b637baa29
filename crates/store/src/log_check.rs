//! Telling a torn tail from damage in the middle, over all write-ahead logs of a folder.
//!
//! Batches carry consecutive sequence numbers, so a missing one is seen whatever became of its bytes. And each batch carries how
//! far the log was known to be on the disk when it was written ([`SyncMark`]): what is missing before that was acknowledged
//! (**damage**: refuse), what is missing after it was still on its way when the system stopped (**a torn tail**: cut it off, and
//! whatever of later writes did reach the disk with it). A crash leaves the second, never the first.
//!
//! **Not for** finding out what a batch contains. **Invariant it leans on:** nothing takes a sequence without being in the log
//! (no ingested files, no writes without log).

use std::path::{Path, PathBuf};

use crate::log_file::{LogPart, walk};
use crate::manifest::oldest_log_needed;

/// How far the log was durable when a batch was written; its first entry, invisible to readers.
pub(crate) struct SyncMark(pub u64);

impl SyncMark {
    pub fn encode(&self) -> [u8; 9] {
        let mut bytes = [b'S'; 9];
        bytes[1..].copy_from_slice(&self.0.to_le_bytes());
        bytes
    }

    /// Of a batch as the log has it: sequence (8 bytes), count (4), then entries. An entry of type 3 is for the log alone.
    fn of(batch: &[u8]) -> Option<u64> {
        let rest = batch.get(12..)?.strip_prefix(&[3, 9, b'S'])?;
        Some(u64::from_le_bytes(rest.get(..8)?.try_into().ok()?))
    }
}

/// The log stops making sense here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHole {
    /// The log.
    pub path: PathBuf,
    /// In bytes from the beginning of the log: where the first thing stands that makes no sense.
    pub offset: u64,
    /// Intact batches after it, in this log and later ones, and their bytes: lost when the log is cut here.
    pub batches_after: u64,
    /// Bytes of these batches.
    pub bytes_after: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Whole,
    /// The log ends as a crash leaves it. `later`: logs after the one with the hole.
    Torn {
        hole: LogHole,
        later: Vec<PathBuf>,
    },
    /// Something that was acknowledged is missing.
    Damaged {
        hole: LogHole,
        later: Vec<PathBuf>,
    },
}

impl LogHole {
    /// Describes what a repair, or cutting a torn tail, removes in addition to the unreadable part.
    pub fn describe(&self) -> String {
        match self.batches_after {
            0 => format!("the record at byte {} is damaged, and nothing intact follows it", self.offset),
            batches => format!(
                "the record at byte {} is damaged or missing, with {batches} intact batches ({} bytes) after it",
                self.offset, self.bytes_after
            ),
        }
    }

    /// Cuts the log here, and empties the logs after it.
    #[allow(clippy::disallowed_methods, reason = "it shortens files that have their names")]
    pub(crate) fn cut(&self, later: &[PathBuf]) -> std::io::Result<()> {
        // The last one first: cut short by a crash, this leaves a hole with less behind it.
        for (path, bytes) in later.iter().rev().map(|path| (path, 0)).chain([(&self.path, self.offset)]) {
            let file = std::fs::OpenOptions::new().write(true).open(path)?;
            file.set_len(bytes)?;
            file.sync_all()?;
        }
        Ok(())
    }
}

/// Reads the logs that recovery would read. `published`: of an open store, the sequence that all logs must reach; what is
/// missing beyond it is only being written.
pub(crate) fn check_logs(folder: &Path, published: Option<u64>) -> std::io::Result<Verdict> {
    let mut chain = Chain::default();
    for (number, path) in needed_logs(folder)? {
        match OneLog::read(&path, number) {
            // While the store writes, logs disappear or are recycled.
            Err(error) if published.is_some() && error.kind() == std::io::ErrorKind::NotFound => {
                chain = Chain::default()
            }
            Ok(_) if published.is_some() && !path.exists() => chain = Chain::default(),
            log => chain.add(&path, &log?),
        }
    }
    Ok(chain.verdict(published))
}

/// The logs that recovery reads, oldest first.
fn needed_logs(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let oldest = oldest_log_needed(folder)?;
    Ok(logs(folder)?.into_iter().filter(|(number, _)| *number >= oldest).collect())
}

/// Logs that nothing needs any more, kept to be written over.
pub(crate) fn obsolete_logs(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let oldest = oldest_log_needed(folder)?;
    Ok(logs(folder)?.into_iter().filter(|(number, _)| *number < oldest).map(|(_, path)| path).collect())
}

/// Where the intact records of a log end.
pub(crate) fn end_of(path: &Path, number: u64) -> std::io::Result<u64> {
    let mut end = None;
    walk(path, Some(number as u32), &mut |found| match found {
        LogPart::Hole { offset, .. } => end = Some(offset),
        LogPart::Record { .. } => end = None,
    })?;
    end.map_or_else(|| Ok(std::fs::metadata(path)?.len()), Ok)
}

/// The write-ahead logs of a folder, oldest first.
pub(crate) fn logs(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".log")?.parse().ok());
        logs.extend(number.map(|number| (number, path)));
    }
    logs.sort_unstable();
    Ok(logs)
}

/// The contents of one file.
#[derive(Default)]
struct OneLog {
    /// Sequence of the first batch before any hole, and the one expected after the last such batch.
    first: Option<u64>,
    next: Option<u64>,
    /// Batches before any hole, and their bytes.
    batches: u64,
    bytes: u64,
    hole: Option<(u64, bool)>,
    after: u64,
    after_bytes: u64,
    after_first: Option<u64>,
    /// The farthest sync mark.
    synced: u64,
}

impl OneLog {
    fn read(path: &Path, number: u64) -> std::io::Result<Self> {
        let mut log = Self::default();
        // Recyclable records carry the low 32 bits.
        walk(path, Some(number as u32), &mut |found| match found {
            LogPart::Hole { offset, torn } => drop(log.hole.get_or_insert((offset, torn))),
            LogPart::Record { offset, bytes } => log.add(offset, bytes),
        })?;
        Ok(log)
    }

    fn add(&mut self, offset: u64, bytes: &[u8]) {
        let (Some(first), Some(count)) =
            (bytes.first_chunk(), bytes.get(8..12).and_then(|count| count.try_into().ok()))
        else {
            self.hole.get_or_insert((offset, true));
            return;
        };
        let (first, count) = (u64::from_le_bytes(*first), u64::from(u32::from_le_bytes(count)));
        if count > 0 {
            // A log without marks is one that we did not write: everything in it counts as durable.
            self.synced = self.synced.max(SyncMark::of(bytes).unwrap_or(u64::MAX));
        }
        if self.hole.is_none() && self.next.is_some_and(|next| first > next) {
            self.hole = Some((offset, true));
        }
        match self.hole {
            None => {
                self.batches += 1;
                self.bytes += bytes.len() as u64;
                self.first.get_or_insert(first);
                self.next = Some(self.next.unwrap_or(0).max(first + count));
            }
            Some(_) => {
                self.after += 1;
                self.after_bytes += bytes.len() as u64;
                self.after_first.get_or_insert(first);
            }
        }
    }
}

/// The logs so far, as one.
#[derive(Default)]
struct Chain {
    next: Option<u64>,
    hole: Option<ChainHole>,
    synced: u64,
    later: Vec<PathBuf>,
}

struct ChainHole {
    hole: LogHole,
    torn: bool,
    /// The first sequence that is missing.
    missing: Option<u64>,
}

impl Chain {
    fn add(&mut self, path: &Path, log: &OneLog) {
        self.synced = self.synced.max(log.synced);
        let goes_on = log.first.is_none() || self.next.is_none() || log.first <= self.next;
        if let Some(open) = &mut self.hole {
            match open.hole.batches_after == 0 && open.missing.is_some() && log.first == open.missing {
                // The unused rest of a recycled file: nothing is missing.
                true => self.hole = None,
                false => {
                    self.later.push(path.to_path_buf());
                    open.hole.batches_after += log.batches + log.after;
                    open.hole.bytes_after += log.bytes + log.after_bytes;
                    return;
                }
            }
        } else if !goes_on {
            // The log before ends early, at a record's end.
            self.hole = Some(ChainHole {
                hole: LogHole {
                    path: path.to_path_buf(),
                    offset: 0,
                    batches_after: log.batches + log.after,
                    bytes_after: log.bytes + log.after_bytes,
                },
                torn: true,
                missing: self.next,
            });
            return;
        }
        self.next = log.next.or(self.next);
        if let Some((offset, torn)) = log.hole {
            let missing = self.next.or(log.after_first.map(|first| first.saturating_sub(1)));
            let hole =
                LogHole { path: path.to_path_buf(), offset, batches_after: log.after, bytes_after: log.after_bytes };
            self.hole = Some(ChainHole { hole, torn, missing });
        }
    }

    fn verdict(self, published: Option<u64>) -> Verdict {
        let Some(ChainHole { hole, torn, missing }) = self.hole else { return Verdict::Whole };
        let later = self.later;
        let missing = missing.unwrap_or(0);
        if let Some(published) = published {
            return if hole.batches_after > 0 && missing <= published {
                Verdict::Damaged { hole, later }
            } else {
                Verdict::Whole
            };
        }
        match hole.batches_after > 0 {
            true if missing <= self.synced => Verdict::Damaged { hole, later },
            true => Verdict::Torn { hole, later },
            false if torn => Verdict::Torn { hole, later },
            false => Verdict::Whole,
        }
    }
}
