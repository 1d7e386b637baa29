//! Bodies that an upstream has compressed although it was asked not to.

use std::io::{self, Write};

use axum::http::{HeaderMap, header};
use flate2::write::MultiGzDecoder;

/// Reads bytes as they come.
pub enum Decoder {
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Decoder {
    /// For an answer with these headers; none for encodings that are not known.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
        match (encodings.next().map(|encoding| encoding.as_bytes().to_ascii_lowercase()), encodings.next()) {
            (None, _) => Some(Self::Plain),
            (Some(encoding), None) if encoding == b"identity" => Some(Self::Plain),
            (Some(encoding), None) if encoding == b"gzip" || encoding == b"x-gzip" => {
                Some(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))))
            }
            _ => None,
        }
    }

    /// Decodes these bytes.
    ///
    /// # Errors
    /// Those of bytes that are no gzip.
    pub fn decode(&mut self, bytes: axum::body::Bytes) -> io::Result<axum::body::Bytes> {
        match self {
            Self::Plain => Ok(bytes),
            Self::Gzip(decoder) => {
                decoder.write_all(&bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }

    /// Says whether the body ended where it should.
    ///
    /// # Errors
    /// `UnexpectedEof` for one that is cut off.
    pub fn finish(self) -> io::Result<axum::body::Bytes> {
        match self {
            Self::Plain => Ok(axum::body::Bytes::new()),
            Self::Gzip(decoder) => Ok(decoder.finish()?.into()),
        }
    }
}
