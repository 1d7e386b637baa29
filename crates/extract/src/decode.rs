//! Bytes to text, and text offsets back to bytes of the file.

use std::borrow::Cow;
use std::path::Path;

use crate::lines::Lines;
use crate::passages::Piece;
use crate::{ExtractError, Passage};

/// Decoded text of a file.
pub(crate) struct Source<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Bytes of the byte-order mark that precede the text.
    mark_bytes: usize,
    utf16: bool,
}

/// UTF-8 with or without a mark, or UTF-16 with one. Anything else is refused at its first bad byte: guessing an
/// encoding gives text that is wrong without saying so.
pub(crate) fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<Source<'a>, ExtractError> {
    if let Some((encoding, mark_bytes)) = encoding_rs::Encoding::for_bom(bytes)
        && encoding != encoding_rs::UTF_8
    {
        let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark_bytes..]) else {
            let what = format!("its byte-order mark says {} but the text is not; save it as UTF-8", encoding.name());
            return Err(ExtractError::Broken { path: path.to_owned(), what });
        };
        return Ok(Source { text: Cow::Owned(text.into_owned()), mark_bytes, utf16: true });
    }
    let mark_bytes = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    match std::str::from_utf8(&bytes[mark_bytes..]) {
        Ok(text) => Ok(Source { text: Cow::Borrowed(text), mark_bytes, utf16: false }),
        Err(error) => {
            let offset = (mark_bytes + error.valid_up_to()) as u64;
            Err(ExtractError::NotUtf8 { path: path.to_owned(), offset })
        }
    }
}

impl Source<'_> {
    /// Pieces of the text as passages of the file.
    pub(crate) fn locate(&self, pieces: Vec<Piece>) -> Vec<Passage> {
        let lines = Lines::new(&self.text);
        let mut offsets = FileOffsets { source: self, text_at: 0, file_at: self.mark_bytes };
        pieces
            .into_iter()
            .map(|piece| Passage {
                start_line: lines.line(piece.start),
                end_line: lines.line(piece.end.saturating_sub(1).max(piece.start)),
                start_byte: offsets.file_offset(piece.start),
                end_byte: offsets.file_offset(piece.end),
                text: piece.text,
                heading: piece.heading,
                page: None,
                place: piece.place,
            })
            .collect()
    }
}

/// Maps text offsets to file offsets. UTF-16 has to be counted, so the last answer is kept: pieces come in order, and
/// counting from the front each time would be quadratic.
struct FileOffsets<'a> {
    source: &'a Source<'a>,
    text_at: usize,
    file_at: usize,
}

impl FileOffsets<'_> {
    fn file_offset(&mut self, text_offset: usize) -> u64 {
        if !self.source.utf16 {
            return (text_offset + self.source.mark_bytes) as u64;
        }
        let width = |slice: &str| slice.chars().map(|c| 2 * c.len_utf16()).sum::<usize>();
        let text = self.source.text.as_ref();
        if text_offset >= self.text_at {
            self.file_at += width(&text[self.text_at..text_offset]);
        } else {
            self.file_at -= width(&text[text_offset..self.text_at]); // overlapping passages step back a little
        }
        self.text_at = text_offset;
        self.file_at as u64
    }
}
