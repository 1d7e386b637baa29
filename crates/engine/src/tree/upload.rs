//! Contents that arrive in several calls, because they are larger than one call should be.
//!
//! Bytes that have arrived are in the store, each chunk with a reference that the upload's rows hold, so that counts
//! are right at any moment. Only this process, which holds the folder, knows where the file's chunks end: an upload
//! ends with the process, and the next process removes the leftovers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastcdc::v2020::FastCDC;
use parking_lot::Mutex;

use crate::call::{Call, Outcome};
use crate::kv::{KeyScan, Live, Rows, Space};
use crate::tree::content::{LARGE, LARGE_FROM_BYTES};
use crate::tree::draft::{self, lacking};
use crate::tree::value::{Piece, decode};
use crate::tree::{ContentId, Trees, key};
use crate::{Error, ErrorKind, Result};

/// Most bytes of one call.
pub const UPLOAD_BYTES_MAX: usize = 16 << 20;
/// Uploads that may be under way at once.
const UPLOADS_MAX: usize = 1_024;

/// The uploads under way in this process.
#[derive(Default)]
pub(crate) struct Uploads {
    next: AtomicU64,
    under_way: Mutex<HashMap<u64, Arc<Mutex<Upload>>>>,
}

/// A content of which some has arrived.
#[derive(Default)]
struct Upload {
    hasher: blake3::Hasher,
    bytes: u64,
    /// The bytes after the last cut.
    rest: Vec<u8>,
    pieces: Vec<Piece>,
    parts: u32,
    /// All bytes have come; none may follow.
    is_whole: bool,
}

/// An upload that is whole.
pub(crate) struct Arrived {
    pub upload: u64,
    pub id: ContentId,
    pub bytes: u64,
    pub pieces: Vec<Piece>,
    pub parts: u32,
}

impl Uploads {
    fn find(&self, upload: u64) -> Result<Arc<Mutex<Upload>>> {
        let found = self.under_way.lock().get(&upload).cloned();
        found.ok_or_else(|| {
            Error::not_found(format!(
                "there is no upload {upload}; it ends with the process that holds the folder, so begin again"
            ))
        })
    }

    /// An upload that is whole.
    ///
    /// # Errors
    /// `NotFound` if there is no upload with that number, `Invalid` if its last bytes have not come.
    pub fn arrived(&self, upload: u64) -> Result<Arrived> {
        let found = self.find(upload)?;
        let found = found.lock();
        if !found.is_whole {
            return Err(Error::invalid(format!("upload {upload} is not finished; send its last bytes first")));
        }
        let id = ContentId(*found.hasher.finalize().as_bytes());
        Ok(Arrived { upload, id, bytes: found.bytes, pieces: found.pieces.clone(), parts: found.parts })
    }

    /// Ends uploads whose chunks belong to something else now.
    pub fn forget(&self, uploads: impl Iterator<Item = u64>) {
        let mut under_way = self.under_way.lock();
        uploads.for_each(|upload| drop(under_way.remove(&upload)));
    }
}

impl Trees {
    /// Begins an upload, and returns its number.
    ///
    /// # Errors
    /// `Exhausted` while too many are under way.
    pub fn begin_upload(&self) -> Result<u64> {
        let mut under_way = self.attached.uploads.under_way.lock();
        if under_way.len() >= UPLOADS_MAX {
            let why = format!("{UPLOADS_MAX} uploads are under way; finish or end some of them first");
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        let upload = self.attached.uploads.next.fetch_add(1, Ordering::Relaxed);
        under_way.insert(upload, Arc::default());
        Ok(upload)
    }

    /// Adds the bytes of a content from `offset` on to an upload; the last ones end it. The same bytes may come again.
    /// The bytes received so far are not durable: only the write of the file is.
    ///
    /// # Errors
    /// `NotFound` for an upload that has ended, `Invalid` for an offset that leaves a gap, `Exhausted` for more than 16 MiB at
    /// once.
    pub fn upload(&self, upload: u64, offset: u64, bytes: &[u8], is_last: bool) -> Result<()> {
        if bytes.len() > UPLOAD_BYTES_MAX {
            let why = format!("{} bytes are too many for one call; send at most {UPLOAD_BYTES_MAX}", bytes.len());
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        let space = &*self.keyspace.space;
        let reservation = space.shared.reserve_to_write(bytes.len() as u64 * 3)?;
        let found = self.attached.uploads.find(upload)?;
        let mut found = found.lock();
        let (end, has) = (offset.saturating_add(bytes.len() as u64), found.bytes);
        if end == has && (end > offset || found.is_whole) && found.is_whole == is_last {
            return Ok(()); // asked for again
        }
        if found.is_whole {
            return Err(Error::invalid(format!("upload {upload} is finished; begin another one")));
        }
        if offset != has {
            return Err(Error::invalid(format!("upload {upload} has {has} bytes; go on there, not at {offset}")));
        }
        let mut data = found.rest.clone();
        data.extend_from_slice(bytes);
        // The bytes after the last cut may continue in the next call.
        let (min, mean, max) = LARGE;
        let mut cuts: Vec<_> = FastCDC::new(&data, min as usize, mean as usize, max as usize)
            .map(|chunk| chunk.offset..chunk.offset + chunk.length)
            .collect();
        if !is_last {
            cuts.pop();
        }
        let cut_to = cuts.last().map_or(0, |cut| cut.end);
        let mut pieces = Vec::with_capacity(cuts.len());
        if !cuts.is_empty() {
            draft::change(space, &Call::default(), |draft| {
                for cut in cuts {
                    let chunk = &data[cut];
                    pieces.push(draft.hold_chunk(ContentId::of(chunk), chunk)?.0);
                }
                draft.put(key::upload(upload, found.parts), &pieces)?;
                Ok(((), Outcome::default()))
            })?;
            found.parts += 1;
        }
        drop(reservation);
        found.hasher.update(bytes);
        found.bytes += bytes.len() as u64;
        found.rest = data.split_off(cut_to);
        found.pieces.append(&mut pieces);
        found.is_whole = is_last;
        Ok(())
    }

    /// Ends an upload without using it. One that has ended is no error.
    pub fn end_upload(&self, upload: u64) -> Result<()> {
        let Ok(found) = self.attached.uploads.find(upload) else { return Ok(()) };
        let mut found = found.lock();
        found.is_whole = true; // nothing may be added while it goes
        remove_left(&self.keyspace.space, key::upload_parts(upload))?;
        self.attached.uploads.forget(std::iter::once(upload));
        Ok(())
    }
}

/// Removes what uploads of a process that has ended left behind.
pub(crate) fn remove_left(space: &Space, prefix: Vec<u8>) -> Result<()> {
    // Data derived from contents lies behind all uploads, and stays.
    let to = std::ops::Bound::Excluded(key::grams());
    let scan = KeyScan { limit: 16, to, ..KeyScan::prefix(prefix) };
    loop {
        let ((), position) = draft::change(space, &Call::default(), |draft| {
            let rows = Live { space, reader: draft.reader };
            for (row, stored) in rows.page(&scan)?.entries {
                let pieces: Vec<Piece> = decode(&stored).map_err(|_| lacking())?;
                pieces.iter().try_for_each(|piece| draft.release_chunk(piece))?;
                draft.delete(row);
            }
            Ok(((), Outcome::default()))
        })?;
        if position.is_none() {
            return Ok(());
        }
    }
}

const _: () = assert!(LARGE_FROM_BYTES <= UPLOAD_BYTES_MAX, "what is uploaded is cut as large contents are");
