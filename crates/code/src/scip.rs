//! SCIP: what an indexer that knows types says each name of a file means. Read, compared with the text, and kept beside what was
//! found without it.
//!
//! An index is a protobuf message (`scip.proto` of sourcegraph/scip); only the fields that are needed are described here. A
//! symbol is a text of a scheme, a manager, a package, a version and descriptors: `scip-python python requests 2.32 api/get().`
//! The version is left out, so that indexes of two versions speak of the same. Symbols are kept as hashes.

use std::collections::HashMap;
use std::io::{self, Read};

use prost::Message;
use serde::{Deserialize, Serialize};

use crate::encode::{put_number, take_number};
use crate::facts::{Definition, Reference};

/// Longest message of one file in an index.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// The bit of a definition in an occurrence's roles.
const DEFINITION: i32 = 1;
/// Of the definitions of a document, the share whose name stands where the document says, for it to be of this text. Of
/// references, that is less: a name may be taken over under another one.
const DEFINED_SHARE: (usize, usize) = (9, 10);
const REFERENCED_SHARE: (usize, usize) = (1, 2);

#[derive(Clone, PartialEq, Message)]
struct DocumentMessage {
    #[prost(string, tag = "1")]
    relative_path: String,
    #[prost(message, repeated, tag = "2")]
    occurrences: Vec<OccurrenceMessage>,
    #[prost(string, tag = "5")]
    text: String,
    #[prost(int32, tag = "6")]
    position_encoding: i32,
}

#[derive(Clone, PartialEq, Message)]
struct OccurrenceMessage {
    #[prost(int32, repeated, tag = "1")]
    range: Vec<i32>,
    #[prost(string, tag = "2")]
    symbol: String,
    #[prost(int32, tag = "3")]
    symbol_roles: i32,
}

/// The unit in which columns are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Columns {
    /// Bytes.
    Utf8,
    /// Units of 16 bits.
    Utf16,
    /// Characters.
    Utf32,
}

/// A symbol, as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Symbol {
    /// Its package without the version; 0 of what only one file can name.
    pub package: u32,
    /// All of it without the version.
    pub hash: u64,
}

/// A place of a document that names something, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// From 0.
    pub line: u32,
    /// Columns from 0; the end is exclusive.
    pub start: u32,
    /// See `start`.
    pub end: u32,
    /// The symbol named here.
    pub symbol: Symbol,
    /// The symbol's own name, where it is one that stands in texts.
    pub name: Option<String>,
    /// It is defined here.
    pub is_definition: bool,
}

/// An index's data about one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Relative to what was indexed.
    pub path: String,
    /// The unit in which columns are counted.
    pub columns: Columns,
    /// The hash (BLAKE3) of the text, where the index has the text.
    pub text: Option<[u8; 32]>,
    /// In the order of the index.
    pub occurrences: Vec<Occurrence>,
}

/// The documents of an index, one after the other: memory is that of the largest.
pub struct Documents<R> {
    source: R,
}

impl<R: Read> Documents<R> {
    /// Those of an index that is read from its beginning.
    pub fn of(source: R) -> Self {
        Self { source }
    }

    /// # Errors
    /// `InvalidData` for what is no index, `UnexpectedEof` for one that is cut.
    fn read(&mut self) -> io::Result<Option<Document>> {
        while let Some(tag) = self.number(true)? {
            match (tag >> 3, tag & 7) {
                (0, _) => return Err(broken("it has a field 0")),
                (_, 0) => drop(self.number(false)?),
                (_, 1) => self.skip(8)?,
                (_, 5) => self.skip(4)?,
                (field, 2) => {
                    let length = self.number(false)?.unwrap_or_default();
                    if field != 2 {
                        self.skip(length)?;
                        continue;
                    }
                    if length > DOCUMENT_BYTES_MAX {
                        return Err(broken("a file in it takes over 256 MiB"));
                    }
                    let mut bytes = Vec::new();
                    let read = (&mut self.source).take(length).read_to_end(&mut bytes)?;
                    if (read as u64) < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    let message = DocumentMessage::decode(&bytes[..]).map_err(|why| broken(&why.to_string()))?;
                    return Ok(Some(Document::of(message)));
                }
                (_, kind) => return Err(broken(&format!("it has a field of the type {kind}"))),
            }
        }
        Ok(None)
    }

    /// A number in LEB128; `None` at the end, where that may be.
    fn number(&mut self, may_end: bool) -> io::Result<Option<u64>> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            if self.source.read(&mut byte)? == 0 {
                return match may_end && shift == 0 {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        Err(broken("it has a number of more than 64 bits"))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        match io::copy(&mut (&mut self.source).take(bytes), &mut io::sink())? == bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl<R: Read> Iterator for Documents<R> {
    type Item = io::Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this is no SCIP index: {what}"))
}

impl Document {
    fn of(message: DocumentMessage) -> Self {
        let DocumentMessage { relative_path: path, occurrences, text, position_encoding } = message;
        let columns = match position_encoding {
            1 => Columns::Utf8,
            3 => Columns::Utf32,
            // Indexers in JavaScript, which do not say, count so.
            _ => Columns::Utf16,
        };
        let text = (!text.is_empty()).then(|| *blake3::hash(text.as_bytes()).as_bytes());
        let occurrences = occurrences.into_iter().filter_map(Occurrence::of).collect();
        Self { path, columns, text, occurrences }
    }

    /// The names of the text `bytes` with what they mean; `None` when the document is of another text.
    pub fn placed(&self, bytes: &[u8]) -> Option<Symbols> {
        if self.text.is_some_and(|text| text != *blake3::hash(bytes).as_bytes()) {
            return None;
        }
        let mut line_starts = vec![0];
        line_starts.extend(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
        let (mut marks, mut table, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        // Of definitions and of references: names that stand where they should, and all.
        let mut fits = [(0, 0); 2];
        for one in &self.occurrences {
            let line = line_starts.get(one.line as usize).map(|start| {
                let end = line_starts.get(one.line as usize + 1).copied().unwrap_or(bytes.len());
                (*start, bytes.get(*start..end).unwrap_or_default())
            });
            let place = line.and_then(|(from, line)| {
                let (start, end) = (self.columns.bytes(line, one.start)?, self.columns.bytes(line, one.end)?);
                Some((from + start, line.get(start..end)?))
            });
            let fit = &mut fits[usize::from(!one.is_definition)];
            if let Some(name) = &one.name {
                fit.1 += 1;
                fit.0 += usize::from(place.is_some_and(|(_, text)| text == name.as_bytes()));
            }
            if let Some((at, text)) = place.filter(|(_, text)| !text.is_empty()) {
                let symbol = *numbers.entry(one.symbol).or_insert_with(|| {
                    table.push(one.symbol);
                    table.len() as u32 - 1
                });
                let (at, length, line) = (at as u32, text.len() as u32, one.line + 1);
                marks.push(Mark { at, length, line, symbol, is_definition: one.is_definition });
            }
        }
        let enough = |(fit, all): (usize, usize), (share, of): (usize, usize)| fit * of >= all * share;
        let is_of_it = match fits {
            [defined, _] if defined.1 > 0 => enough(defined, DEFINED_SHARE),
            [_, referenced] => enough(referenced, REFERENCED_SHARE),
        };
        marks.sort_unstable_by_key(|mark| (mark.at, !mark.is_definition, mark.length));
        marks.dedup_by_key(|mark| mark.at);
        is_of_it.then_some(Symbols { table, marks })
    }
}

impl Occurrence {
    /// `None` for what names nothing in one line.
    fn of(message: OccurrenceMessage) -> Option<Self> {
        let number = |at: usize| u32::try_from(*message.range.get(at)?).ok();
        let (line, start, end) = (number(0)?, number(1)?, number(2)?);
        let is_one_line =
            message.range.len() == 3 || (message.range.len() == 4 && message.range[0] == message.range[2]);
        let end = if message.range.len() == 4 { number(3)? } else { end };
        if !is_one_line || start >= end || message.symbol.is_empty() {
            return None;
        }
        Some(Self {
            line,
            start,
            end,
            symbol: Symbol::of(&message.symbol),
            name: name_of(&message.symbol).map(str::to_owned),
            is_definition: message.symbol_roles & DEFINITION != 0,
        })
    }
}

impl Symbol {
    fn of(text: &str) -> Self {
        let hash = |parts: &[&str]| {
            let mut hasher = blake3::Hasher::new();
            for part in parts {
                hasher.update(&(part.len() as u64).to_be_bytes());
                hasher.update(part.as_bytes());
            }
            u64::from_be_bytes(*hasher.finalize().as_bytes().first_chunk().expect("32 bytes have 8"))
        };
        if text.starts_with("local ") {
            return Self { package: 0, hash: hash(&[text]) };
        }
        // Scheme, manager, package, version, descriptors.
        match text.splitn(5, ' ').collect::<Vec<_>>()[..] {
            [scheme, manager, package, _, descriptors] => Self {
                package: (hash(&[scheme, manager, package]) as u32).max(1),
                hash: hash(&[scheme, manager, package, descriptors]),
            },
            _ => Self { package: 1, hash: hash(&[text]) },
        }
    }

    /// Only its own file can name it.
    pub fn is_local(self) -> bool {
        self.package == 0
    }
}

/// The name at the end of a symbol: `get` of "… `requests.api`/get()."; `None` where it has none that stands in texts.
fn name_of(symbol: &str) -> Option<&str> {
    if symbol.starts_with("local ") {
        return None;
    }
    let end = match symbol.strip_suffix(").") {
        // A method, with what tells overloads apart.
        Some(method) => &method[..method.rfind('(')?],
        None => symbol.strip_suffix(['.', '#', ':', '!'])?,
    };
    let is_word = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
    let name = &end
        [end.rfind(|it: char| !is_word(it)).map_or(0, |at| at + end[at..].chars().next().map_or(1, char::len_utf8))..];
    // Modules are not spelt as they are called, and what stands in backticks is no name.
    (!name.is_empty() && !symbol.ends_with(':') && !end.ends_with('`')).then_some(name)
}

impl Columns {
    /// The bytes before a column of a line.
    fn bytes(self, line: &[u8], column: u32) -> Option<usize> {
        let column = column as usize;
        if self == Self::Utf8 || line.get(..column).is_some_and(<[u8]>::is_ascii) {
            return (column <= line.len()).then_some(column);
        }
        let text = std::str::from_utf8(line).ok()?;
        let (mut units, mut bytes) = (0, 0);
        for one in text.chars() {
            if units >= column {
                break;
            }
            units += if self == Self::Utf16 { one.len_utf16() } else { 1 };
            bytes += one.len_utf8();
        }
        (units == column).then_some(bytes)
    }
}

/// A name of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// In bytes.
    at: u32,
    length: u32,
    /// From 1.
    line: u32,
    /// Its place in the table.
    symbol: u32,
    is_definition: bool,
}

/// The meanings of the names in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    table: Vec<Symbol>,
    /// By place.
    marks: Vec<Mark>,
}

impl Symbols {
    /// Names whose meaning is known.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Nothing is known.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the symbol that a reference refers to.
    pub fn meant(&self, reference: &Reference) -> Option<Symbol> {
        let at = self.marks.binary_search_by_key(&reference.at, |mark| mark.at).ok()?;
        let mark = self.marks.get(at).filter(|mark| mark.length as usize == reference.name.len())?;
        self.table.get(mark.symbol as usize).copied()
    }

    /// Returns the symbol that a definition defines.
    pub fn defined(&self, definition: &Definition) -> Option<Symbol> {
        let from = self.marks.partition_point(|mark| mark.at < definition.start);
        let inside = self.marks[from..].iter().take_while(|mark| mark.at < definition.end);
        let is_it = |mark: &&Mark| {
            mark.is_definition && mark.line == definition.line && mark.length as usize == definition.name.len()
        };
        let mut fitting = inside.take_while(|mark| mark.line <= definition.line).filter(is_it);
        let mark = fitting.next()?;
        // Two of one length in a line: which of them is not known.
        fitting.next().is_none().then(|| self.table.get(mark.symbol as usize).copied())?
    }

    /// As bytes: the table, then the names, each by its distance from the one before.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, self.table.len() as u64);
        for symbol in &self.table {
            out.extend_from_slice(&symbol.package.to_be_bytes());
            out.extend_from_slice(&symbol.hash.to_be_bytes());
        }
        let (mut at, mut line) = (0, 0);
        for mark in &self.marks {
            put_number(&mut out, u64::from(mark.at - at));
            put_number(&mut out, u64::from(mark.line - line));
            put_number(&mut out, u64::from(mark.length) * 2 + u64::from(mark.is_definition));
            put_number(&mut out, mark.symbol.into());
            (at, line) = (mark.at, mark.line);
        }
        out
    }

    /// Of what [`encode`](Self::encode) made; `None` for anything else.
    pub fn decode(mut from: &[u8]) -> Option<Self> {
        let mut table = Vec::new();
        for _ in 0..take_number(&mut from)? {
            let (package, rest) = from.split_first_chunk()?;
            let (hash, rest) = rest.split_first_chunk()?;
            table.push(Symbol { package: u32::from_be_bytes(*package), hash: u64::from_be_bytes(*hash) });
            from = rest;
        }
        let (mut marks, mut at, mut line) = (Vec::new(), 0_u32, 0_u32);
        while !from.is_empty() {
            let mut small = || u32::try_from(take_number(&mut from)?).ok();
            at = at.checked_add(small()?)?;
            line = line.checked_add(small()?)?;
            let (length, symbol) = (small()?, small()?);
            table.get(symbol as usize)?;
            marks.push(Mark { at, length: length / 2, line, symbol, is_definition: length % 2 == 1 });
        }
        Some(Self { table, marks })
    }
}
