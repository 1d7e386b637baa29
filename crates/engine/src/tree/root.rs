//! The root of a tree at a moment: one hash over all that `diff` compares, so that two states have the same root exactly when
//! they do not differ, wherever they are stored.
//!
//! A folder's hash is BLAKE3 over [`HEADER`] and its entries, in the order of the bytes of their names. An entry is the letter
//! of its kind, the length of its name (4 bytes, big endian), its name, and a value:
//!
//! | letter | what | value |
//! |---|---|---|
//! | `f` | a file | its mode (4 bytes, big endian), the hash of its bytes |
//! | `l` | a symbolic link | its mode, the length of its target (4 bytes, big endian), its target |
//! | `d` | a folder that was put for itself | nothing |
//! | `t` | what lies below that name | the hash of that folder |
//!
//! In the order, the name of a `t` has a `/` at its end. That is the order of the rows, so no folder is held in memory.
//! [RFC 0061](../../../../docs/rfcs/0061-roots-of-trees.md) says why it is so.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::path::check_place;
use crate::tree::read::Moment;
use crate::tree::value::{Held, Version, decode};
use crate::tree::{ContentId, TreeAt, key};

/// The first bytes hashed for a folder, so that its hash is never that of a file.
pub const ROOT_HEADER: &[u8] = b"nuthatch tree 1\n";
/// Rows that are read together.
const READ_AT_ONCE: usize = 2_000;
/// Moments whose roots are worked out in one go through the versions.
const MOMENTS_AT_ONCE: usize = 64;

/// The root of a tree, or of a folder in it, and what it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRoot {
    /// The hash. Its text form is 64 hexadecimal digits.
    pub root: ContentId,
    /// Files at that moment.
    pub files: u64,
    /// Folders that were put for themselves.
    pub folders: u64,
    /// Symbolic links.
    pub links: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// The roots of what lies below a path, the empty one for the tree, at each of these moments.
pub(crate) fn roots(rows: &dyn Rows, tree: &str, below: &str, moments: &[Option<String>]) -> Result<Vec<TreeRoot>> {
    check_place(below)?;
    let moments = moments.iter().map(|as_of| TreeAt { tree: tree.into(), as_of: as_of.clone() }.moment(rows));
    let moments = moments.collect::<Result<Vec<_>>>()?;
    let mut roots = Vec::with_capacity(moments.len());
    for some in moments.chunks(MOMENTS_AT_ONCE) {
        roots.extend(roots_at(rows, tree, below, some)?);
    }
    Ok(roots)
}

pub(crate) fn roots_at(rows: &dyn Rows, tree: &str, below: &str, moments: &[Moment]) -> Result<Vec<TreeRoot>> {
    let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
    let scan = KeyScan { limit: READ_AT_ONCE, ..KeyScan::prefix(key::versions_below(tree, &prefix)) };
    let mut hashing: Vec<Hashing> = moments.iter().map(|_| Hashing::new()).collect();
    // Which moments have seen their version of the path.
    let (mut at, mut has_seen) = (String::new(), vec![false; moments.len()]);
    rows.each(scan, &mut |row, stored| {
        let (_, path, sequence) = key::version_of(row).ok_or_else(lacking)?;
        if at != path {
            path.clone_into(&mut at);
            has_seen.fill(false);
        }
        if has_seen.iter().all(|has_seen| *has_seen) {
            return Ok(ControlFlow::Continue(()));
        }
        let version: Version = decode(stored)?;
        for ((moment, has_seen), hashing) in moments.iter().zip(&mut has_seen).zip(&mut hashing) {
            if !*has_seen && moment.shows(sequence, &version) {
                *has_seen = true;
                hashing.add(&path[prefix.len()..], &version);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(hashing.into_iter().map(Hashing::finish).collect())
}

/// Folders that are not finished, the outermost first; the first one is the root.
struct Hashing {
    open: Vec<Folder>,
    counts: TreeRoot,
}

struct Folder {
    name: String,
    hasher: blake3::Hasher,
}

impl Folder {
    fn new(name: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(ROOT_HEADER);
        Self { name: name.into(), hasher }
    }

    fn add(&mut self, kind: u8, name: &str, value: &[&[u8]]) {
        self.hasher.update(&[kind]);
        self.hasher.update(&length(name));
        self.hasher.update(name.as_bytes());
        for part in value {
            self.hasher.update(part);
        }
    }

    fn hash(&self) -> ContentId {
        ContentId(*self.hasher.finalize().as_bytes())
    }
}

/// Names and targets are shorter than 4 GiB.
fn length(text: &str) -> [u8; 4] {
    (text.len() as u32).to_be_bytes()
}

impl Hashing {
    fn new() -> Self {
        let counts = TreeRoot { root: ContentId([0; 32]), files: 0, folders: 0, links: 0, bytes: 0 };
        Self { open: vec![Folder::new("")], counts }
    }

    /// Adds what stands at a path; paths come in the order of their bytes.
    fn add(&mut self, path: &str, version: &Version) {
        if version.what == Held::Gone {
            return;
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parts = || above.split('/').filter(|part| !part.is_empty());
        let shared = self.open[1..].iter().zip(parts()).take_while(|(folder, part)| folder.name == *part).count();
        self.close_to(1 + shared);
        self.open.extend(parts().skip(shared).map(Folder::new));
        let Some(folder) = self.open.last_mut() else { return };
        let mode = version.mode.to_be_bytes();
        match &version.what {
            Held::File { content, bytes } => {
                folder.add(b'f', name, &[&mode, &content.0]);
                (self.counts.files, self.counts.bytes) = (self.counts.files + 1, self.counts.bytes + bytes);
            }
            Held::Link(target) => {
                folder.add(b'l', name, &[&mode, &length(target), target.as_bytes()]);
                self.counts.links += 1;
            }
            Held::Folder => {
                folder.add(b'd', name, &[]);
                self.counts.folders += 1;
            }
            Held::Gone => {}
        }
    }

    /// Finishes folders until at most `count` are open.
    fn close_to(&mut self, count: usize) {
        while self.open.len() > count
            && let Some(done) = self.open.pop()
            && let Some(above) = self.open.last_mut()
        {
            above.add(b't', &done.name, &[&done.hash().0]);
        }
    }

    fn finish(mut self) -> TreeRoot {
        self.close_to(1);
        TreeRoot { root: self.open[0].hash(), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_of(entries: &[(&str, Held, u32)]) -> TreeRoot {
        let mut hashing = Hashing::new();
        for (path, what, mode) in entries {
            hashing.add(
                path,
                &Version {
                    what: what.clone(),
                    mode: *mode,
                    modified_ns: 0,
                    recorded_ms: 0,
                    fields: Default::default(),
                },
            );
        }
        hashing.finish()
    }

    fn file(text: &str) -> Held {
        Held::File { content: ContentId::of(text.as_bytes()), bytes: text.len() as u64 }
    }

    #[test]
    fn a_root_is_over_these_bytes() {
        assert_eq!(root_of(&[]).root, ContentId::of(b"nuthatch tree 1\n"));
        let inner =
            ContentId::of(&[&b"nuthatch tree 1\nf\0\0\0\x01x\0\0\x01\xa4"[..], &ContentId::of(b"1").0].concat());
        let outer = [
            &b"nuthatch tree 1\nd\0\0\0\x01al\0\0\0\x03a-b\0\0\x01\xff\0\0\0\x01xt\0\0\0\x01a"[..],
            &inner.0,
            b"f\0\0\0\x02a0\0\0\x01\xed",
            &ContentId::of(b"22").0,
        ]
        .concat();
        // As rows come: "a/x" lies behind "a-b", because "/" does.
        let found = root_of(&[
            ("a", Held::Folder, 0o700),
            ("a-b", Held::Link("x".into()), 0o777),
            ("a/x", file("1"), 0o644),
            ("a0", file("22"), 0o755),
        ]);
        let root = ContentId::of(&outer);
        assert_eq!(found, TreeRoot { root, files: 2, folders: 1, links: 1, bytes: 3 });
    }

    #[test]
    fn every_part_of_an_entry_counts() {
        let of = |path: &str, what: Held, mode| root_of(&[(path, what, mode)]).root;
        let all = [
            root_of(&[]).root,
            of("a", file("x"), 0o644),
            of("b", file("x"), 0o644),
            of("a", file("y"), 0o644),
            of("a", file("x"), 0o600),
            of("a/a", file("x"), 0o644),
            of("a/a/a", file("x"), 0o644),
            of("a", Held::Link("x".into()), 0o644),
            of("a", Held::Link("y".into()), 0o644),
            of("a", Held::Folder, 0o644),
            root_of(&[("a", file("x"), 0o644), ("b", file("x"), 0o644)]).root,
        ];
        let different: std::collections::BTreeSet<ContentId> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn a_folder_deep_in_a_tree_has_the_root_of_a_tree_of_its_own() {
        let inner = root_of(&[("x", file("1"), 0o644), ("y/z", file("2"), 0o644)]).root;
        let mut by_hand = Folder::new("");
        by_hand.add(b't', "q", &[&inner.0]);
        assert_eq!(root_of(&[("q/x", file("1"), 0o644), ("q/y/z", file("2"), 0o644)]).root, by_hand.hash());
    }
}
