//! HTML: readable text with a map back to the source, sections by heading, cuts at block elements.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use crate::PassageOptions;
use crate::part::Part;
use crate::passages::{Outline, Piece, assemble, heading_name};
use crate::split::Style;

pub(crate) fn pieces(source: &str, options: &PassageOptions) -> (Option<String>, Vec<Piece>) {
    reader(source).pieces(options)
}

/// HTML inside of another document, where nobody is sent back to the markup.
pub(crate) fn part(source: &str) -> (Option<String>, Part) {
    let mut reader = reader(source);
    reader.end_heading();
    (reader.title.or(reader.first_h1), Part::read(reader.text, reader.blocks, reader.outline))
}

fn reader(source: &str) -> Reader<'_> {
    let mut reader = Reader::new(source);
    let callback = |event: CallbackEvent<'_>, span: Span<usize>| -> Option<Infallible> {
        reader.event(&event, span);
        None
    };
    let mut emitter: CallbackEmitter<_, Infallible, usize> = CallbackEmitter::new(callback);
    // Without it the text of scripts and styles would be read as markup.
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(source, emitter).finish();
    reader
}

/// Elements that begin and end a block of text.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "textarea",
    "tfoot",
    "thead",
    "tr",
    "ul",
];

/// Elements whose text nobody reads. The ones that may nest are counted.
const HIDDEN: &[&str] =
    &["script", "style", "template", "noscript", "svg", "math", "iframe", "object", "audio", "video", "canvas"];

/// A run of readable text that was copied from the source. `verbatim` when byte for byte, so that offsets inside it can
/// be mapped.
struct Run {
    text: usize,
    source: Span<usize>,
    verbatim: bool,
}

struct Reader<'a> {
    source: &'a str,
    text: String,
    runs: Vec<Run>,
    blocks: Vec<usize>,
    outline: Outline,
    heading: Option<(u8, usize)>,
    title: Option<String>,
    first_h1: Option<String>,
    in_title: bool,
    in_head: bool,
    preformatted: usize,
    hidden: usize,
    /// The separator between the last word and the next one.
    gap: Gap,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Block,
}

impl<'a> Reader<'a> {
    fn new(source: &'a str) -> Self {
        Reader {
            source,
            text: String::new(),
            runs: Vec::new(),
            blocks: Vec::new(),
            outline: Outline::default(),
            heading: None,
            title: None,
            first_h1: None,
            in_title: false,
            in_head: false,
            preformatted: 0,
            hidden: 0,
            gap: Gap::None,
        }
    }

    fn event(&mut self, event: &CallbackEvent<'_>, span: Span<usize>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag(&String::from_utf8_lossy(name), true),
            CallbackEvent::EndTag { name } => self.tag(&String::from_utf8_lossy(name), false),
            CallbackEvent::String { value } => self.words(&String::from_utf8_lossy(value), span),
            _ => {}
        }
    }

    fn tag(&mut self, name: &str, opens: bool) {
        if HIDDEN.contains(&name) {
            self.hidden = if opens { self.hidden + 1 } else { self.hidden.saturating_sub(1) };
        }
        match name {
            "title" => self.in_title = opens && self.hidden == 0 && self.title.is_none(),
            "head" => self.in_head = opens,
            // A head may be left open, and a stray open tag of a hidden element must not swallow the page.
            "body" => (self.in_head, self.hidden) = (false, 0),
            "pre" | "textarea" => {
                self.preformatted = if opens { self.preformatted + 1 } else { self.preformatted.saturating_sub(1) };
            }
            "td" | "th" => self.gap = self.gap.max(Gap::Space),
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.in_head &= matches!(name, "html");
            self.gap = Gap::Block;
        }
        if let Some(level) = heading_level(name) {
            self.end_heading();
            if opens {
                self.heading = Some((level, self.text.len()));
            }
        }
    }

    /// The heading's words have been written: they name the section that began with them.
    fn end_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else { return };
        let name = heading_name(&self.text[start..]);
        if name.is_empty() {
            return;
        }
        if level == 1 && self.first_h1.is_none() {
            self.first_h1 = Some(name.clone());
        }
        self.outline.begin(level, start, name);
    }

    fn words(&mut self, value: &str, span: Span<usize>) {
        if self.in_title {
            let title = value.split_whitespace().collect::<Vec<_>>().join(" ");
            self.title = self.title.take().or((!title.is_empty()).then_some(title));
            return;
        }
        if self.hidden > 0 || self.in_head {
            return;
        }
        let raw = self.source.get(span.start..span.end).unwrap_or("");
        if raw == value {
            return self.line(value, span.start);
        }
        // Character references changed lengths: a line of the run can still be told from the next, unless a reference
        // wrote one.
        let same_lines = raw.matches('\n').count() == value.matches('\n').count();
        if !same_lines {
            return self.line_at(value, span);
        }
        let mut at = span.start;
        for (raw, value) in raw.split_inclusive('\n').zip(value.split_inclusive('\n')) {
            if raw == value {
                self.line(value, at);
            } else {
                self.line_at(value, Span { start: at, end: at + raw.len() });
            }
            at += raw.len();
        }
    }

    /// Text that stands in the source as it is, from `start`.
    fn line(&mut self, value: &str, start: usize) {
        self.write(value, |at, word| (Span { start: start + at, end: start + at + word.len() }, true));
    }

    /// Text that stands somewhere in `span`.
    fn line_at(&mut self, value: &str, span: Span<usize>) {
        self.write(value, |_, _| (span, false));
    }

    fn write(&mut self, value: &str, place: impl Fn(usize, &str) -> (Span<usize>, bool)) {
        if self.preformatted > 0 {
            if self.gap == Gap::Block || !value.trim().is_empty() {
                self.push(value, place(0, value));
            }
            return;
        }
        let mut at = 0;
        for part in value.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            if word.is_empty() {
                self.gap = self.gap.max(Gap::Space);
            } else {
                self.push(word, place(at, word));
                self.gap = if word.len() < part.len() { Gap::Space } else { Gap::None };
            }
            at += part.len();
        }
    }

    fn push(&mut self, word: &str, (source, verbatim): (Span<usize>, bool)) {
        match self.gap {
            _ if self.text.is_empty() => self.blocks.push(0),
            Gap::Block => {
                self.text.push('\n');
                if !self.text.ends_with("\n\n") {
                    self.text.push('\n');
                }
                self.blocks.push(self.text.len());
            }
            Gap::Space => self.text.push(' '),
            Gap::None => {}
        }
        self.gap = Gap::None;
        self.runs.push(Run { text: self.text.len(), source, verbatim });
        self.text.push_str(word);
    }

    fn pieces(mut self, options: &PassageOptions) -> (Option<String>, Vec<Piece>) {
        self.end_heading();
        let sections = std::mem::take(&mut self.outline).finish(self.text.len());
        let mut pieces = assemble(&self.text, sections, &self.blocks, Style::Prose, options);
        for piece in &mut pieces {
            (piece.start, piece.end) = (self.source_start(piece.start), self.source_end(piece.end));
        }
        (self.title.or(self.first_h1), pieces)
    }

    fn source_start(&self, text: usize) -> usize {
        let run = &self.runs[self.runs.partition_point(|r| r.text <= text).saturating_sub(1)];
        if run.verbatim { (run.source.start + (text - run.text)).min(run.source.end) } else { run.source.start }
    }

    fn source_end(&self, text: usize) -> usize {
        let run = &self.runs[self.runs.partition_point(|r| r.text < text).saturating_sub(1)];
        if run.verbatim { (run.source.start + (text - run.text)).min(run.source.end) } else { run.source.end }
    }
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}
