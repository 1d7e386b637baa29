//! Files to text and passages with source spans.
//!
//! **What it is.** [`walk`] lists the files below a path in a fixed order, honouring `.gitignore`; [`extract`] turns
//! the bytes of one file into a [`Document`]: its kind, language, title, and passages that know their heading path,
//! lines, bytes and page.
//!
//! **What it is useful for.** Feeding an index with passages of an embedder's size that a person can be sent back to:
//! "this heading, these lines of this file". Markdown splits along headings and blocks, source code along definitions,
//! HTML along headings and block elements, PDF along pages, CSV along rows, notebooks along cells, mail along its
//! parts, anything else that is text along paragraphs.
//!
//! **What it is not for.** Rendering, faithful layout, tables as tables, text inside images, or keeping what it reads:
//! it holds no state, touches no index and embeds nothing.
//!
//! **Which invariant it keeps.** For Markdown, text and code, `passage.text` is byte for byte the source at
//! `start_byte..end_byte` (UTF-16 files: its decoded form), passages come in source order and leave out nothing but
//! white space. No input makes it panic or exhaust the stack, and work is bounded by the bytes read. Equal bytes, path
//! and options give equal passages (but see the last resort in `code.rs`); [`VERSION`] changes when they would not.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod code;
mod convert;
mod decode;
mod delimited;
mod detect;
mod document;
mod docx;
mod epub;
mod error;
mod html;
mod isolated;
mod lines;
mod mail;
mod markdown;
mod notebook;
mod odf;
mod ooxml;
mod package;
mod part;
mod passages;
mod pdf;
mod pptx;
mod read;
mod rtf;
mod sheets;
mod split;
mod table;
mod walk;
mod xml;

pub use document::{Document, Kind, Passage, PassageOptions};
pub use error::ExtractError;
pub use walk::{FileEntry, WalkOptions, walk};

use std::path::Path;

/// Raised by one whenever a change makes any file split, title or label differently, so that a caller who stored it
/// knows to extract unchanged files again.
pub const VERSION: u32 = 3;

/// A file name that stands for every path whose files are read alike: [`extract`] gives the same for equal bytes and equal
/// forms, whatever folders and names they are in. It is a name without a folder, such as `file.md`, `Makefile` or `file`.
pub fn form_of(path: &Path) -> String {
    detect::form_of(path)
}

/// Text, title and passages of one file. `path` decides the format together with the bytes, and names the file in
/// errors; nothing is read from disk.
///
/// A file of white space alone gives a document without passages. Errors are per file and leave the caller free to go
/// on: [`ExtractError::Binary`] and [`ExtractError::Unsupported`] say what was recognised, [`ExtractError::NotUtf8`]
/// where the text stops being UTF-8, [`ExtractError::Broken`] what the parser choked on.
pub fn extract(path: &Path, bytes: &[u8], options: &PassageOptions) -> Result<Document, ExtractError> {
    extract_within(path, bytes, options, mail::Within::nothing(&mail::Work::new()))
}

/// The same of a file that may be attached to a mail.
fn extract_within(
    path: &Path,
    bytes: &[u8],
    options: &PassageOptions,
    within: mail::Within<'_>,
) -> Result<Document, ExtractError> {
    let (format, package) = detect::detect(path, bytes)?;
    if let Some(package) = package {
        return convert::extract(path, bytes, format, package, options);
    }
    match format.kind {
        Kind::Pdf => return pdf::extract(path, bytes, options),
        Kind::Mail => return convert::mail(path, bytes, format, options, within),
        _ => {}
    }
    if format == detect::RTF {
        return convert::document(path, format, rtf::read(bytes), options);
    }
    let source = decode::decode(path, bytes)?;
    let text = source.text.as_ref();
    if format.kind == Kind::Notebook {
        return convert::document(path, format, notebook::read(text), options);
    }
    let (title, pieces) = match format.kind {
        Kind::Text if matches!(format.lang, Some("csv" | "tsv")) => {
            (None, delimited::pieces(text, format.lang.unwrap_or_default(), options))
        }
        Kind::Markdown => markdown::pieces(text, options),
        Kind::Html => html::pieces(text, options),
        Kind::Code => (None, code::pieces(text, format.lang, options)),
        _ => (None, passages::plain(text, options)),
    };
    Ok(Document {
        kind: format.kind,
        lang: format.lang.map(str::to_owned),
        mime: format.mime,
        title,
        passages: source.locate(pieces),
        warnings: Vec::new(),
    })
}
