//! Frames: how bytes go over the socket. Length and CRC-32C of the body, four bytes each, little endian, then the body.
//!
//! **Invariant:** on any input, reading ends with a whole body or with an error; memory grows with the bytes received,
//! not with the length that the frame promises.

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The longest body.
pub(crate) const FRAME_BYTES_MAX: usize = 512 << 20;
const HEAD_BYTES: usize = 8;

#[derive(Debug, Error)]
pub(crate) enum FrameError {
    /// The other side is gone, between two frames or within one.
    #[error("the connection ended: {0}")]
    Ended(#[from] std::io::Error),
    #[error("a frame has {bytes} bytes; the limit is {FRAME_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("a malformed frame: {0}")]
    Malformed(String),
}

/// A whole frame around an encoded value.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, FrameError> {
    let frame = postcard::to_extend(value, vec![0; HEAD_BYTES])
        .map_err(|error| FrameError::Malformed(format!("does not encode: {error}")))?;
    seal(frame)
}

/// A whole frame around these bytes.
pub(crate) fn of_bytes(body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEAD_BYTES];
    frame.extend_from_slice(body);
    seal(frame)
}

/// The value in a frame that this process made.
pub(crate) fn decode<T: DeserializeOwned>(frame: &[u8]) -> Result<T, FrameError> {
    value(frame.get(HEAD_BYTES..).unwrap_or_default())
}

pub(crate) fn value<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    postcard::from_bytes(body).map_err(|error| FrameError::Malformed(format!("does not decode: {error}")))
}

pub(crate) fn write<T: Serialize>(to: &mut impl Write, value: &T) -> Result<(), FrameError> {
    Ok(to.write_all(&encode(value)?)?)
}

pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, FrameError> {
    value(&read_bytes(from, FRAME_BYTES_MAX)?)
}

/// The body of the next frame.
pub(crate) fn read_bytes(from: &mut impl Read, bytes_max: usize) -> Result<Vec<u8>, FrameError> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head)?;
    let [a, b, c, d, e, f, g, h] = head;
    let (bytes, sum) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]));
    if bytes > bytes_max {
        return Err(FrameError::TooLarge { bytes });
    }
    let mut body = Vec::new();
    from.take(bytes as u64).read_to_end(&mut body)?;
    if body.len() < bytes {
        return Err(FrameError::Ended(std::io::ErrorKind::UnexpectedEof.into()));
    }
    if crc32c::crc32c(&body) != sum {
        return Err(FrameError::Malformed("its checksum is wrong".into()));
    }
    Ok(body)
}

fn seal(mut frame: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    let bytes = frame.len() - HEAD_BYTES;
    if bytes > FRAME_BYTES_MAX {
        return Err(FrameError::TooLarge { bytes });
    }
    let sum = crc32c::crc32c(&frame[HEAD_BYTES..]);
    frame[..4].copy_from_slice(&(bytes as u32).to_le_bytes());
    frame[4..8].copy_from_slice(&sum.to_le_bytes());
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_went() {
        let frame = encode(&("words", 7u64, vec![0.5f32, -1.0])).unwrap();
        let back: (String, u64, Vec<f32>) = read(&mut frame.as_slice()).unwrap();
        assert_eq!(back, ("words".to_string(), 7, vec![0.5, -1.0]));
        assert_eq!(decode::<(String, u64, Vec<f32>)>(&frame).unwrap(), back);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_an_error() {
        let frame = encode(&"a short message").unwrap();
        for bit in 0..frame.len() * 8 {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read::<String>(&mut bad.as_slice()).is_err(), "bit {bit}");
        }
        for length in 0..frame.len() {
            assert!(matches!(read::<String>(&mut &frame[..length]), Err(FrameError::Ended(_))), "{length} bytes");
        }
    }

    #[test]
    fn a_promised_length_takes_no_memory() {
        let mut head = (FRAME_BYTES_MAX as u32).to_le_bytes().to_vec();
        head.extend([0; 4]);
        head.extend([0; 100]);
        assert!(matches!(read_bytes(&mut head.as_slice(), FRAME_BYTES_MAX), Err(FrameError::Ended(_))));
        let mut long = u32::MAX.to_le_bytes().to_vec();
        long.extend([0; 4]);
        assert!(matches!(read_bytes(&mut long.as_slice(), FRAME_BYTES_MAX), Err(FrameError::TooLarge { .. })));
    }
}
