//! A file of a tree: its text from a line on, as it was, or what changed since then.

use nuthatch_link::{DiffTrees, EntryKind, Error, Files, Result as EngineResult, TreeEntry, What, format_datetime};
use nuthatch_worktree::{Side, patch};
use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::{Budget, beginning};
use crate::tools::cursor::{Cursors, no_cursor};

/// Bytes that are read at a time.
const PART_BYTES: usize = 256 << 10;
/// Lines around a change.
const CONTEXT: usize = 3;

/// Which file of a tree, and what of it.
pub struct Asked<'a> {
    pub path: &'a str,
    pub as_of: Option<&'a str>,
    /// The state to compare with.
    pub diff: Option<&'a str>,
    pub from_line: Option<u32>,
    pub max_tokens: Option<usize>,
}

/// The text of a file, or a patch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileText {
    path: String,
    /// Give it as `as_of` to get this version again.
    version: u64,
    /// When that was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<String>,
    /// The line that the text begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_line: Option<u64>,
    /// The file's text, or the differences as a patch.
    pub text: String,
}

/// The text of the file, with where to go on.
pub fn read(
    files: &Files,
    asked: &Asked<'_>,
    cursors: &Cursors,
    cursor: Option<&str>,
) -> EngineResult<(FileText, Option<String>)> {
    let Some(entry) = files.entry(asked.as_of, asked.path)? else {
        // Most folders are there by what lies below them alone.
        return Err(match files.list(asked.as_of, asked.path, None, 1)?.entries.is_empty() {
            true => missing(files, asked.path),
            false => is_folder(asked.path),
        });
    };
    match entry.kind {
        EntryKind::File => {}
        EntryKind::Link => {
            let target = entry.target.unwrap_or_default();
            return Err(Error::invalid(format!("{:?} is a link to {target:?}; get that", asked.path)));
        }
        EntryKind::Folder | EntryKind::Gone => return Err(is_folder(asked.path)),
    }
    let place = cursors.place(cursor)?.map(|at| place(at).ok_or_else(|| no_cursor(at))).transpose()?;
    let text = Text { files, as_of: asked.as_of, entry: &entry };
    let (from, line) = match (place, asked.from_line) {
        (Some((from, line)), _) => (from, line),
        (None, Some(line)) => (text.start_of_line(u64::from(line.max(1)))?, u64::from(line.max(1))),
        (None, None) => (0, 1),
    };
    let read = text.part(from)?;
    let Some(whole) = std::str::from_utf8(whole_characters(&read)).ok().filter(|whole| !whole.contains('\0')) else {
        let (path, bytes) = (asked.path, entry.bytes);
        let why =
            format!("{path:?} has {bytes} bytes that are no text in UTF-8; `nuthatch get --tree` gives its bytes");
        return Err(Error::invalid(why));
    };
    let shown = beginning(whole, Budget::of(asked.max_tokens)?.bytes_left());
    let next = from + shown.len() as u64;
    let lines = shown.matches('\n').count() as u64;
    let next = (next < entry.bytes && !shown.is_empty()).then(|| cursors.at(format!("{next}.{}", line + lines)));
    Ok((told(entry, Some(line), shown.to_string()), next))
}

/// Returns the changes to the file since a moment.
pub fn diff(files: &Files, asked: &Asked<'_>, since: &str) -> EngineResult<FileText> {
    let (from, to) = (files.at(Some(since)), files.at(asked.as_of));
    let changes = files.diff(DiffTrees { from, to, below: asked.path.into(), no_renames: true })?;
    let budget = Budget::of(asked.max_tokens)?;
    let mut text = String::new();
    for change in &changes {
        text += &String::from_utf8_lossy(&patch(change, Side::Tree(files), Side::Tree(files), CONTEXT)?.text);
    }
    if text.is_empty() {
        text = format!("nothing at {:?} changed since {since}", asked.path);
    }
    let shown = beginning(&text, budget.bytes_left());
    if shown.len() < text.len() {
        let cut = format!("{shown}\n… {} bytes more; ask for one file, or for more tokens\n", text.len() - shown.len());
        text = cut;
    }
    match files.entry(asked.as_of, asked.path)? {
        Some(entry) => Ok(told(entry, None, text)),
        None if changes.is_empty() => Err(missing(files, asked.path)),
        None => Ok(FileText { path: asked.path.into(), version: 0, stored: None, from_line: None, text }),
    }
}

fn told(entry: TreeEntry, from_line: Option<u64>, text: String) -> FileText {
    let stored = format_datetime((entry.recorded_ms as i64).saturating_mul(1000));
    FileText { path: entry.path, version: entry.sequence, stored, from_line, text }
}

fn is_folder(path: &str) -> Error {
    Error::invalid(format!("{path:?} is a folder; `list` shows what it has"))
}

fn missing(files: &Files, path: &str) -> Error {
    let why = format!("tree {:?} has nothing at {path:?} at that moment; `list` shows what it has", files.name());
    Error::not_found(why).about(What::File, path)
}

fn place(text: &str) -> Option<(u64, u64)> {
    let (from, line) = text.split_once('.')?;
    Some((from.parse().ok()?, line.parse().ok()?))
}

/// Without the beginning of a character that the next part goes on with.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// A version that is read in parts.
struct Text<'f> {
    files: &'f Files,
    as_of: Option<&'f str>,
    entry: &'f TreeEntry,
}

impl Text<'_> {
    fn part(&self, from: u64) -> EngineResult<Vec<u8>> {
        self.files.read_version(self.as_of, self.entry, from, PART_BYTES)
    }

    /// The byte that a line begins with, counted from 1.
    fn start_of_line(&self, line: u64) -> EngineResult<u64> {
        let (mut from, mut before) = (0, 1);
        while before < line {
            let part = self.part(from)?;
            if part.is_empty() {
                let (path, lines) = (&self.entry.path, before - 1);
                return Err(Error::invalid(format!("from_line is {line}, and {path:?} has {lines} line ends")));
            }
            for (at, byte) in part.iter().enumerate() {
                before += u64::from(*byte == b'\n');
                if before == line {
                    return Ok(from + at as u64 + 1);
                }
            }
            from += part.len() as u64;
        }
        Ok(from)
    }
}

impl FileText {
    pub fn shown(&self) -> String {
        let line = self.from_line.map_or(String::new(), |line| format!(" from line {line}"));
        format!("{}{line} (version {})\n{}", self.path, self.version, self.text)
    }
}
