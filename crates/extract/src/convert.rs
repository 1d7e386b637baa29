//! Documents that are no text: read by their format's reader on a thread of its own, then cut into passages.

use std::path::Path;

use crate::detect::Format;
use crate::isolated::isolated;
use crate::mail::Within;
use crate::package::Package;
use crate::read::Read;
use crate::{Document, ExtractError, PassageOptions, docx, epub, extract_within, mail, odf, pptx, sheets};

pub(crate) fn extract(
    path: &Path,
    bytes: &[u8],
    format: Format,
    package: Package<'_>,
    options: &PassageOptions,
) -> Result<Document, ExtractError> {
    let lang = format.lang.unwrap_or_default();
    document(path, format, isolated(lang, || read(lang, package, bytes)), options)
}

/// A mail or a mailbox, with what is attached.
pub(crate) fn mail(
    path: &Path,
    bytes: &[u8],
    format: Format,
    options: &PassageOptions,
    within: Within<'_>,
) -> Result<Document, ExtractError> {
    let extract = |path: &Path, bytes: &[u8], within: Within<'_>| extract_within(path, bytes, options, within);
    let read = match format.lang {
        Some("mbox") => mail::read_mbox,
        _ => mail::read_eml,
    };
    document(path, format, isolated("mail", || read(bytes, &extract, within)), options)
}

/// Returns the text that was read, cut into passages.
pub(crate) fn document(
    path: &Path,
    format: Format,
    read: Result<Read, String>,
    options: &PassageOptions,
) -> Result<Document, ExtractError> {
    let read = read.map_err(|what| ExtractError::Broken { path: path.to_owned(), what })?;
    Ok(Document {
        kind: format.kind,
        lang: format.lang.map(str::to_owned),
        mime: format.mime,
        title: read.title,
        passages: read.parts.into_iter().flat_map(|part| part.passages(options)).collect(),
        warnings: few(read.warnings),
    })
}

/// The user who added the file is to read the warnings.
const WARNINGS_MAX: usize = 20;

fn few(mut warnings: Vec<String>) -> Vec<String> {
    if warnings.len() > WARNINGS_MAX {
        let more = warnings.len() - WARNINGS_MAX;
        warnings.truncate(WARNINGS_MAX);
        warnings.push(format!("and {more} more"));
    }
    warnings
}

fn read(lang: &str, mut package: Package<'_>, bytes: &[u8]) -> Result<Read, String> {
    match lang {
        "docx" => docx::read(&mut package),
        "pptx" => pptx::read(&mut package),
        "odt" | "odp" | "ods" => odf::read(&mut package),
        "epub" => epub::read(&mut package),
        "xlsx" => sheets::read_xlsx(&mut package, bytes),
        "xlsb" => sheets::read_xlsb(&mut package, bytes),
        other => Err(format!("nobody here reads {other}")),
    }
}
