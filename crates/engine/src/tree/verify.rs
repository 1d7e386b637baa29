//! Reading every file of a tree at a moment, and comparing its chunks and its bytes with their hashes.
//!
//! Damaged files are named by their paths, and the rest is read all the same. Nothing is changed: `doctor --repair`
//! does that.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::kv::Rows;
use crate::tree::path::check_place;
use crate::tree::read::{self, Moment};
use crate::tree::root::{TreeRoot, roots_at};
use crate::tree::value::{Content, Held, Piece, Place, decode};
use crate::tree::{ContentId, TreeAt, key};
use crate::{Error, ErrorKind, Result};

/// A page ends after this many bytes of files, or after this many paths.
const PAGE_BYTES: u64 = 64 << 20;
const PAGE_PATHS: u64 = 5_000;

/// Compares the files of a tree at a moment with their hashes, a page at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyTree {
    /// Which tree, and how it stood; on later pages, the moment that the first page names.
    pub at: TreeAt,
    /// The path at or below which files are read; empty for all.
    pub below: String,
    /// The last path of the page before.
    pub after: Option<String>,
}

/// A page of what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyPage {
    /// On the first page: the root of what lies below the path. `None` too when the rows that say so cannot be read.
    pub root: Option<TreeRoot>,
    /// The moment that was read, for the pages that follow.
    pub as_of: String,
    /// Files of this page that were read.
    pub files: u64,
    /// Of these, as they were put.
    pub bytes: u64,
    /// The damaged files, by path.
    pub damaged: Vec<DamagedFile>,
    /// The path to go on after; `None` at the end.
    pub cursor: Option<String>,
}

/// A path whose file is not what was put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedFile {
    /// The path; empty where the list of the files itself cannot be read to its end.
    pub path: String,
    /// A description of the damage.
    pub why: String,
}

/// One page.
pub(crate) fn verify(rows: &dyn Rows, ask: &VerifyTree) -> Result<VerifyPage> {
    check_place(&ask.below)?;
    let (mut moment, tree) = (ask.at.moment(rows)?, &ask.at.tree);
    let as_of = match (&ask.at.as_of, moment) {
        (None, _) | (_, Moment::Sequence(u64::MAX)) => {
            let newest = read::newest(rows)?;
            moment = Moment::Sequence(newest);
            newest.to_string()
        }
        (Some(as_of), _) => as_of.clone(),
    };
    let mut page = VerifyPage { root: None, as_of, files: 0, bytes: 0, damaged: Vec::new(), cursor: None };
    let (mut known, mut paths): (HashMap<ContentId, Option<String>>, u64) = (HashMap::new(), 0);
    let listed = (|| -> Result<()> {
        if ask.after.is_none() {
            page.root = roots_at(rows, tree, &ask.below, &[moment])?.pop();
        }
        read::visit_versions(rows, tree, moment, &ask.below, ask.after.as_deref(), &mut |path, _, version| {
            paths += 1;
            if let Held::File { content, bytes } = &version.what {
                let found = match known.get(content) {
                    Some(found) => found.clone(),
                    None => known.entry(*content).or_insert(damage_of(rows, content, *bytes)?).clone(),
                };
                page.damaged.extend(found.map(|why| DamagedFile { path: path.into(), why }));
                (page.files, page.bytes) = (page.files + 1, page.bytes + bytes);
            }
            page.cursor = Some(path.to_string());
            Ok(page.bytes < PAGE_BYTES && paths < PAGE_PATHS)
        })
    })();
    let is_full = page.bytes >= PAGE_BYTES || paths >= PAGE_PATHS;
    if let Err(error) = listed {
        let why = format!("the list of the files cannot be read to its end: {}", damage(error)?);
        page.damaged.push(DamagedFile { path: String::new(), why });
        page.cursor = None;
    } else if !is_full {
        page.cursor = None;
    }
    Ok(page)
}

/// Describes the damage to a content of `bytes` bytes; `None` if all is well.
fn damage_of(rows: &dyn Rows, id: &ContentId, bytes: u64) -> Result<Option<String>> {
    match compare(rows, id, bytes) {
        Ok(found) => Ok(found),
        Err(error) => damage(error).map(Some),
    }
}

/// Returns the damage to the store that an error reports. Other errors say nothing about the store, and end the work.
fn damage(error: Error) -> Result<String> {
    match error.kind {
        ErrorKind::Corrupt { .. } | ErrorKind::Internal => Ok(error.to_string()),
        _ => Err(error),
    }
}

fn compare(rows: &dyn Rows, id: &ContentId, bytes: u64) -> Result<Option<String>> {
    let Some(stored) = rows.values(&[key::content(id)])?.pop().flatten() else {
        return Ok(Some("its content is lost".into()));
    };
    let content: Content = decode(&stored)?;
    if content.bytes != bytes {
        return Ok(Some(format!("it was put with {bytes} bytes, and its content has {}", content.bytes)));
    }
    let whole = match content.place {
        Place::Inline(whole) => whole,
        Place::One(number) => match rows.blobs(&[number])?.pop().flatten() {
            Some(whole) => whole,
            None => return Ok(Some("its bytes are lost".into())),
        },
        Place::Many { parts } => return compare_pieces(rows, id, parts, bytes),
    };
    Ok(wrong_bytes(id, &whole, 0))
}

fn compare_pieces(rows: &dyn Rows, id: &ContentId, parts: u32, bytes: u64) -> Result<Option<String>> {
    let (mut hasher, mut at) = (blake3::Hasher::new(), 0);
    for number in 0..parts {
        let Some(stored) = rows.values(&[key::part(id, number)])?.pop().flatten() else {
            return Ok(Some(format!("the list of its chunks is lost from byte {at} on")));
        };
        for piece in decode::<Vec<Piece>>(&stored)? {
            let Some(chunk) = rows.blobs(&[piece.number])?.pop().flatten() else {
                return Ok(Some(format!("its {} bytes from {at} on are lost", piece.bytes)));
            };
            if let Some(why) = wrong_bytes(&piece.id, &chunk, at) {
                return Ok(Some(why));
            }
            hasher.update(&chunk);
            at += chunk.len() as u64;
        }
    }
    if at != bytes {
        return Ok(Some(format!("it was put with {bytes} bytes, and its chunks have {at}")));
    }
    match ContentId(*hasher.finalize().as_bytes()) == *id {
        true => Ok(None),
        false => Ok(Some("its chunks are whole and are not those of its content".into())),
    }
}

fn wrong_bytes(id: &ContentId, bytes: &[u8], from: u64) -> Option<String> {
    let to = from + bytes.len() as u64;
    (ContentId::of(bytes) != *id)
        .then(|| format!("its bytes from {from} to {to} have another hash than those that were put"))
}
