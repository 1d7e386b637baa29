//! PDF: the text of each page, by a library that may panic on damaged files, kept away from the rest of the process.

mod guard;

use std::path::Path;

use pdf_extract::{Document as Pdf, MediaBox, OutputDev, OutputError, PlainTextOutput, Transform};

use crate::isolated::{isolated, reason};
use crate::part::Part;
use crate::{Document, ExtractError, Kind, PassageOptions};

pub(crate) fn extract(path: &Path, bytes: &[u8], options: &PassageOptions) -> Result<Document, ExtractError> {
    let broken = |what: String| ExtractError::Broken { path: path.to_owned(), what };
    let read = isolated("PDF", || read(bytes)).map_err(broken)?;
    if read.pages.is_empty() && !read.warnings.is_empty() {
        return Err(broken(format!("no page can be read; {}", read.warnings[0])));
    }
    let pages = read.pages.into_iter().map(|(number, text)| Part::plain(number, text));
    let passages = pages.flat_map(|page| page.passages(options)).collect();
    Ok(Document {
        kind: Kind::Pdf,
        lang: Some("pdf".to_owned()),
        mime: "application/pdf",
        title: read.title,
        passages,
        warnings: read.warnings,
    })
}

struct Read {
    title: Option<String>,
    /// Page number and text of each page that could be read.
    pages: Vec<(u32, String)>,
    warnings: Vec<String>,
}

fn read(bytes: &[u8]) -> Result<Read, String> {
    guard::refuse_bombs(bytes)?;
    let mut pdf = Pdf::load_mem(bytes).map_err(|error| match error {
        pdf_extract::Error::Decryption(_) | pdf_extract::Error::InvalidPassword => ENCRYPTED.to_owned(),
        other => format!("the PDF cannot be parsed: {other}"),
    })?;
    if pdf.is_encrypted() {
        pdf.decrypt("").map_err(|_| ENCRYPTED.to_owned())?;
    }
    guard::tame(&mut pdf);
    let mut work = guard::Work::new(&pdf);
    let mut read = Read { title: title(&pdf), pages: Vec::new(), warnings: Vec::new() };
    let mut chars_left = TEXT_CHARS_MAX;
    for (number, id) in pdf.get_pages() {
        match work.admit(id).and_then(|()| page(&pdf, number, &mut chars_left)) {
            Ok(text) => read.pages.push((number, text)),
            Err(what) => read.warnings.push(format!("page {number} is left out: {what}")),
        }
    }
    if read.pages.is_empty() && read.warnings.is_empty() {
        return Err("it has no pages".to_owned());
    }
    Ok(read)
}

const ENCRYPTED: &str = "the PDF is encrypted; save a copy without a password and add that";

/// A page draws a character by a few bytes of its content, and content can be drawn many times over; a book has about a
/// million.
const TEXT_CHARS_MAX: usize = 50_000_000;

/// The text of one page, in reading order as far as the file tells it.
fn page(pdf: &Pdf, number: u32, chars_left: &mut usize) -> Result<String, String> {
    let attempt = std::panic::AssertUnwindSafe(|| {
        let mut text = String::new();
        let mut output = Bounded { text: PlainTextOutput::new(&mut text), chars_left };
        pdf_extract::output_doc_page(pdf, &mut output, number).map(|()| text)
    });
    match std::panic::catch_unwind(attempt) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("the PDF parser failed: {}", reason(&*panic))),
    }
}

fn title(pdf: &Pdf) -> Option<String> {
    let (_, info) = pdf.dereference(pdf.trailer.get(b"Info").ok()?).ok()?;
    let (_, title) = pdf.dereference(info.as_dict().ok()?.get(b"Title").ok()?).ok()?;
    let title = pdf_extract::decode_text_string(title).ok()?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

/// Plain text that ends with an error instead of without end.
struct Bounded<'a, 'b> {
    text: PlainTextOutput<&'a mut String>,
    chars_left: &'b mut usize,
}

impl OutputDev for Bounded<'_, '_> {
    fn begin_page(
        &mut self,
        number: u32,
        page: &MediaBox,
        art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.text.begin_page(number, page, art)
    }
    fn end_page(&mut self) -> Result<(), OutputError> {
        self.text.end_page()
    }
    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        spacing: f64,
        size: f64,
        char: &str,
    ) -> Result<(), OutputError> {
        let Some(left) = self.chars_left.checked_sub(1) else {
            let limit = format!("more than {TEXT_CHARS_MAX} characters in one file");
            return Err(OutputError::IoError(std::io::Error::other(limit)));
        };
        *self.chars_left = left;
        self.text.output_character(at, width, spacing, size, char)
    }
    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.text.begin_word()
    }
    fn end_word(&mut self) -> Result<(), OutputError> {
        self.text.end_word()
    }
    fn end_line(&mut self) -> Result<(), OutputError> {
        self.text.end_line()
    }
}
