//! Limits that the PDF library lacks: how much a file unpacks to, and how it refers to itself.

use std::collections::HashMap;
use std::io::{Chain, Cursor, Read};

use flate2::read::ZlibDecoder;
use pdf_extract::content::Content;
use pdf_extract::{Dictionary, Document as Pdf, Object, ObjectId};

/// All compressed streams of a file together. A scanned book stays below; 32 MiB of packed zeros would unpack to 32
/// GiB.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;

/// Unpacks every deflate stream into nothing, counting. Has to come before the library, which unpacks while loading.
pub(super) fn refuse_bombs(bytes: &[u8]) -> Result<(), String> {
    let mut left = UNPACKED_BYTES_MAX;
    for at in memchr::memmem::find_iter(bytes, b"stream") {
        let data = &bytes[at + b"stream".len()..];
        let data = data.strip_prefix(b"\r\n").or_else(|| data.strip_prefix(b"\n")).unwrap_or(data);
        if has_zlib_header(data) && !unpacks_within(ZlibDecoder::new(data), &mut left) {
            return Err(format!("it unpacks to more than {UNPACKED_BYTES_MAX} bytes, which no text needs"));
        }
    }
    Ok(())
}

/// Takes what `packed` unpacks to off `left`, and what that unpacks to again when it is packed twice. A stream that
/// ends in an error has unpacked what it could: the library reports the damage where it matters.
fn unpacks_within(mut packed: impl Read, left: &mut u64) -> bool {
    let mut first = [0; 2];
    let seen = packed.read(&mut first).unwrap_or(0);
    let mut all: Chain<Cursor<[u8; 2]>, _> = Cursor::new(first).chain(packed);
    if seen == 2 && has_zlib_header(&first) {
        return drain(&mut ZlibDecoder::new(all), left);
    }
    drain(&mut all, left)
}

fn drain(unpacked: &mut dyn Read, left: &mut u64) -> bool {
    let mut sink = [0; 16 << 10];
    while let Ok(count @ 1..) = unpacked.read(&mut sink) {
        let Some(rest) = left.checked_sub(count as u64) else { return false };
        *left = rest;
    }
    true
}

/// Deflate, and the two bytes a multiple of 31 (RFC 1950, section 2.2).
fn has_zlib_header(data: &[u8]) -> bool {
    matches!(data, [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0)
}

/// Makes a loaded file safe to walk. Images become empty, since the library would read them as drawing instructions;
/// drawings without resources of their own that draw others get none, so that they cannot reach themselves through the
/// page's.
pub(super) fn tame(pdf: &mut Pdf) {
    for object in pdf.objects.values_mut() {
        let Object::Stream(stream) = object else { continue };
        if stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Image") {
            stream.dict.remove(b"Filter");
            stream.content = Vec::new();
        } else if !stream.dict.has(b"Resources") && stream.dict.has(b"Subtype") {
            stream.dict.set("Resources", Dictionary::new());
        }
    }
}

/// How deep drawings may use other drawings, and pages stand in groups of pages.
const NESTING_MAX: usize = 24;

/// Instructions of one drawing. Pages of maps have a few million bytes; the parsed form takes some twenty times the
/// memory.
const CONTENT_BYTES_MAX: usize = 8 << 20;

/// Bytes of instructions that are run for a whole file, each drawing counted as often as it is drawn.
const WORK_BYTES_MAX: u64 = 1 << 30;

/// Knows what drawing each page costs, before the library does it without a bound.
pub(super) struct Work<'a> {
    pdf: &'a Pdf,
    costs: HashMap<ObjectId, u64>,
    left: u64,
}

impl<'a> Work<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> Self {
        Work { pdf, costs: HashMap::new(), left: WORK_BYTES_MAX }
    }

    /// Refuses a page that draws too much, or that contains itself.
    pub(super) fn admit(&mut self, page: ObjectId) -> Result<(), String> {
        let dictionary = self.pdf.get_dictionary(page).map_err(|error| error.to_string())?;
        let resources = self.inherited_resources(dictionary)?;
        let content = self.pdf.get_page_content(page).map_err(|error| error.to_string())?;
        let cost = self.cost(&content, resources, 0)?;
        self.left = self.left.checked_sub(cost).ok_or_else(too_much)?;
        Ok(())
    }

    fn inherited_resources(&self, page: &'a Dictionary) -> Result<Option<&'a Dictionary>, String> {
        let (mut at, mut found) = (page, None);
        for _ in 0..NESTING_MAX {
            found = found.or_else(|| self.dictionary(at, b"Resources"));
            match at.get(b"Parent").and_then(Object::as_reference).and_then(|id| self.pdf.get_dictionary(id)) {
                Ok(parent) => at = parent,
                Err(_) => return Ok(found),
            }
        }
        Err(format!("it stands in more than {NESTING_MAX} groups of pages, or in itself"))
    }

    fn cost(&mut self, content: &[u8], resources: Option<&'a Dictionary>, depth: usize) -> Result<u64, String> {
        if content.len() > CONTENT_BYTES_MAX {
            return Err(format!(
                "its drawing instructions have {} bytes, over the limit of {CONTENT_BYTES_MAX}",
                content.len()
            ));
        }
        let mut cost = 64 + content.len() as u64;
        if memchr::memmem::find(content, b"Do").is_none() {
            return Ok(cost);
        }
        let drawings = resources.and_then(|resources| self.dictionary(resources, b"XObject"));
        let instructions = Content::decode(content).map_err(|error| error.to_string())?;
        for instruction in instructions.operations.iter().filter(|op| op.operator == "Do") {
            let name = instruction.operands.first().and_then(|name| name.as_name().ok());
            let object = name.and_then(|name| drawings?.get(name).ok());
            if let Some(id) = object.and_then(|object| object.as_reference().ok()) {
                cost = cost.saturating_add(self.drawing(id, depth + 1)?);
            }
        }
        if cost > WORK_BYTES_MAX { Err(too_much()) } else { Ok(cost) }
    }

    fn drawing(&mut self, id: ObjectId, depth: usize) -> Result<u64, String> {
        if let Some(cost) = self.costs.get(&id) {
            return Ok(*cost);
        }
        if depth > NESTING_MAX {
            return Err(format!("object {} draws itself, or through more than {NESTING_MAX} others", id.0));
        }
        let Ok(stream) = self.pdf.get_object(id).and_then(Object::as_stream) else { return Ok(0) };
        let content = stream.decompressed_content().unwrap_or_else(|_| stream.content.clone());
        let cost = self.cost(&content, self.dictionary(&stream.dict, b"Resources"), depth)?;
        self.costs.insert(id, cost);
        Ok(cost)
    }

    fn dictionary(&self, holder: &'a Dictionary, key: &[u8]) -> Option<&'a Dictionary> {
        let (_, object) = self.pdf.dereference(holder.get(key).ok()?).ok()?;
        object.as_dict().ok()
    }
}

fn too_much() -> String {
    format!("drawing it would run more than {WORK_BYTES_MAX} bytes of instructions")
}
