//! Facts as bytes: a list of names, and then numbers that are small because each is told by the one before.
//!
//! | part | how it is spelt |
//! |---|---|
//! | head | [`FACTS_VERSION`], the language, the reading: a byte each |
//! | names | their number; of each its length and its bytes |
//! | definitions | their number; of each its fields |
//! | references | the same |
//! | imports | the same |
//!
//! Numbers are LEB128. A name is its number in the list, and 0 where it may be missing.

use std::collections::HashMap;

use crate::Language;
use crate::facts::{Definition, FACTS_VERSION, Facts, Import, Kind, Reading, Receiver, Reference, Use};

const KINDS: [Kind; 15] = [
    Kind::Function,
    Kind::Method,
    Kind::Declaration,
    Kind::Class,
    Kind::Struct,
    Kind::Enum,
    Kind::Union,
    Kind::Interface,
    Kind::Type,
    Kind::Module,
    Kind::Macro,
    Kind::Constant,
    Kind::Variable,
    Kind::Field,
    Kind::Variant,
];
const USES: [Use; 5] = [Use::Call, Use::Macro, Use::Inherit, Use::Type, Use::Value];
const READINGS: [Reading; 3] = [Reading::Whole, Reading::WithErrors, Reading::Unparsed];

/// Appends a number in LEB128: seven bits a byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads what [`put_number`] wrote, and moves on.
pub(crate) fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[derive(Default)]
struct Writer<'f> {
    numbers: HashMap<&'f str, u64>,
    names: Vec<&'f str>,
    out: Vec<u8>,
}

impl<'f> Writer<'f> {
    fn number(&mut self, number: impl Into<u64>) {
        put_number(&mut self.out, number.into());
    }

    fn name(&mut self, name: Option<&'f str>) {
        let number = name.map_or(0, |name| {
            let next = self.names.len() as u64 + 1;
            let number = *self.numbers.entry(name).or_insert(next);
            if number == next {
                self.names.push(name);
            }
            number
        });
        self.number(number);
    }

    fn definition(&mut self, definition: &'f Definition, before: &mut (u32, u32)) {
        let kind = position(&KINDS, &definition.kind);
        self.number(kind * 4 + u64::from(definition.function.is_some()) * 2 + u64::from(definition.is_private));
        self.name(Some(&definition.name));
        self.number(definition.parent.map_or(0, |parent| u64::from(parent) + 1));
        self.name(definition.owner.as_deref());
        self.number(definition.bases.len() as u64);
        definition.bases.iter().for_each(|base| self.name(Some(base)));
        self.number(definition.start.wrapping_sub(before.0));
        self.number(definition.end.wrapping_sub(definition.start));
        self.number(definition.head_end.wrapping_sub(definition.start));
        self.number(definition.line.wrapping_sub(before.1));
        self.number(definition.line_end.wrapping_sub(definition.line));
        if let Some((start, end)) = definition.function {
            self.number(definition.start.wrapping_sub(start));
            self.number(end.wrapping_sub(start));
        }
        *before = (definition.start, definition.line);
    }

    fn reference(&mut self, reference: &'f Reference, before: &mut (u32, u32)) {
        let receiver = match &reference.receiver {
            Receiver::None => 0,
            Receiver::Own => 1,
            Receiver::Name(_) => 2,
            Receiver::Expression => 3,
            Receiver::Base => 4,
        };
        let how = position(&USES, &reference.how);
        self.number((how * 8 + receiver) * 2 + u64::from(reference.is_local));
        self.name(Some(&reference.name));
        if let Receiver::Name(name) = &reference.receiver {
            self.name(Some(name));
        }
        self.number(reference.within.map_or(0, |within| u64::from(within) + 1));
        self.number(reference.at.wrapping_sub(before.0));
        self.number(reference.line.wrapping_sub(before.1));
        *before = (reference.at, reference.line);
    }

    fn import(&mut self, import: &'f Import) {
        self.name(Some(&import.module));
        self.name(import.name.as_deref());
        self.name(import.alias.as_deref());
        self.number(u64::from(import.line) * 2 + u64::from(import.is_wildcard));
    }
}

fn position<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|other| other == one).unwrap_or(0) as u64
}

struct Reader<'b> {
    names: Vec<&'b str>,
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn number(&mut self) -> Option<u64> {
        take_number(&mut self.rest)
    }

    fn short(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A number of things that take a byte each at least, so that a broken one asks for no memory.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.rest.len()).then_some(count)
    }

    fn name_or_none(&mut self) -> Option<Option<String>> {
        match self.number()? {
            0 => Some(None),
            number => Some(Some((*self.names.get(usize::try_from(number).ok()? - 1)?).to_owned())),
        }
    }

    fn name(&mut self) -> Option<String> {
        self.name_or_none()?
    }

    fn index(&mut self) -> Option<Option<u32>> {
        Some(self.short()?.checked_sub(1))
    }

    fn definition(&mut self, before: &mut (u32, u32)) -> Option<Definition> {
        let tag = self.number()?;
        let kind = *KINDS.get(usize::try_from(tag / 4).ok()?)?;
        let (name, parent, owner) = (self.name()?, self.index()?, self.name_or_none()?);
        let bases = (0..self.count()?).map(|_| self.name()).collect::<Option<_>>()?;
        let start = before.0.wrapping_add(self.short()?);
        let (end, head_end) = (start.wrapping_add(self.short()?), start.wrapping_add(self.short()?));
        let line = before.1.wrapping_add(self.short()?);
        let line_end = line.wrapping_add(self.short()?);
        let mut function = None;
        if tag / 2 % 2 == 1 {
            let from = start.wrapping_sub(self.short()?);
            function = Some((from, from.wrapping_add(self.short()?)));
        }
        *before = (start, line);
        let is_private = tag % 2 == 1;
        Some(Definition {
            name,
            kind,
            parent,
            owner,
            bases,
            is_private,
            function,
            start,
            end,
            head_end,
            line,
            line_end,
        })
    }

    fn reference(&mut self, before: &mut (u32, u32)) -> Option<Reference> {
        let tag = self.number()?;
        let how = *USES.get(usize::try_from(tag / 16).ok()?)?;
        let name = self.name()?;
        let receiver = match tag / 2 % 8 {
            0 => Receiver::None,
            1 => Receiver::Own,
            2 => Receiver::Name(self.name()?),
            3 => Receiver::Expression,
            4 => Receiver::Base,
            _ => return None,
        };
        let within = self.index()?;
        let (at, line) = (before.0.wrapping_add(self.short()?), before.1.wrapping_add(self.short()?));
        *before = (at, line);
        Some(Reference { name, how, receiver, within, is_local: tag % 2 == 1, line, at })
    }

    fn import(&mut self) -> Option<Import> {
        let (module, name, alias) = (self.name()?, self.name_or_none()?, self.name_or_none()?);
        let line = self.number()?;
        let is_wildcard = line % 2 == 1;
        Some(Import { module, name, alias, is_wildcard, line: u32::try_from(line / 2).ok()? })
    }
}

impl Facts {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(self.definitions.len() as u64);
        let mut before = (0, 0);
        self.definitions.iter().for_each(|definition| writer.definition(definition, &mut before));
        writer.number(self.references.len() as u64);
        before = (0, 0);
        self.references.iter().for_each(|reference| writer.reference(reference, &mut before));
        writer.number(self.imports.len() as u64);
        self.imports.iter().for_each(|import| writer.import(import));
        let reading = position(&READINGS, &self.reading) as u8;
        let mut out = vec![FACTS_VERSION, self.language.number(), reading];
        put_number(&mut out, writer.names.len() as u64);
        for name in writer.names {
            put_number(&mut out, name.len() as u64);
            out.extend_from_slice(name.as_bytes());
        }
        out.append(&mut writer.out);
        out
    }

    /// Of what [`encode`](Self::encode) gave; `None` for anything else, also of another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [FACTS_VERSION, language, reading, rest @ ..] = bytes else { return None };
        let (language, reading) = (Language::of_number(*language)?, *READINGS.get(usize::from(*reading))?);
        let mut reader = Reader { names: Vec::new(), rest };
        for _ in 0..reader.count()? {
            let length = reader.count()?;
            let (name, rest) = reader.rest.split_at_checked(length)?;
            reader.names.push(std::str::from_utf8(name).ok()?);
            reader.rest = rest;
        }
        let mut before = (0, 0);
        let definitions = (0..reader.count()?).map(|_| reader.definition(&mut before)).collect::<Option<_>>()?;
        before = (0, 0);
        let references = (0..reader.count()?).map(|_| reader.reference(&mut before)).collect::<Option<_>>()?;
        let imports = (0..reader.count()?).map(|_| reader.import()).collect::<Option<_>>()?;
        reader.rest.is_empty().then_some(Self { language, reading, definitions, references, imports, symbols: None })
    }
}
