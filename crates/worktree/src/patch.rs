//! Differences of texts, as `git diff` shows and `git apply` takes them.

use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};
use nuthatch_link::{ChangeKind, EntryKind, Error, Files, READ_BYTES_MAX, Result, TreeChange, TreeEntry};

/// Larger files are compared as wholes.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// A file with a NUL among this many first bytes is not text; git looks as far.
const LOOKED_AT_BYTES: usize = 8_000;

/// Where the bytes of one state are.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// In a tree.
    Tree(&'a Files),
    /// In a folder, which has what lies below that path of the tree.
    Folder(&'a Path, &'a str),
}

/// The difference of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Ends with a line's end; bytes, because texts need not be UTF-8.
    pub text: Vec<u8>,
    /// Lines that only the later state has.
    pub added: u64,
    /// Lines that only the earlier state has.
    pub removed: u64,
    /// No lines are compared: one side is no text, or larger than 16 MiB.
    pub is_binary: bool,
}

impl Side<'_> {
    /// The bytes of a version, or the target of a link; `None` for a file that is too large.
    pub(crate) fn bytes(&self, entry: &TreeEntry) -> Result<Option<Vec<u8>>> {
        if let Some(target) = &entry.target {
            return Ok(Some(target.clone().into_bytes()));
        }
        if entry.kind != EntryKind::File || entry.bytes == 0 {
            return Ok(Some(Vec::new()));
        }
        if entry.bytes > TEXT_BYTES_MAX {
            return Ok(None);
        }
        match self {
            Self::Tree(files) => {
                let as_of = entry.sequence.to_string();
                let mut whole = Vec::with_capacity(entry.bytes as usize);
                while (whole.len() as u64) < entry.bytes {
                    whole.append(&mut files.read_version(Some(&as_of), entry, whole.len() as u64, READ_BYTES_MAX)?);
                }
                Ok(Some(whole))
            }
            Self::Folder(folder, below) => {
                let name = entry.path.strip_prefix(below).unwrap_or(&entry.path).trim_start_matches('/');
                let (at, mut bytes) = (folder.join(name), Vec::new());
                let read = File::open(&at).and_then(|file| file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes));
                read.map_err(|error| Error::io(&at, &error))?;
                Ok(Some(bytes))
            }
        }
    }
}

/// Returns the difference of one path between two states, with `context` lines of context.
///
/// # Errors
/// Those of reading either side.
pub fn patch(change: &TreeChange, before: Side<'_>, after: Side<'_>, context: usize) -> Result<Patch> {
    let read = |side: &Side<'_>, entry: &Option<TreeEntry>| match entry {
        Some(entry) => side.bytes(entry),
        None => Ok(Some(Vec::new())),
    };
    let mut patch = Patch { text: header(change), ..Patch::default() };
    let is_exact = change.before.as_ref().map(|entry| (entry.content, &entry.target))
        == change.after.as_ref().map(|entry| (entry.content, &entry.target));
    if is_exact {
        return Ok(patch);
    }
    let (old, new) = (read(&before, &change.before)?, read(&after, &change.after)?);
    let is_text = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().is_some_and(|bytes| !bytes[..bytes.len().min(LOOKED_AT_BYTES)].contains(&0))
    };
    let names = |change: &TreeChange| {
        let name = |entry: &Option<TreeEntry>, side: char| match entry {
            Some(entry) => quoted(&format!("{side}/{}", entry.path)),
            None => "/dev/null".to_string(),
        };
        (name(&change.before, 'a'), name(&change.after, 'b'))
    };
    let (old_name, new_name) = names(change);
    let (Some(old), Some(new), true, true) = (&old, &new, is_text(&old), is_text(&new)) else {
        patch.is_binary = true;
        patch.text.extend_from_slice(format!("Binary files {old_name} and {new_name} differ\n").as_bytes());
        return Ok(patch);
    };
    let lines = InternedInput::new(&old[..], &new[..]);
    let mut diff = Diff::compute(Algorithm::Myers, &lines);
    diff.postprocess_lines(&lines);
    (patch.added, patch.removed) = (diff.count_additions().into(), diff.count_removals().into());
    if patch.added + patch.removed > 0 {
        writeln!(patch.text, "--- {old_name}\n+++ {new_name}").map_err(unwritten)?;
        let hunks: Vec<Hunk> = diff.hunks().collect();
        // Hunks whose context would touch are one.
        for near in hunks.chunk_by(|one, next| (next.before.start - one.before.end) as usize <= 2 * context) {
            write_hunk(&mut patch.text, &lines, near, context).map_err(unwritten)?;
        }
    }
    Ok(patch)
}

/// Writes neighbouring changes with the lines around them.
fn write_hunk(
    out: &mut Vec<u8>,
    lines: &InternedInput<&[u8]>,
    changes: &[Hunk],
    context: usize,
) -> std::io::Result<()> {
    let [first, ..] = changes else { return Ok(()) };
    let last = &changes[changes.len() - 1];
    // Outside of changes, both sides have the same lines.
    let lead = first.before.start.min(context as u32);
    let trail = (lines.before.len() as u32 - last.before.end).min(context as u32);
    let old = first.before.start - lead..last.before.end + trail;
    let new = first.after.start - lead..last.after.end + trail;
    writeln!(out, "@@ -{} +{} @@", place(&old), place(&new))?;
    let mut write = |mark: u8, tokens: &[imara_diff::Token]| {
        for token in tokens {
            let line = lines.interner[*token];
            out.push(mark);
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    };
    let mut at = old.start;
    for change in changes {
        write(b' ', &lines.before[at as usize..change.before.start as usize]);
        write(b'-', &lines.before[change.before.start as usize..change.before.end as usize]);
        write(b'+', &lines.after[change.after.start as usize..change.after.end as usize]);
        at = change.before.end;
    }
    write(b' ', &lines.before[at as usize..old.end as usize]);
    Ok(())
}

/// Where lines are, as a hunk's head says it: from 1 on, or behind the line before where there are none.
fn place(lines: &Range<u32>) -> String {
    match lines.end - lines.start {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        many => format!("{},{many}", lines.start + 1),
    }
}

fn unwritten(error: std::io::Error) -> Error {
    Error::internal(format!("a difference could not be written: {error}"))
}

/// Returns git's header, which precedes the changed lines.
fn header(change: &TreeChange) -> Vec<u8> {
    let path = |entry: &Option<TreeEntry>| entry.as_ref().map_or(change.path.clone(), |entry| entry.path.clone());
    let (old, new) = (path(&change.before), path(&change.after));
    let mut lines = vec![format!("diff --git {} {}", quoted(&format!("a/{old}")), quoted(&format!("b/{new}")))];
    match (&change.before, &change.after) {
        (None, Some(after)) => lines.push(format!("new file mode {}", git_mode(after))),
        (Some(before), None) => lines.push(format!("deleted file mode {}", git_mode(before))),
        (Some(before), Some(after)) => {
            if git_mode(before) != git_mode(after) {
                lines.push(format!("old mode {}\nnew mode {}", git_mode(before), git_mode(after)));
            }
            if change.kind == ChangeKind::Renamed {
                if before.content == after.content {
                    lines.push("similarity index 100%".into());
                }
                lines.push(format!("rename from {}\nrename to {}", quoted(&old), quoted(&new)));
            }
        }
        (None, None) => {}
    }
    (lines.join("\n") + "\n").into_bytes()
}

/// Git knows links, and files that may or may not be run.
fn git_mode(entry: &TreeEntry) -> &'static str {
    match entry.kind {
        EntryKind::Link => "120000",
        _ if entry.mode & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

/// A name as git writes one that would not stay on its line.
fn quoted(name: &str) -> String {
    if !name.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        return name.to_string();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => c.to_string().bytes().for_each(|byte| out.push_str(&format!("\\{byte:03o}"))),
            c => out.push(c),
        }
    }
    out + "\""
}
