//! The results of extraction.

/// The format that a file was read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Markdown, cut at its headings.
    Markdown,
    /// Plain text and data formats, CSV by its rows.
    Text,
    /// HTML, of which the visible text is kept.
    Html,
    /// PDF, of which the text of each page is kept.
    Pdf,
    /// A programming language.
    Code,
    /// A word processor's document: its paragraphs, tables and notes.
    Document,
    /// Slides: the text and the notes of each.
    Slides,
    /// A workbook: the rows of each sheet.
    Sheet,
    /// An electronic book: its chapters.
    Book,
    /// A notebook: the Markdown, the code and the output of its cells.
    Notebook,
    /// A mail, or a mailbox of them: headers, text and attachments of each.
    Mail,
}

impl Kind {
    /// Lower-case name for payloads and reports: `markdown`, `text`, `html`, `pdf`, `code`, `document`, `slides`,
    /// `sheet`, `book`, `notebook`, `mail`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Markdown => "markdown",
            Kind::Text => "text",
            Kind::Html => "html",
            Kind::Pdf => "pdf",
            Kind::Code => "code",
            Kind::Document => "document",
            Kind::Slides => "slides",
            Kind::Sheet => "sheet",
            Kind::Book => "book",
            Kind::Notebook => "notebook",
            Kind::Mail => "mail",
        }
    }
}

/// One file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The format that the file was read as.
    pub kind: Kind,
    /// The language or format of the file, as one filterable word: a programming language (`rust`, `python`, `shell`,
    /// …), a data format (`json`, `csv`, `toml`, `yaml`, `xml`, `log`), or `markdown`, `html`, `pdf`, `text`, or a
    /// document's format: `docx`, `rtf`, `odt`, `pptx`, `odp`, `xlsx`, `xlsb`, `ods`, `epub`, `ipynb`, `eml`, `mbox`.
    /// `None` when the name tells nothing and the content is plain text.
    pub lang: Option<String>,
    /// The media type, such as `text/markdown`.
    pub mime: &'static str,
    /// Front matter's `title` or the first `#` heading (Markdown), `<title>` or the first `<h1>` (HTML), the
    /// information dictionary's title (PDF), the properties' title (documents). Never made up from the file name.
    pub title: Option<String>,
    /// In source order, never empty strings. Empty when the file holds nothing but white space.
    pub passages: Vec<Passage>,
    /// The parts that were left out although the rest was read, one sentence each: a PDF page that would not parse, a
    /// lost slide.
    pub warnings: Vec<String>,
}

/// A stretch of a document, sized for an embedder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Never empty.
    pub text: String,
    /// Where it stands, outermost first: the headings above it, or the enclosing symbols of code (`["impl Foo", "fn
    /// bar"]`).
    pub heading: Vec<String>,
    /// First line, from 1, in the source file; for PDF and documents, in the extracted text of the page or the part.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// First byte in the source file; for PDF and documents, in the extracted text of the page or the part (a slide, a
    /// sheet, a chapter; all of a word processor's document or a notebook). For HTML the span covers the markup
    /// from the first to the last word of the passage; a run of text with character references (`&amp;`) is placed by
    /// its line.
    pub start_byte: u64,
    /// One past the last byte.
    pub end_byte: u64,
    /// Page of a PDF, or slide, from 1.
    pub page: Option<u32>,
    /// Where it stands, in the words of its format, when neither page nor lines say it best: `Prices!A2:F20`, `section 3`,
    /// `rows 2-40`, `cell 7`, `message 3, notes.txt`.
    pub place: Option<String>,
}

/// How large passages are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageOptions {
    /// No passage has more characters (Unicode scalar values) than this. The default, 900, is what a 256-token embedder
    /// takes in: English prose runs at 4.2-4.6 characters a WordPiece token (about 205 tokens), code near 3.4 (about
    /// 265, of which indentation costs nothing), so what the model cuts off is rare and short. Values below 64 are
    /// taken as 64.
    pub target_chars: usize,
    /// Characters of the preceding passage that a passage repeats when a section had to be cut inside; at most half of
    /// `target_chars`. Never across sections. The default is 0: sections are cut at paragraphs and sentences, where a
    /// repeat mostly costs index size.
    pub overlap_chars: usize,
}

impl Default for PassageOptions {
    fn default() -> Self {
        PassageOptions { target_chars: 900, overlap_chars: 0 }
    }
}

impl PassageOptions {
    pub(crate) fn target(&self) -> usize {
        self.target_chars.max(64)
    }

    pub(crate) fn overlap(&self) -> usize {
        self.overlap_chars.min(self.target() / 2)
    }

    /// Below this, a section is too small to stand alone and joins a neighbour.
    pub(crate) fn tiny(&self) -> usize {
        self.target() / 5
    }
}
