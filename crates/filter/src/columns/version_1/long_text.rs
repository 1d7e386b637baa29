//! Texts over 32 KiB, which were too long for the library's dictionaries: read one after another by the tests that ask for text.

use std::collections::BTreeMap;
use std::ops::Range;

use tantivy_common::HasLen;
use tantivy_common::file_slice::FileSlice;

use super::super::bytes::corrupt;
use crate::FilterError;

const ENTRY_HEADER_BYTES: usize = 8;

pub(super) struct LongTexts {
    section: FileSlice,
    index: BTreeMap<String, Range<usize>>,
}

impl LongTexts {
    pub fn open(section: FileSlice, index: &[u8]) -> Result<Self, FilterError> {
        let index: Vec<(String, u64, u64)> =
            minicbor::decode(index).map_err(|error| corrupt(format!("long text index: {error}")))?;
        let place = |(path, offset, len): (String, u64, u64)| {
            let end = offset.checked_add(len).and_then(|end| usize::try_from(end).ok());
            match end.filter(|end| *end <= section.len()) {
                Some(end) => Ok((path, offset as usize..end)),
                None => Err(corrupt("the long text index points outside of its section")),
            }
        };
        let index = index.into_iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { section, index })
    }

    /// Calls `visit` with every row and long text of the field; one text is in memory at a time.
    pub fn each(&self, field: &str, mut visit: impl FnMut(u32, &str)) -> Result<(), FilterError> {
        let Some(range) = self.index.get(field) else { return Ok(()) };
        let mut rest = self.section.slice(range.clone());
        while !rest.is_empty() {
            if rest.len() < ENTRY_HEADER_BYTES {
                return Err(corrupt("a long text without its head"));
            }
            let (header, body) = rest.split(ENTRY_HEADER_BYTES);
            let header = header.read_bytes()?;
            let number =
                |at: usize| header[at..at + 4].iter().rev().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
            let (ordinal, text_bytes) = (number(0), number(4) as usize);
            if body.len() < text_bytes {
                return Err(corrupt("a long text runs past its section"));
            }
            let (text, following) = body.split(text_bytes);
            let text = text.read_bytes()?;
            visit(ordinal, std::str::from_utf8(&text).map_err(|_| corrupt("a long text is not UTF-8"))?);
            rest = following;
        }
        Ok(())
    }
}
