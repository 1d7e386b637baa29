//! Files with checksums: sealed files, block files, record files. Trailers are made right first, since no mutation gets a checksum right.

use std::path::Path;

use nuthatch_segment::{Access, BlockCache, BlockFile, RecordFile, SegmentError, StreamVerifier, seal, unseal};

use crate::Run;

const BLOCK_TRAILER_BYTES: usize = 28;
const RECORD_TRAILER_BYTES: usize = 32;

pub fn sealed() -> Run {
    Box::new(|bytes| {
        let path = Path::new("sealed");
        if let Ok(body) = unseal(path, bytes) {
            assert_eq!(seal(&body), bytes);
        }
        let mut good = seal(bytes);
        assert_eq!(unseal(path, &good).expect("it was sealed here"), bytes);
        let at =
            bytes.iter().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add((*byte).into())) % good.len();
        good[at] ^= 1;
        assert!(unseal(path, &good).is_err(), "byte {at} was changed");
    })
}

pub fn block_file() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    Box::new(move |input| {
        // The first byte says which of the checksums are made right.
        let Some((right, bytes)) = input.split_first() else { return };
        let mut bytes = bytes.to_vec();
        if right & 1 == 1 && bytes.len() >= BLOCK_TRAILER_BYTES + 4 {
            let from = bytes.len() - BLOCK_TRAILER_BYTES;
            let data = from - 4;
            bytes[from..from + 8].copy_from_slice(b"NUTBLOCK");
            if right & 2 == 2 {
                bytes[from + 8..from + 12].copy_from_slice(&1_u32.to_le_bytes());
                bytes[from + 12..from + 16].copy_from_slice(&(64_u32 << 10).to_le_bytes());
                bytes[from + 16..from + 24].copy_from_slice(&(data as u64).to_le_bytes());
            }
            if right & 4 == 4 {
                let sum = crc32c::crc32c(&bytes[..data]);
                bytes[data..from].copy_from_slice(&sum.to_le_bytes());
            }
            let sum = crc32c::crc32c(&bytes[data..from + 24]);
            bytes[from + 24..].copy_from_slice(&sum.to_le_bytes());
        }
        let path = folder.path().join("codes1");
        std::fs::write(&path, &bytes).expect("written");
        let opened = BlockFile::open(&path, &BlockCache::new(1 << 20));
        let verified = opened.and_then(|file| {
            file.verify()?;
            let mut read = vec![0; file.len() as usize];
            file.read_at(0, &mut read)?;
            assert_eq!(read, bytes[..read.len()]);
            assert!(file.read_at(file.len(), &mut [0]).is_err());
            Ok(())
        });
        agrees_with_the_stream(&path, &bytes, verified);
    })
}

pub fn record_file() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    Box::new(move |input| {
        let Some((right, bytes)) = input.split_first() else { return };
        let mut bytes = bytes.to_vec();
        if right & 1 == 1 && bytes.len() >= RECORD_TRAILER_BYTES {
            let from = bytes.len() - RECORD_TRAILER_BYTES;
            bytes[from..from + 8].copy_from_slice(b"NUTRECRD");
            bytes[from + 8..from + 12].copy_from_slice(&1_u32.to_le_bytes());
            let meta = u32::from_le_bytes(bytes[from + 24..from + 28].try_into().expect("four bytes")) as usize;
            let end = bytes.len() - 4;
            let sum = crc32c::crc32c(&bytes[from.saturating_sub(meta)..end]);
            bytes[end..].copy_from_slice(&sum.to_le_bytes());
        }
        let path = folder.path().join("graph");
        std::fs::write(&path, &bytes).expect("written");
        let verified = RecordFile::open(&path, Access::Read).and_then(|file| {
            let mut reader = file.reader();
            let last = file.records().saturating_sub(1) as u32;
            let mut read = |number: u32| {
                reader.read(&[number], &mut |_, record| -> Result<(), SegmentError> {
                    assert!(record.len() <= bytes.len());
                    Ok(())
                })
            };
            let _well_or_not = read(0).and_then(|()| read(last)).is_ok();
            assert!(read(last.saturating_add(1)).is_err(), "a record that there is not");
            file.verify()
        });
        agrees_with_the_stream(&path, &bytes, verified);
    })
}

/// Asserts that a check of the file as a stream comes to the same result.
fn agrees_with_the_stream(path: &Path, bytes: &[u8], verified: Result<(), SegmentError>) {
    let file = std::fs::File::open(path).expect("it was written");
    let streamed = StreamVerifier::open(path, &file).and_then(|verifier| {
        let Some(mut verifier) = verifier else { return Err(SegmentError::corrupt(path, "of no kind")) };
        bytes.chunks(1000).try_for_each(|piece| verifier.push(piece))?;
        verifier.finish()
    });
    // A sealed file is no block file, and sound all the same.
    if !bytes.starts_with(b"nuthatch-sealed") {
        assert_eq!(verified.is_ok(), streamed.is_ok(), "{verified:?} {streamed:?}");
    }
}
