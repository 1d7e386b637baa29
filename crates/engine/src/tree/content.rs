//! Contents: bytes that are stored once, however many versions have them.
//!
//! Files are cut into chunks at boundaries that their bytes determine (FastCDC, 2020), so that an insertion moves only
//! nearby cuts, and chunks that contents share are stored once. Each version counts as one reference to its content,
//! each content as one reference to each place of a chunk in it. Unreferenced contents and chunks are deleted in the
//! same batch.

use std::ops::Range;

use fastcdc::v2020::FastCDC;

use crate::Result;
use crate::kv::Rows;
use crate::tree::draft::{Draft, lacking};
use crate::tree::value::{Chunk, Content, Piece, Place, decode};
use crate::tree::{ContentId, key};

/// Contents up to this size lie in their own row.
const INLINE_BYTES_MAX: usize = 256;
/// Sizes of chunks (smallest, mean, largest): of contents up to 4 MiB, and of larger ones. Changing one would store a file that
/// is there a second time: the test below pins where they cut.
const SMALL: (u32, u32, u32) = (4 << 10, 16 << 10, 64 << 10);
pub(crate) const LARGE: (u32, u32, u32) = (16 << 10, 64 << 10, 256 << 10);
pub(crate) const LARGE_FROM_BYTES: usize = 4 << 20;
/// Chunks that one row lists.
pub(crate) const PIECES_A_PART: usize = 1_024;

/// A chunk of a content that is on its way in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub id: ContentId,
    pub range: Range<usize>,
}

/// A content on its way in.
pub(crate) struct Prepared {
    pub id: ContentId,
    pub data: Vec<u8>,
    cuts: Option<Vec<Cut>>,
}

impl Prepared {
    /// Hashes a content, and cuts it unless it is there already.
    pub fn new(data: Vec<u8>, is_known: impl FnOnce(&ContentId) -> Result<bool>) -> Result<Self> {
        let id = ContentId::of(&data);
        let cuts = if data.len() <= INLINE_BYTES_MAX || is_known(&id)? { None } else { Some(cut(&id, &data)) };
        Ok(Self { id, data, cuts })
    }
}

/// The chunks of a content; of one alone its id is the content's.
fn cut(id: &ContentId, data: &[u8]) -> Vec<Cut> {
    let sizes = if data.len() < LARGE_FROM_BYTES { SMALL } else { LARGE };
    let ranges: Vec<Range<usize>> = ranges(data, sizes).collect();
    if let [whole] = &ranges[..] {
        return vec![Cut { id: *id, range: whole.clone() }];
    }
    ranges.into_iter().map(|range| Cut { id: ContentId::of(&data[range.clone()]), range }).collect()
}

fn ranges(data: &[u8], (min, mean, max): (u32, u32, u32)) -> impl Iterator<Item = Range<usize>> {
    FastCDC::new(data, min as usize, mean as usize, max as usize).map(|chunk| chunk.offset..chunk.offset + chunk.length)
}

impl Draft<'_> {
    /// Adds a reference to a content, and the content if it is not there. Returns the bytes that were not there.
    pub fn hold(&mut self, prepared: &Prepared) -> Result<u64> {
        let key = key::content(&prepared.id);
        if let Some(content) = self.get::<Content>(&key)? {
            self.put(key, &Content { refs: content.refs + 1, ..content })?;
            return Ok(0);
        }
        let (data, mut new_bytes) = (&prepared.data, 0);
        let place = if data.len() <= INLINE_BYTES_MAX {
            new_bytes = data.len() as u64;
            Place::Inline(data.clone())
        } else {
            let found;
            let cuts = match &prepared.cuts {
                Some(cuts) => cuts,
                None => {
                    found = cut(&prepared.id, data); // it was there a moment ago
                    &found
                }
            };
            match &cuts[..] {
                [_] => {
                    new_bytes = data.len() as u64;
                    Place::One(self.put_blob(data)?)
                }
                cuts => {
                    let pieces = cuts.iter().map(|cut| {
                        let bytes = &data[cut.range.clone()];
                        let (piece, is_new) = self.hold_chunk(cut.id, bytes)?;
                        new_bytes += if is_new { bytes.len() as u64 } else { 0 };
                        Ok(piece)
                    });
                    let pieces: Vec<Piece> = pieces.collect::<Result<_>>()?;
                    self.list_pieces(&prepared.id, &pieces)?
                }
            }
        };
        self.add_content(&prepared.id, data.len() as u64, place)?;
        Ok(new_bytes)
    }

    /// Adds a reference to a content that is there.
    pub fn hold_again(&mut self, id: &ContentId) -> Result<()> {
        let key = key::content(id);
        let content: Content = self.must(&key)?;
        self.put(key, &Content { refs: content.refs + 1, ..content })
    }

    /// Adds a content with one reference.
    pub fn add_content(&mut self, id: &ContentId, bytes: u64, place: Place) -> Result<()> {
        self.totals.contents += 1;
        self.totals.content_bytes += bytes;
        self.put(key::content(id), &Content { refs: 1, bytes, place })
    }

    /// Adds a reference to a chunk, and the chunk if it is not there: then `true`.
    pub fn hold_chunk(&mut self, id: ContentId, bytes: &[u8]) -> Result<(Piece, bool)> {
        let key = key::chunk(&id);
        let known = self.get::<Chunk>(&key)?;
        let chunk = match known {
            Some(chunk) => Chunk { refs: chunk.refs + 1, ..chunk },
            None => Chunk { number: self.put_blob(bytes)?, refs: 1 },
        };
        self.put(key, &chunk)?;
        Ok((Piece { id, number: chunk.number, bytes: bytes.len() as u32 }, known.is_none()))
    }

    /// Writes the list of a content's chunks.
    pub fn list_pieces(&mut self, id: &ContentId, pieces: &[Piece]) -> Result<Place> {
        let parts = pieces.chunks(PIECES_A_PART);
        let count = parts.len() as u32;
        for (number, part) in parts.enumerate() {
            self.put(key::part(id, number as u32), &part)?;
        }
        Ok(Place::Many { parts: count })
    }

    /// Removes a reference to a content, and what nothing refers to any more.
    pub fn release(&mut self, id: &ContentId) -> Result<()> {
        let key = key::content(id);
        let content: Content = self.must(&key)?;
        if content.refs > 1 {
            return self.put(key, &Content { refs: content.refs - 1, ..content });
        }
        self.delete(key);
        self.forget_code(id)?;
        self.forget_grams(id)?;
        self.totals.contents = self.totals.contents.saturating_sub(1);
        self.totals.content_bytes = self.totals.content_bytes.saturating_sub(content.bytes);
        match content.place {
            Place::Inline(_) => {}
            Place::One(number) => self.delete_blob(number, content.bytes),
            Place::Many { parts } => {
                for number in 0..parts {
                    let part = key::part(id, number);
                    let pieces: Vec<Piece> = self.must(&part)?;
                    self.delete(part);
                    pieces.iter().try_for_each(|piece| self.release_chunk(piece))?;
                }
            }
        }
        Ok(())
    }

    /// Removes a reference to a chunk, and the chunk after the last one.
    pub fn release_chunk(&mut self, piece: &Piece) -> Result<()> {
        let key = key::chunk(&piece.id);
        let chunk: Chunk = self.must(&key)?;
        if chunk.refs > 1 {
            return self.put(key, &Chunk { refs: chunk.refs - 1, ..chunk });
        }
        self.delete(key);
        self.delete_blob(chunk.number, piece.bytes.into());
        Ok(())
    }
}

/// Up to `limit` bytes of a content from `offset` on, fewer at its end.
///
/// # Errors
/// `NotFound` when it is not stored.
pub(crate) fn read(rows: &dyn Rows, id: &ContentId, offset: u64, limit: usize) -> Result<Option<Vec<u8>>> {
    let Some(stored) = rows.values(&[key::content(id)])?.pop().flatten() else { return Ok(None) };
    let content: Content = decode(&stored)?;
    let from = offset.min(content.bytes);
    let to = from.saturating_add(limit as u64).min(content.bytes);
    let whole = match content.place {
        Place::Inline(bytes) => bytes,
        Place::One(number) => rows.blobs(&[number])?.pop().flatten().ok_or_else(lacking)?,
        Place::Many { parts } => return read_pieces(rows, id, parts, from..to).map(Some),
    };
    let part = whole.get(from as usize..to as usize).ok_or_else(lacking)?;
    Ok(Some(if part.len() == whole.len() { whole } else { part.to_vec() }))
}

/// All bytes of some contents, in their order.
///
/// # Errors
/// `Internal` when one is not stored.
pub(crate) fn read_all(rows: &dyn Rows, ids: &[ContentId]) -> Result<Vec<Vec<u8>>> {
    read_with_refs(rows, ids).map(|(contents, _)| contents)
}

/// The same, and how many versions have each.
pub(crate) fn read_with_refs(rows: &dyn Rows, ids: &[ContentId]) -> Result<(Vec<Vec<u8>>, Vec<u64>)> {
    let keys: Vec<Vec<u8>> = ids.iter().map(key::content).collect();
    let (mut whole, mut refs) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    // Which content each large value belongs to, in order: values of many contents are neighbours, and read in one go.
    let (mut owners, mut numbers) = (Vec::new(), Vec::new());
    let mut parts = Vec::new();
    let mut places = Vec::with_capacity(ids.len());
    for (id, stored) in ids.iter().zip(rows.values(&keys)?) {
        let content: Content = decode(&stored.ok_or_else(lacking)?)?;
        refs.push(content.refs);
        if let Place::Many { parts: count } = &content.place {
            parts.extend((0..*count).map(|number| key::part(id, number)));
        }
        places.push(content);
    }
    let mut parts = rows.values(&parts)?.into_iter();
    for (owner, content) in places.into_iter().enumerate() {
        whole.push(match content.place {
            Place::Inline(bytes) => bytes,
            Place::One(number) => {
                owners.push(owner);
                numbers.push(number);
                Vec::new()
            }
            Place::Many { parts: count } => {
                for stored in parts.by_ref().take(count as usize) {
                    let pieces: Vec<Piece> = decode(&stored.ok_or_else(lacking)?)?;
                    owners.extend(pieces.iter().map(|_| owner));
                    numbers.extend(pieces.iter().map(|piece| piece.number));
                }
                Vec::with_capacity(content.bytes as usize)
            }
        });
    }
    for (owner, bytes) in owners.into_iter().zip(rows.blobs(&numbers)?) {
        let bytes = bytes.ok_or_else(lacking)?;
        let whole: &mut Vec<u8> = &mut whole[owner];
        if whole.capacity() == 0 { *whole = bytes } else { whole.extend_from_slice(&bytes) }
    }
    Ok((whole, refs))
}

/// Bytes of a content that is in chunks.
fn read_pieces(rows: &dyn Rows, id: &ContentId, parts: u32, range: Range<u64>) -> Result<Vec<u8>> {
    let mut read = Vec::with_capacity((range.end - range.start) as usize);
    let mut at = 0;
    for number in 0..parts {
        if at >= range.end {
            break;
        }
        let stored = rows.values(&[key::part(id, number)])?.pop().flatten().ok_or_else(lacking)?;
        let pieces: Vec<Piece> = decode(&stored)?;
        let mut wanted = Vec::new();
        for piece in pieces {
            let own = at..at + u64::from(piece.bytes);
            at = own.end;
            if own.start < range.end && own.end > range.start {
                wanted.push((own, piece.number));
            }
        }
        let numbers: Vec<u64> = wanted.iter().map(|(_, number)| *number).collect();
        for ((own, _), bytes) in wanted.into_iter().zip(rows.blobs(&numbers)?) {
            let bytes = bytes.ok_or_else(lacking)?;
            let (from, to) = (range.start.max(own.start) - own.start, range.end.min(own.end) - own.start);
            read.extend_from_slice(bytes.get(from as usize..to as usize).ok_or_else(lacking)?);
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without a pattern that are the same everywhere.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(7);
        std::iter::repeat_with(|| random.u8(..)).take(bytes).collect()
    }

    #[test]
    fn cuts_stay_where_they_are() {
        let ends = |bytes| {
            let data = noise(bytes);
            cut(&ContentId::of(&data), &data).iter().map(|cut| cut.range.end).collect::<Vec<_>>()
        };
        assert_eq!(ends(3_000), [3_000]);
        let (small, large) = (ends(100_000), ends(LARGE_FROM_BYTES));
        assert_eq!(small, CUTS_OF_100_000, "a file that is stored would be stored again");
        assert_eq!(&large[..3], FIRST_CUTS_OF_4_MIB, "a file that is stored would be stored again");
    }

    const CUTS_OF_100_000: &[usize] = &[6_046, 25_201, 51_521, 77_672, 83_584, 100_000];
    const FIRST_CUTS_OF_4_MIB: &[usize] = &[57_568, 135_823, 296_085];

    #[test]
    fn an_insertion_moves_cuts_nearby_only() {
        let before = noise(1 << 20);
        let after = [&before[..300_000], b"inserted", &before[300_000..]].concat();
        let ids = |data: &[u8]| cut(&ContentId::of(data), data).iter().map(|cut| cut.id).collect::<Vec<_>>();
        let (before, after) = (ids(&before), ids(&after));
        let shared = after.iter().filter(|id| before.contains(id)).count();
        assert!(shared + 3 >= before.len(), "{shared} of {} chunks are shared", before.len());
    }
}
