//! The JSON of a notebook, of which nothing is kept that nobody reads: pictures, widgets, what a list without end holds.

use std::fmt;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::OUTPUT_BYTES_MAX;
use crate::html;

/// Three bytes make a cell, which takes a hundred in memory.
const CELLS_MAX: usize = 10_000;

#[derive(Deserialize)]
pub(super) struct Notebook {
    cells: Option<Cells>,
    /// Where notebooks had their cells until version 4.
    worksheets: Option<First<Worksheet>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Worksheet {
    cells: Option<Cells>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    title: Text,
}

#[derive(Deserialize)]
pub(super) struct Cell {
    #[serde(rename = "cell_type", default)]
    pub(super) kind: String,
    /// Of a heading.
    pub(super) level: Option<u8>,
    #[serde(alias = "input", default)]
    pub(super) source: Text,
    #[serde(default)]
    pub(super) outputs: Outputs,
}

impl Notebook {
    pub(super) fn title(&self) -> Option<String> {
        let title = self.metadata.title.0.split_whitespace().collect::<Vec<_>>().join(" ");
        (!title.is_empty()).then_some(title)
    }

    pub(super) fn cells(self) -> Option<Vec<Cell>> {
        let older = self.worksheets.and_then(|sheets| sheets.0).and_then(|sheet| sheet.cells);
        self.cells.or(older).map(|cells| cells.0)
    }
}

struct Cells(Vec<Cell>);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Cells;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of cells")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cells, A::Error> {
                let mut cells = Vec::new();
                while let Some(cell) = list.next_element()? {
                    if cells.len() >= CELLS_MAX {
                        return Err(Error::custom(format!("there are more than {CELLS_MAX} cells; split it")));
                    }
                    cells.push(cell);
                }
                Ok(Cells(cells))
            }
        }
        from.deserialize_seq(Read)
    }
}

/// The first of a list.
struct First<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = First<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First<T>, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        from.deserialize_seq(Read(std::marker::PhantomData))
    }
}

/// A text, or the lines of one, which end in line ends themselves. Empty for anything else.
#[derive(Default)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Text, E> {
                Ok(Text(text))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
                let mut text = String::new();
                while let Some(Text(line)) = list.next_element()? {
                    text.push_str(&line);
                }
                Ok(Text(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }
            fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
                Ok(Text::default())
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Text, E> {
                Ok(Text::default())
            }
            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Text, E> {
                Ok(Text::default())
            }
            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Text, E> {
                Ok(Text::default())
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Text, E> {
                Ok(Text::default())
            }
        }
        from.deserialize_any(Read)
    }
}

/// The beginning of what a cell printed.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) text: String,
    pub(super) is_cut: bool,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Text,
    #[serde(default)]
    data: Data,
    #[serde(default)]
    ename: Text,
    #[serde(default)]
    evalue: Text,
}

/// One thing in several forms.
#[derive(Default, Deserialize)]
struct Data {
    #[serde(rename = "text/markdown", default)]
    markdown: Text,
    #[serde(rename = "text/plain", default)]
    plain: Text,
    #[serde(rename = "text/html", default)]
    html: Text,
}

impl Output {
    /// As people see it. Tracebacks say where in a program that is not here.
    fn shown(self) -> String {
        let Output { text, data, ename, evalue } = self;
        match () {
            () if !ename.0.is_empty() => plain(&format!("{}: {}", ename.0, evalue.0)),
            () if !text.0.is_empty() => plain(&text.0),
            () if !data.markdown.0.is_empty() => data.markdown.0,
            () if !data.plain.0.is_empty() => plain(&data.plain.0),
            () => html::part(&data.html.0).1.into_text(),
        }
    }
}

impl<'de> Deserialize<'de> for Outputs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Outputs;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of outputs")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Outputs, A::Error> {
                let mut all = Outputs::default();
                while let Some(output) = list.next_element::<Output>()? {
                    all.add(&output.shown());
                }
                Ok(all)
            }
        }
        from.deserialize_seq(Read)
    }
}

impl Outputs {
    fn add(&mut self, shown: &str) {
        if shown.trim().is_empty() {
            return;
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let room = OUTPUT_BYTES_MAX.saturating_sub(self.text.len());
        let end = shown.floor_char_boundary(room);
        self.text.push_str(&shown[..end]);
        self.is_cut |= !shown[end..].trim().is_empty();
    }
}

/// Returns the text that a terminal would show: without colours, and only the last state of a line that is overwritten
/// repeatedly, such as a progress bar.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let end = line.trim_end_matches(['\r', '\n']);
        let (mut rest, line_end) = (end.rsplit('\r').next().unwrap_or_default(), &line[end.len()..]);
        while let Some((before, escape)) = rest.split_once('\x1b') {
            out.push_str(before);
            // ECMA-48: parameters, intermediates, and the character that ends them.
            let arguments = escape.strip_prefix('[').map(|list| list.trim_start_matches(|c| matches!(c, ' '..='?')));
            let mut after = arguments.unwrap_or(escape).chars();
            after.next();
            rest = after.as_str();
        }
        out.push_str(rest);
        out.push_str(line_end);
    }
    out
}
