//! Reading a block file: `pread`, verify, cache.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cache::Usage;
use crate::pread::pread;
use crate::{BLOCK_BYTES, BLOCK_FILE_VERSION, BlockCache, MAGIC, Result, SegmentError, TRAILER_BYTES, u32_at};

/// An open block file. Cheap to share; reads are thread-safe and every block is verified before it is handed out.
pub struct BlockFile {
    path: PathBuf,
    file: File,
    id: u64,
    data_bytes: u64,
    checksums: Box<[u32]>,
    cache: Arc<BlockCache>,
    usage: Arc<Usage>,
}

/// Reading and checking a block costs as much as this many separate small reads.
const SMALL_READS_OF_A_BLOCK: usize = 20;

static NEXT_FILE_ID: AtomicU64 = AtomicU64::new(1);

impl BlockFile {
    /// Opens `path` and verifies its trailer and checksum table (not yet its blocks).
    pub fn open(path: &Path, cache: &Arc<BlockCache>) -> Result<Arc<Self>> {
        let io = |source| SegmentError::io(path, source);
        let file = File::open(path).map_err(io)?;
        let file_bytes = file.metadata().map_err(io)?.len();
        if file_bytes < TRAILER_BYTES as u64 {
            return Err(SegmentError::corrupt(path, "shorter than its trailer"));
        }
        let trailer = Trailer::read(path, &file, file_bytes)?
            .ok_or_else(|| SegmentError::corrupt(path, "its trailer does not begin with NUTBLOCK"))?;
        let (data_bytes, checksums) = (trailer.data_bytes, trailer.checksums.into_boxed_slice());
        Ok(Arc::new(Self {
            path: path.to_path_buf(),
            file,
            id: NEXT_FILE_ID.fetch_add(1, Ordering::Relaxed),
            data_bytes,
            checksums,
            cache: cache.clone(),
            usage: cache.add_file(data_bytes),
        }))
    }

    /// Bytes of data (without checksums and trailer).
    pub fn len(&self) -> u64 {
        self.data_bytes
    }

    /// True when there is no byte of data; checksums and trailer do not count.
    pub fn is_empty(&self) -> bool {
        self.data_bytes == 0
    }

    /// Whether its cache lacks room for blocks that are read for a few bytes: see [`BlockCache::is_crowded`].
    pub fn is_crowded(&self) -> bool {
        self.cache.is_crowded()
    }

    /// Where it was opened, for messages; the file may have been moved or removed since.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One verified block: `BLOCK_BYTES` long, the last one shorter. Out of range is an error naming the file,
    /// because an offset that points outside came from damaged data.
    pub fn block(&self, index: u64) -> Result<Arc<[u8]>> {
        self.usage.note();
        if let Some(block) = self.cache.get((self.id, index)) {
            return Ok(block);
        }
        self.read_into_cache(index)
    }

    /// The same for `small_reads` small reads, where the cache is [crowded](Self::is_crowded): the block, if it is
    /// cached or worth reading. `None`: [`read_alone`](Self::read_alone) the wanted bytes, which evicts nothing.
    pub fn block_for(&self, index: u64, small_reads: usize) -> Result<Option<Arc<[u8]>>> {
        self.usage.note();
        if let Some(block) = self.cache.peek((self.id, index)) {
            return Ok(Some(block));
        }
        let is_worth = small_reads >= SMALL_READS_OF_A_BLOCK || self.cache.admits();
        is_worth.then(|| self.read_into_cache(index)).transpose()
    }

    fn read_into_cache(&self, index: u64) -> Result<Arc<[u8]>> {
        let block: Arc<[u8]> = self.read_block(index)?.into();
        self.cache.insert((self.id, index), block.clone());
        Ok(block)
    }

    /// Copies `out.len()` verified bytes from `offset`.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut offset = offset;
        let mut rest = out;
        while !rest.is_empty() {
            let block = self.block(offset / BLOCK_BYTES as u64)?;
            let start = (offset % BLOCK_BYTES as u64) as usize;
            let bytes = block
                .len()
                .checked_sub(start)
                .filter(|bytes| *bytes > 0)
                .ok_or_else(|| self.outside(offset))?
                .min(rest.len());
            rest[..bytes].copy_from_slice(&block[start..start + bytes]);
            rest = &mut rest[bytes..];
            offset += bytes as u64;
        }
        Ok(())
    }

    /// Reads `out.len()` bytes from `offset` past the cache and **without checking them**: for bytes that carry a checksum of their
    /// own, which the caller checks.
    pub fn read_alone(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > self.data_bytes) {
            return Err(self.outside(offset));
        }
        self.cache.note_read();
        pread(&self.file, offset, out).map_err(|source| SegmentError::io(&self.path, source))
    }

    /// Reads and checks every block without touching the cache.
    pub fn verify(&self) -> Result<()> {
        (0..self.checksums.len() as u64).try_for_each(|index| self.read_block(index).map(drop))
    }

    fn read_block(&self, index: u64) -> Result<Vec<u8>> {
        let offset = index.saturating_mul(BLOCK_BYTES as u64);
        let Some(&expected) = self.checksums.get(index as usize) else {
            return Err(self.outside(offset));
        };
        let mut bytes = vec![0; (self.data_bytes - offset).min(BLOCK_BYTES as u64) as usize];
        self.cache.note_read();
        pread(&self.file, offset, &mut bytes).map_err(|source| SegmentError::io(&self.path, source))?;
        if crc32c::crc32c(&bytes) != expected {
            return Err(SegmentError::corrupt(
                &self.path,
                format!("the checksum of the block at byte {offset} is wrong"),
            ));
        }
        Ok(bytes)
    }

    fn outside(&self, offset: u64) -> SegmentError {
        SegmentError::corrupt(&self.path, format!("byte {offset} was asked for, but it holds {}", self.data_bytes))
    }
}

impl Drop for BlockFile {
    fn drop(&mut self) {
        self.cache.forget_file(self.id);
    }
}

impl std::fmt::Debug for BlockFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "BlockFile({})", self.path.display())
    }
}

/// The end of a block file: the checksums of its blocks, and the trailer itself.
pub(crate) struct Trailer {
    pub data_bytes: u64,
    pub checksums: Vec<u32>,
    bytes: [u8; TRAILER_BYTES],
}

impl Trailer {
    /// Reads and checks it; `None` when the file does not end like a block file.
    pub fn read(path: &Path, file: &File, file_bytes: u64) -> Result<Option<Self>> {
        let io = |source| SegmentError::io(path, source);
        let corrupt = |what: &str| SegmentError::corrupt(path, what);
        if file_bytes < TRAILER_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; TRAILER_BYTES];
        pread(file, file_bytes - TRAILER_BYTES as u64, &mut bytes).map_err(io)?;
        if &bytes[..8] != MAGIC {
            return Ok(None);
        }
        let version = u32_at(&bytes, 8);
        if version != BLOCK_FILE_VERSION {
            return Err(corrupt(&format!("block file version {version}, this program reads {BLOCK_FILE_VERSION}")));
        }
        let data_bytes = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
        let blocks = data_bytes.div_ceil(BLOCK_BYTES as u64);
        let expected = blocks
            .checked_mul(4)
            .and_then(|table| table.checked_add(data_bytes))
            .and_then(|bytes| bytes.checked_add(TRAILER_BYTES as u64));
        if u32_at(&bytes, 12) as usize != BLOCK_BYTES || expected != Some(file_bytes) {
            return Err(corrupt("its length does not match its trailer"));
        }
        let mut table = vec![0; blocks as usize * 4];
        pread(file, data_bytes, &mut table).map_err(io)?;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&table), &bytes[..24]);
        if checksum != u32_at(&bytes, 24) {
            return Err(corrupt("the checksum of its trailer is wrong"));
        }
        let checksums = table.chunks_exact(4).map(|bytes| u32_at(bytes, 0)).collect();
        Ok(Some(Self { data_bytes, checksums, bytes }))
    }

    /// Returns the part after the data, as it is in the file.
    pub fn tail(&self) -> Vec<u8> {
        let mut tail: Vec<u8> = self.checksums.iter().flat_map(|checksum| checksum.to_le_bytes()).collect();
        tail.extend_from_slice(&self.bytes);
        tail
    }
}
