//! Rich Text Format: its text, with headings by style or outline level, and tables by rows.

mod charset;
mod scan;

use std::collections::HashMap;
use std::mem::take;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::ooxml::Role;
use crate::part::{Gap, Part};
use crate::read::Read;
use crate::split::Style;
use scan::{Scan, Token};

/// Groups within groups. Programs stay below a tenth of it.
const DEPTH_MAX: usize = 512;

/// Fonts and styles that are remembered.
const NAMES_MAX: usize = 10_000;

pub(crate) fn read(bytes: &[u8]) -> Result<Read, String> {
    let mut reader = Reader::new();
    let mut outer = Vec::new();
    for token in Scan::new(bytes) {
        match token {
            Token::Open => {
                reader.end_bytes();
                if outer.len() >= DEPTH_MAX {
                    return Err(format!("it nests more than {DEPTH_MAX} groups; open it and save it again"));
                }
                outer.push(reader.group.clone());
            }
            Token::Close => {
                reader.end_bytes();
                let Some(group) = outer.pop() else { break };
                reader.end_group(group);
                // Anything after the document is not part of it.
                if outer.is_empty() {
                    break;
                }
            }
            Token::Word(word, number) => reader.word(word, number),
            Token::Ignorable => reader.group.to = To::Unknown,
            Token::Byte(byte) => reader.byte(byte),
            Token::Char(char) => reader.char(char),
        }
    }
    reader.end_bytes();
    reader.end_paragraph();
    let title = reader.title.filter(|title| !title.is_empty());
    let title = title.or(reader.first_title).or(reader.first_heading);
    let mut read = Read { title, ..Read::default() };
    if !outer.is_empty() {
        read.warnings.push("it ends in the middle; copy it again".to_owned());
    }
    read.add(reader.part)?;
    Ok(read)
}

/// Where the characters of a group go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Text,
    Nowhere,
    /// Nowhere, unless its first word is known to hold text.
    Unknown,
    Fonts,
    Styles,
    Title,
}

/// Words that begin a group which nobody reads.
const PASSED_OVER: &[&str] = &[
    "colortbl",
    "fldinst",
    "footer",
    "footerf",
    "footerl",
    "footerr",
    "header",
    "headerf",
    "headerl",
    "headerr",
    "info",
    "listtext",
    "nonshppict",
    "objdata",
    "pict",
    "pntext",
    "revtbl",
    "tc",
    "xe",
];

#[derive(Clone)]
struct Group {
    to: To,
    /// Characters for older programs that follow one in Unicode.
    fallback: i32,
    encoding: &'static Encoding,
    hidden: bool,
    in_table: bool,
    style: i32,
    outline_level: Option<u8>,
}

struct Reader {
    part: Part,
    group: Group,
    default: &'static Encoding,
    encodings: HashMap<i32, &'static Encoding>,
    roles: HashMap<i32, Role>,
    /// The font, or the style, that its table is at, and the style's name.
    entry: i32,
    name: String,
    title: Option<String>,
    /// The first paragraph in the style of a title, and the first heading of the first level.
    first_title: Option<String>,
    first_heading: Option<String>,
    /// Bytes of the text at hand, in the group's encoding.
    bytes: Vec<u8>,
    /// The first half of a character of two.
    high: Option<u16>,
    /// Characters to pass over: they say again what was said in Unicode.
    skip: i32,
    paragraph: Option<usize>,
    after_row: bool,
}

impl Reader {
    fn new() -> Self {
        let group = Group {
            to: To::Text,
            fallback: 1,
            encoding: WINDOWS_1252,
            hidden: false,
            in_table: false,
            style: -1,
            outline_level: None,
        };
        Reader {
            part: Part::new(Style::Prose),
            group,
            default: WINDOWS_1252,
            encodings: HashMap::new(),
            roles: HashMap::new(),
            entry: -1,
            name: String::new(),
            title: None,
            first_title: None,
            first_heading: None,
            bytes: Vec::new(),
            high: None,
            skip: 0,
            paragraph: None,
            after_row: false,
        }
    }

    fn byte(&mut self, byte: u8) {
        match self.skip {
            0 => self.bytes.push(byte),
            _ => self.skip -= 1,
        }
    }

    fn char(&mut self, char: char) {
        match self.skip {
            0 => {
                self.end_bytes();
                self.write(char.encode_utf8(&mut [0; 4]));
            }
            _ => self.skip -= 1,
        }
    }

    /// Writes the collected bytes as text, before their encoding or anything else may change.
    fn end_bytes(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = take(&mut self.bytes);
            let (text, _) = self.group.encoding.decode_without_bom_handling(&bytes);
            self.write(&text);
        }
    }

    fn write(&mut self, text: &str) {
        match self.group.to {
            To::Text if !self.group.hidden => {
                if take(&mut self.after_row) && !self.group.in_table {
                    self.part.gap(Gap::Block);
                }
                let start = self.part.words(text);
                self.paragraph = self.paragraph.or(start);
            }
            To::Styles => self.style_name(text),
            To::Title => self.title.get_or_insert_default().push_str(text),
            _ => {}
        }
    }

    /// A style's name ends with `;`.
    fn style_name(&mut self, text: &str) {
        for piece in text.split_inclusive(';') {
            self.name.push_str(piece.trim_end_matches(';'));
            if piece.ends_with(';') {
                let role = crate::docx::role_of(&take(&mut self.name));
                if let (Some(role), true) = (role, self.roles.len() < NAMES_MAX) {
                    self.roles.insert(self.entry, role);
                }
                self.entry = 0; // the style without a number
            }
        }
    }

    fn end_group(&mut self, group: Group) {
        if self.group.to == To::Title && group.to != To::Title {
            self.title = self.title.take().map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        (self.group, self.skip, self.high) = (group, 0, None);
    }

    fn end_paragraph(&mut self) {
        let Some(start) = self.paragraph.take() else { return };
        if self.group.in_table {
            return;
        }
        let by_level = self.group.outline_level.map(|level| Role::Heading(level + 1));
        match self.roles.get(&self.group.style).copied().or(by_level) {
            Some(Role::Heading(level)) => {
                let name = self.part.heading(level, start);
                if level == 1 {
                    self.first_heading = self.first_heading.take().or(name);
                }
            }
            // A title is a heading above all others.
            Some(Role::Title) => self.first_title = self.first_title.take().or(self.part.heading(0, start)),
            None => {}
        }
    }

    fn gap(&mut self, gap: Gap) {
        if self.group.to == To::Text && !self.group.hidden {
            // In a table's cell, paragraphs are separated by no more than a space.
            self.part.gap(if self.group.in_table { Gap::Space } else { gap });
        }
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        // Not what the specification says, but many programs leave out the characters for older ones.
        self.skip = 0;
        self.end_bytes();
        let is_on = number != Some(0);
        match word {
            "u" => return self.unicode(number.unwrap_or(0)),
            "uc" => self.group.fallback = number.unwrap_or(1).clamp(0, 16),
            _ if PASSED_OVER.contains(&word) && self.group.to != To::Nowhere => self.group.to = To::Nowhere,
            "title" if matches!(self.group.to, To::Nowhere) && self.title.is_none() => self.group.to = To::Title,
            "fonttbl" => self.group.to = To::Fonts,
            "stylesheet" => self.group.to = To::Styles,
            "ansicpg" => self.set_default(charset::of_code_page(number.unwrap_or(0))),
            "mac" => self.set_default(Some(encoding_rs::MACINTOSH)),
            "f" if self.group.to == To::Fonts => self.entry = number.unwrap_or(0),
            "fcharset" if self.group.to == To::Fonts => {
                if let (Some(encoding), true) =
                    (charset::of_font(number.unwrap_or(0)), self.encodings.len() < NAMES_MAX)
                {
                    self.encodings.insert(self.entry, encoding);
                }
            }
            "f" => {
                let font = self.encodings.get(&number.unwrap_or(0)).copied();
                self.group.encoding = font.unwrap_or(self.default);
            }
            "plain" => (self.group.encoding, self.group.hidden) = (self.default, false),
            "s" if self.group.to == To::Styles => self.entry = number.unwrap_or(0),
            "s" => self.group.style = number.unwrap_or(0),
            "outlinelevel" => self.outline_level(number),
            "pard" => (self.group.style, self.group.outline_level, self.group.in_table) = (-1, None, false),
            "intbl" => self.group.in_table = is_on,
            "v" | "deleted" => self.group.hidden = is_on,
            "par" | "sect" | "page" | "column" => {
                self.end_paragraph();
                self.gap(Gap::Block);
            }
            "line" | "softline" => self.gap(Gap::Line),
            "tab" | "emspace" | "enspace" | "qmspace" => self.gap(Gap::Space),
            "cell" | "nestcell" if self.group.to == To::Text => {
                self.paragraph = None;
                self.part.end_cell();
            }
            "row" | "nestrow" if self.group.to == To::Text => {
                (self.paragraph, self.after_row) = (None, true);
                self.part.end_row();
            }
            _ => {
                if let Some(char) = charset::of_word(word) {
                    self.write(char);
                }
            }
        }
        self.high = None;
    }

    /// In the table of styles, it is the style's.
    fn outline_level(&mut self, number: Option<i32>) {
        let Some(level @ 0..=8) = number else { return };
        match self.group.to {
            To::Styles if self.roles.len() < NAMES_MAX => {
                self.roles.entry(self.entry).or_insert(Role::Heading(level as u8 + 1));
            }
            _ => self.group.outline_level = Some(level as u8),
        }
    }

    fn set_default(&mut self, encoding: Option<&'static Encoding>) {
        if let Some(encoding) = encoding {
            (self.default, self.group.encoding) = (encoding, encoding);
        }
    }

    /// A unit of UTF-16, written as a signed number of 16 bits.
    fn unicode(&mut self, number: i32) {
        let unit = number as u16;
        let units = [self.high.take(), Some(unit)];
        for char in char::decode_utf16(units.into_iter().flatten()) {
            match char {
                Ok(char) => self.write(char.encode_utf8(&mut [0; 4])),
                Err(half) if (0xD800..0xDC00).contains(&half.unpaired_surrogate()) => self.high = Some(unit),
                Err(_) => {}
            }
        }
        self.skip = self.group.fallback;
    }
}
