//! The ids of a segment's rows in a file beside its index, so that a hit which carries nothing else needs no record.
//!
//! **Useful for** naming a row that a search found: a row never changes its id, and the search's own view says which rows are there.
//! **Not for** finding a row by its id: that is the store's.
//!
//! A segment of an earlier build has no such file; its records are read then. The layout is drawn in `docs/internals/data-folder.md`, and
//! [RFC 0034](../../../../docs/rfcs/0034-ids-beside-a-segment.md) has the reasons.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::{BLOCK_BYTES, BlockCache, BlockFile, BlockFileWriter, SegmentError, u32_at};

use crate::record::ID_BYTES_MAX;
use crate::{Error, Result};

const VERSION: u32 = 1;
/// Ids lie in pages, each of which carries its own checksum: one is read by itself where whole blocks would push each other out.
const PAGE_BYTES: usize = 2048;
/// Before the ends of the ids: CRC-32C of what follows it, and how many ids there are.
const HEAD_BYTES: usize = 6;
/// At the end of the data: version, rows, pages, and a zero.
const TAIL_BYTES: usize = 16;

const _: () = assert!(BLOCK_BYTES.is_multiple_of(PAGE_BYTES), "no page lies in two blocks");
const _: () = assert!(HEAD_BYTES + 2 + ID_BYTES_MAX <= PAGE_BYTES, "the longest id fits into a page");

/// Writes the ids of rows that come in the order of their ordinals. Memory: a page, and four bytes for each page written.
pub(crate) struct IdsWriter {
    file: BlockFileWriter,
    /// Of the page at hand.
    ends: Vec<u16>,
    ids: Vec<u8>,
    /// The first ordinal of each page written.
    firsts: Vec<u32>,
    rows: u32,
}

impl IdsWriter {
    pub fn create(path: &Path) -> Result<Self> {
        let file = BlockFileWriter::create(path)?;
        Ok(Self { file, ends: Vec::new(), ids: Vec::new(), firsts: Vec::new(), rows: 0 })
    }

    pub fn push(&mut self, id: &str) -> std::io::Result<()> {
        if HEAD_BYTES + (self.ends.len() + 1) * 2 + self.ids.len() + id.len() > PAGE_BYTES {
            self.write_page()?;
        }
        self.ids.extend_from_slice(id.as_bytes());
        self.ends.push(self.ids.len() as u16);
        self.rows += 1;
        Ok(())
    }

    pub fn finish(mut self) -> std::io::Result<BlockFileWriter> {
        if !self.ends.is_empty() {
            self.write_page()?;
        }
        for first in &self.firsts {
            self.file.write_all(&first.to_le_bytes())?;
        }
        for number in [VERSION, self.rows, self.firsts.len() as u32, 0] {
            self.file.write_all(&number.to_le_bytes())?;
        }
        Ok(self.file)
    }

    fn write_page(&mut self) -> std::io::Result<()> {
        let mut page = Vec::with_capacity(PAGE_BYTES);
        page.extend_from_slice(&[0; 4]);
        page.extend_from_slice(&(self.ends.len() as u16).to_le_bytes());
        page.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        page.extend_from_slice(&self.ids);
        page.resize(PAGE_BYTES, 0);
        let checksum = crc32c::crc32c(&page[4..]);
        page[..4].copy_from_slice(&checksum.to_le_bytes());
        self.firsts.push(self.rows - self.ends.len() as u32);
        self.ends.clear();
        self.ids.clear();
        self.file.write_all(&page)
    }
}

/// The open file.
pub(crate) struct Ids {
    file: Arc<BlockFile>,
    /// The first ordinal of each page.
    firsts: Box<[u32]>,
    rows: u32,
}

impl Ids {
    /// `None` when there is no such file, or one of a later version.
    pub fn open(path: &Path, cache: &Arc<BlockCache>) -> Result<Option<Self>> {
        if !path.try_exists().map_err(|error| Error::io(path, &error))? {
            return Ok(None);
        }
        let file = BlockFile::open(path, cache)?;
        let wrong = |what: &str| Error::from(SegmentError::corrupt(path, what));
        let mut tail = [0; TAIL_BYTES];
        let tail_at = file.len().checked_sub(TAIL_BYTES as u64).ok_or_else(|| wrong("it has no end"))?;
        file.read_at(tail_at, &mut tail)?;
        let [version, rows, pages, _] = [0, 4, 8, 12].map(|at| u32_at(&tail, at));
        if version != VERSION {
            return Ok(None); // of a later program; the store knows the ids, too
        }
        let pages_bytes = u64::from(pages) * PAGE_BYTES as u64;
        if pages_bytes + u64::from(pages) * 4 != tail_at {
            return Err(wrong("its length does not match its end"));
        }
        let mut table = vec![0; pages as usize * 4];
        file.read_at(pages_bytes, &mut table)?;
        let firsts: Box<[u32]> = table.chunks_exact(4).map(|bytes| u32_at(bytes, 0)).collect();
        let ascends = firsts.first().is_none_or(|first| *first == 0) && firsts.is_sorted_by(|a, b| a < b);
        if !ascends || firsts.last().map_or(rows != 0, |last| *last >= rows) {
            return Err(wrong("its pages are out of order"));
        }
        Ok(Some(Self { file, firsts, rows }))
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Bytes of memory that stay while it is open.
    pub fn resident_bytes(&self) -> u64 {
        self.firsts.len() as u64 * 4
    }

    /// The id of the row at an ordinal.
    pub fn get(&self, ordinal: u32) -> Result<String> {
        let page = self.firsts.partition_point(|first| *first <= ordinal).checked_sub(1);
        let page =
            page.filter(|_| ordinal < self.rows).ok_or_else(|| self.wrong("a row beyond its end was asked for"))?;
        let at = (ordinal - self.firsts[page]) as usize;
        let offset = page as u64 * PAGE_BYTES as u64;
        let (block, in_block) = (offset / BLOCK_BYTES as u64, (offset % BLOCK_BYTES as u64) as usize);
        let whole = match self.file.is_crowded() {
            true => self.file.block_for(block, 1)?,
            false => Some(self.file.block(block)?),
        };
        match whole {
            Some(whole) => self.id_in(whole.get(in_block..in_block + PAGE_BYTES), at),
            None => {
                let mut alone = [0; PAGE_BYTES];
                self.file.read_alone(offset, &mut alone)?;
                if crc32c::crc32c(&alone[4..]) != u32_at(&alone, 0) {
                    return Err(self.wrong(&format!("the checksum of the page at byte {offset} is wrong")));
                }
                self.id_in(Some(&alone), at)
            }
        }
    }

    fn id_in(&self, page: Option<&[u8]>, at: usize) -> Result<String> {
        let id = || {
            let page = page?;
            let count = usize::from(u16_at(page, 4)?);
            let ids = page.get(HEAD_BYTES + count * 2..)?;
            let end = |at: usize| u16_at(page, HEAD_BYTES + at * 2).map(usize::from);
            let from = if at == 0 { 0 } else { end(at - 1)? };
            std::str::from_utf8(ids.get(from..end(at)?)?).ok().filter(|_| at < count)
        };
        id().map(str::to_string).ok_or_else(|| self.wrong("a page does not hold the ids that it is to hold"))
    }

    fn wrong(&self, what: &str) -> Error {
        SegmentError::corrupt(self.file.path(), what).into()
    }

    /// Reads every byte and checks every checksum.
    pub fn verify(&self) -> Result<()> {
        Ok(self.file.verify()?)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(ids: &[String], path: &Path) {
        let mut writer = IdsWriter::create(path).unwrap();
        ids.iter().for_each(|id| writer.push(id).unwrap());
        writer.finish().unwrap().finish().unwrap();
    }

    /// Short ones, the longest that there are, and some whose characters have several bytes.
    fn some_ids() -> Vec<String> {
        let id = |n: usize| match n % 101 {
            0 => format!("{n}{}", "x".repeat(ID_BYTES_MAX - n.to_string().len())),
            1..20 => format!("Straße/{n}"),
            _ => n.to_string(),
        };
        (0..5_000).map(id).collect()
    }

    #[test]
    fn every_id_comes_back_whether_blocks_are_cached_or_pages_are_read_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids");
        let ids = some_ids();
        written(&ids, &path);
        for cache_bytes in [64 << 20, 1 << 10] {
            let read = Ids::open(&path, &BlockCache::new(cache_bytes)).unwrap().unwrap();
            assert_eq!(read.rows() as usize, ids.len());
            for (ordinal, id) in (0..).zip(&ids) {
                assert_eq!(&read.get(ordinal).unwrap(), id);
            }
            assert!(read.get(read.rows()).is_err());
            assert!(read.resident_bytes() > 0);
            read.verify().unwrap();
        }
        let none = folder.path().join("none");
        assert!(Ids::open(&none, &BlockCache::new(1 << 20)).unwrap().is_none());
        written(&[], &none);
        assert_eq!(Ids::open(&none, &BlockCache::new(1 << 20)).unwrap().unwrap().rows(), 0);
    }

    #[test]
    fn a_changed_byte_is_damage_and_never_another_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids");
        let ids = some_ids();
        written(&ids, &path);
        let sound = std::fs::read(&path).unwrap();
        for cache_bytes in [64 << 20, 1 << 10] {
            for at in (0..sound.len()).step_by(4_099).chain([sound.len() - 1]) {
                let mut bytes = sound.clone();
                bytes[at] ^= 0x10;
                std::fs::write(&path, &bytes).unwrap();
                let Ok(read) = Ids::open(&path, &BlockCache::new(cache_bytes)) else { continue };
                let read = read.unwrap();
                assert!(read.verify().unwrap_err().is_corrupt());
                for (ordinal, id) in (0..).zip(&ids).step_by(7) {
                    match read.get(ordinal) {
                        Ok(found) => assert_eq!(&found, id),
                        Err(error) => assert!(error.is_corrupt(), "{error}"),
                    }
                }
            }
        }
    }
}
