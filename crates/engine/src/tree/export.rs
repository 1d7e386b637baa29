//! Everything that trees hold, in the order in which an export writes it: chunks, contents, and the versions of each tree.

use std::ops::ControlFlow;

use crate::Result;
use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::value::{Chunk, Content, Piece, Place, decode};
use crate::tree::{ContentId, TreeEntry, key};

/// Rows that are read together.
const READ_AT_ONCE: usize = 1_000;

/// A part of what all trees of a tenant have.
pub(crate) enum ExportedContent {
    /// A chunk that contents may share.
    Chunk { id: ContentId, bytes: Vec<u8> },
    /// A content that is not in several chunks.
    Whole { id: ContentId, bytes: Vec<u8> },
    /// A content of `bytes` bytes, with its chunks, which came before.
    OfChunks { id: ContentId, bytes: u64, chunks: Vec<ContentId> },
}

/// Visits all chunks, then all contents.
pub(crate) fn each_content(rows: &dyn Rows, visit: &mut dyn FnMut(ExportedContent) -> Result<()>) -> Result<()> {
    let blob = |number: u64| rows.blobs(&[number])?.pop().flatten().ok_or_else(lacking);
    let scan = |prefix| KeyScan { limit: READ_AT_ONCE, ..KeyScan::prefix(prefix) };
    rows.each(scan(key::chunks()), &mut |row, stored| {
        let (id, chunk): (_, Chunk) = (key::chunk_of(row).ok_or_else(lacking)?, decode(stored)?);
        visit(ExportedContent::Chunk { id, bytes: blob(chunk.number)? })?;
        Ok(ControlFlow::Continue(()))
    })?;
    rows.each(scan(key::contents()), &mut |row, stored| {
        let (id, content): (_, Content) = (key::content_of(row).ok_or_else(lacking)?, decode(stored)?);
        visit(match content.place {
            Place::Inline(bytes) => ExportedContent::Whole { id, bytes },
            Place::One(number) => ExportedContent::Whole { id, bytes: blob(number)? },
            Place::Many { parts } => {
                let mut chunks = Vec::new();
                for number in 0..parts {
                    let stored = rows.values(&[key::part(&id, number)])?.pop().flatten().ok_or_else(lacking)?;
                    chunks.extend(decode::<Vec<Piece>>(&stored)?.into_iter().map(|piece| piece.id));
                }
                ExportedContent::OfChunks { id, bytes: content.bytes, chunks }
            }
        })?;
        Ok(ControlFlow::Continue(()))
    })
}

/// Visits all versions of a tree, by path, of each path the newest first.
pub(crate) fn each_version(rows: &dyn Rows, tree: &str, visit: &mut dyn FnMut(TreeEntry) -> Result<()>) -> Result<()> {
    let scan = KeyScan { limit: READ_AT_ONCE, ..KeyScan::prefix(key::versions_below(tree, "")) };
    rows.each(scan, &mut |row, stored| {
        let (_, path, sequence) = key::version_of(row).ok_or_else(lacking)?;
        visit(TreeEntry::of(path.to_owned(), sequence, decode(stored)?))?;
        Ok(ControlFlow::Continue(()))
    })
}
