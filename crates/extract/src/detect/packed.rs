//! Documents in archives and compound files: which format by their members, not by their name.

use std::path::Path;

use super::Format;
use crate::isolated::isolated;
use crate::package::{ENCRYPTED, Package};
use crate::{ExtractError, Kind};

/// `None` when `bytes` are no such document, and no name says that they should be.
pub(super) fn detect<'a>(
    path: &Path,
    extension: &str,
    bytes: &'a [u8],
) -> Result<Option<(Format, Package<'a>)>, ExtractError> {
    let broken = |what: String| ExtractError::Broken { path: path.to_owned(), what };
    let by_name = of_name(extension);
    if bytes.starts_with(b"PK\x03\x04") {
        let opened = isolated("zip", || {
            let mut package = Package::open(bytes)?;
            Ok((of_package(&mut package), package))
        });
        let claimed =
            || by_name.is_some() || infer::get(bytes).is_some_and(|kind| kind.mime_type() != "application/zip");
        return match opened {
            Ok((Some(format), package)) => Ok(Some((format, package))),
            // Archives of files stay unread.
            Ok((None, _)) | Err(_) if !claimed() => Ok(None),
            Ok((None, _)) => {
                Err(broken("it is an archive without a document in it; add what was packed into it".to_owned()))
            }
            Err(what) => Err(broken(what)),
        };
    }
    if bytes.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
        return compound(path, extension, bytes).map(|()| None);
    }
    match by_name {
        // A text under such a name is a text.
        Some(_) if !super::looks_like_text(bytes) => {
            Err(broken(format!("it is no .{extension} document, or its beginning is lost; copy or save it again")))
        }
        _ => Ok(None),
    }
}

fn of_name(extension: &str) -> Option<Format> {
    FORMATS.iter().find(|format| format.lang == Some(extension)).copied()
}

fn of_package(package: &mut Package) -> Option<Format> {
    if package.has("mimetype") {
        let mime = package.text("mimetype").ok()?;
        let mime = mime.trim().trim_end_matches("-template");
        return FORMATS.iter().find(|format| format.mime == mime).copied();
    }
    if package.has("META-INF/container.xml") && !package.has("[Content_Types].xml") {
        return of_name("epub");
    }
    if !package.has("[Content_Types].xml") {
        return None;
    }
    let holds = |folder: &str| package.names().any(|name| name.starts_with(folder));
    match () {
        () if holds("word/") => of_name("docx"),
        () if holds("ppt/") => of_name("pptx"),
        () if package.has("xl/workbook.bin") => of_name("xlsb"),
        () if holds("xl/") => of_name("xlsx"),
        () => None,
    }
}

const FORMATS: &[Format] = &[
    of(Kind::Document, "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    of(Kind::Sheet, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    of(Kind::Sheet, "xlsb", "application/vnd.ms-excel.sheet.binary.macroEnabled.12"),
    of(Kind::Slides, "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    of(Kind::Document, "odt", "application/vnd.oasis.opendocument.text"),
    of(Kind::Slides, "odp", "application/vnd.oasis.opendocument.presentation"),
    of(Kind::Sheet, "ods", "application/vnd.oasis.opendocument.spreadsheet"),
    of(Kind::Book, "epub", "application/epub+zip"),
];

const fn of(kind: Kind, lang: &'static str, mime: &'static str) -> Format {
    Format { kind, lang: Some(lang), mime }
}

/// Compound files hold what Office wrote until 2007, and what it encrypts. Their members' names are in UTF-16.
fn compound(path: &Path, extension: &str, bytes: &[u8]) -> Result<(), ExtractError> {
    let holds = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memchr::memmem::find(bytes, &name).is_some()
    };
    let path = path.to_owned();
    if holds("EncryptedPackage") {
        return Err(ExtractError::Broken { path, what: ENCRYPTED.to_owned() });
    }
    let what = match () {
        () if holds("WordDocument") => "a .doc document",
        () if holds("PowerPoint Document") => "a .ppt document",
        () if holds("Workbook") => "an .xls document",
        () if holds("__substg1.0_") => "an .msg mail",
        () if matches!(extension, "doc" | "ppt" | "xls" | "msg") => "an old Office document",
        () => return Ok(()),
    };
    Err(ExtractError::Unsupported { path, what: what.to_owned() })
}
